//! The arguments that say how a subject is judged: its time, its claim, and its promise.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::run::RunOptions;
use crate::scenario::Promise;
use crate::subject::Subject;

/// How a subject is judged.
#[derive(clap::Args)]
pub(in crate::cli) struct JudgingArgs {
    /// The timeout of one start of the subject: 30s, 2m [default: that of the subject or the scenario]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,

    /// Whether the subject must make a claim where the scenario names claims
    #[arg(long, value_enum, value_name = "RULE", default_value_t = ClaimRule::Required)]
    claims: ClaimRule,

    /// The promise that the subject is judged by: exactly-once, or at-most-once, where a lost effect passes
    /// if the subject claims not-done or unknown [default: the promise in hapax.yaml, otherwise exactly-once]
    #[arg(long, value_name = "PROMISE", value_parser = promise())]
    promise: Option<Promise>,
}

/// Whether a subject must make a claim.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ClaimRule {
    /// A missing claim fails where the scenario names claims.
    Required,
    /// A missing claim is only noted.
    Optional,
}

fn promise() -> impl TypedValueParser<Value = Promise> {
    // The parser accepts only these words.
    PossibleValuesParser::new(Promise::ALL.map(Promise::as_str)).map(|word| word.parse().unwrap_or_default())
}

/// Reads a time, for arguments such as `--timeout`.
pub(in crate::cli) fn duration(text: &str) -> Result<Duration, String> {
    yaml_reader::read_duration(text)
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "write it as 800ms, 30s or 2m".to_owned())
}

impl JudgingArgs {
    /// The options with these.
    pub(in crate::cli) fn apply(&self, options: RunOptions) -> RunOptions {
        let claims_optional = self.claims == ClaimRule::Optional;
        RunOptions { time: self.timeout, claims_optional, ..options }
    }

    /// Applies --promise to the subject, and returns the argument as it is typed.
    pub(in crate::cli) fn promise(&self, subject: &mut Subject) -> String {
        let Some(promise) = self.promise else { return String::new() };
        subject.settings.promise = promise;
        format!("--promise {promise} ")
    }
}
