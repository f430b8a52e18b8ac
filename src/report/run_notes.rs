//! Notes about a whole run, for all formats: what was not run, how it was judged, and what it took its time for.

use std::collections::BTreeSet;

use yaml_reader::shown;

use crate::domain::Promise;
use crate::results::tally::Tally;
use crate::results::{self, CaseReport, Report, RunTime, SharedKey, TrialReport, WaitTimes, profiles_tested};
use crate::text::words::{counted, duration};

/// The note that no trial belongs to this part of a run; `None` if it is not an empty part.
pub(crate) fn empty_part(report: &Report) -> Option<String> {
    let (part, parts) = report.partition.filter(|_| report.is_empty_part())?;
    Some(format!(
        "Part {part} of {parts} has no trials: all trials are in other parts. \
         Nothing was run, and nothing failed."
    ))
}

/// With fewer cases, an effect that was never attempted is not what a whole run is about.
const MANY_CASES: usize = 3;

/// What a subject that never attempts some of the effects that are due should say in `hapax.yaml`, if it is not made
/// for them: the line is ready to paste. `None` if it attempted all of them, or none.
pub(crate) fn not_made_for(report: &Report) -> Option<String> {
    let made: BTreeSet<&str> = trials(report)
        .flat_map(|trial| &trial.verdict.attempts)
        .filter(|attempts| attempts.made > 0 || attempts.refused > 0)
        .map(|attempts| attempts.operation.as_str())
        .collect();
    let due = |case: &CaseReport| -> Vec<String> {
        let due = case.terms.intents.iter().filter(|intent| intent.least() > 0);
        due.map(|intent| intent.effect.clone()).filter(|effect| !made.contains(effect.as_str())).collect()
    };
    let lacking: Vec<Vec<String>> =
        report.cases.iter().map(due).filter(|missing| !missing.is_empty()).collect();
    let missing: BTreeSet<&String> = lacking.iter().flatten().collect();
    if made.is_empty() || lacking.len() < MANY_CASES {
        return None;
    }
    let service = |operation: &str| operation.split('.').next().unwrap_or_default().to_owned();
    let partly: BTreeSet<String> = missing.iter().map(|effect| service(effect)).collect();
    // A service of which nothing is missing is named as a whole.
    let can: BTreeSet<String> = made
        .iter()
        .map(|operation| match partly.contains(&service(operation)) {
            true => (*operation).to_owned(),
            false => service(operation),
        })
        .collect();
    let list = |items: Vec<String>| items.join(", ");
    Some(format!(
        "It never attempted {}, which {} ask for. If it is not made for that, write `can: [{}]` for it in \
         hapax.yaml, and these cases are skipped.",
        list(missing.into_iter().cloned().collect()),
        counted(lacking.len(), "case"),
        list(can.into_iter().collect())
    ))
}

fn trials(report: &Report) -> impl Iterator<Item = &TrialReport> {
    report.cases.iter().flat_map(|case| &case.trials)
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

/// The idempotency profiles that were tested.
pub(crate) fn profiles(report: &Report) -> Option<String> {
    profiles_tested(report.cases.iter().flat_map(|case| &case.idempotency))
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

/// The note that cases were skipped that the run had to prove.
pub(crate) fn unproven(report: &Report) -> Option<String> {
    let number = report.skipped.iter().filter(|skipped| skipped.unproven).count();
    (number > 0).then(|| {
        format!(
            "Not proven: {} skipped because of what the subject did without faults.",
            match number {
                1 => "1 case is".to_owned(),
                number => format!("{number} cases are"),
            }
        )
    })
}

/// The notes about idempotency keys that identify no request, one for each place.
pub(crate) fn shared_keys(report: &Report) -> Vec<String> {
    let shared = results::shared_keys(&report.cases);
    shared.iter().map(|key| format!("Not proven: {}.", shared_key(key))).collect()
}

/// Why a place has no idempotency key, and what to write instead.
pub(crate) fn shared_key(key: &SharedKey) -> String {
    let SharedKey { service, place, value, cases: [one, other] } = key;
    format!(
        "`{}` is no idempotency key of {}: it is `{}` in {one} and in {other}, which are about different things; name \
         the header or the field with a new value for each effect, for example key: header.Idempotency-Key",
        shown(place),
        shown(service),
        shown(value)
    )
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
    fn the_profiles_that_were_tested_are_named_by_service() {
        let pair = |service: &str, profile: &str| (service.to_owned(), profile.to_owned());
        let tested = [
            pair("payment", "xero"),
            pair("api.xero.com", "xero"),
            pair("payment", "none"),
            pair("payment", "xero"),
        ];
        assert_eq!(
            profiles_tested(&tested).unwrap(),
            "Idempotency profiles that were tested: api.xero.com xero; payment none, xero."
        );
        assert_eq!(profiles_tested(&[]), None);
    }

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
