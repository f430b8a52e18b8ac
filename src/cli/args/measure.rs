//! The arguments that say how the result of a run is decided.

use std::path::PathBuf;

use crate::cli::error::CliError;
use crate::results::{Measure, Requirement};
use crate::scenario::Case;

/// How the result of a run is decided.
#[derive(clap::Args)]
pub(in crate::cli) struct MeasureArgs {
    /// The share of the trials that must pass, such as 0.99 [default: all must pass]
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with_all = ["baseline", "partition"])]
    require: Option<f64>,

    /// The confidence with which --require must hold
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.95,
        value_parser = confidence,
        requires = "require"
    )]
    confidence: f64,

    /// A file of known failures: only what is worse fails
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write the failures of this run to the file of --baseline
    #[arg(long, requires = "baseline")]
    update_baseline: bool,
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "give a number, such as 0.99".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    number(text).and_then(|share| {
        if share > 0.0 && share <= 1.0 {
            Ok(share)
        } else {
            Err("it must be greater than 0 and at most 1".to_owned())
        }
    })
}

fn confidence(text: &str) -> Result<f64, String> {
    let within = |sure: &f64| (0.5..=0.9999).contains(sure);
    number(text).and_then(|sure| {
        if within(&sure) { Ok(sure) } else { Err("it must be between 0.5 and 0.9999".to_owned()) }
    })
}

impl MeasureArgs {
    /// Whether something else than every verdict decides.
    pub(in crate::cli) fn is_given(&self) -> bool {
        self.require.is_some() || self.baseline.is_some()
    }

    /// How the result is decided. Reads the baseline, before anything runs.
    pub(in crate::cli) fn measure(&self, cases: &[Case]) -> Result<Measure, CliError> {
        Ok(match (&self.baseline, self.require) {
            (Some(path), _) => Measure::baseline(path, self.update_baseline, cases)?,
            (None, Some(share)) => Measure::Rate(Requirement { share, confidence: self.confidence }),
            (None, None) => Measure::Verdicts,
        })
    }
}
