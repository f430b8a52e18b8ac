use mock_services::Clock;
use mock_services::ledger::Ledger;

use super::*;

fn trial(number: u32) -> TrialReport {
    let verdict = crate::score::score(&crate::scenario::Terms::default(), &[], None);
    TrialReport { trial: number, seed: 1, ledger: "a#1".to_owned(), took: 3, verdict, output: Vec::new(), replay: String::new() }
}

#[test]
fn two_runs_in_one_second_have_folders_of_their_own() {
    let reports = tempfile::tempdir().unwrap();
    let first = Folder::new_below(reports.path(), Timestamp::UNIX_EPOCH).unwrap();
    let second = Folder::new_below(reports.path(), Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!((first.name().as_str(), second.name().as_str()), ("1970-01-01T00-00-00Z", "1970-01-01T00-00-00Z-2"));
    first.link_latest().unwrap();
    second.link_latest().unwrap();
    assert_eq!(fs::read_link(reports.path().join("latest")).unwrap(), Path::new(&second.name()));
}

#[test]
fn a_folder_that_holds_something_is_not_taken() {
    let taken = tempfile::tempdir().unwrap();
    fs::write(taken.path().join("mine"), "").unwrap();
    assert!(matches!(Folder::at(taken.path()), Err(RunError::Taken(_))));
}

#[test]
fn a_run_that_was_cut_off_goes_on_behind_its_last_whole_trial() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let first = Folder::at(&path).unwrap();
    first.begin(5, Identity::default()).unwrap();
    Ledger::in_file("a#1", 1, Clock::default(), &first.ledger()).close();
    first.keep("a", &trial(1), 40).unwrap();
    drop(first);
    let mut journal = File::options().append(true).open(path.join(JOURNAL)).unwrap();
    journal.write_all(b"{\"case\":\"a\",\"tri").unwrap();
    let (again, finished) = Folder::resume(&path, &Identity::default()).unwrap();
    assert_eq!(again.before(), Before { began: Some(5), took: 40 });
    assert_eq!(finished, [("a".to_owned(), trial(1))]);
    let planned = Planned { case: "a".to_owned(), trial: 2, seed: 1 };
    assert_eq!(again.ledger_name(&planned), "a#2~2");
    again.begin(9, Identity::default()).unwrap();
    again.keep("a", &trial(2), 60).unwrap();
    let (last, finished) = Folder::resume(&path, &Identity::default()).unwrap();
    assert_eq!(last.before(), Before { began: Some(5), took: 60 }, "it began when it first did");
    assert_eq!(finished.len(), 2, "the line that was cut off spoils no other");
}

#[test]
fn a_finished_trial_whose_ledger_is_torn_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let first = Folder::at(&path).unwrap();
    first.begin(5, Identity::default()).unwrap();
    let unclosed = Ledger::in_file("a#1", 1, Clock::default(), &first.ledger());
    first.keep("a", &trial(1), 40).unwrap();
    first.finish(false).unwrap();
    assert_eq!(Folder::resume(&path, &Identity::default()).unwrap().1, []);
    unclosed.close();
    first.finish(false).unwrap();
    assert_eq!(Folder::resume(&path, &Identity::default()).unwrap().1.len(), 1);
}

#[test]
fn a_complete_run_cannot_be_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    Folder::at(&path).unwrap().finish(true).unwrap();
    let error = Folder::resume(&path, &Identity::default()).unwrap_err();
    assert!(error.to_string().contains("it holds no run that was cut off"), "{error}");
}

#[test]
fn a_journal_without_its_first_line_is_no_run() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["", "{\"began\":1,\"ru", "\u{0}\n"] {
        fs::write(folder.path().join(JOURNAL), text).unwrap();
        let error = Folder::resume(folder.path(), &Identity::default()).unwrap_err();
        assert!(error.to_string().contains("it holds no run that was cut off"), "{error}");
    }
}
