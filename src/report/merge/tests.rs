use proptest::prelude::*;

use super::*;
use crate::report::sample;

/// The sample run in so many parts, its cases dealt out in turn.
fn parts(count: u32) -> Vec<(String, Report)> {
    let (report, _) = sample::run();
    (1..=count)
        .map(|part| {
            let mut one = report.clone();
            one.partition = Some((part, count));
            one.cases =
                report.cases.iter().skip(part as usize - 1).step_by(count as usize).cloned().collect();
            (format!("part-{part}"), one)
        })
        .collect()
}

fn refused(parts: &[(String, Report)]) -> String {
    let error = merge(parts).unwrap_err();
    format!("{error}\n{}", error.help())
}

#[test]
fn parts_make_the_run_that_they_are_parts_of_in_any_order() {
    let (whole, _) = sample::run();
    let mut parts = parts(3);
    parts.rotate_left(1);
    let merged = merge(&parts).unwrap();
    assert_eq!((&merged.cases, &merged.skipped, merged.partition), (&whole.cases, &whole.skipped, None));
}

#[test]
fn trials_of_one_case_in_two_parts_are_merged() {
    let mut parts = parts(2);
    let case = parts[0].1.cases[0].clone();
    let mut more = case.clone();
    more.trials[0].trial = 2;
    parts[1].1.cases.push(more);
    let merged = merge(&parts).unwrap();
    let found = merged.cases.iter().find(|have| have.id == case.id).unwrap();
    assert_eq!(found.trials.iter().map(|trial| trial.trial).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn parts_of_different_runs_are_refused_with_a_hint() {
    let mut messages = vec![refused(&[])];
    messages.push(refused(&parts(4)[1..3]));
    let mut twice = parts(2);
    twice[1].1.partition = Some((1, 2));
    messages.push(refused(&twice));
    let change = |what: &dyn Fn(&mut Report)| {
        let mut parts = parts(2);
        what(&mut parts[1].1);
        refused(&parts)
    };
    messages.push(change(&|report| "0.2.0".clone_into(&mut report.hapax)));
    messages.push(change(&|report| report.seed = 8));
    messages.push(change(&|report| report.trials = 5));
    messages.push(change(&|report| "another".clone_into(&mut report.subject)));
    messages.push(change(&|report| report.partition = Some((2, 3))));
    messages.push(change(&|report| report.partition = None));
    messages.push(change(&|report| "f00d".clone_into(&mut report.digest)));
    let case = parts(2)[0].1.cases[0].clone();
    messages.push(change(&|report| report.cases.push(case.clone())));
    messages.push(change(&|report| {
        let mut other = case.clone();
        other.terms.callers = 99;
        report.cases.push(other);
    }));
    let mut whole = sample::run().0;
    whole.partition = None;
    messages.push(refused(&[("whole".to_owned(), whole)]));
    insta::assert_snapshot!(messages.join("\n\n"));
}

#[test]
fn a_report_that_claims_to_have_billions_of_parts_costs_nothing() {
    let mut parts = parts(1);
    parts[0].1.partition = Some((1, u32::MAX));
    assert!(matches!(merge(&parts), Err(MergeError::Missing { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn however_cases_are_dealt_out_the_parts_make_the_whole(
        deal in proptest::collection::vec(0usize..4, 9),
        turn in 0usize..4,
    ) {
        let (whole, _) = sample::run();
        let mut parts: Vec<(String, Report)> = (0..4u32)
            .map(|part| {
                let mut one = whole.clone();
                one.partition = Some((part + 1, 4));
                let dealt = whole.cases.iter().zip(&deal).filter(|(_, to)| **to == part as usize);
                one.cases = dealt.map(|(case, _)| case.clone()).collect();
                (format!("part-{part}"), one)
            })
            .collect();
        parts.rotate_left(turn);
        prop_assert_eq!(merge(&parts).unwrap().cases, whole.cases);
    }
}

#[test]
fn parts_that_were_judged_by_different_promises_are_refused() {
    let mut parts = parts(2);
    parts[1].1.cases.iter_mut().for_each(|case| case.terms.promise = crate::scenario::Promise::AtMostOnce);
    assert!(
        refused(&parts).contains("the promise is exactly-once in one and at-most-once in the other"),
        "{}",
        refused(&parts)
    );
}
