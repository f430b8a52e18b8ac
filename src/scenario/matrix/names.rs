//! The names of the matrix where they are used: each must be one, and stand for a whole value.

use std::collections::BTreeSet;

use mock_services::yaml::{Kind, Node, Reader, Span};

use super::{Matrix, placeholder};

/// What the names in a tree are found to be.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The axes that are used.
    pub(crate) used: BTreeSet<usize>,
    /// Where something stands that no axis can fill, which was reported.
    pub(crate) broken: Vec<Span>,
}

impl Names {
    /// Looks at all texts of a tree: each `${name}` must be a name of the matrix and a whole value.
    pub(crate) fn look(&mut self, reader: &Reader, matrix: &Matrix, node: &Node) {
        match &node.kind {
            Kind::Text(text) => match placeholder(text) {
                Some(name) => match matrix.named(reader, name, node.span) {
                    Some(axis) => {
                        self.used.insert(axis);
                    }
                    None => self.broken.push(node.span),
                },
                None if text.contains("${") => self.part(reader, node.span),
                None => {}
            },
            Kind::List(items) => items.iter().for_each(|item| self.look(reader, matrix, item)),
            Kind::Map(entries) => {
                for (key, value) in entries {
                    if key.name.contains("${") {
                        self.part(reader, key.span);
                    }
                    self.look(reader, matrix, value);
                }
            }
            _ => {}
        }
    }

    fn part(&mut self, reader: &Reader, span: Span) {
        let help = "give the whole value its own name in the matrix, with all of its text";
        reader.report_with_help(
            span,
            "`${name}` stands for a whole value, and here it is a part of a text",
            help,
        );
        self.broken.push(span);
    }

    /// Reports the names that nothing uses.
    pub(crate) fn unused(&self, reader: &Reader, matrix: &Matrix) {
        for (_, axis) in matrix.axes.iter().enumerate().filter(|(place, _)| !self.used.contains(place)) {
            let message = format!("nothing uses `{}`, so its cases would all be the same", axis.name);
            let help = format!("write \"${{{}}}\" where its values belong, or leave it out", axis.name);
            reader.report_with_help(axis.span, message, help);
        }
    }
}

/// Reports names in the matrix itself, which is where they get their values.
pub(crate) fn no_names(reader: &Reader, node: &Node) {
    match &node.kind {
        Kind::Text(text) if text.contains("${") => {
            let help = "write the value out; names can be used everywhere else";
            reader.report_with_help(node.span, "a value of the matrix cannot use a name of the matrix", help);
        }
        Kind::List(items) => items.iter().for_each(|item| no_names(reader, item)),
        Kind::Map(entries) => entries.iter().for_each(|(_, value)| no_names(reader, value)),
        _ => {}
    }
}
