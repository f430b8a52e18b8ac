use super::*;
use crate::report::sample;

#[test]
fn a_report_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let (report, _) = sample::run();
    write_report(folder.path(), &report).unwrap();
    assert_eq!(read_report(folder.path()).unwrap(), report);
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [REPORT_FILE], "nothing else is left behind");
}

#[test]
fn an_error_about_a_folder_has_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let messages = |folder: &Path| {
        let error = read_run(folder).unwrap_err();
        format!("{error}\n{}", error.help()).replace(&folder.display().to_string(), "FOLDER")
    };
    let mut texts = vec![messages(folder.path())];
    fs::write(folder.path().join(REPORT_FILE), "{\"report\": 99, \"new\": true}").unwrap();
    texts.push(messages(folder.path()));
    // A report of the first format, and one of this format that lacks the rest.
    fs::write(folder.path().join(REPORT_FILE), "{\"report\": 1, \"began\": 0}").unwrap();
    texts.push(messages(folder.path()));
    fs::write(folder.path().join(REPORT_FILE), "{\"report\": 2}").unwrap();
    texts.push(messages(folder.path()));
    fs::write(folder.path().join(REPORT_FILE), "not json").unwrap();
    texts.push(messages(folder.path()));
    write_report(folder.path(), &sample::run().0).unwrap();
    texts.push(messages(folder.path()));
    fs::write(
        folder.path().join(LEDGER_FILE),
        "{\"trial\":\"a#1\",\"n\":1,\"at\":0,\"wall\":0,\"kind\":\"opened\",\"format\":2,\"seed\":1}\n",
    )
    .unwrap();
    texts.push(messages(folder.path()));
    fs::write(
        folder.path().join(LEDGER_FILE),
        "{\"format\":2,\"plan\":{\"id\":\"1\"},\"hash\":\"00000000000000000000000000000000\"}\n",
    )
    .unwrap();
    texts.push(messages(folder.path()));
    // A ledger of the first format.
    fs::write(folder.path().join(LEDGER_FILE), "{\"plan\":{\"id\":\"1\"}}\n").unwrap();
    texts.push(messages(folder.path()));
    insta::assert_snapshot!(texts.join("\n\n"));
}
