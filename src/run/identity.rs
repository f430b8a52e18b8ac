//! What must be the same to resume a run: otherwise its report would mix two runs. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Plan, RunOptions};
use crate::scenario::Case;
use crate::subject::{Settings, Subject};

/// The identity of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    hapax: String,
    subject: String,
    /// A digest of the settings of the subject.
    settings: String,
    trials: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    /// The hash of the plan of all parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<String>,
    /// A digest of all cases: a subject that can read it must not learn which ones they are.
    cases: String,
}

impl Identity {
    /// The identity of a run that starts now.
    #[must_use]
    pub fn new(plan: &Plan, subject: &Subject, options: &RunOptions) -> Self {
        let RunOptions { trials, time, claims_optional, partition, .. } = options;
        Identity {
            hapax: env!("CARGO_PKG_VERSION").to_owned(),
            subject: subject.name.clone(),
            settings: fingerprint(&(&subject.kind, &subject.settings, time, claims_optional)),
            trials: *trials,
            part: partition.map(|partition| partition.to_string()),
            whole: plan.whole.as_ref().map(|whole| whole.hash.clone()),
            cases: of_cases(plan.cases.values().map(|case| &**case)),
        }
    }

    /// The difference to the run that was started; `None` if it can be resumed.
    #[must_use]
    pub fn differs(&self, now: &Self) -> Option<String> {
        let whole = |part: &Option<String>| part.clone().unwrap_or_else(|| "the whole".to_owned());
        let facts = [
            ("the version of hapax", self.hapax.clone(), now.hapax.clone()),
            ("the subject", self.subject.clone(), now.subject.clone()),
            ("the number of trials", self.trials.to_string(), now.trials.to_string()),
            ("the partition", whole(&self.part), whole(&now.part)),
        ];
        if let Some((what, was, is)) = facts.into_iter().find(|(_, was, is)| was != is) {
            return Some(format!("{what} was {was}, and now is {is}"));
        }
        if self.settings != now.settings {
            return Some(
                "the settings of the subject, --timeout, --claims or --promise have changed".to_owned(),
            );
        }
        if self.cases == now.cases && self.whole != now.whole {
            return Some("--seed, --durations or a scenario of another part has been changed".to_owned());
        }
        (self.cases != now.cases).then(|| {
            let seed = if self.whole.is_some() { ", or --seed or --durations" } else { "" };
            format!("other cases were selected, or a scenario of one of them{seed} has been changed")
        })
    }
}

/// A digest of the settings of the subject that is the same on every machine: the path of its folder does not
/// matter.
pub(crate) fn of_settings(subject: &Subject, options: &RunOptions) -> String {
    let settings = Settings { directory: None, hapax: None, ..subject.settings.clone() };
    fingerprint(&(&subject.kind, settings, options.time, options.claims_optional))
}

/// The hash of the plan of all parts: what runs, with which seeds, for which subject, and how it is split. It is the same
/// on every machine.
pub(super) fn of_whole(plan: &Plan, subject: &Subject, options: &RunOptions) -> String {
    let mut trials: Vec<(&str, u32, u64)> =
        plan.trials.iter().map(|planned| (planned.case.as_str(), planned.trial, planned.seed)).collect();
    trials.sort_unstable();
    fingerprint(&(
        env!("CARGO_PKG_VERSION"),
        &plan.digest,
        (&subject.name, of_settings(subject, options)),
        &plan.skipped,
        trials,
        options.partition.map(|partition| partition.of),
        options.durations.as_ref().map(|durations| &durations.digest),
    ))
}

/// A digest of a case. Its position in the file does not matter.
pub(super) fn of_case(case: &Case) -> String {
    fingerprint(&Case { file: String::new(), line: 0, ..case.clone() })
}

/// A digest of a set of cases.
pub(crate) fn of_cases<'a>(cases: impl IntoIterator<Item = &'a Case>) -> String {
    let digests: BTreeMap<&str, String> =
        cases.into_iter().map(|case| (case.id.as_str(), of_case(case))).collect();
    fingerprint(&digests)
}

/// A digest of the serialized value: equal for equal values.
fn fingerprint(value: &impl Serialize) -> String {
    // The digested values are plain data with text keys, so this does not fail; if it did, the error would
    // differ from every digest of a value.
    let text = serde_json::to_string(value).unwrap_or_else(|error| format!("not serializable: {error}"));
    hex::encode(&Sha256::digest(text)[..16])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use yaml_reader::Source;

    use super::*;
    use crate::scenario::read_scenario;

    const CHARGE: &str = "about: A charge.\ntags: [payment]\ntask: Charge.\n\
    steps: [{do: payment.charge, with: {customer: cus_1, amount: 1, currency: usd, order: o1}}]\n\
    expect: {effects: [{effect: payment.charge, where: {order: o1}}]}\n\
    matrix: {reply: [drop, reset]}\nfaults: [{on: payment.charge, reply: \"${reply}\"}]\n";

    fn options() -> RunOptions {
        RunOptions { trials: 2, seed: 7, ..RunOptions::default() }
    }

    fn identity(text: &str, subject: &Subject, options: &RunOptions) -> Identity {
        let cases = read_scenario(&Source::new("a.yaml", text), "a").unwrap();
        Identity::new(&Plan::new(cases, subject, options).unwrap(), subject, options)
    }

    #[test]
    fn the_same_run_can_be_resumed_wherever_its_scenarios_are_in_their_files() {
        let first = identity(CHARGE, &Subject::control("naive"), &options());
        let again = identity(&format!("# a remark\n{CHARGE}"), &Subject::control("naive"), &options());
        assert_eq!(first.differs(&again), None);
        let read: Identity = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();
        assert_eq!(read, first);
    }

    #[test]
    fn what_is_not_as_it_was_is_named() {
        let naive = Subject::control("naive");
        let first = identity(CHARGE, &naive, &options());
        let mut renamed = naive.clone();
        renamed.settings.grace += Duration::from_secs(1);
        let now = [
            identity(CHARGE, &Subject::control("careful"), &options()),
            identity(CHARGE, &renamed, &options()),
            identity(CHARGE, &naive, &RunOptions { trials: 3, ..options() }),
            identity(CHARGE, &naive, &RunOptions { partition: Some("1/1".parse().unwrap()), ..options() }),
            identity(CHARGE, &naive, &RunOptions { claims_optional: true, ..options() }),
            identity(&CHARGE.replace("[drop, reset]", "[drop]"), &naive, &options()),
            identity(&CHARGE.replace("[drop, reset]", "[drop, reset, hang]"), &naive, &options()),
            identity(&CHARGE.replace("amount: 1", "amount: 2"), &naive, &options()),
            identity(
                &CHARGE.replace("where: {order: o1}", "where: {order: o1}, times: 2"),
                &naive,
                &options(),
            ),
        ];
        let messages: Vec<String> = now.iter().map(|now| first.differs(now).unwrap()).collect();
        insta::assert_snapshot!(messages.join("\n"));
    }
}
