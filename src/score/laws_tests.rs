//! Laws that hold for every ledger.

use std::collections::BTreeSet;

use mock_services::fault::ReplyKind;
use mock_services::ledger::{CommitTiming, Entry, Event, LEDGER_FORMAT, SilenceEnd};
use mock_services::service::Fields;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::naive_tests::{Deed, outcomes};
use super::testing::{LedgerScript, Sees, due, terms};
use super::{Outcome, TrialStatus, Verdict, score};
use crate::scenario::{ClaimedOutcome, Intent, Terms};

fn a_charge() -> impl Strategy<Value = Deed> {
    (
        prop_oneof![4 => Just(Some("o1")), 2 => Just(Some("o2")), 1 => Just(Some("o9")), 2 => Just(None)],
        prop_oneof![5 => Just(Some(10)), 2 => Just(Some(20)), 1 => Just(None)],
        prop_oneof![4 => Just(None), 1 => Just(Some("a")), 1 => Just(Some("b"))],
    )
        .prop_map(|(order, amount, customer)| Deed::Charge(order, amount, customer))
}

fn deeds(limit: usize) -> impl Strategy<Value = Vec<Deed>> {
    let refund = (0..5_usize, prop_oneof![Just(10), Just(20), Just(5)])
        .prop_map(|(of, amount)| Deed::Refund(of, amount));
    prop::collection::vec(prop_oneof![5 => a_charge(), 1 => refund], 0..=limit)
}

fn some_terms() -> impl Strategy<Value = Terms> {
    (0_u32..2, 0_u32..2, any::<bool>()).prop_map(|(first, second, compensation)| Terms {
        compensation,
        ..terms([due("o1", 10, first), due("o2", 10, second)])
    })
}

fn script_of(deeds: &[Deed], said: Option<ClaimedOutcome>) -> LedgerScript {
    let mut script = LedgerScript::new();
    for (index, deed) in deeds.iter().enumerate() {
        add(&mut script, deed, index);
    }
    if let Some(said) = said {
        script.claims(1, said);
    }
    script
}

fn add(script: &mut LedgerScript, deed: &Deed, index: usize) {
    let effect = if matches!(deed, Deed::Charge(..)) { "payment.charge" } else { "payment.refund" };
    let fields = deed.fields(index);
    let attempt = script.received(effect, None, &fields);
    script.committed(attempt, effect, &fields, CommitTiming::Now);
    script.replied(attempt, Sees::Ok);
}

fn a_claim() -> impl Strategy<Value = Option<ClaimedOutcome>> {
    prop_oneof![
        Just(None),
        Just(Some(ClaimedOutcome::Done)),
        Just(Some(ClaimedOutcome::NotDone)),
        Just(Some(ClaimedOutcome::Unknown))
    ]
}

/// All of a verdict but the numbers of entries and the words that tell of them.
fn gist(verdict: &Verdict) -> Verdict {
    let mut gist = verdict.clone();
    for intent in &mut gist.intents {
        for entries in [&mut intent.effects, &mut intent.surplus, &mut intent.compensated] {
            entries.fill(0);
        }
        intent.why.clear();
    }
    gist.unintended.fill(0);
    gist.claims.iter_mut().for_each(|claim| claim.entry = None);
    for finding in &mut gist.findings {
        finding.entries.clear();
        finding.message.clear();
    }
    gist
}

#[test]
fn a_charge_of_another_amount_is_not_made_good_by_its_refund() {
    let beside = |amount| {
        [
            Deed::Charge(Some("o1"), Some(10), None),
            Deed::Charge(Some("o1"), Some(amount), None),
            Deed::Refund(1, amount),
        ]
    };
    let allowed = Terms { compensation: true, ..terms([due("o1", 10, 1)]) };
    let result = |amount| score(&allowed, &script_of(&beside(amount), None).end(), None);
    assert_eq!(result(10).result, TrialStatus::Pass, "a duplicate is made good");
    assert_eq!(result(20).outcome, Outcome::Diverged);
}

#[test]
fn an_unintended_charge_stays_unintended_after_its_refund() {
    let given_back = |order| {
        [
            Deed::Charge(Some("o1"), Some(10), None),
            Deed::Charge(Some(order), Some(10), None),
            Deed::Refund(1, 10),
        ]
    };
    let allowed = Terms { compensation: true, ..terms([due("o1", 10, 1), due("o2", 10, 0)]) };
    let result = |order| score(&allowed, &script_of(&given_back(order), None).end(), None);
    assert_eq!(result("o1").result, TrialStatus::Pass, "a duplicate is made good");
    assert_eq!(result("o9").outcome, Outcome::Unintended, "a stranger's order");
    assert_eq!(result("o2").outcome, Outcome::Unintended, "one that must not be charged");
}

proptest! {
    #[test]
    fn the_outcome_is_among_those_of_all_assignments(terms in some_terms(), deeds in deeds(5)) {
        let verdict = score(&terms, &script_of(&deeds, None).end(), None);
        let naive = outcomes(&terms, &deeds);
        prop_assert!(naive.contains(&verdict.outcome), "{:?} is none of {naive:?}", verdict.outcome);
    }

    #[test]
    fn the_order_of_unrelated_entries_does_not_matter(
        terms in some_terms(),
        deeds in deeds(6),
        said in a_claim(),
        seeds in prop::collection::vec(any::<u32>(), 18),
    ) {
        let script = script_of(&deeds, said);
        let verdict = score(&terms, &script.clone().end(), None);
        let middle = script.entries[1..].iter().map(|entry| entry.event.clone());
        let mut keyed: Vec<_> = middle.zip(seeds.iter().chain(std::iter::repeat(&0))).collect();
        keyed.sort_by_key(|(_, key)| **key);
        let mut other = LedgerScript::new();
        for (event, _) in keyed {
            other.add(event);
        }
        prop_assert_eq!(gist(&score(&terms, &other.end(), None)), gist(&verdict));
    }

    #[test]
    fn the_position_of_an_entry_in_the_slice_does_not_matter(
        terms in some_terms(),
        deeds in deeds(5),
        by in 0_usize..20,
    ) {
        let mut entries = script_of(&deeds, Some(ClaimedOutcome::Done)).end();
        let verdict = score(&terms, &entries, None);
        let by = by % entries.len();
        entries.rotate_left(by);
        prop_assert_eq!(score(&terms, &entries, None), verdict);
    }

    #[test]
    fn no_trial_passes_with_one_of_its_effects_repeated(
        terms in some_terms(),
        deeds in deeds(5),
        said in a_claim(),
        which in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!deeds.is_empty());
        let terms = Terms { compensation: false, ..terms };
        let again = deeds[which.index(deeds.len())].clone();
        // A charge without an order can be the one that another order still lacks.
        prop_assume!(!matches!(again, Deed::Charge(None, ..)));
        let mut script = script_of(&deeds, said);
        add(&mut script, &again, 90);
        prop_assert_eq!(score(&terms, &script.end(), None).result, TrialStatus::Fail);
    }

    #[test]
    fn a_charge_that_is_due_and_its_full_refund_change_nothing_where_compensation_is_allowed(
        terms in some_terms(),
        deeds in deeds(4),
        charge in a_charge(),
    ) {
        let Deed::Charge(order, _, customer) = charge else { unreachable!("a charge") };
        // An unintended charge is not a duplicate, and cannot be compensated.
        let is_for_order = |intent: &Intent| {
            intent.times > 0 && intent.selector.get("order").map(ToString::to_string).as_deref() == order
        };
        prop_assume!(terms.intents.iter().any(is_for_order));
        // A charge of another amount is not a duplicate either.
        let as_asked = |deed| match deed {
            Deed::Charge(order, Some(_), customer) => Deed::Charge(order, Some(10), customer),
            deed => deed,
        };
        let deeds: Vec<Deed> = deeds.into_iter().map(as_asked).collect();
        let mut more = deeds.clone();
        more.push(Deed::Charge(order, Some(10), customer));
        more.push(Deed::Refund(deeds.len(), 10));
        // Refunds of charges that do not exist yet are not covered here.
        prop_assume!(!deeds.iter().any(|deed| matches!(deed, Deed::Refund(of, _) if *of >= deeds.len())));
        let allowed = Terms { compensation: true, ..terms.clone() };
        let facts = |deeds: &[Deed]| {
            let verdict = score(&allowed, &script_of(deeds, None).end(), None);
            (verdict.result, verdict.outcome, verdict.unintended)
        };
        prop_assert_eq!(facts(&more), facts(&deeds));
        let strict = Terms { compensation: false, ..terms };
        prop_assert_eq!(score(&strict, &script_of(&more, None).end(), None).result, TrialStatus::Fail);
    }

    #[test]
    fn a_partial_refund_compensates_nothing(terms in some_terms(), deeds in deeds(4)) {
        let charge = Deed::Charge(Some("o1"), Some(10), None);
        let charges = deeds.into_iter().filter(|deed| matches!(deed, Deed::Charge(..)));
        let more: Vec<Deed> =
            [charge.clone(), charge, Deed::Refund(0, 5)].into_iter().chain(charges).collect();
        let verdict = score(&Terms { compensation: true, ..terms }, &script_of(&more, None).end(), None);
        prop_assert_eq!((verdict.result, verdict.unintended.is_empty()), (TrialStatus::Fail, false));
    }

    #[test]
    fn a_ledger_without_one_of_its_lines_never_passes(which in any::<prop::sample::Index>()) {
        let charge = Deed::Charge(Some("o1"), Some(10), None);
        let mut entries = script_of(&[charge], Some(ClaimedOutcome::Done)).end();
        let terms = terms([due("o1", 10, 1)]);
        prop_assert_eq!(score(&terms, &entries, None).result, TrialStatus::Pass);
        entries.remove(which.index(entries.len()));
        prop_assert_ne!(score(&terms, &entries, None).result, TrialStatus::Pass);
    }

    #[test]
    fn every_ledger_can_be_scored(
        events in prop::collection::vec(an_event(), 0..30),
        numbers in prop::collection::vec(0_u64..40, 30),
    ) {
        let entry = |(event, n): (Event, u64)| Entry { n, at: n * 7 % 13, wall: 0, event };
        let entries: Vec<Entry> = events.into_iter().zip(numbers).map(entry).collect();
        let intents = [due("o1", 10, 1), due("o2", 10, u32::MAX)];
        let claim = vec![ClaimedOutcome::Done];
        let strict = Terms { barrier: true, claim, callers: 3, ..terms(intents) };
        let verdict = score(&strict, &entries, None);
        prop_assert_ne!(verdict.result, TrialStatus::Pass);
        let json = serde_json::to_string(&verdict).unwrap();
        prop_assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);
    }
}

fn an_event() -> impl Strategy<Value = Event> {
    let attempt = || 0_u64..4;
    let name = prop::sample::select(vec![
        "started",
        "ended",
        "claimed",
        "interrupted",
        "interrupt-missed",
        "escaped",
        "over-limit",
        "unstartable",
        "late-request",
        "unanswered",
        "other",
    ]);
    let fields = prop::sample::select(vec![
        Fields::new(),
        Fields::new()
            .with("start", -1)
            .with("end", "time-up")
            .with("outcome", "done")
            .with("interrupt", i64::MAX),
        Fields::new()
            .with("attempt", 1)
            .with("action", "kill")
            .with("host", "")
            .with("limit", "x")
            .with("start", "two"),
    ]);
    let charge = prop::sample::select(vec![
        Fields::new(),
        Fields::new()
            .with("order", "o1")
            .with("amount", i64::MIN)
            .with("currency", "usd")
            .with("charge", "ch_1"),
        Fields::new().with("order", vec!["o1".to_owned()]).with("amount", true).with("charge", "ch_1"),
    ]);
    prop_oneof![
        (attempt(), charge.clone(), any::<bool>()).prop_map(|(attempt, fields, is_write)| {
            let mut script = LedgerScript::new();
            for _ in 0..attempt {
                script.received(if is_write { "payment.charge" } else { "payment.list" }, None, &fields);
            }
            script.entries.pop().map(|entry| entry.event).unwrap_or(Event::Opened {
                format: LEDGER_FORMAT,
                seed: 0,
                plan: None,
            })
        }),
        (attempt(), charge, any::<bool>()).prop_map(|(attempt, fields, is_charge)| Event::Committed {
            attempt,
            effect: if is_charge { "payment.charge" } else { "payment.refund" }.into(),
            id: "x".into(),
            fields,
            timing: CommitTiming::Twice,
        }),
        (attempt(), any::<bool>()).prop_map(|(attempt, whole)| Event::Replied {
            attempt,
            reply: ReplyKind::Garble,
            status: whole.then_some(0),
            bytes: 0,
            whole,
            replay: false,
            retry_after: whole.then_some(1),
            silence: (!whole).then_some(SilenceEnd::Limit),
            message: None,
        }),
        attempt().prop_map(|attempt| Event::Unsent { attempt, bytes: 0 }),
        (name, fields, prop::option::of(0_u32..3)).prop_map(|(name, fields, caller)| Event::Noted {
            name: name.into(),
            caller,
            fields,
        }),
        any::<u64>().prop_map(|count| Event::End { count }),
    ]
}

#[test]
fn every_outcome_of_the_table_is_reached_and_both_scorers_agree_on_it() {
    let mut runner = TestRunner::deterministic();
    let mut agreed = BTreeSet::new();
    for _ in 0..2_000 {
        let (terms, deeds) = (some_terms(), deeds(4)).new_tree(&mut runner).unwrap().current();
        let verdict = score(&terms, &script_of(&deeds, None).end(), None);
        if outcomes(&terms, &deeds) == [verdict.outcome] {
            agreed.insert(verdict.outcome);
        }
    }
    let table = [
        Outcome::ExactlyOnce,
        Outcome::Altered,
        Outcome::Lost,
        Outcome::Unintended,
        Outcome::Duplicated,
        Outcome::Diverged,
    ];
    assert_eq!(agreed, BTreeSet::from(table));
}
