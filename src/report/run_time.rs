//! What a run took its time for: its longest trial, its processor time, and what its trials waited for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::words::duration;

/// What a run took its time for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunTime {
    /// The number of cores.
    pub cores: u32,
    /// The processor time of hapax and of everything that it started, in milliseconds, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_ms: Option<u64>,
    /// The trial that took longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<LongestTrial>,
    /// What the callers of all trials waited for.
    pub waited: WaitTimes,
}

/// The trial of a run that took longest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LongestTrial {
    /// Its case.
    pub case: String,
    /// Its number.
    pub trial: u32,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// What callers waited for, in milliseconds. The times of all callers of all trials are added up; most of them
/// pass side by side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitTimes {
    /// At start barriers, for the other callers.
    pub barriers_ms: u64,
    /// For replies that hang, until the client's timeout or the end of the hang.
    pub hangs_ms: u64,
    /// For all other replies, such as delayed ones.
    pub replies_ms: u64,
    /// Between an end and the next start.
    pub restarts_ms: u64,
    /// The rest: the subject starts, works, sleeps before its retries, and ends.
    pub subject_ms: u64,
}

impl RunTime {
    /// What the run took its time for, in one line.
    pub(super) fn line(&self) -> String {
        let longest = self.longest.as_ref();
        let longest =
            longest.map(|trial| format!("longest trial {} ({})", duration(trial.duration_ms), trial.case));
        let processor = self.processor_ms.map(|time| {
            let cores = if self.cores == 1 { "core" } else { "cores" };
            format!("processor time {} on {} {cores}", duration(time), self.cores)
        });
        let WaitTimes { barriers_ms, hangs_ms, replies_ms, restarts_ms, subject_ms } = self.waited;
        let mut waits = [
            (subject_ms, "in the subject"),
            (hangs_ms, "for hanging replies"),
            (replies_ms, "for other replies"),
            (barriers_ms, "at barriers"),
            (restarts_ms, "before restarts"),
        ];
        waits.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        let waits = waits.iter().filter(|(time, _)| *time > 0);
        let waits: Vec<String> = waits.map(|(time, what)| format!("{} {what}", duration(*time))).collect();
        let waits = (!waits.is_empty()).then(|| format!("all callers together: {}", waits.join(", ")));
        [longest, processor, waits].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_waits_are_named_first() {
        let longest = Some(LongestTrial { case: "payment/clean".to_owned(), trial: 1, duration_ms: 25_400 });
        let waited =
            WaitTimes { barriers_ms: 50_000, hangs_ms: 3_000, subject_ms: 61_000, ..WaitTimes::default() };
        let time = RunTime { cores: 2, processor_ms: Some(40_000), longest, waited };
        assert_eq!(
            time.line(),
            "longest trial 25.4 s (payment/clean); processor time 40.0 s on 2 cores; all callers together: \
             1 min 1 s in the subject, 50.0 s at barriers, 3.0 s for hanging replies"
        );
        assert_eq!(RunTime::default().line(), "");
    }
}
