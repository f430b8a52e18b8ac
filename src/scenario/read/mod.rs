//! Reads a scenario file: the matrix first, then one case for each combination. A problem that several cases
//! share is reported once.

pub(super) mod approvals;
pub(super) mod callers;
pub(super) mod case;
pub(super) mod check;
pub(super) mod controls;
pub(super) mod events;
pub(super) mod interrupts;
mod tasks;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use mock_services::custom::Custom;
use mock_services::examples;
use yaml_reader::{Node, NodeKind, Problem, Problems, Reader, Source, Span, parse, shown};

use self::case::read_case;
use self::controls::Controls;
use crate::scenario::Case;
use crate::scenario::files::Folder;
use crate::scenario::matrix::names::{NameUses, report_names_in_matrix};
use crate::scenario::matrix::words::is_typeable;
use crate::scenario::matrix::{MAX_VALUES, Matrix, size};
use crate::scenario::services::DeclaredServices;

/// No further case is read after this many different problems.
const MAX_PROBLEMS: usize = 100;

/// The cases of a scenario file. `name` is the name of the scenario: its path below the scenarios folder,
/// without the extension. A file that declares a service has no cases.
///
/// # Errors
/// Every problem of the file, each with its position.
pub fn read_scenario(file: &Source, name: &str) -> Result<Vec<Case>, Problems> {
    let folder = Path::new(file.name()).parent().unwrap_or(Path::new("")).to_owned();
    read_in(file, name, &Folder::Disk { base: PathBuf::new(), folder })
}

/// Like [`read_scenario`]; `folder` resolves the files that the scenario refers to.
pub(super) fn read_in(file: &Source, name: &str, folder: &Folder) -> Result<Vec<Case>, Problems> {
    let tree = parse(file)?;
    if tree.get("service").is_some() && tree.get("operations").is_some() {
        return Custom::from_source(file).map(|_| Vec::new());
    }
    ScenarioReader::new(file, name, tree).cases(folder)
}

/// A scenario that is being read.
struct ScenarioReader<'a> {
    file: &'a Source,
    name: &'a str,
    tree: Node,
    reader: Reader,
    found: UniqueProblems,
}

/// What identifies a problem: file, start, end and message.
pub(super) type ProblemKey = (String, usize, usize, String);

/// The key of a problem; two problems with the same key are the same problem.
pub(super) fn problem_key(problem: &Problem) -> ProblemKey {
    (problem.file.name().to_owned(), problem.span.start, problem.span.end, problem.message.clone())
}

/// The problems found so far, without repetitions.
#[derive(Default)]
struct UniqueProblems {
    problems: Vec<Problem>,
    seen: HashSet<ProblemKey>,
}

impl UniqueProblems {
    /// Adds the problems that are new and are not at the position of a matrix name that was reported already.
    fn add(&mut self, problems: Problems, broken: &[Span]) {
        for problem in problems {
            if !broken.contains(&problem.span) && self.seen.insert(problem_key(&problem)) {
                self.problems.push(problem);
            }
        }
    }
}

impl<'a> ScenarioReader<'a> {
    fn new(file: &'a Source, name: &'a str, tree: Node) -> Self {
        ScenarioReader { file, name, tree, reader: Reader::new(file), found: UniqueProblems::default() }
    }

    fn cases(mut self, folder: &Folder) -> Result<Vec<Case>, Problems> {
        let reader = &self.reader;
        self.check_name();
        let matrix = self.tree.get("matrix").map(|node| Matrix::read(reader, node)).unwrap_or_default();
        let body = without(&self.tree, "controls");
        let mut names = NameUses::default();
        names.collect(reader, &matrix, &without(&body, "matrix"));
        self.check_matrix_values();
        names.report_unused(reader, &matrix);
        let choices = matrix.combinations();
        let controls = self.controls(&matrix);
        controls.check(reader, &matrix, &choices);

        let declared = DeclaredServices::new(folder);
        let mut budget = MAX_VALUES;
        let mut cases = Vec::new();
        // Checked before the cases are expanded; the values of matrix names are counted during expansion.
        let is_large = size(&body).saturating_mul(choices.len()) > MAX_VALUES;
        for choice in choices.iter().take(if is_large { 0 } else { choices.len() }) {
            let Some(filled) = matrix.fill(&body, choice, &mut budget) else {
                self.report_too_large();
                break;
            };
            let reader = Reader::new(self.file);
            let case = read_case(&reader, &filled, &declared);
            match reader.finish(case) {
                Ok(case) => cases.push(self.identified(case, matrix.variant(choice), controls.terms(choice))),
                Err(problems) => self.found.add(problems, &names.broken),
            }
            if self.found.problems.len() >= MAX_PROBLEMS {
                break;
            }
        }
        if is_large {
            self.report_too_large();
        }
        self.finish(cases)
    }

    fn report_too_large(&self) {
        let message = format!("the cases of this file hold more than {MAX_VALUES} values");
        self.reader.report_with_help(Span::default(), message, "remove matrix values, or split the file");
    }

    /// Case ids start with the name of the file, and users type them without quotes.
    fn check_name(&self) {
        let is_plain = !self.name.is_empty()
            && self.name.chars().all(|character| is_typeable(character) || character == '/');
        if !is_plain {
            let message = format!(
                "`{}` is not a valid scenario name: a shell would need quotes around it",
                shown(self.name)
            );
            let help = "rename the file; use only letters, digits, `.`, `_`, `+` and `-`";
            self.reader.report_with_help(Span::default(), message, help);
        }
    }

    /// Reports `${name}` inside the matrix: the matrix defines the names and cannot use them.
    fn check_matrix_values(&self) {
        if let Some(node) = self.tree.get("matrix") {
            report_names_in_matrix(&self.reader, node);
        }
    }

    fn controls(&self, matrix: &Matrix) -> Controls {
        let Some(node) = self.tree.get("controls") else { return Controls::default() };
        let controls = Controls::read(&self.reader, matrix, node);
        let is_clean = self.tree.get("tags").is_some_and(|tags| match &tags.kind {
            NodeKind::List(items) => items.iter().any(|item| item.as_text() == Some("clean")),
            _ => false,
        });
        let is_found = self.tree.get("found").is_some();
        if !is_clean && !is_found && self.reader.count() == 0 {
            controls.check_some_fails(&self.reader, node.span);
        }
        if !controls.is_empty() && self.tree.get("steps").is_none() && self.tree.get("each").is_none() {
            let help = format!("add `steps`: [{}]", examples::STEP);
            self.reader.report_with_help(
                node.span,
                "controls execute `steps`, and this scenario has none",
                help,
            );
        }
        controls
    }

    fn identified(
        &self,
        case: Case,
        variant: Vec<(String, String)>,
        controls: Vec<crate::scenario::ControlTerm>,
    ) -> Case {
        let pairs: Vec<String> = variant.iter().map(|(name, word)| format!("{name}={word}")).collect();
        let suffix = if pairs.is_empty() { String::new() } else { format!("@{}", pairs.join(",")) };
        let id = format!("{}{suffix}", self.name);
        let (line, _) = Problem::new(self.file, self.tree.span, "").position();
        Case { id, scenario: self.name.to_owned(), line, variant, controls, ..case }
    }

    fn finish(mut self, cases: Vec<Case>) -> Result<Vec<Case>, Problems> {
        if let Err(problems) = std::mem::replace(&mut self.reader, Reader::new(self.file)).finish(Some(())) {
            self.found.add(problems, &[]);
        }
        let mut problems = self.found.problems;
        if problems.is_empty() {
            return Ok(cases);
        }
        // Problems of this file first, in order; then those of the service files that it refers to.
        let name = self.file.name();
        problems.sort_by_key(|problem| (problem.file.name() != name, problem.span.start));
        Err(problems.into())
    }
}

/// The tree without the key `name`.
fn without(tree: &Node, name: &str) -> Node {
    match &tree.kind {
        NodeKind::Map(entries) => {
            let rest = entries.iter().filter(|(key, _)| key.name != name).cloned().collect();
            Node::new(NodeKind::Map(rest), tree.span)
        }
        _ => tree.clone(),
    }
}

#[cfg(test)]
mod tests;
