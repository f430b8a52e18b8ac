use super::*;
use crate::report::sample;

const VIEW: View = View { width: 90, color: false, verbose: false };

/// Cases of two scenarios, with so many trials that pass, fail and are void in each.
fn run(pass: usize, fail: usize, void: usize) -> Report {
    let (mut report, _) = sample::run_of(vec![sample::pass(1), sample::lost()]);
    let trials = |sampled: sample::SampleCase, times: usize| vec![sampled.0.trials[0].clone(); times];
    for case in &mut report.cases {
        case.trials =
            [trials(sample::pass(1), pass), trials(sample::lost(), fail), trials(sample::void(), void)]
                .concat();
    }
    report.trials = u32::try_from(pass + fail + void).unwrap();
    report
}

fn asked(share: f64) -> Requirement {
    Requirement { share, confidence: 0.95 }
}

#[test]
fn the_result_of_a_requirement_has_a_hint() {
    let messages = [
        asked(0.99).text(&run(150, 0, 0), &VIEW),
        asked(0.99).text(&run(80, 20, 0), &VIEW),
        asked(0.99).text(&run(10, 0, 3), &VIEW),
        asked(0.9).text(&run(9, 1, 0), &VIEW),
        asked(0.9).text(&run(0, 0, 2), &VIEW),
        asked(0.9).text(&run(150, 0, 1), &VIEW),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn void_trials_are_not_in_the_rate() {
    assert_eq!(pass_rate(&run(4, 1, 5)), pass_rate(&run(4, 1, 0)));
    assert_eq!(pass_rate(&run(0, 0, 5)).share(), None);
}

#[test]
fn a_requirement_is_judged_by_the_rate_of_the_run() {
    assert_eq!(asked(0.99).judge(&run(150, 0, 0)), TrialStatus::Pass);
    assert_eq!(asked(0.99).judge(&run(80, 20, 0)), TrialStatus::Fail);
    assert_eq!(asked(0.99).judge(&run(10, 0, 0)), TrialStatus::Void);
}

#[test]
fn what_proves_nothing_can_miss_a_requirement_but_not_meet_it() {
    assert_eq!(asked(0.99).judge(&run(150, 0, 1)), TrialStatus::Void);
    assert_eq!(asked(0.99).judge(&run(80, 20, 1)), TrialStatus::Fail);
    let interrupted = Report { interrupted: true, ..run(150, 0, 0) };
    assert_eq!(asked(0.99).judge(&interrupted), TrialStatus::Void);
}
