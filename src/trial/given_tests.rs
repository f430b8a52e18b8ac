//! What a subject is given says nothing about the case: over all shipped cases, those that give the same task
//! and steps to as many callers are the same to every byte, whatever their faults and interrupts. Ports,
//! which the system chooses, are masked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::scenario::{InterruptAction, Then, shipped};
use crate::subject::{Settings, given};

const SEED: u64 = 7;

/// Prepares a trial as a run does, and gives all that its callers are given at their first two starts, with
/// the names of all files.
async fn all_given(case: &Case, seed: u64, root: &Path) -> Value {
    let subject = Subject::command(vec!["agent".to_owned()]);
    let setup = Setup {
        sealed: None,
        rate: None,
        starting: StartingCallers::default(),
        explain: None,
        keys: RunKeys::default(),
        name: format!("{}#1", case.id),
        seed,
        dir: root.join(OpaqueNames::new(seed).folder(1)),
        limits: Limits { time: case.timeout, ..Limits::default() },
        claims_optional: false,
        longest_silence: std::time::Duration::from_secs(1),
        client_timeout: std::time::Duration::from_secs(1),
    };
    let clock = Clock::default();
    let ledger = Ledger::new(&setup.name, seed, clock);
    let log = EventLog::new(ledger.clone());
    let world = prepare(case, &subject, &setup, &ledger, clock).await.unwrap();
    let TrialWorld { services, recorders, endpoints, directories } = world;
    let services = Arc::new(services);
    let interrupter =
        Interrupter::watch(&case.interrupts, &services, vec![None; case.callers as usize], &log);
    let person = super::person::Person::new(case, &case.terms, &log);
    let mut callers = Vec::new();
    for ((number, recorder), endpoint) in (1..=case.callers).zip(&recorders).zip(&endpoints) {
        let (case, subject, setup) = (case, &subject, &setup);
        let caller = Caller {
            number,
            case,
            subject,
            setup,
            services: &services,
            interrupter: &interrupter,
            overlap: None,
            interleaver: None,
            person: &person,
            log: &log,
            recorder,
            endpoint: Some(endpoint),
            directories: &directories,
            supervisor: SupervisorId::default(),
            accepted: AcceptedTask::default(),
            webhook_secrets: &[],
        };
        let work = caller.first_work();
        for start in [1, 2] {
            let [mut order, body] =
                given(&["agent", "--flag"], &Settings::default(), &caller.start(start, &work));
            // How long it may take is for the supervisor, and the subject cannot see it.
            order["limits"]["time"] = Value::Null;
            callers.push(json!({ "number": number, "start": start, "order": order, "body": body }));
        }
    }
    let given = json!({ "callers": callers, "files": files(&setup.dir, root) });
    std::fs::remove_dir_all(&setup.dir).unwrap();
    serde_json::from_str(&without_ports(&given.to_string())).unwrap()
}

/// The names of all files and folders, sorted.
fn files(folder: &Path, root: &Path) -> Vec<String> {
    let mut found = vec![folder.strip_prefix(root).unwrap().display().to_string()];
    let is_folder = std::fs::metadata(folder).unwrap().is_dir();
    for entry in is_folder.then(|| std::fs::read_dir(folder).unwrap()).into_iter().flatten() {
        found.extend(files(&entry.unwrap().path(), root));
    }
    found.sort();
    found
}

fn without_ports(text: &str) -> String {
    let mut parts = text.split("127.0.0.1:");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |text, rest| {
        text + "127.0.0.1:PORT" + rest.trim_start_matches(|digit: char| digit.is_ascii_digit())
    })
}

/// What a subject is meant to know: how many callers there are, the task and the steps of each, which services
/// there are, and whether they are only tools.
fn waiting(case: &Case) -> String {
    let services: Vec<String> = case.services.iter().map(|service| service.name.clone()).collect();
    let is_tools = case.requires_mcp();
    format!("{} {:?} {:?} {services:?} {is_tools}", case.callers, case.work, case.each)
}

fn cancels(case: &Case) -> bool {
    case.interrupts.iter().any(|interrupt| matches!(interrupt.action, InterruptAction::Cancel))
}

#[tokio::test]
async fn nothing_that_a_subject_gets_distinguishes_the_shipped_cases() {
    let root = tempfile::tempdir().unwrap();
    let mut groups: BTreeMap<String, Vec<(Case, Value)>> = BTreeMap::new();
    for case in shipped().unwrap() {
        let given = all_given(&case, SEED, root.path()).await;
        groups.entry(waiting(&case)).or_default().push((case, given));
    }
    for members in groups.values() {
        let (first, expected) = &members[0];
        for (case, given) in members {
            assert_eq!(format!("{given:#}"), format!("{expected:#}"), "{} and {}", case.id, first.id);
        }
    }
    // Otherwise nothing was compared.
    let all: usize = groups.values().map(Vec::len).sum();
    let compared: usize = groups.values().map(Vec::len).filter(|members| *members > 1).sum();
    assert!(
        all > 300 && compared * 10 > all * 9,
        "{compared} of {all} cases have another one to be compared with"
    );
    let beside = |is: fn(&Case) -> bool| {
        groups.values().any(|members| {
            members.iter().any(|(case, _)| is(case)) && members.iter().any(|(case, _)| !is(case))
        })
    };
    assert!(
        beside(cancels) && beside(|case| case.faults.is_empty()) && beside(|case| case.interrupts.is_empty())
    );
}

#[test]
fn every_task_text_occurs_in_a_case_in_which_nothing_goes_wrong() {
    let cases = shipped().unwrap();
    let is_clean = |case: &&Case| {
        case.tags.iter().any(|tag| tag == "clean")
            && case.faults.is_empty()
            && case.interrupts.is_empty()
            && case.turns.is_empty()
            && case.callers == 1
    };
    let clean: BTreeSet<&str> = cases.iter().filter(is_clean).map(|case| case.work.task.as_str()).collect();
    let mut telling = BTreeSet::new();
    for case in &cases {
        let restarts = case.interrupts.iter().filter_map(|interrupt| match &interrupt.then {
            Then::Restart { work, .. } => work.as_ref().filter(|work| !work.is_none()),
            Then::End => None,
        });
        let main = case.each.is_empty().then_some(&case.work);
        for work in main.into_iter().chain(&case.each).chain(&case.turns).chain(restarts) {
            if !clean.contains(work.task.as_str()) {
                telling.insert((work.task.as_str(), case.scenario.as_str()));
            }
        }
    }
    assert!(telling.is_empty(), "{telling:#?}");
}

#[tokio::test]
async fn all_names_and_keys_come_from_the_seed_and_differ_between_callers() {
    let root = tempfile::tempdir().unwrap();
    let case = shipped().unwrap().into_iter().find(|case| case.callers == 12).unwrap();
    let tokens = |given: &Value, number: u32| -> BTreeMap<String, String> {
        let caller =
            given["callers"].as_array().unwrap().iter().find(|caller| caller["number"] == number).unwrap();
        let env = caller["order"]["env"].as_array().unwrap().iter();
        let pairs =
            env.map(|pair| (pair[0].as_str().unwrap().to_owned(), pair[1].as_str().unwrap().to_owned()));
        let is_random = |name: &str| {
            ["HAPAX_TRIAL", "HAPAX_CALLER", "HAPAX_STATE_DIR", "HAPAX_SHARED_DIR", "HAPAX_RESULT"]
                .contains(&name)
                || (name.starts_with("HAPAX_") && name.ends_with("_KEY"))
        };
        pairs.filter(|(name, _)| is_random(name)).collect()
    };
    let [one, again, other] = [
        all_given(&case, 1, root.path()).await,
        all_given(&case, 1, root.path()).await,
        all_given(&case, 2, root.path()).await,
    ];
    assert_eq!(format!("{one:#}"), format!("{again:#}"));
    let (one_tokens, other_tokens) = (tokens(&one, 1), tokens(&other, 1));
    assert!(one_tokens.len() >= 6, "{one_tokens:?}");
    for (name, value) in &one_tokens {
        assert_ne!(value, &other_tokens[name], "{name} depends on the seed");
        assert_eq!(value.len(), other_tokens[name].len(), "{name}");
    }
    for number in 2..=12 {
        let caller = tokens(&one, number);
        for name in ["HAPAX_CALLER", "HAPAX_STATE_DIR", "HAPAX_RESULT"] {
            assert_ne!(caller[name], one_tokens[name], "{name} is that of one caller");
        }
        for name in ["HAPAX_TRIAL", "HAPAX_SHARED_DIR"] {
            assert_eq!(caller[name], one_tokens[name], "{name} is that of all callers");
        }
    }
}
