use mock_services::yaml::Source;

use super::*;
use crate::scenario::read_scenario;

fn cases(more: &str) -> Vec<Case> {
    let text = format!(
        "about: A charge.\ntags: [payment]\ntask: Charge.\n\
         steps: [{{do: payment.charge, with: {{customer: cus_1, amount: 1, currency: usd, order: o1}}}}]\n\
         expect: {{effects: [{{effect: payment.charge, where: {{order: o1}}}}]}}\n{more}"
    );
    read_scenario(&Source::new("a.yaml", text), "a").unwrap()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_case_that_waits_for_the_clients_timeout_has_time_for_it() {
    let case = &cases("faults: [{on: payment.charge, reply: {hang: until-timeout}}]\n")[0];
    let slow = Settings { client_timeout: Some(seconds(80)), ..Settings::default() };
    assert_eq!(
        TrialTimes::of(case, &slow, None),
        TrialTimes { limit: case.timeout + seconds(100), silence: seconds(100) }
    );
    let own = Settings { time: Some(seconds(10)), ..slow.clone() };
    assert_eq!(TrialTimes::of(case, &own, None).limit, seconds(110));
    assert_eq!(TrialTimes::of(case, &Settings::default(), None).silence, seconds(30) + seconds(30) / 4);
    let quick = Settings { client_timeout: Some(seconds(1)), ..Settings::default() };
    assert_eq!(TrialTimes::of(case, &quick, None).silence, seconds(6));
    // The command line has the last word, and leaves time for what comes after the silence.
    assert_eq!(
        TrialTimes::of(case, &slow, Some(seconds(20))),
        TrialTimes { limit: seconds(20), silence: seconds(15) }
    );
}

#[test]
fn every_silence_counts_and_no_other_case_gets_more_time() {
    let three = &cases("faults: [{on: payment.charge, attempt: 1..3, reply: {hang: until-timeout}}]\n")[0];
    assert_eq!(silences(three), 3);
    let settings = Settings { client_timeout: Some(seconds(4)), ..Settings::default() };
    assert_eq!(TrialTimes::of(three, &settings, None).limit, three.timeout + seconds(27));
    let other = &cases("faults: [{on: payment.charge, reply: {hang: {release: 1s}}}]\n")[0];
    assert_eq!(TrialTimes::of(other, &settings, None).limit, other.timeout);
}
