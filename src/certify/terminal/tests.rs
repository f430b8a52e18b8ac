use super::super::statement::NoCertificate;
use super::super::statement::tests::{sample_battery, sample_facts};
use super::*;
use crate::certify::statement::{Conclusion, statement};

const VIEW: View = View { width: 100, color: false, verbose: false };

fn certification(change: impl FnOnce(&mut crate::certify::BatteryResult)) -> Certification {
    let mut battery = sample_battery();
    change(&mut battery);
    let facts = sample_facts();
    let conclusion = Conclusion::of(&battery.trials, facts.asked);
    let made = statement(&battery, facts).map(Box::new);
    Certification { battery, conclusion, statement: made, signed_by: Some("0123456789abcdef0123".to_owned()) }
}

#[test]
fn a_certificate_on_one_screen() {
    insta::assert_snapshot!(certification_text(&certification(|_| ()), &VIEW));
}

#[test]
fn a_failure_on_one_screen() {
    let text = certification_text(
        &certification(|battery| {
            let trial = &mut battery.trials[3];
            trial.outcome = crate::certify::ProbeOutcome::Failed;
            trial.sentence = "`create` twice with one key → two effects".to_owned();
            battery.findings.push("`create` has no key that reaches the backend.".to_owned());
        }),
        &VIEW,
    );
    assert!(text.lines().count() <= 24, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn every_reason_for_no_certificate_is_said() {
    let reasons = [
        certification(|battery| battery.controls[0].found = "2".to_owned()),
        certification(|battery| battery.controls.clear()),
        certification(|battery| battery.trials[3].outcome = crate::certify::ProbeOutcome::Void),
        certification(|battery| battery.trials.truncate(40)),
        certification(|battery| battery.trials.clear()),
        certification(|battery| battery.interrupted = true),
    ];
    let text = |certification: &Certification| match &certification.statement {
        Err(why) => why.to_string(),
        Ok(_) => "a certificate".to_owned(),
    };
    insta::assert_snapshot!(reasons.iter().map(text).collect::<Vec<_>>().join("\n"));
    assert!(matches!(reasons[5].statement, Err(NoCertificate::Interrupted)));
}
