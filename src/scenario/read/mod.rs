//! A scenario from its file: the matrix first, then one case for each combination. What is wrong in several
//! cases is told once.

pub(super) mod callers;
mod case;
mod check;
mod controls;
pub(super) mod interrupts;
mod tasks;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use mock_services::custom::Custom;
use mock_services::yaml::{Kind, Node, Problem, Problems, Reader, Source, Span, parse, shown};

use self::case::read_case;
use self::controls::Controls;
use crate::scenario::Case;
use crate::scenario::files::Folder;
use crate::scenario::matrix::names::{Names, no_names};
use crate::scenario::matrix::words::is_typeable;
use crate::scenario::matrix::{MOST_VALUES, Matrix, size};
use crate::scenario::services::Customs;

/// After so many different problems no further case is read.
const ENOUGH: usize = 100;

/// The cases that a scenario file stands for. `name` is the scenario's: the path below the folder of
/// scenarios, without its ending. A file that declares a service stands for none.
///
/// # Errors
/// All that is wrong with the file, each problem with its place.
pub fn read_scenario(file: &Source, name: &str) -> Result<Vec<Case>, Problems> {
    let folder = Path::new(file.name()).parent().unwrap_or(Path::new("")).to_owned();
    read_in(file, name, &Folder::Disk { base: PathBuf::new(), folder })
}

/// The same for a file in a folder from which other files are read.
pub(super) fn read_in(file: &Source, name: &str, folder: &Folder) -> Result<Vec<Case>, Problems> {
    let tree = parse(file)?;
    if tree.get("service").is_some() && tree.get("operations").is_some() {
        return Custom::from_source(file).map(|_| Vec::new());
    }
    Scenario::new(file, name, tree).cases(folder)
}

/// A scenario while it is read.
struct Scenario<'a> {
    file: &'a Source,
    name: &'a str,
    tree: Node,
    reader: Reader,
    found: Found,
}

/// What makes two problems the same: file, place and message.
pub(super) type ProblemPlace = (String, usize, usize, String);

/// What tells a problem from others.
pub(super) fn place_of(problem: &Problem) -> ProblemPlace {
    (problem.file.name().to_owned(), problem.span.start, problem.span.end, problem.message.clone())
}

/// The problems so far, each once.
#[derive(Default)]
struct Found {
    problems: Vec<Problem>,
    seen: HashSet<ProblemPlace>,
}

impl Found {
    /// Adds those that are new and do not stand where a broken name was already reported.
    fn add(&mut self, problems: Problems, broken: &[Span]) {
        for problem in problems {
            if !broken.contains(&problem.span) && self.seen.insert(place_of(&problem)) {
                self.problems.push(problem);
            }
        }
    }
}

impl<'a> Scenario<'a> {
    fn new(file: &'a Source, name: &'a str, tree: Node) -> Self {
        Scenario { file, name, tree, reader: Reader::new(file), found: Found::default() }
    }

    fn cases(mut self, folder: &Folder) -> Result<Vec<Case>, Problems> {
        let reader = &self.reader;
        self.check_name();
        let matrix = self.tree.get("matrix").map(|node| Matrix::read(reader, node)).unwrap_or_default();
        let body = without(&self.tree, "controls");
        let mut names = Names::default();
        names.look(reader, &matrix, &without(&body, "matrix"));
        self.check_matrix_values();
        names.unused(reader, &matrix);
        let choices = matrix.combinations();
        let controls = self.controls(&matrix);
        controls.check(reader, &matrix, &choices);

        let customs = Customs::new(folder);
        let mut budget = MOST_VALUES;
        let mut cases = Vec::new();
        // Told before the work is done; what names stand for is counted as it is filled in.
        let is_large = size(&body).saturating_mul(choices.len()) > MOST_VALUES;
        for choice in choices.iter().take(if is_large { 0 } else { choices.len() }) {
            let Some(filled) = matrix.fill(&body, choice, &mut budget) else {
                self.too_large();
                break;
            };
            let reader = Reader::new(self.file);
            let case = read_case(&reader, &filled, &customs);
            match reader.finish(case) {
                Ok(case) => cases.push(self.named(case, matrix.variant(choice), controls.terms(choice))),
                Err(problems) => self.found.add(problems, &names.broken),
            }
            if self.found.problems.len() >= ENOUGH {
                break;
            }
        }
        if is_large {
            self.too_large();
        }
        self.finish(cases)
    }

    fn too_large(&self) {
        let message = format!("with its matrix filled in, this file holds more than {MOST_VALUES} values");
        self.reader.report_with_help(
            Span::default(),
            message,
            "leave values out, or cut the file into several",
        );
    }

    /// Ids must be typed without quotes, and the name of the file begins them.
    fn check_name(&self) {
        let is_plain = !self.name.is_empty()
            && self.name.chars().all(|character| is_typeable(character) || character == '/');
        if !is_plain {
            let message = format!(
                "`{}` cannot be the name of a scenario: it could not be typed without quotes",
                shown(self.name)
            );
            let help = "rename the file: letters, digits, `.`, `_`, `+` and `-`";
            self.reader.report_with_help(Span::default(), message, help);
        }
    }

    /// The matrix is where names get their values: it can use none itself.
    fn check_matrix_values(&self) {
        if let Some(node) = self.tree.get("matrix") {
            no_names(&self.reader, node);
        }
    }

    fn controls(&self, matrix: &Matrix) -> Controls {
        let Some(node) = self.tree.get("controls") else { return Controls::default() };
        let controls = Controls::read(&self.reader, matrix, node);
        let is_clean = self.tree.get("tags").is_some_and(|tags| match &tags.kind {
            Kind::List(items) => items.iter().any(|item| item.as_text() == Some("clean")),
            _ => false,
        });
        if !is_clean && self.reader.count() == 0 {
            controls.check_some_fails(&self.reader, node.span);
        }
        if !controls.is_empty() && self.tree.get("steps").is_none() && self.tree.get("each").is_none() {
            let help = "write the task as `steps`: [{do: payment.charge, with: {amount: 4999}}]";
            self.reader.report_with_help(node.span, "controls follow `steps`, and there are none", help);
        }
        controls
    }

    fn named(
        &self,
        case: Case,
        variant: Vec<(String, String)>,
        controls: Vec<crate::scenario::ControlTerm>,
    ) -> Case {
        let pairs: Vec<String> = variant.iter().map(|(name, word)| format!("{name}={word}")).collect();
        let behind = if pairs.is_empty() { String::new() } else { format!("@{}", pairs.join(",")) };
        let id = format!("{}{behind}", self.name);
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
        // Those of this file first, in its order; then those of the services that it names.
        let name = self.file.name();
        problems.sort_by_key(|problem| (problem.file.name() != name, problem.span.start));
        Err(problems.into())
    }
}

/// The tree without one of its keys.
fn without(tree: &Node, name: &str) -> Node {
    match &tree.kind {
        Kind::Map(entries) => {
            let rest = entries.iter().filter(|(key, _)| key.name != name).cloned().collect();
            Node::new(Kind::Map(rest), tree.span)
        }
        _ => tree.clone(),
    }
}

#[cfg(test)]
mod tests;
