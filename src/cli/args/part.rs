//! The arguments that say which part of a run this machine does.

use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::error::CliError;
use crate::process_env;
use crate::run::{Durations, Partition, RunOptions};

/// Which part of the trials is run.
#[derive(clap::Args)]
pub(in crate::cli) struct PartArgs {
    /// Run one part of the trials: 1/4 is the first of four parts; auto is the part that Slurm, Kubernetes, AWS Batch,
    /// GitLab, CircleCI or Buildkite gives this job, or HAPAX_PART of HAPAX_PARTS
    #[arg(long, value_name = "PART/OF", value_parser = partition)]
    pub(in crate::cli) partition: Option<Partition>,

    /// Split the trials by how long they took in this report, so that the parts take equally long; every part needs
    /// the same file
    #[arg(long, value_name = "REPORT", requires = "partition")]
    durations: Option<PathBuf>,
}

fn partition(text: &str) -> Result<Partition, String> {
    match text {
        "auto" => Partition::from_scheduler(process_env::text),
        _ => text.parse(),
    }
}

impl PartArgs {
    /// The options for this part.
    pub(in crate::cli) fn apply(&self, options: RunOptions) -> Result<RunOptions, CliError> {
        let durations = self.durations.as_deref().map(Durations::read).transpose().map_err(|why| {
            CliError::with_hint(
                format!("--durations: {why}"),
                "name the report.json of an earlier run, the same file for every part",
            )
        })?;
        Ok(RunOptions { partition: self.partition, durations: durations.map(Arc::new), ..options })
    }
}
