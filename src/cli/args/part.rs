//! The arguments that say which part of a run this machine does, and its share of a rate.

use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::error::CliError;
use crate::process_env;
use crate::run::{Durations, Partition, RunOptions};
use crate::subject::{RateLimiter, RequestRate, Subject, TokenPrice};

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
    rate: Option<RequestRate>,

    /// Count the tokens of a real model behind --allow, and what they cost, at this price in dollars for a million input
    /// and output tokens, such as 3/15; needs a client that accepts the authority of the run (--sealed or --intercept)
    #[arg(long, value_name = "INPUT/OUTPUT")]
    price: Option<TokenPrice>,
}

/// The part that this text names.
pub(in crate::cli) fn partition(text: &str) -> Result<Partition, String> {
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
                "--rate and --price are about requests to allowed hosts, and no host is allowed",
                "allow the host of the model or API with --allow HOST, or leave them out",
            ));
        }
        let parts = self.partition.map_or(1, |partition| partition.of);
        let limiter = match self.rate {
            Some(rate) => Some(RateLimiter::new(rate, parts)),
            None => self.price.map(|_| RateLimiter::unlimited()),
        };
        let rate = limiter.map(|limiter| Arc::new(limiter.priced(self.price)));
        let durations = self.durations.as_deref().map(Durations::read).transpose().map_err(|why| {
            CliError::with_hint(
                format!("--durations: {why}"),
                "name the report.json of an earlier run, the same file for every part",
            )
        })?;
        Ok(RunOptions { partition: self.partition, durations: durations.map(Arc::new), rate, ..options })
    }

    pub(in crate::cli) fn has_rate(&self) -> bool {
        self.rate.is_some() || self.price.is_some()
    }
}
