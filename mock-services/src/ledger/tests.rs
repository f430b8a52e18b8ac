use super::*;
use crate::service::Fields;
use proptest::prelude::*;

fn noted(name: &str) -> Event {
    Event::Noted { name: name.into(), caller: None, fields: Fields::new().with("x", "y") }
}

fn late_request() -> Event {
    Event::Noted { name: LATE_REQUEST.into(), caller: Some(1), fields: Fields::new() }
}

fn saved(count: usize, close: bool) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let file = LedgerFile::create(&path).unwrap();
    let ledger = Ledger::in_file("t1", 7, Clock::default(), &file);
    for number in 0..count {
        ledger.append(noted(&format!("event {number}")));
    }
    if close {
        ledger.close();
    }
    drop(file);
    std::fs::read(&path).unwrap()
}

fn read(bytes: &[u8]) -> SavedLedger {
    read_ledgers(bytes).unwrap().remove("t1").unwrap()
}

/// The ledgers that a scan of the same bytes gives, the last of each name; each is read again where it was found.
fn scanned(bytes: &[u8]) -> std::collections::BTreeMap<String, SavedLedger> {
    let mut found = std::collections::BTreeMap::new();
    let result = scan_ledgers(std::io::Cursor::new(bytes), &mut |scanned| {
        if let Scanned::Ledger { name, saved, span } = scanned {
            found.insert(name, (saved, span));
        }
    });
    if result.is_err() {
        return std::collections::BTreeMap::new();
    }
    for (name, (saved, span)) in &found {
        let again = read_ledger(std::io::Cursor::new(bytes), name, *span).unwrap();
        assert_eq!((&again.entries, &again.seal), (&saved.entries, &saved.seal), "{name}");
    }
    found.into_iter().map(|(name, (saved, _))| (name, saved)).collect()
}

#[test]
fn entries_are_numbered_without_gaps_and_read_back_as_they_were_written() {
    let ledger = Ledger::new("t", 7, Clock::default());
    ledger.append(noted("started"));
    let entries = ledger.entries();
    assert_eq!(entries.iter().map(|entry| entry.n).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(entries[1].event, noted("started"));
    assert!(entries[1].at >= entries[0].at);
}

#[test]
fn nothing_is_added_after_the_closing_entry() {
    let ledger = Ledger::new("t", 7, Clock::default());
    ledger.close();
    ledger.append(noted("late"));
    ledger.close();
    assert_eq!(ledger.entries().last().map(|entry| entry.event.clone()), Some(Event::End { count: 1 }));
    assert_eq!(ledger.len(), 2);
}

#[test]
fn a_saved_ledger_is_whole_and_the_same_as_in_memory() {
    let saved = read(&saved(100, true));
    assert_eq!(saved.torn, None);
    assert_eq!(saved.entries.len(), 102);
    assert_eq!(saved.entries[3].event, noted("event 2"));
}

#[test]
fn a_ledger_that_was_cut_off_is_noticed_and_what_is_whole_can_be_read() {
    let unclosed = read(&saved(10, false));
    assert_eq!(unclosed.torn, Some(LedgerDamage::Unclosed { last: 11 }));
    assert_eq!(unclosed.entries.len(), 11);

    let bytes = saved(10, true);
    let torn = read(&bytes[..bytes.len() - 20]);
    assert_eq!(torn.torn, Some(LedgerDamage::Broken { from: 12, to: 12 }));
    assert_eq!(torn.entries.len(), 11);
}

#[test]
fn two_trials_in_one_file_have_a_chain_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let file = LedgerFile::create(&path).unwrap();
    let (one, two) = (
        Ledger::in_file("one", 1, Clock::default(), &file),
        Ledger::in_file("two", 2, Clock::default(), &file),
    );
    for _ in 0..50 {
        one.append(noted("a"));
        two.append(noted("b"));
        file.flush().unwrap();
    }
    one.close();
    drop(file);
    let trials = read_ledgers(&std::fs::read(&path).unwrap()[..]).unwrap();
    assert_eq!(trials["one"].torn, None);
    assert_eq!(trials["two"].torn, Some(LedgerDamage::Unclosed { last: 51 }));
}

#[test]
fn a_copy_has_the_plans_and_the_ledgers_that_are_kept_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let file = LedgerFile::create_planned(&path, "{}").unwrap();
    for name in ["a#1", "a#2", "a#\"3\""] {
        Ledger::in_file(name, 7, Clock::default(), &file).close();
    }
    drop(file);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(b"torn");
    let mut copy = Vec::new();
    copy_ledgers(&bytes[..], &mut copy, |name| name != "a#2").unwrap();
    let (all, kept) = (read_contents(&bytes[..]).unwrap(), read_contents(&copy[..]).unwrap());
    assert_eq!(kept.plans, all.plans);
    assert_eq!(kept.ledgers.keys().collect::<Vec<_>>(), ["a#\"3\"", "a#1"]);
    assert!(kept.ledgers.values().all(|saved| saved.torn.is_none()));
    assert_eq!(scanned(&copy), kept.ledgers);
}

#[test]
fn a_restarted_ledger_is_a_new_one_and_the_old_one_stays_whole_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let file = LedgerFile::create(&path).unwrap();
    let ledger = Ledger::in_file("one", 1, Clock::default(), &file);
    let mut reader = ledger.reader();
    ledger.append(noted("a"));
    reader.next_entries();
    ledger.restart("two", 1);
    ledger.append(noted("b"));
    assert_eq!(reader.next_entries().iter().map(|entry| entry.n).collect::<Vec<_>>(), [1, 2]);
    ledger.close();
    drop(file);
    let trials = read_ledgers(&std::fs::read(&path).unwrap()[..]).unwrap();
    assert_eq!((trials["one"].torn.clone(), trials["one"].entries.len()), (None, 3));
    assert_eq!((trials["two"].torn.clone(), trials["two"].entries.len()), (None, 3));
}

#[test]
fn a_file_that_exists_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    std::fs::write(&path, "mine").unwrap();
    assert_eq!(LedgerFile::create(&path).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
}

#[test]
fn secrets_are_hidden_in_memory_and_in_the_file() {
    let ledger = Ledger::new("t", 7, Clock::default());
    ledger.hide_value("hunter2secret");
    ledger.append(noted("my hunter2secret and 4242424242424242"));
    let Event::Noted { name, .. } = &ledger.entries()[1].event else { panic!() };
    assert_eq!(name, "my [redacted 1] and [redacted 2]");
}

#[tokio::test]
async fn a_reader_gives_each_entry_once_and_waits_for_more() {
    let ledger = Ledger::new("t", 7, Clock::default());
    let mut reader = ledger.reader();
    assert_eq!(reader.grown().await.len(), 1);
    let waiting = tokio::spawn(async move { reader.grown().await });
    ledger.append(noted("x"));
    assert_eq!(waiting.await.unwrap()[0].n, 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_changed_removed_doubled_or_swapped_line_is_noticed(
        line in 0usize..22,
        other in 0usize..22,
        how in 0u8..4,
        flip in any::<prop::sample::Index>(),
    ) {
        let bytes = saved(20, true);
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let mut lines: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
        prop_assume!(how != 2 || line != other);
        match how {
            0 => { let at = flip.index(lines[line].len()); lines[line][at] ^= 1; }
            1 => { lines.remove(line); }
            2 => lines.swap(line, other),
            _ => { let copy = lines[line].clone(); lines.insert(line, copy); }
        }
        // An error where the format was changed.
        let trials = read_ledgers(&lines.concat()[..]).unwrap_or_default();
        prop_assert_eq!(&scanned(&lines.concat()), &trials);
        prop_assert!(trials.get("t1").is_none_or(|saved| saved.torn.is_some()));
    }
}

#[test]
fn a_text_beside_the_ledger_is_shown_without_what_it_hides() {
    let ledger = Ledger::new("t", 1, Clock::default());
    ledger.hide_value("s3cret-value");
    let text = "key=s3cret-value \"quoted\"\nAuthorization: Bearer abc\nsk_live_0123456789abcdefgh";
    let shown = ledger.redacted(text);
    assert!(!shown.contains("s3cret-value") && !shown.contains("sk_live_0123456789abcdefgh"), "{shown}");
    assert!(shown.contains("\"quoted\"\n"), "{shown}");
}

#[test]
fn an_edited_line_is_reported_with_those_that_were_sealed_with_it() {
    let text = String::from_utf8(saved(10, true)).unwrap().replace("event 4", "event 5");
    let saved = read(text.as_bytes());
    // It is the sixth line; how many were written with it is a matter of time.
    let Some(LedgerDamage::Broken { from, to }) = saved.torn else { panic!("{:?}", saved.torn) };
    assert!((1..=6).contains(&from) && (6..=12).contains(&to), "{from} to {to}");
    assert_eq!(saved.entries.len() as u64, from - 1, "nothing is given back of which one cannot be sure");
    let said = [LedgerDamage::Broken { from: 3, to: 7 }, LedgerDamage::Broken { from: 3, to: 3 }]
        .map(|torn| torn.to_string());
    assert_eq!(
        said[0],
        "lines 3 to 7 do not continue the entries before them: the file was edited or damaged there"
    );
    assert_eq!(
        said[1],
        "line 3 does not continue the entries before it: the file was edited or damaged there"
    );
}

/// A ledger in which every entry is sealed apart, because it was written apart.
fn sealed_apart(word: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let file = LedgerFile::create(&path).unwrap();
    let ledger = Ledger::in_file("t1", 7, Clock::default(), &file);
    for number in 0..3 {
        ledger.append(noted(&format!("{word} {number}")));
        file.flush().unwrap();
    }
    ledger.close();
    drop(file);
    std::fs::read_to_string(&path).unwrap()
}

#[test]
fn what_another_run_of_the_same_trial_wrote_is_noticed() {
    let (mine, other) = (sealed_apart("mine"), sealed_apart("other"));
    assert_eq!((read(mine.as_bytes()).torn, read(other.as_bytes()).torn), (None, None));
    // Numbered as it must be, and sealed: only what stands before it is not what was there when it was.
    let mixed = mine
        .lines()
        .zip(other.lines())
        .map(|(mine, other)| if mine.contains("mine 1") { other } else { mine });
    let mixed: String = mixed.flat_map(|line| [line, "\n"]).collect();
    assert!(mixed.contains("other 1") && !mixed.contains("mine 1"), "{mixed}");
    let saved = read(mixed.as_bytes());
    assert!(matches!(saved.torn, Some(LedgerDamage::Broken { .. })), "{saved:?}");
    assert!(saved.entries.len() <= 3, "{saved:?}");
}

#[test]
fn what_is_larger_than_the_largest_piece_is_written_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let file = LedgerFile::create(&path).unwrap();
    let ledger = Ledger::in_file("t1", 7, Clock::default(), &file);
    let names: Vec<String> = ["a", "b", "c"].iter().map(|letter| letter.repeat(150_000)).collect();
    for name in &names {
        ledger.append(noted(name));
    }
    ledger.close();
    drop(file);
    let saved = read(&std::fs::read(&path).unwrap());
    assert_eq!(saved.torn, None);
    assert!(saved.entries[1..4].iter().zip(&names).all(|(entry, name)| entry.event == noted(name)));
}

#[test]
fn a_ledger_whose_hashes_were_taken_out_is_not_whole() {
    let text = sealed_apart("event");
    assert_eq!(read(text.as_bytes()).torn, None);
    let bare = |line: &str| line.find(",\"hash\"").map_or(line.to_owned(), |at| format!("{}}}", &line[..at]));
    let lines: Vec<&str> = text.lines().collect();
    let sealed: Vec<usize> = (0..lines.len()).filter(|place| lines[*place].contains("\"hash\"")).collect();
    assert!(sealed.len() >= 4, "{text}");
    for place in sealed {
        let stripped: String = (0..)
            .zip(&lines)
            .map(|(at, line)| if at == place { bare(line) } else { (*line).to_owned() } + "\n")
            .collect();
        assert!(read(stripped.as_bytes()).torn.is_some(), "{stripped}");
    }
    let stripped: String = lines.iter().map(|line| bare(line) + "\n").collect();
    assert!(read(stripped.as_bytes()).torn.is_some());
}

#[test]
fn the_plan_record_opens_the_file_and_every_ledger_carries_its_hash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let file = LedgerFile::create_planned(&path, "{\"cases\":[\"a\"]}").unwrap();
    Ledger::in_file("a", 1, Clock::default(), &file).close();
    drop(file);
    let again = LedgerFile::append_planned(&path, "{\"cases\":[\"b\"]}").unwrap();
    Ledger::in_file("b", 2, Clock::default(), &again).close();
    drop(again);
    let text = std::fs::read_to_string(&path).unwrap();
    let read = |text: &str| read_contents(text.as_bytes()).unwrap();
    let contents = read(&text);
    let [first, second] = contents.plans.as_slice() else { panic!("{:?}", contents.plans) };
    assert_eq!((first.line, first.json.as_str()), (1, "{\"cases\":[\"a\"]}"));
    for (saved, plan) in contents.ledgers.values().zip([first, second]) {
        assert_eq!(saved.torn, None);
        let Event::Opened { plan: hash, .. } = &saved.entries[0].event else { panic!("{saved:?}") };
        assert!(hash.is_some() && hash.as_deref() == plan.hash.as_deref());
    }
    let edited = read(&text.replacen("[\"a\"]", "[\"b\"]", 1));
    assert_eq!(edited.plans[0].hash, None, "a plan that was changed has no hash");
}

#[test]
fn a_held_ledger_is_written_when_it_is_closed_and_its_part_of_the_plan_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let file = LedgerFile::create_planned(&path, "{}").unwrap();
    let ledger = Ledger::held_until_closed("a", 1, Clock::default(), &file, "{\"part\":1}");
    ledger.append(Event::End { count: 7 });
    file.flush().unwrap();
    let lines = || std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines().len(), 1, "only the plan record");
    ledger.close();
    file.flush().unwrap();
    assert!(lines()[1].contains("{\"part\":1}") && lines()[2].contains("\"opened\""), "{:?}", lines());
    ledger.append_late(late_request());
    file.flush().unwrap();
    assert_eq!(lines().len(), 7);
}

#[test]
fn a_ledger_that_was_kept_in_memory_is_written_as_it_is_under_the_plan_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let memory = Ledger::new("earlier", 7, Clock::default());
    memory.append(noted("n"));
    memory.close();
    let file = LedgerFile::create_planned(&path, "{}").unwrap();
    let entries = Ledger::write_closed("a#1", memory.entries(), &file, "{\"part\":1}");
    file.flush().unwrap();
    let saved = read_contents(std::io::BufReader::new(std::fs::File::open(&path).unwrap())).unwrap();
    assert_eq!((saved.plans.len(), saved.plans[1].json.as_str()), (2, "{\"part\":1}"));
    let ledger = &saved.ledgers["a#1"];
    assert_eq!((&ledger.torn, &ledger.entries), (&None, &entries));
    let Event::Opened { seed, plan, .. } = &entries[0].event else { panic!("{entries:?}") };
    assert_eq!((*seed, plan.as_deref()), (7, saved.plans[0].hash.as_deref()));
    assert_eq!(entries[1..], memory.entries()[1..], "times and all");
}

#[test]
fn a_held_ledger_is_bounded_says_so_and_keeps_notes_and_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = LedgerFile::create_planned(&folder.path().join("ledger.jsonl"), "{}").unwrap();
    let held = Ledger::held_until_closed("a", 1, Clock::default(), &file, "{}");
    let attempt = held.next_attempt();
    for _ in 0..MOST_HELD_ENTRIES + 5 {
        held.append_about(attempt, Event::Unsent { attempt: 1, bytes: 0 });
    }
    assert_eq!(held.len() as usize, MOST_HELD_ENTRIES + 1);
    let last = held.entries().pop().unwrap().event;
    assert!(matches!(&last, Event::Noted { name, .. } if name == OVER_LIMIT), "{last:?}");
    for _ in 0..2 * MOST_HELD_ENTRIES {
        held.append(noted("n"));
    }
    held.close();
    assert_eq!(held.len() as usize, 2 * MOST_HELD_ENTRIES + 1);
    assert!(matches!(held.entries().pop().unwrap().event, Event::End { .. }));
}

#[test]
fn nothing_but_a_late_request_may_follow_the_closing_entry_in_a_file() {
    let late = |edit: fn(String) -> String| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let file = LedgerFile::create(&path).unwrap();
        let ledger = Ledger::in_file("t", 1, Clock::default(), &file);
        ledger.close();
        ledger.append_late(late_request());
        file.flush().unwrap();
        let text = edit(std::fs::read_to_string(&path).unwrap());
        let ledgers = read_ledgers(text.as_bytes()).unwrap();
        assert_eq!(scanned(text.as_bytes()), ledgers);
        ledgers["t"].clone()
    };
    let whole = late(|text| text);
    assert_eq!((whole.torn, whole.entries.len()), (None, 4));
    let renamed = late(|text| text.replace(LATE_REQUEST, "other"));
    assert!(renamed.torn.is_some());
    let without_end = late(|text| text.lines().take(3).map(|line| format!("{line}\n")).collect());
    assert!(without_end.torn.is_some());
}

#[test]
fn a_ledger_or_plan_record_of_an_older_format_is_an_error_that_says_to_run_again() {
    let opened = "{\"trial\":\"t\",\"n\":1,\"at\":0,\"wall\":0,\"kind\":\"opened\",\"seed\":1}\n";
    let newer = opened.replace("\"seed\":1", "\"format\":99,\"other\":1");
    for (text, format) in [(opened, 1), (&newer, 99), ("{\"plan\":{\"id\":\"a\"},\"hash\":\"0\"}\n", 1)] {
        let error = read_contents(text.as_bytes()).unwrap_err();
        let expected =
            format!("its format is {format}, and this version reads format {LEDGER_FORMAT}: run again");
        assert_eq!(error.to_string(), expected);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        std::fs::write(&path, text).unwrap();
        assert_eq!(LedgerFile::append_planned(&path, "{}").unwrap_err().to_string(), error.to_string());
    }
}
