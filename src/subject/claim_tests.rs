use super::*;
use proptest::prelude::*;

const DONE: &str = r#"{"outcome": "done", "message": "charged"}"#;

fn from_output(source: &ClaimSource, stdout: &str, stderr: &str) -> ReceivedClaim {
    let result = Path::new("/no/such/result");
    find(
        source,
        &ClaimInputs { reason: &EndReason::Exited(0), result, stdout, stderr, hide: &Hide::default() },
    )
}

fn in_answer_of(body: &str) -> ReceivedClaim {
    read(body.trim(), ClaimOrigin::Answer, "the answer", &Hide::default())
}

#[test]
fn a_claim_with_two_outcomes_is_invalid_wherever_it_is() {
    let two = r#"{"outcome": "not-done", "outcome": "done"}"#;
    let over_lines = "{\n\"outcome\": \"done\",\n\"outcome\": \"unknown\"\n}";
    for claim in [
        in_answer_of(two),
        from_file(|path| std::fs::write(path, two).unwrap()),
        from_output(&ClaimSource::LastLine, &format!("{DONE}\n{two}\nbye\n"), ""),
        from_output(&ClaimSource::LastLine, &format!("{DONE}\n{over_lines}\n"), ""),
    ] {
        assert!(claim.problem.as_ref().is_some_and(|why| why.contains("more than once")), "{claim:?}");
        assert_eq!(claim.outcome, None);
    }
}

fn from_file(write: impl FnOnce(&Path)) -> ReceivedClaim {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("result.json");
    write(&result);
    find(
        &ClaimSource::ResultOrLastLine,
        &ClaimInputs {
            reason: &EndReason::Exited(0),
            result: &result,
            stdout: DONE,
            stderr: "",
            hide: &Hide::default(),
        },
    )
}

#[test]
fn the_last_line_that_is_a_claim_counts() {
    let claim = |stdout: &str| from_output(&ClaimSource::LastLine, stdout, "");
    let expected = ReceivedClaim {
        outcome: Some(ClaimedOutcome::Done),
        message: "charged".into(),
        origin: Some(ClaimOrigin::LastLine),
        ..ReceivedClaim::default()
    };
    assert_eq!(claim(&format!("{{\"outcome\": \"unknown\"}}\nhello\n{DONE}\n\n  \n")), expected);
    assert_eq!(claim(&format!("{DONE}\nbye\n")), expected);
    assert_eq!(claim(&format!("{DONE}\n{{\"level\": \"info\"}}\n")), expected);
    assert_eq!(claim("it is done\n"), ReceivedClaim::default());
    assert_eq!(claim(""), ReceivedClaim::default());
}

#[test]
fn an_outcome_of_another_program_does_not_hide_a_claim() {
    let claim = |stdout: &str| from_output(&ClaimSource::LastLine, stdout, "");
    let charge = r#"{"id": "ch_1", "outcome": {"network_status": "approved_by_network"}}"#;
    assert_eq!(claim(&format!("{DONE}\n{charge}\n")).outcome, Some(ClaimedOutcome::Done));
    assert_eq!(claim(&format!("{DONE}\n{{\n\"outcome\": null\n}}\n")).outcome, Some(ClaimedOutcome::Done));
    assert_eq!(claim(&format!("{DONE}\n{{\"outcome\": \"success\"}}\n")).outcome, Some(ClaimedOutcome::Done));
    // An object of another program is no attempt at a claim; a word that does not exist is.
    assert_eq!(claim(&format!("{charge}\nbye\n")), ReceivedClaim::default());
    assert!(claim("{\"outcome\": \"success\"}\nbye\n").problem.is_some());
}

#[test]
fn a_claim_is_found_after_a_progress_bar_in_color_and_in_utf_16() {
    let claim = |stdout: &str| from_output(&ClaimSource::LastLine, stdout, "").outcome;
    assert_eq!(claim(&format!("working 50 %\rworking 100 %\r{DONE}\r\nbye\r\n")), Some(ClaimedOutcome::Done));
    assert_eq!(claim(&format!("\u{1b}[32m{DONE}\u{1b}[0m\n")), Some(ClaimedOutcome::Done));
    for utf_16 in [u16::to_le_bytes, u16::to_be_bytes] {
        let bytes: Vec<u8> = format!("\u{feff}hello\n{DONE}\n").encode_utf16().flat_map(utf_16).collect();
        assert_eq!(claim(&String::from_utf8_lossy(&bytes)), Some(ClaimedOutcome::Done));
        let file = from_file(|path| std::fs::write(path, &bytes[14..]).unwrap());
        assert_eq!((file.outcome, file.message.as_str()), (Some(ClaimedOutcome::Done), "charged"));
        let marked = from_file(|path| {
            let bytes: Vec<u8> = "\u{feff}{\"outcome\": \"unknown\", \"message\": \"café\"}"
                .encode_utf16()
                .flat_map(utf_16)
                .collect();
            std::fs::write(path, bytes).unwrap();
        });
        assert_eq!((marked.outcome, marked.message.as_str()), (Some(ClaimedOutcome::Unknown), "café"));
    }
}

#[test]
fn a_claim_that_was_printed_over_several_lines_counts() {
    let claim = |stdout: &str| from_output(&ClaimSource::LastLine, stdout, "").outcome;
    let pretty = "{\n  \"outcome\": \"done\",\n  \"seen\": {\n    \"id\": 1\n  }\n}\n";
    assert_eq!(claim(pretty), Some(ClaimedOutcome::Done));
    assert_eq!(
        claim(&format!("{{\"outcome\": \"unknown\"}}\nhello\n{pretty}\n \n")),
        Some(ClaimedOutcome::Done)
    );
    // Only at the very end: what is said last counts.
    assert_eq!(claim(&format!("{pretty}{{\"outcome\": \"unknown\"}}\n")), Some(ClaimedOutcome::Unknown));
    assert_eq!(claim("{\n\"level\": \"info\"\n}\n"), None);
    assert_eq!(claim(&"{\n".repeat(100_000)), None);
}

#[test]
fn a_byte_order_mark_is_not_part_of_a_claim() {
    let claim = from_file(|path| std::fs::write(path, "\u{feff}{\"outcome\": \"unknown\"}").unwrap());
    assert_eq!((claim.outcome, claim.origin), (Some(ClaimedOutcome::Unknown), Some(ClaimOrigin::ResultFile)));
    assert_eq!(
        from_output(&ClaimSource::LastLine, &format!("\u{feff}{DONE}\n"), "").outcome,
        Some(ClaimedOutcome::Done)
    );
    assert_eq!(in_answer_of(&format!("\u{feff}{DONE}")).outcome, Some(ClaimedOutcome::Done));
}

#[test]
fn an_invalid_claim_has_a_problem() {
    let texts = [
        "{\"outcome\": \"Done\"}",
        "{\"outcome\": \"finished\"}",
        "{\"outcome\": 1}",
        "{\"outcome\": \"done\"",
        "{\"message\": \"done\"}",
        "[]",
        "",
        "\u{0}\u{1b}[31m",
    ];
    let problems: Vec<String> = texts
        .iter()
        .map(|text| {
            let claim = in_answer_of(text);
            assert_eq!((claim.outcome, claim.origin), (None, Some(ClaimOrigin::Answer)));
            claim.problem.unwrap()
        })
        .collect();
    insta::assert_snapshot!(problems.join("\n"));
}

#[test]
fn a_result_file_is_used_even_if_it_is_invalid() {
    let claim = from_file(|path| std::fs::write(path, r#"{"outcome": "not-done"}"#).unwrap());
    assert_eq!((claim.outcome, claim.origin), (Some(ClaimedOutcome::NotDone), Some(ClaimOrigin::ResultFile)));
    let claim = from_file(|path| std::fs::write(path, "").unwrap());
    assert_eq!((claim.outcome, claim.origin), (None, Some(ClaimOrigin::ResultFile)));
    let claim = from_file(|_| ());
    assert_eq!((claim.outcome, claim.origin), (Some(ClaimedOutcome::Done), Some(ClaimOrigin::LastLine)));
}

#[test]
fn a_result_file_that_is_not_a_regular_file_is_not_read() {
    let folder = from_file(|path| std::fs::create_dir(path).unwrap());
    assert!(folder.problem.is_some_and(|problem| problem.contains("not a regular file")));
    let link = from_file(|path| std::os::unix::fs::symlink("/dev/zero", path).unwrap());
    assert!(link.outcome.is_none() && link.problem.is_some());
    let large = from_file(|path| std::fs::File::create(path).unwrap().set_len(1 << 40).unwrap());
    assert!(large.problem.is_some_and(|problem| problem.contains("larger than")));
}

#[test]
fn an_exit_status_is_the_claim_that_is_listed() {
    let source = ClaimSource::ExitStatus(vec![(0, ClaimedOutcome::Done), (3, ClaimedOutcome::Unknown)]);
    let claim = |reason: EndReason| {
        find(
            &source,
            &ClaimInputs {
                reason: &reason,
                result: Path::new("/no"),
                stdout: DONE,
                stderr: "",
                hide: &Hide::default(),
            },
        )
    };
    assert_eq!(claim(EndReason::Exited(3)).outcome, Some(ClaimedOutcome::Unknown));
    assert!(claim(EndReason::Exited(1)).problem.is_some_and(|problem| problem.contains("exit status 1")));
    assert_eq!(claim(EndReason::Signaled(9)), ReceivedClaim::default());
}

#[test]
fn a_claim_before_the_time_limit_is_not_a_final_claim() {
    let claim = find(
        &ClaimSource::LastLine,
        &ClaimInputs {
            reason: &EndReason::TimeUp,
            result: Path::new("/no"),
            stdout: DONE,
            stderr: "",
            hide: &Hide::default(),
        },
    );
    assert_eq!(claim, ReceivedClaim::default());
}

#[test]
fn the_pattern_that_occurs_last_counts() {
    let patterns = [
        ("paid", ClaimedOutcome::Done),
        ("not paid", ClaimedOutcome::NotDone),
        ("no idea", ClaimedOutcome::Unknown),
    ];
    let source = ClaimSource::Patterns(patterns.map(|(text, outcome)| (text.to_owned(), outcome)).to_vec());
    let claim = from_output(&source, "paid\nI have no idea.\n", "");
    assert_eq!((claim.outcome, claim.message.as_str()), (Some(ClaimedOutcome::Unknown), "I have no idea."));
    assert_eq!(from_output(&source, "it is not paid\n", "").outcome, Some(ClaimedOutcome::NotDone));
    assert_eq!(from_output(&source, "no idea\nit is paid", "").outcome, Some(ClaimedOutcome::Done));
    assert_eq!(from_output(&source, "", "paid").outcome, Some(ClaimedOutcome::Done));
    assert_eq!(from_output(&source, "hello", "").outcome, None);
}

#[test]
fn a_long_message_is_cut() {
    let claim = in_answer_of(&format!("{{\"outcome\": \"done\", \"message\": \"{}\"}}", "é".repeat(5000)));
    assert!(
        claim.outcome == Some(ClaimedOutcome::Done)
            && claim.message.len() <= MAX_MESSAGE_BYTES + '…'.len_utf8()
    );
    assert_eq!(in_answer_of(r#"{"outcome": "done", "message": {"a": 1}}"#).message, r#"{"a":1}"#);
}

proptest! {
    #[test]
    fn no_output_makes_it_panic(stdout in "(.|\n|\\{\"outcome\")*") {
        let _ = from_output(&ClaimSource::ResultOrLastLine, &stdout, "");
        let _ = in_answer_of(&stdout);
    }
}

#[test]
fn a_claim_that_waits_has_its_questions() {
    let claim = |text: &str| from_output(&ClaimSource::LastLine, text, "");
    let waits = claim(
        r#"{"outcome": "waiting", "for": [{"id": "a1", "operation": "payment.refund", "fields": {"order": "ord_7",
           "amount": 1000, "to": ["a@x", "b@x"], "rate": 1.5, "note": null, "more": {"x": 1}}}, {"id": "a2", "operation": "email.send"}]}"#
            .replace('\n', " ")
            .as_str(),
    );
    assert_eq!((waits.outcome, waits.questions.len()), (Some(ClaimedOutcome::Waiting), 2));
    let fields: Vec<String> =
        waits.questions[0].fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(fields, ["amount=1000", "more={\"x\":1}", "order=ord_7", "rate=1.5", "to=a@x, b@x"]);
    let ten = [r#"{"id": "a", "operation": "x.y"}"#; 11].join(",");
    for (wrong, why) in [
        (r#"{"outcome": "waiting"}"#.to_owned(), "but has no list `for`"),
        (r#"{"outcome": "waiting", "for": []}"#.to_owned(), "but has no list `for`"),
        (r#"{"outcome": "waiting", "for": [{"id": 1, "operation": "x.y"}]}"#.to_owned(), "no text `id`"),
        (r#"{"outcome": "waiting", "for": [{"id": "a"}]}"#.to_owned(), "no text `operation`"),
        (r#"{"outcome": "waiting", "for": [{"id": "a", "operation": "x.y", "fields": 7}]}"#.to_owned(), "not an object"),
        (format!(r#"{{"outcome": "waiting", "for": [{ten}]}}"#), "11 questions at once"),
        (
            r#"{"outcome": "waiting", "for": [{"id": "a", "operation": "x.y"}, {"id": "a", "operation": "x.z"}]}"#.to_owned(),
            "two questions have the id `a`",
        ),
    ] {
        let found = claim(&wrong);
        let problem = found.problem.unwrap_or_default();
        assert!(found.outcome.is_none() && problem.contains(why) && problem.contains("write {"), "{wrong}: {problem}");
    }
}
