//! The uses of matrix names: each `${name}` must be defined and must be a whole value.

use std::collections::BTreeSet;

use yaml_reader::{Node, NodeKind, Reader, Span};

use super::{Matrix, placeholder};

/// The matrix names that a tree uses.
#[derive(Debug, Default)]
pub(crate) struct NameUses {
    /// The indexes of the axes that are used.
    pub(crate) used: BTreeSet<usize>,
    /// The positions of uses that are wrong and were reported.
    pub(crate) broken: Vec<Span>,
    /// The names that were meant by uses of unknown names.
    meant: BTreeSet<usize>,
}

impl NameUses {
    /// Collects the names that a tree uses, and reports those that are undefined or only part of a value.
    pub(crate) fn collect(&mut self, reader: &Reader, matrix: &Matrix, node: &Node) {
        match &node.kind {
            NodeKind::Text(text) => match placeholder(text) {
                Some(name) => match matrix.named(reader, name, node.span) {
                    Some(axis) => {
                        self.used.insert(axis);
                    }
                    None => {
                        self.broken.push(node.span);
                        self.meant.extend(matrix.near(name));
                    }
                },
                None if text.contains("${") => self.report_partial(reader, node.span),
                None => {}
            },
            NodeKind::List(items) => items.iter().for_each(|item| self.collect(reader, matrix, item)),
            NodeKind::Map(entries) => {
                for (key, value) in entries {
                    if key.name.contains("${") {
                        self.report_partial(reader, key.span);
                    }
                    self.collect(reader, matrix, value);
                }
            }
            _ => {}
        }
    }

    fn report_partial(&mut self, reader: &Reader, span: Span) {
        let help = "list the complete text as a value in the matrix, and use its name alone here";
        reader.report_with_help(span, "`${name}` must be the whole value, not part of a text", help);
        self.broken.push(span);
    }

    /// Reports the names that the scenario never uses, without those that a typo explains.
    pub(crate) fn report_unused(&self, reader: &Reader, matrix: &Matrix) {
        let is_unused = |index: &usize| !self.used.contains(index) && !self.meant.contains(index);
        for (_, axis) in matrix.axes.iter().enumerate().filter(|(index, _)| is_unused(index)) {
            let message = format!("`{}` is never used, so its cases would all be the same", axis.name);
            let help =
                format!("write \"${{{}}}\" where the value belongs, or remove it from the matrix", axis.name);
            reader.report_with_help(axis.span, message, help);
        }
    }
}

/// Reports `${name}` inside the matrix: the matrix defines the names and cannot use them.
pub(crate) fn report_names_in_matrix(reader: &Reader, node: &Node) {
    match &node.kind {
        NodeKind::Text(text) if text.contains("${") => {
            let help = "write the value itself; names can be used everywhere else";
            reader.report_with_help(node.span, "a value of the matrix cannot contain a matrix name", help);
        }
        NodeKind::List(items) => items.iter().for_each(|item| report_names_in_matrix(reader, item)),
        NodeKind::Map(entries) => entries.iter().for_each(|(_, value)| report_names_in_matrix(reader, value)),
        _ => {}
    }
}
