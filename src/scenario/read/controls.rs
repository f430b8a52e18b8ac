//! The controls that a scenario is meant to tell apart, and what each comes to in which case.

use mock_services::yaml::{Key, Kind, Node, Reader, Span, listed, nearest, shown};

use crate::scenario::case::CONTROLS;
use crate::scenario::matrix::{Choice, Matrix, bare};
use crate::scenario::{ControlOutcome, ControlTerm};

/// What one control comes to.
#[derive(Debug)]
struct Control {
    name: &'static str,
    span: Span,
    branches: Vec<Branch>,
}

/// What it comes to in the cases that a condition holds for.
#[derive(Debug)]
struct Branch {
    span: Span,
    /// For each axis that it names, the places of the values that it holds for.
    when: Vec<(usize, Vec<usize>)>,
    is: ControlOutcome,
}

impl Branch {
    fn holds(&self, choice: &[usize]) -> bool {
        self.when.iter().all(|(axis, places)| choice.get(*axis).is_some_and(|place| places.contains(place)))
    }
}

/// All controls of a scenario.
#[derive(Debug, Default)]
pub(super) struct Controls(Vec<Control>);

impl Controls {
    /// Reads them; what is wrong is reported.
    pub(super) fn read(reader: &Reader, matrix: &Matrix, node: &Node) -> Self {
        let entries = reader.entries(node).unwrap_or_default();
        Controls(entries.iter().filter_map(|(key, node)| read_control(reader, matrix, key, node)).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What each comes to in one case.
    pub(super) fn terms(&self, choice: &[usize]) -> Vec<ControlTerm> {
        let term = |control: &Control| {
            let branch = control.branches.iter().find(|branch| branch.holds(choice))?;
            Some(ControlTerm { control: control.name.to_owned(), is: branch.is })
        };
        self.0.iter().filter_map(term).collect()
    }

    /// Reports cases that a control says nothing of, and conditions that decide no case.
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
                let message = format!(
                    "this does not say what `{}` comes to in every case, for example {case}",
                    control.name
                );
                let help = "add an entry without `when` for the rest: {is: pass}";
                reader.report_with_help(control.span, message, help);
            }
            for (place, branch) in control.branches.iter().enumerate() {
                if !decided.contains(&Some(place)) {
                    let message = "this entry decides no case: those that it holds for are decided before it";
                    reader.report_with_help(branch.span, message, "leave it out, or put it first");
                }
            }
        }
    }

    /// Reports that no control fails anywhere: such a scenario tests nothing.
    pub(super) fn check_some_fails(&self, reader: &Reader, span: Span) {
        if self
            .0
            .iter()
            .flat_map(|control| &control.branches)
            .all(|branch| matches!(branch.is, ControlOutcome::Pass | ControlOutcome::Void))
        {
            let message = "no control fails here, so this scenario tells nothing apart";
            reader.report_with_help(span, message, "list one that fails, or tag the scenario `clean`");
        }
    }
}

fn read_control(reader: &Reader, matrix: &Matrix, key: &Key, node: &Node) -> Option<Control> {
    let Some(name) = CONTROLS.into_iter().find(|name| *name == key.name) else {
        let help = match nearest(&key.name, CONTROLS) {
            Some(near) => format!("did you mean `{near}`? it can be {}", listed(CONTROLS)),
            None => format!("it can be {}", listed(CONTROLS)),
        };
        reader.report_with_help(key.span, format!("there is no control `{}`", shown(&key.name)), help);
        return None;
    };
    let branches: Vec<Branch> = match &node.kind {
        Kind::List(items) => items.iter().filter_map(|item| read_branch(reader, matrix, item)).collect(),
        _ => read_come(reader, node)
            .map(|is| Branch { span: node.span, when: Vec::new(), is })
            .into_iter()
            .collect(),
    };
    if let Some(branch) =
        branches.iter().find(|branch| name == "careful" && branch.is != ControlOutcome::Pass)
    {
        let message = "`careful` must pass everywhere: what it cannot do, no subject can";
        reader.report_with_help(branch.span, message, "expect less of the subject, or say `pass`");
    }
    Some(Control { name, span: key.span, branches })
}

fn read_branch(reader: &Reader, matrix: &Matrix, node: &Node) -> Option<Branch> {
    let mut map = reader.map(node, "an entry of a control")?;
    let (when, is) = (map.optional("when"), map.required("is"));
    let span = map.place();
    map.finish();
    let entries = when.and_then(|node| reader.entries(node)).unwrap_or_default();
    let before = reader.count();
    let when = entries.iter().filter_map(|(key, node)| read_condition(reader, matrix, key, node)).collect();
    let is = is.and_then(|node| read_come(reader, node))?;
    (reader.count() == before).then_some(Branch { span, when, is })
}

/// An axis and the places of the values that are meant: one value, or a list of them.
fn read_condition(reader: &Reader, matrix: &Matrix, key: &Key, node: &Node) -> Option<(usize, Vec<usize>)> {
    let axis = matrix.named(reader, &key.name, key.span)?;
    let values: Vec<Node> = matrix.axes[axis].values.iter().map(bare).collect();
    let place = |wanted: &Node| values.iter().position(|value| *value == bare(wanted));
    if let Some(place) = place(node) {
        return Some((axis, vec![place]));
    }
    let wanted = match &node.kind {
        Kind::List(items) if !items.is_empty() => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let mut places = Vec::new();
    for value in wanted {
        match place(value) {
            Some(place) => places.push(place),
            None => {
                let message =
                    format!("`{}` never has this value, so nothing would be decided by it", key.name);
                reader.report_with_help(
                    value.span,
                    message,
                    "write one of its values as it stands in the matrix",
                );
            }
        }
    }
    Some((axis, places))
}

fn read_come(reader: &Reader, node: &Node) -> Option<ControlOutcome> {
    reader.one_of(node, &ControlOutcome::ALL.map(|control_outcome| (control_outcome.word(), control_outcome)))
}
