use super::*;
use crate::report::sample::{self, LedgerBuilder};
use crate::report::text::style::TextStyle;
use mock_services::fault::ReplyKind;

fn text(timeline: &Timeline, highlighted: &[u64], width: usize) -> String {
    render_text(
        timeline,
        &TextView { width, indent: 2, numbered: false, highlighted, style: TextStyle { color: false } },
    )
}

#[test]
fn a_timeline_shows_a_double_charge() {
    let (case, saved) = sample::double_charge("none");
    let highlighted = &case.trials[0].verdict.findings[0].entries;
    insta::assert_snapshot!(text(&Timeline::of(&saved.entries), highlighted, 100));
}

#[test]
fn a_kill_and_a_restart_are_cuts() {
    let (case, saved) = sample::killed();
    let highlighted = &case.trials[0].verdict.findings[0].entries;
    insta::assert_snapshot!(text(&Timeline::of(&saved.entries), highlighted, 80));
}

#[test]
fn of_a_long_timeline_what_proves_the_finding_is_kept() {
    let (case, saved) = sample::twelve_callers();
    let highlighted = &case.trials[0].verdict.findings[0].entries;
    let focused = Timeline::of(&saved.entries).focused(highlighted, 12);
    assert!(focused.items.len() <= 12);
    assert!(highlighted.iter().all(|n| focused.items.iter().any(|item| item.n == *n)));
    insta::assert_snapshot!(text(&focused, highlighted, 80));
}

#[test]
fn a_short_timeline_has_no_details_and_says_how_much_it_left_out() {
    let (_, saved) = sample::twelve_callers();
    let whole = Timeline::of(&saved.entries);
    let short = whole.short(10);
    assert_eq!((short.items.len(), short.left_out), (10, whole.items.len() - 10));
    assert!(short.items.iter().all(|item| item.detail.is_empty()));
}

#[test]
fn a_fault_with_a_status_shows_its_number() {
    let mut book = LedgerBuilder::new();
    let (attempt, _) = book.received(1, 1, "payment.charge", None, sample::charge("o"));
    book.status_fault(attempt, 503);
    book.replied(attempt, ReplyKind::Status, Some(503));
    let items = Timeline::of(&book.entries).items;
    let labels: Vec<&str> = items.iter().map(|item| item.label.as_str()).collect();
    assert_eq!(labels, ["payment.charge#1", "fault: commit now, reply 503", "answered 503"]);
}

#[test]
fn an_unknown_attempt_is_accepted() {
    let mut book = LedgerBuilder::new();
    book.replied(99, ReplyKind::Ok, Some(200));
    book.committed(0, "email.send", "m1", sample::charge("o"));
    let timeline = Timeline::of(&book.entries);
    assert_eq!(timeline.lanes, [Lane::Service("email".to_owned())]);
    assert_eq!(timeline.items[0].caller, None);
}

#[test]
fn hostile_text_is_escaped_in_every_line() {
    let (_, saved) = sample::hostile(sample::HOSTILE);
    let text = text(&Timeline::of(&saved.entries), &[], 80);
    assert!(!text.chars().any(|character| character.is_control() && character != '\n'), "{text:?}");
    assert!(!text.contains('\u{202e}'));
}
