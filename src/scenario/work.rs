//! Reads tasks: as text and as steps; one for all callers, one for each caller, or one for each turn.

use std::borrow::Cow;

use mock_services::catalog;
use mock_services::fault::read_fields;
use mock_services::service::{Fields, Operation};
use yaml_reader::shape::{Count, MapShape, Shape, optional, required};
use yaml_reader::{Node, NodeKind, Reader, listed, nearest, shown};

use super::known::KnownServices;
use super::via::read_api;
use super::{Step, Work};

/// The largest number of steps, turns or tasks of callers in a list.
pub(super) const MAX_STEPS: usize = 1000;

/// The definition `work`.
pub(super) static WORK: MapShape<2> =
    MapShape::new([required("task", Shape::Sentence), optional("steps", Shape::Ref("steps"))]);
/// The definition `steps`.
pub(super) const STEPS: Shape = Shape::List(&STEP.shape(), Count(0, MAX_STEPS));
static STEP: MapShape<2> =
    MapShape::new([required("do", Shape::Ref("operation")), optional("with", Shape::Ref("fields"))]);

/// Reads the tasks of a scenario.
#[derive(Clone, Copy)]
pub(super) struct WorkReader<'a> {
    pub(super) reader: &'a Reader,
    pub(super) known: &'a KnownServices,
}

impl WorkReader<'_> {
    /// A `{task, steps}`.
    pub(super) fn read(&self, node: &Node, what: &str) -> Option<Work> {
        let [task, steps] = self.reader.fields(node, what, &WORK)?;
        Some(Work { task: self.task(task), steps: self.steps(steps) })
    }

    /// A list of `{task, steps}`.
    pub(super) fn list(&self, node: Option<&Node>, what: &str) -> Vec<Work> {
        let items = node.and_then(|node| self.items(node)).unwrap_or_default();
        items.iter().filter_map(|item| self.read(item, what)).collect()
    }

    pub(super) fn task(&self, node: Option<&Node>) -> String {
        let Some((node, text)) = node.and_then(|node| Some((node, self.reader.text(node)?))) else {
            return String::new();
        };
        if text.trim().is_empty() {
            self.reader.report_with_help(node.span, "the task is empty", "write what the subject must do");
        }
        text.to_owned()
    }

    pub(super) fn steps(&self, node: Option<&Node>) -> Vec<Step> {
        let Some(items) = node.and_then(|node| self.items(node)) else { return Vec::new() };
        items.iter().filter_map(|item| self.step(item)).collect()
    }

    fn items<'n>(&self, node: &'n Node) -> Option<&'n [Node]> {
        let items = self.reader.list(node)?;
        if items.len() > MAX_STEPS {
            self.reader.report(node.span, format!("{} entries; the maximum is {MAX_STEPS}", items.len()));
            return None;
        }
        Some(items)
    }

    fn step(&self, node: &Node) -> Option<Step> {
        let [operation, with] = self.reader.fields(node, "a step", &STEP)?;
        let operation = operation.and_then(|node| self.known.operation(self.reader, node));
        let Some(operation) = operation else {
            with.and_then(|node| read_fields(self.reader, node));
            return None;
        };
        let fields = with.and_then(|node| self.fields_of(operation, node));
        if let Some(via) =
            with.and_then(|node| node.get("via")).filter(|_| step_fields(operation).contains(&"via"))
        {
            read_api(self.reader, &operation.name, via);
        }
        Some(Step { operation: operation.name.to_string(), with: fields.unwrap_or_default() })
    }

    /// The fields of an operation; unknown ones are reported.
    pub(super) fn fields_of(&self, operation: &Operation, node: &Node) -> Option<Fields> {
        if let NodeKind::Map(entries) = &node.kind {
            let known = step_fields(operation);
            for (key, _) in entries
                .iter()
                .filter(|(key, _)| !operation.has_field(&key.name) && !known.contains(&key.name.as_str()))
            {
                let names = || known.iter().copied();
                let help = match nearest(&key.name, names()) {
                    _ if known.is_empty() => "it has no fields; remove it".to_owned(),
                    Some(near) => format!("did you mean `{near}`? it can be {}", listed(names())),
                    None => format!("it can be {}", listed(names())),
                };
                let message = format!("{} has no field `{}`", operation.name, shown(&key.name));
                self.reader.report_with_help(key.span, message, help);
            }
        }
        read_fields(self.reader, node)
    }
}

/// The fields of a step: those of the requests, and those that only a step has.
pub(super) fn step_fields(operation: &Operation) -> Vec<&str> {
    let mut fields: Vec<&str> = operation.fields.iter().map(Cow::as_ref).collect();
    let service = operation.name.split('.').next().and_then(catalog::find);
    let of_steps = service.map(|service| service.step_fields).unwrap_or_default();
    fields.extend(of_steps.iter().filter(|(of, _)| *of == operation.name).map(|(_, field)| *field));
    fields
}
