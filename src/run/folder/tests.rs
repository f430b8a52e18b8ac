use std::collections::BTreeMap;

use mock_services::Clock;
use mock_services::ledger::Ledger;

use super::*;
use crate::results::{FirstTry, PlannedCase, PlannedPart, part_hash, second_try_seed};
use crate::scenario::Terms;
use crate::score::TaskEnd;

fn trial(number: u32) -> TrialReport {
    let verdict = crate::score::score(&Terms::default(), &[], None);
    TrialReport {
        trial: number,
        seed: u64::from(number),
        ledger: format!("a#{number}"),
        seal: String::new(),
        duration_ms: 3,
        verdict,
        output: Vec::new(),
        replay: String::new(),
        first_try: None,
        scored: None,
        end: None,
    }
}

/// The same, as it is when its ledger has been read.
fn read_again(trial: TrialReport) -> TrialReport {
    TrialReport { end: Some(TaskEnd::Declined { claim: None, message: String::new() }), ..trial }
}

/// What the hash of a trial of the case `a` stands for.
fn part(id: &str, number: u32) -> String {
    let case = PlannedCase {
        id: "a".to_owned(),
        scenario: "a".to_owned(),
        digest: String::new(),
        seeds: BTreeMap::new(),
        terms: Terms::default(),
    };
    let seed = u64::from(number);
    let part = PlannedPart { salt: format!("{id} {number}"), trial: number, seed, case };
    serde_json::to_string(&part).unwrap()
}

/// Trials of one case.
fn plan(id: &str, resumed: u32, numbers: &[u32]) -> PlanRecord {
    let mut hidden: Vec<String> = numbers.iter().map(|number| part_hash(&part(id, *number))).collect();
    hidden.sort();
    PlanRecord {
        id: id.to_owned(),
        hapax: String::new(),
        subject: String::new(),
        settings: String::new(),
        trials: 2,
        part: None,
        whole: None,
        resumed,
        digest: String::new(),
        hidden,
        seed_hash: String::new(),
        seed: None,
        cases: vec![],
        skipped: vec![],
    }
}

fn begun(path: &Path) -> (RunFolder, Arc<LedgerFile>) {
    let folder = RunFolder::at(path).unwrap();
    let ledger = folder.begin(5, Identity::default(), &plan("first", 0, &[1, 2])).unwrap();
    (folder, ledger)
}

fn resume(path: &Path) -> Result<(RunFolder, Vec<(String, TrialReport)>), RunError> {
    RunFolder::resume(path, &Identity::default())
}

/// Writes the ledger of a trial, whose number is its seed.
fn closed(name: &str, number: u32, plan: &str, file: &LedgerFile) {
    let seed = u64::from(number);
    Ledger::held_until_closed(name, seed, Clock::default(), file, &part(plan, number)).close();
    file.flush().unwrap();
}

#[test]
fn two_runs_in_one_second_have_folders_of_their_own() {
    let reports = tempfile::tempdir().unwrap();
    let first = RunFolder::new_below(reports.path(), Timestamp::UNIX_EPOCH).unwrap();
    let second = RunFolder::new_below(reports.path(), Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(
        (first.name().as_str(), second.name().as_str()),
        ("1970-01-01T00-00-00Z", "1970-01-01T00-00-00Z-2")
    );
    assert!(first.link_latest().unwrap() && second.link_latest().unwrap());
    assert_eq!(fs::read_link(reports.path().join("latest")).unwrap(), Path::new(&second.name()));
}

#[test]
fn what_hapax_did_not_make_is_not_replaced_by_the_link() {
    let reports = tempfile::tempdir().unwrap();
    let folder = RunFolder::new_below(reports.path(), Timestamp::UNIX_EPOCH).unwrap();
    let latest = reports.path().join("latest");
    fs::write(&latest, "mine").unwrap();
    assert!(!folder.link_latest().unwrap());
    assert_eq!(fs::read_to_string(&latest).unwrap(), "mine");
    fs::remove_file(&latest).unwrap();
    for elsewhere in ["../elsewhere", "/elsewhere"] {
        std::os::unix::fs::symlink(elsewhere, &latest).unwrap();
        assert!(!folder.link_latest().unwrap(), "{elsewhere}");
        assert_eq!(fs::read_link(&latest).unwrap(), Path::new(elsewhere));
        fs::remove_file(&latest).unwrap();
    }
    assert!(folder.link_latest().unwrap());
}

#[test]
fn bytes_that_are_not_text_affect_only_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let (begun, ledger) = begun(&folder.path().join("run"));
    closed("a#1", 1, "first", &ledger);
    begun.keep("a", &trial(1), 3).unwrap();
    let path = begun.path().to_owned();
    drop(begun);
    let journal = path.join(JOURNAL);
    let mut bytes = fs::read(&journal).unwrap();
    bytes.extend(b"{\"case\":\"a\",\xff\xfe");
    fs::write(&journal, bytes).unwrap();
    let (_, finished) = resume(&path).unwrap();
    assert_eq!(finished, [("a".to_owned(), read_again(trial(1)))]);
}

#[test]
fn a_folder_that_holds_something_is_not_taken() {
    let taken = tempfile::tempdir().unwrap();
    fs::write(taken.path().join("mine"), "").unwrap();
    assert!(matches!(RunFolder::at(taken.path()), Err(RunError::Taken(_))));
}

#[test]
fn an_interrupted_run_continues_after_its_last_complete_trial() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let (first, ledger) = begun(&path);
    closed("a#1", 1, "first", &ledger);
    first.keep("a", &trial(1), 40).unwrap();
    drop((first, ledger));
    let mut journal = File::options().append(true).open(path.join(JOURNAL)).unwrap();
    journal.write_all(b"{\"case\":\"a\",\"tri").unwrap();
    let (again, finished) = resume(&path).unwrap();
    let before = again.before();
    assert_eq!((before.started_at, before.duration_ms, before.resumed), (Some(5), 40, 1));
    assert_eq!((before.plans[0].planned, before.plans[0].ended), (2, 1));
    assert_eq!(finished, [("a".to_owned(), read_again(trial(1)))]);
    let planned = PlannedTrial { case: "a".to_owned(), trial: 2, seed: 2 };
    assert_eq!(again.ledger_name(&planned, false), "a#2~2");
    let ledger = again.begin(9, Identity::default(), &plan("again", 1, &[2])).unwrap();
    closed("a#2~2", 2, "again", &ledger);
    again.keep("a", &TrialReport { ledger: "a#2~2".to_owned(), ..trial(2) }, 60).unwrap();
    drop((again, ledger));
    let (last, finished) = resume(&path).unwrap();
    let before = last.before();
    assert_eq!((before.started_at, before.duration_ms), (Some(5), 60), "it began when it first did");
    assert_eq!((before.resumed, before.plans.len()), (2, 2));
    assert_eq!(finished.len(), 2, "the line that was cut off spoils no other");
}

#[test]
fn a_trial_whose_ledger_was_not_written_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let (first, ledger) = begun(&path);
    let unclosed = Ledger::held_until_closed("a#1", 1, Clock::default(), &ledger, &part("first", 1));
    first.sync().unwrap();
    drop(first);
    assert_eq!(resume(&path).unwrap().1, []);
    unclosed.close();
    ledger.flush().unwrap();
    assert_eq!(resume(&path).unwrap().1.len(), 1);
}

#[test]
fn a_finished_trial_counts_although_its_line_in_the_journal_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let (first, ledger) = begun(&path);
    closed("a#1", 1, "first", &ledger);
    drop((first, ledger));
    let (_, finished) = resume(&path).unwrap();
    let [(case, found)] = finished.as_slice() else { panic!("{finished:?}") };
    assert_eq!((case.as_str(), found.trial, found.seed, found.ledger.as_str()), ("a", 1, 1, "a#1"));
    assert_eq!(
        found.verdict.void_because,
        ["no service received a request, so the trial shows nothing about the subject"]
    );
}

#[test]
fn a_run_that_goes_on_is_refused_while_another_process_runs_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let (first, _ledger) = begun(&path);
    let error = resume(&path).unwrap_err();
    assert!(matches!(&error, RunError::Live(_)), "{error}");
    drop(first);
    resume(&path).unwrap();
}

#[test]
fn a_journal_and_ledgers_that_do_not_agree_are_refused() {
    let other_ledger = TrialReport { ledger: "a#2".to_owned(), ..trial(1) };
    let other_seed = TrialReport { seed: 9, ..trial(1) };
    let messages: Vec<String> = [other_ledger, other_seed, trial(3)]
        .into_iter()
        .map(|trial| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("run");
            let (first, ledger) = begun(&path);
            closed("a#1", 1, "first", &ledger);
            closed("a#2", 2, "first", &ledger);
            first.keep("a", &trial, 40).unwrap();
            drop((first, ledger));
            resume(&path).unwrap_err().to_string().replace(&path.display().to_string(), "FOLDER")
        })
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn a_ledger_of_another_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("run"), folder.path().join("other"));
    let (_first, ledger) = begun(&path);
    closed("a#1", 1, "first", &ledger);
    let theirs = RunFolder::at(&other).unwrap();
    let file = theirs.begin(5, Identity::default(), &plan("other", 0, &[1, 2])).unwrap();
    closed("a#1", 1, "other", &file);
    drop((_first, ledger, theirs, file));
    // The same case, trial and seed, from a run with the same plan but for its id.
    let lines = |path: &Path| fs::read_to_string(path.join(LEDGER)).unwrap();
    let (mine, foreign) = (lines(&path), lines(&other));
    let head = mine.lines().next().unwrap();
    let segment: Vec<&str> = foreign.lines().skip(1).collect();
    fs::write(path.join(LEDGER), format!("{head}\n{}\n", segment.join("\n"))).unwrap();
    let error = resume(&path).unwrap_err().to_string();
    assert!(error.contains("the plan record in line 2 of ledger.jsonl was changed or damaged"), "{error}");
}

#[test]
fn a_complete_run_cannot_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    RunFolder::at(&path).unwrap().complete();
    let error = resume(&path).unwrap_err();
    assert!(error.to_string().contains("it contains no interrupted run"), "{error}");
}

#[test]
fn a_journal_of_another_format_is_refused_with_both_formats() {
    let folder = tempfile::tempdir().unwrap();
    let identity = serde_json::to_string(&Identity::default()).unwrap();
    // The first format does not name its number.
    for (head, found) in [("{\"began\":5", 1), ("{\"format\":2,\"started_at\":5", 2)] {
        fs::write(folder.path().join(JOURNAL), format!("{head},\"run\":{identity}}}\n")).unwrap();
        let error = resume(folder.path()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(&format!("trials.jsonl has format {found}, and this hapax reads format 3"))
                && error.hint().contains("start a new run without --resume"),
            "{text}"
        );
    }
}

#[test]
fn a_journal_without_its_first_line_is_not_a_run() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["", "{\"started_at\":1,\"ru", "\u{0}\n"] {
        fs::write(folder.path().join(JOURNAL), text).unwrap();
        let error = resume(folder.path()).unwrap_err();
        assert!(error.to_string().contains("it contains no interrupted run"), "{error}");
    }
}

#[test]
fn the_second_try_of_a_trial_counts_whatever_the_journal_has_of_it() {
    let second = TrialReport {
        seed: second_try_seed(1),
        ledger: "a#1~2+again".to_owned(),
        first_try: Some(FirstTry { seed: 1, ledger: "a#1".to_owned(), seal: String::new() }),
        ..trial(1)
    };
    // What the journal has, whether the ledger of the second try is complete, and the ledger that counts.
    for (journal, is_complete, expected) in [
        (vec![], true, "a#1~2+again"),
        (vec![trial(1)], true, "a#1~2+again"),
        (vec![trial(1), second.clone()], true, "a#1~2+again"),
        (vec![trial(1), second.clone()], false, "a#1"),
        (vec![trial(1)], false, "a#1"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let (first, ledger) = begun(&path);
        closed("a#1", 1, "first", &ledger);
        if is_complete {
            Ledger::held_until_closed("a#1~2+again", second.seed, Clock::default(), &ledger, "").close();
            ledger.flush().unwrap();
        }
        journal.iter().for_each(|trial| first.keep("a", trial, 40).unwrap());
        drop((first, ledger));
        let (again, finished) = resume(&path).unwrap();
        let [(_, found)] = finished.as_slice() else { panic!("{finished:?}") };
        assert_eq!((found.ledger.as_str(), found.first_try.is_some()), (expected, is_complete));
        let planned = PlannedTrial { case: "a".to_owned(), trial: 2, seed: 2 };
        let round = if is_complete { 3 } else { 2 };
        assert_eq!(again.ledger_name(&planned, true), format!("a#2~{round}+again"));
    }
}
