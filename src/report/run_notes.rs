//! Notes about a whole run, for all formats: what was not run, how it was judged, and what it took its time for.

use crate::domain::Promise;
use crate::results::tally::Tally;
use crate::results::{Report, RunTime, WaitTimes};
use crate::text::words::{counted, duration};

/// The note that no case belongs to this part of a run; `None` if it is not an empty part.
pub(crate) fn empty_part(report: &Report) -> Option<String> {
    let (part, parts) = report.partition.filter(|_| report.is_empty_part())?;
    Some(format!(
        "Part {part} of {parts} has no cases: all selected cases are in other parts. \
         Nothing was run, and nothing failed."
    ))
}

/// The note that a lower promise than exactly once was scored.
pub(crate) fn promised(report: &Report) -> Option<String> {
    (report.promise() == Promise::AtMostOnce).then(|| {
        "Judged by the promise at-most-once: a lost effect passes where the subject claimed not-done or \
         unknown; a \
         duplicate never passes."
            .to_owned()
    })
}

/// The note that claims were optional, with the number of missing ones.
pub(crate) fn lenient(tally: &Tally) -> Option<String> {
    let silent = tally.silent?;
    Some(format!(
        "Claims were optional (--claims optional): {} without a claim did not fail.",
        counted(silent, "trial")
    ))
}

/// A sentence about the missing trials; `None` if the run is complete.
pub(crate) fn partial(tally: &Tally, report: &Report) -> Option<String> {
    let planned = report.planned;
    match (report.interrupted, tally.not_run) {
        (false, 0) => None,
        (_, 0) => Some("Interrupted: only the finished trials are shown.".to_owned()),
        (true, not_run) => Some(format!("Interrupted: {not_run} of {planned} planned trials were not run.")),
        (false, not_run) => Some(format!("Partial: {not_run} of {planned} planned trials were not run.")),
    }
}

/// What the run took its time for, in one line.
pub(crate) fn time_line(time: &RunTime) -> String {
    let longest = time.longest.as_ref();
    let longest =
        longest.map(|trial| format!("longest trial {} ({})", duration(trial.duration_ms), trial.case));
    let processor = time.processor_ms.map(|spent| {
        let cores = if time.cores == 1 { "core" } else { "cores" };
        format!("processor time {} on {} {cores}", duration(spent), time.cores)
    });
    let WaitTimes { barriers_ms, hangs_ms, replies_ms, restarts_ms, subject_ms } = time.waited;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::LongestTrial;

    #[test]
    fn the_largest_waits_are_named_first() {
        let longest = Some(LongestTrial { case: "payment/clean".to_owned(), trial: 1, duration_ms: 25_400 });
        let waited =
            WaitTimes { barriers_ms: 50_000, hangs_ms: 3_000, subject_ms: 61_000, ..WaitTimes::default() };
        let time = RunTime { cores: 2, processor_ms: Some(40_000), longest, waited };
        assert_eq!(
            time_line(&time),
            "longest trial 25.4 s (payment/clean); processor time 40.0 s on 2 cores; all callers together: \
             1 min 1 s in the subject, 50.0 s at barriers, 3.0 s for hanging replies"
        );
        assert_eq!(time_line(&RunTime::default()), "");
    }
}
