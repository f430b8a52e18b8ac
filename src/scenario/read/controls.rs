//! Reads `controls`: the expected outcome of each control in each case.

use yaml_reader::shape::{Count, MapShape, Rule, Shape, object, optional, required};
use yaml_reader::{Key, Node, NodeKind, Reader, Span, listed, nearest, shown};

use crate::domain::{ControlName, FindingKind};
use crate::scenario::matrix::{Choice, Matrix, bare};
use crate::scenario::{ControlOutcome, ControlTerm, Found};

/// The shape of `controls`.
pub(super) const CONTROLS: Shape = Shape::Own(|| {
    let control = |name: ControlName| optional(name.as_str(), Shape::Ref("control"));
    object(&ControlName::ALL.map(control), Rule::None, false)
});
/// The definition `control`: the same outcome in every case, or by case. No matrix name can stand in it.
pub(in crate::scenario) const CONTROL: Shape =
    Shape::OneOf(&[OUTCOME, Shape::List(&BRANCH.shape(), Count::ANY)]);
static BRANCH: MapShape<2> =
    MapShape::new([optional("when", Shape::Types(&["object"])), required("is", OUTCOME)]);
const OUTCOME: Shape = Shape::Words(|| ControlOutcome::all().map(ControlOutcome::as_str).collect());

/// The subject that was found to fail the scenario.
pub(super) static FOUND: MapShape<3> = MapShape::new([
    required("subject", Shape::Sentence),
    required("digest", Shape::Pattern("^[0-9a-f]{64}$")),
    required("finding", Shape::Words(|| FindingKind::ALL.iter().map(|kind| kind.as_str()).collect())),
]);

/// Reads `found`.
pub(super) fn read_found(reader: &Reader, node: &Node) -> Option<Found> {
    let [subject, digest, finding] = reader.fields(node, "`found`", &FOUND)?;
    let words: Vec<_> = FindingKind::ALL.iter().map(|kind| (kind.as_str(), *kind)).collect();
    let finding = finding.and_then(|node| reader.one_of(node, &words));
    let digest = digest.and_then(|node| Some((node, reader.text(node)?)));
    let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some((node, _)) = digest.filter(|(_, text)| !is_digest(text)) {
        let help = "keep the digest that `hapax explore` wrote, or remove `found`";
        reader.report_with_help(node.span, "this is not the digest of a subject", help);
    }
    let subject = subject.and_then(|node| reader.text(node))?.to_owned();
    Some(Found { subject, digest: digest?.1.to_owned(), finding: finding? })
}

/// A control and its expected outcomes.
#[derive(Debug)]
struct Control {
    name: ControlName,
    span: Span,
    branches: Vec<Branch>,
}

/// The expected outcome in the cases that match a condition.
#[derive(Debug)]
struct Branch {
    span: Span,
    /// For each axis in the condition, the indexes of the matching values.
    when: Vec<(usize, Vec<usize>)>,
    is: ControlOutcome,
}

impl Branch {
    fn holds(&self, choice: &[usize]) -> bool {
        self.when.iter().all(|(axis, values)| choice.get(*axis).is_some_and(|value| values.contains(value)))
    }
}

/// All controls of a scenario.
#[derive(Debug, Default)]
pub(super) struct Controls(Vec<Control>);

impl Controls {
    /// Reads the controls and reports problems.
    pub(super) fn read(reader: &Reader, matrix: &Matrix, node: &Node) -> Self {
        let entries = reader.entries(node).unwrap_or_default();
        Controls(entries.iter().filter_map(|(key, node)| read_control(reader, matrix, key, node)).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The expected outcomes in one case.
    pub(super) fn terms(&self, choice: &[usize]) -> Vec<ControlTerm> {
        let term = |control: &Control| {
            let branch = control.branches.iter().find(|branch| branch.holds(choice))?;
            Some(ControlTerm { control: control.name.to_string(), is: branch.is })
        };
        self.0.iter().filter_map(term).collect()
    }

    /// Reports cases without an expected outcome, and conditions that match no case.
    pub(super) fn check(&self, reader: &Reader, matrix: &Matrix, choices: &[Choice]) {
        for control in &self.0 {
            let deciding = |choice: &Choice| control.branches.iter().position(|branch| branch.holds(choice));
            let decided: Vec<Option<usize>> = choices.iter().map(deciding).collect();
            if let Some(open) = decided.iter().position(Option::is_none)
                && !control.branches.is_empty()
            {
                let pairs =
                    matrix.variant(&choices[open]).into_iter().map(|(name, word)| format!("{name}={word}"));
                let case = pairs.collect::<Vec<_>>().join(",");
                let message =
                    format!("`{}` has no expected outcome for some cases, for example {case}", control.name);
                let help = "add an entry without `when` for all other cases: {is: pass}";
                reader.report_with_help(control.span, message, help);
            }
            for (index, branch) in control.branches.iter().enumerate() {
                if !decided.contains(&Some(index)) {
                    let message = "this entry never applies: earlier entries match all of its cases";
                    reader.report_with_help(branch.span, message, "remove it, or move it up");
                }
            }
        }
    }

    /// Reports a scenario that no control fails: it tests nothing.
    pub(super) fn check_some_fails(&self, reader: &Reader, span: Span) {
        if self.0.iter().flat_map(|control| &control.branches).all(|branch| !branch.is.is_failure()) {
            let message = "every control passes, so this scenario detects nothing";
            reader.report_with_help(span, message, "add a control that fails, or tag the scenario `clean`");
        }
    }
}

fn read_control(reader: &Reader, matrix: &Matrix, key: &Key, node: &Node) -> Option<Control> {
    let Ok(name) = key.name.parse::<ControlName>() else {
        let all = listed(ControlName::names());
        let help = match nearest(&key.name, ControlName::names()) {
            Some(near) => format!("did you mean `{near}`? expected one of {all}"),
            None => format!("expected one of {all}"),
        };
        reader.report_with_help(key.span, format!("unknown control `{}`", shown(&key.name)), help);
        return None;
    };
    let branches: Vec<Branch> = match &node.kind {
        NodeKind::List(items) => items.iter().filter_map(|item| read_branch(reader, matrix, item)).collect(),
        _ => read_outcome(reader, node)
            .map(|is| Branch { span: node.span, when: Vec::new(), is })
            .into_iter()
            .collect(),
    };
    if let Some(branch) =
        branches.iter().find(|branch| name == ControlName::Careful && branch.is != ControlOutcome::Pass)
    {
        let message = "`careful` must pass every case: otherwise no subject can";
        reader.report_with_help(branch.span, message, "relax `expect`, or write `pass`");
    }
    Some(Control { name, span: key.span, branches })
}

fn read_branch(reader: &Reader, matrix: &Matrix, node: &Node) -> Option<Branch> {
    let [when, is] = reader.fields(node, "an entry of a control", &BRANCH)?;
    let span = node.place();
    let entries = when.and_then(|node| reader.entries(node)).unwrap_or_default();
    let before = reader.count();
    let when = entries.iter().filter_map(|(key, node)| read_condition(reader, matrix, key, node)).collect();
    let is = is.and_then(|node| read_outcome(reader, node))?;
    (reader.count() == before).then_some(Branch { span, when, is })
}

/// An axis and the indexes of the values that match: one value, or a list of values.
fn read_condition(reader: &Reader, matrix: &Matrix, key: &Key, node: &Node) -> Option<(usize, Vec<usize>)> {
    let axis = matrix.named(reader, &key.name, key.span)?;
    let values: Vec<Node> = matrix.axes[axis].values.iter().map(bare).collect();
    let index_of = |wanted: &Node| values.iter().position(|value| *value == bare(wanted));
    if let Some(index) = index_of(node) {
        return Some((axis, vec![index]));
    }
    let wanted = match &node.kind {
        NodeKind::List(items) if !items.is_empty() => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let mut indexes = Vec::new();
    for value in wanted {
        match index_of(value) {
            Some(index) => indexes.push(index),
            None => {
                let message = format!("`{}` does not have this value in the matrix", key.name);
                reader.report_with_help(
                    value.span,
                    message,
                    "write one of its values exactly as in the matrix",
                );
            }
        }
    }
    Some((axis, indexes))
}

fn read_outcome(reader: &Reader, node: &Node) -> Option<ControlOutcome> {
    let words: Vec<_> = ControlOutcome::all().map(|outcome| (outcome.as_str(), outcome)).collect();
    reader.one_of(node, &words)
}
