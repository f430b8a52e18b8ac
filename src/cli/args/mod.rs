//! Arguments that several verbs share.

pub(super) mod judging;
pub(super) mod measure;
pub(super) mod part;
pub(super) mod quick;
pub(super) mod subject;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::report::Format;

/// Reads the name of a format, for `--format`.
pub(in crate::cli) fn format_parser() -> impl TypedValueParser<Value = Format> {
    let values = Format::ALL.map(|format| PossibleValue::new(format.as_str()).help(format.about()));
    // The parser accepts only these words.
    PossibleValuesParser::new(values).map(|word| word.parse().unwrap_or(Format::Terminal))
}
