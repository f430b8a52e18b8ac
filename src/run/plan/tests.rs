use proptest::prelude::*;
use yaml_reader::Source;

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

fn options(trials: u32) -> RunOptions {
    RunOptions { trials, seed: 7, ..RunOptions::default() }
}

#[test]
fn every_case_has_its_first_trial_before_any_has_its_second() {
    let cases =
        cases("matrix: {reply: [drop, reset]}\nfaults: [{on: payment.charge, reply: \"${reply}\"}]\n");
    let plan = Plan::new(cases, &Subject::control("naive"), &options(2)).unwrap();
    let rounds: Vec<u32> = plan.trials.iter().map(|planned| planned.trial).collect();
    assert_eq!(rounds, [1, 1, 2, 2]);
    let cases: std::collections::BTreeSet<&str> =
        plan.trials[..2].iter().map(|planned| planned.case.as_str()).collect();
    assert_eq!(cases.into_iter().collect::<Vec<_>>(), ["a@reply=drop", "a@reply=reset"]);
}

#[test]
fn the_order_of_the_trials_comes_from_the_seed_and_not_from_the_ids() {
    let matrix = "matrix: {reply: [drop, reset, garble, truncate, {status: 500}, {status: 502}, \
                  {status: 503}, {status: 504}]}\n\
                  faults: [{on: payment.charge, reply: \"${reply}\"}]\n";
    let order = |seed: u64| -> Vec<String> {
        let options = RunOptions { seed, ..options(1) };
        let plan = Plan::new(cases(matrix), &Subject::control("naive"), &options).unwrap();
        plan.trials.into_iter().map(|planned| planned.case).collect()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    // How often each case comes first over many runs: every one of them does.
    let first: std::collections::BTreeSet<String> = (0..200).map(|seed| order(seed).swap_remove(0)).collect();
    assert_eq!(first.len(), 8, "{first:?}");
}

#[test]
fn the_record_of_a_plan_names_no_case_and_no_seed_and_hides_what_is_left() {
    let mut subject = Subject::control("naive");
    let mut plan = Plan::new(cases(""), &subject, &options(2)).unwrap();
    let (first, parts) = plan.record(&subject, &options(2), 0);
    assert_eq!((first.count(), first.known()), (2, 0));
    let text = serde_json::to_string(&first).unwrap();
    let seeds = plan.trials.iter().map(|planned| planned.seed.to_string());
    for secret in seeds.chain(["\"a\"".to_owned()]) {
        assert!(!text.contains(&secret), "{secret} {text}");
    }
    let mut opened = first.clone();
    for planned in &plan.trials {
        let json = parts.of(planned);
        assert!(opened.reveal(&json, serde_json::from_str(&json).unwrap()));
        assert!(!opened.reveal(&json, serde_json::from_str(&json).unwrap()), "each is there once");
    }
    assert_eq!(opened.cases[0].seeds.len(), 2);
    assert!(first.has_seed(options(2).seed) && !first.has_seed(options(2).seed + 1));
    // Nobody can find out the hashes of a plan by trying: they differ in every run.
    assert_ne!(plan.record(&subject, &options(2), 0).0.hidden, first.hidden);
    subject.settings.directory = Some("elsewhere".into());
    plan.resume(vec![("a".to_owned(), ended(&plan.trials[0]))]);
    let (again, _) = plan.record(&subject, &options(2), 1);
    assert_eq!((again.count(), &again.settings), (1, &first.settings));
    subject.settings.watch += Duration::from_secs(1);
    assert_ne!(plan.record(&subject, &options(2), 1).0.settings, first.settings);
}

#[test]
fn a_case_that_needs_more_than_the_subject_can_is_skipped_and_shown() {
    let mut subject = Subject::control("naive");
    subject.settings.can = vec!["email".to_owned(), "payment.refund".to_owned()];
    let plan = Plan::new(cases(""), &subject, &options(1)).unwrap();
    assert!(plan.trials.is_empty());
    assert_eq!(plan.skipped[0].why, "needs payment.charge, which `can` of naive does not name");
    for can in ["payment", "payment.*", "payment.charge"] {
        subject.settings.can = vec![can.to_owned()];
        assert!(Plan::new(cases(""), &subject, &options(1)).unwrap().skipped.is_empty(), "{can}");
    }
}

#[test]
fn a_case_that_requires_a_model_is_skipped_for_agents_that_do_not_use_one() {
    let cases = || cases("services: {model: {}}\nrequires: model\n");
    let mut subject = Subject::command(vec!["agent".to_owned()]);
    let skipped = |subject: &Subject| Plan::new(cases(), subject, &options(1)).unwrap().skipped;
    assert_eq!(
        skipped(&subject)[0].why,
        "needs an agent that uses the service `model`: if agent does, add `--with model`, or `model: {}` for \
         it in hapax.yaml"
    );
    subject.settings.services.0.extend(crate::scenario::default_setup("model"));
    assert!(skipped(&subject).is_empty());
    assert!(skipped(&Subject::control("naive")).is_empty(), "the controls use it");
}

#[test]
fn a_case_that_requires_mcp_is_skipped_for_agents_that_do_not_get_tools() {
    let cases = || cases("requires: mcp\n");
    let mut subject = Subject::command(vec!["agent".to_owned()]);
    let skipped = |subject: &Subject| Plan::new(cases(), subject, &options(1)).unwrap().skipped;
    assert_eq!(
        skipped(&subject)[0].why,
        "needs an agent that gets its tools over MCP: if agent does, add `--via mcp`, or `via: mcp` for it in \
         hapax.yaml"
    );
    subject.settings.via_mcp = true;
    assert!(skipped(&subject).is_empty());
    assert!(skipped(&Subject::control("naive")).is_empty(), "the controls can use tools");
}

#[test]
fn a_case_that_needs_another_api_is_skipped_and_shown() {
    let mail = |more: &str, via: &str| {
        let text = format!(
            "about: A mail.\ntags: [email]\ntask: Send.\n\
             steps: [{{do: email.send, with: {{to: a@b.example, subject: x{via}}}}}]\n\
             expect: {{effects: [{{effect: email.send, where: {{to: a@b.example}}}}]}}\n{more}"
        );
        read_scenario(&Source::new("a.yaml", text), "a").unwrap()
    };
    let mut subject = Subject::control("naive");
    let skipped = |subject: &Subject, cases: Vec<Case>| {
        Plan::new(cases, subject, &options(1))
            .unwrap()
            .skipped
            .into_iter()
            .map(|skipped| skipped.why)
            .collect::<Vec<_>>()
    };
    subject.settings.can = vec!["email.send via resend".to_owned()];
    let other = "needs email.send via smtp, which `can` of naive does not name";
    assert_eq!(skipped(&subject, mail("via: {email.send: smtp}\n", "")), [other]);
    assert_eq!(skipped(&subject, mail("", ", via: smtp")), [other]);
    for (more, via) in [("", ""), ("", ", via: resend"), ("via: {email.send: [smtp, resend]}\n", "")] {
        assert_eq!(skipped(&subject, mail(more, via)), [""; 0], "{more}{via}");
    }
    subject.settings.can = vec!["email".to_owned()];
    assert_eq!(skipped(&subject, mail("via: {email.send: smtp}\n", "")), [""; 0], "it says nothing of APIs");
}

#[test]
fn a_time_limit_shorter_than_a_fault_is_refused() {
    let slow = || cases("faults: [{on: payment.charge, reply: {hang: {release: 2s}}}]\n");
    let short = RunOptions { time: Some(Duration::from_secs(1)), ..options(1) };
    let error = Plan::new(slow(), &Subject::control("naive"), &short).unwrap_err();
    assert!(error.to_string().contains("the timeout of 1s is too short for a:"), "{error}");
    assert!(Plan::new(slow(), &Subject::control("naive"), &options(1)).is_ok());
}

#[test]
fn the_seed_of_a_trial_depends_on_run_case_and_number_alone() {
    assert_eq!(trial_seed(1, "a", 1), trial_seed(1, "a", 1));
    let others = [trial_seed(2, "a", 1), trial_seed(1, "b", 1), trial_seed(1, "a", 2)];
    assert!(others.iter().all(|other| *other != trial_seed(1, "a", 1)));
    assert!(trial_seed(1, "a", 1) < 1 << 48);
}

fn matrix_of_nine() -> Vec<Case> {
    cases(
        "matrix: {reply: [drop, reset, garble], keys: [stripe, none, ietf]}\nservices: {payment: {idempotency: \
         \"${keys}\"}}\nfaults: [{on: payment.charge, reply: \"${reply}\"}]\n",
    )
}

fn part(partition: &str, change: impl FnOnce(&mut RunOptions)) -> Plan {
    let mut options = RunOptions { partition: Some(partition.parse().unwrap()), ..options(2) };
    change(&mut options);
    Plan::new(matrix_of_nine(), &Subject::control("naive"), &options).unwrap()
}

#[test]
fn the_parts_of_a_plan_are_disjoint_and_together_the_plan_of_one_machine() {
    let whole = Plan::new(matrix_of_nine(), &Subject::control("naive"), &options(2)).unwrap();
    let key = |planned: &PlannedTrial| (planned.case.clone(), planned.trial, planned.seed);
    let mut all: Vec<_> = whole.trials.iter().map(key).collect();
    all.sort();
    for of in [1, 2, 5, 18, 30] {
        let parts: Vec<Plan> = (1..=of).map(|number| part(&format!("{number}/{of}"), |_| ())).collect();
        let mut found: Vec<_> = parts.iter().flat_map(|part| &part.trials).map(key).collect();
        found.sort();
        assert_eq!(found, all, "{of}");
        assert!(parts.iter().all(|part| part.whole == parts[0].whole && part.digest == whole.digest));
        let sizes: Vec<usize> = parts.iter().map(|part| part.trials.len()).collect();
        assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
        for part in &parts {
            assert!(part.cases.keys().all(|id| part.trials.iter().any(|planned| planned.case == *id)));
        }
    }
    assert_eq!(whole.whole, None);
}

#[test]
fn whatever_changes_the_plan_of_all_parts_changes_its_hash() {
    let hash = |plan: Plan| plan.whole.unwrap().hash;
    let first = hash(part("1/3", |_| ()));
    assert_eq!(hash(part("2/3", |_| ())), first);
    let others = [
        hash(part("1/2", |_| ())),
        hash(part("1/3", |options| options.seed = 8)),
        hash(part("1/3", |options| options.trials = 3)),
        hash(part("1/3", |options| options.claims_optional = true)),
        hash(part("1/3", |options| options.time = Some(Duration::from_secs(99)))),
    ];
    assert!(others.iter().all(|other| *other != first), "{first} {others:?}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let timed = |ms: u32| {
        let id = "a@reply=drop,keys=stripe";
        let report = serde_json::json!({"cases": [{"id": id, "trials": [{"duration_ms": ms}]}]});
        std::fs::write(&path, report.to_string()).unwrap();
        let durations = Some(Arc::new(Durations::read(folder.path()).unwrap()));
        part("1/3", |options| options.durations = durations).whole.unwrap()
    };
    let (one, other) = (timed(1), timed(2));
    assert!(one.hash != first && one.hash != other.hash && one.durations != other.durations);
}

proptest! {
    #[test]
    fn what_is_finished_is_not_run_again(done in proptest::collection::vec(any::<bool>(), 6)) {
        let matrix = "matrix: {reply: [drop, reset, garble]}\n\
                      faults: [{on: payment.charge, reply: \"${reply}\"}]\n";
        let mut plan = Plan::new(cases(matrix), &Subject::control("naive"), &options(2)).unwrap();
        let all = plan.trials.clone();
        let finished = all.iter().zip(&done).filter(|(_, done)| **done);
        let finished: Vec<_> = finished.map(|(planned, _)| planned.clone()).collect();
        plan.resume(finished.iter().map(|planned| (planned.case.clone(), ended(planned))).collect());
        prop_assert_eq!(plan.trials.len() + finished.len(), all.len());
        prop_assert!(plan.trials.iter().all(|planned| !finished.contains(planned)));
    }
}

fn ended(planned: &PlannedTrial) -> TrialReport {
    let verdict = crate::score::score(&crate::scenario::Terms::default(), &[], None);
    TrialReport {
        trial: planned.trial,
        seed: planned.seed,
        ledger: String::new(),
        seal: String::new(),
        duration_ms: 0,
        verdict,
        output: Vec::new(),
        replay: String::new(),
        first_try: None,
        scored: None,
        end: None,
    }
}

#[test]
fn no_two_seeds_are_the_same() {
    let seeds: std::collections::BTreeSet<u64> = (0..100).map(|_| random_seed().unwrap()).collect();
    assert_eq!(seeds.len(), 100);
    assert!(seeds.iter().all(|seed| *seed < 1 << 48));
}
