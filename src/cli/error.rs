//! Why a command cannot do its work, with a hint what to do about it.

use std::fmt::{self, Display};
use std::io;

use anstream::{AutoStream, ColorChoice};

use crate::results::{MeasureError, MergeFoldersError, StoreError};
use crate::run::RunError;
use crate::scenario::LoadError;
use crate::serve::ServeError;
use crate::subject::ConfigError;

/// Why a command cannot do its work.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CliError {
    /// One message, and what to do about it.
    Message { message: String, hint: Option<String> },
    /// Problems that are rendered already, each with its place in a file.
    Rendered(String),
}

impl CliError {
    /// An error without a hint.
    pub(super) fn new(message: impl Display) -> Self {
        CliError::Message { message: message.to_string(), hint: None }
    }

    /// An error with a hint.
    pub(super) fn with_hint(message: impl Display, hint: impl Display) -> Self {
        CliError::Message { message: message.to_string(), hint: Some(hint.to_string()) }
    }
}

impl Display for CliError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CliError::Message { message, hint: None } => write!(formatter, "error: {message}"),
            CliError::Message { message, hint: Some(hint) } => {
                write!(formatter, "error: {message}\nhelp: {hint}")
            }
            CliError::Rendered(text) => formatter.write_str(text.trim_end()),
        }
    }
}

/// Whether messages on standard error are colored.
pub(super) fn has_color() -> bool {
    AutoStream::choice(&io::stderr()) != ColorChoice::Never
}

impl From<LoadError> for CliError {
    fn from(error: LoadError) -> Self {
        CliError::Rendered(error.advice(has_color()))
    }
}

impl From<RunError> for CliError {
    fn from(error: RunError) -> Self {
        CliError::with_hint(&error, error.hint())
    }
}

impl From<MeasureError> for CliError {
    fn from(error: MeasureError) -> Self {
        match error {
            MeasureError::Scenarios(error) => error.into(),
            MeasureError::Problems(problems) => CliError::Rendered(problems.render(has_color())),
            MeasureError::Store(error) => error.into(),
            other => CliError::with_hint(&other, other.hint()),
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        CliError::with_hint(&error, error.help())
    }
}

impl From<MergeFoldersError> for CliError {
    fn from(error: MergeFoldersError) -> Self {
        CliError::with_hint(&error, error.help())
    }
}

impl From<ServeError> for CliError {
    fn from(error: ServeError) -> Self {
        CliError::Rendered(error.advice())
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        CliError::new(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_shown_with_its_hint() {
        let error = CliError::with_hint("there is no verb `rnu`", "did you mean `run`?");
        assert_eq!(error.to_string(), "error: there is no verb `rnu`\nhelp: did you mean `run`?");
        assert_eq!(CliError::new("cannot start").to_string(), "error: cannot start");
    }
}
