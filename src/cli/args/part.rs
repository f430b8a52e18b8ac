//! The arguments that say which part of a run this machine does, and its share of a rate.

use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::error::CliError;
use crate::process_env;
use crate::run::{Durations, Partition, RunOptions};
use crate::subject::{Rate, RateLimiter, Subject};

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

    /// Send at most this many requests to allowed hosts, such as 60/m; a part of a run gets its share, or all of it with
    /// 60/m/part
    #[arg(long, value_name = "N/UNIT")]
    rate: Option<Rate>,
}

fn partition(text: &str) -> Result<Partition, String> {
    match text {
        "auto" => Partition::from_scheduler(process_env::text),
        _ => text.parse(),
    }
}

impl PartArgs {
    /// The options for this part.
    pub(in crate::cli) fn apply(
        &self,
        options: RunOptions,
        subject: &Subject,
    ) -> Result<RunOptions, CliError> {
        if self.has_rate() && subject.settings.hosts.allow.is_empty() {
            return Err(CliError::with_hint(
                "--rate limits requests to allowed hosts, and no host is allowed",
                "allow the host of the model or API with --allow HOST, or leave --rate out",
            ));
        }
        let parts = self.partition.map_or(1, |partition| partition.of);
        let rate = self.rate.map(|rate| Arc::new(RateLimiter::new(rate, parts)));
        let durations = self.durations.as_deref().map(Durations::read).transpose().map_err(|why| {
            CliError::with_hint(
                format!("--durations: {why}"),
                "name the report.json of an earlier run, the same file for every part",
            )
        })?;
        Ok(RunOptions { partition: self.partition, durations: durations.map(Arc::new), rate, ..options })
    }

    pub(in crate::cli) fn has_rate(&self) -> bool {
        self.rate.is_some()
    }
}
