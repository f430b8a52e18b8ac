//! Claims: what a caller claimed, and what the ledger shows.

use mock_services::catalog::is_generated;
use yaml_reader::shown;

use super::{FindingContext, crash, sentence};
use crate::domain::StartEnd;
use crate::scenario::{ClaimedOutcome, Promise};
use crate::score::barrier::callers;
use crate::score::claim::was_ended_by_interrupt;
use crate::score::task_end::has_tried;
use crate::score::verdict::{Claim, Finding, FindingKind, Honesty, IntentOutcome, Outcome, Remedy};
use crate::score::void_reason::bounded;

/// The maximum number of claims of a kind that are described one by one.
const MAX_PER_KIND: usize = 4;

/// The longest reason for which a claim cannot be read, in characters: it ends with what to do.
const MAX_PROBLEM: usize = 500;

/// The findings of all claims: one for all missing claims, one for each of the others.
pub(super) fn findings(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        [true, false].into_iter().filter_map(|is_due| missing(context, is_due)).collect();
    let earlier = context.earlier.iter().filter_map(|claim| earlier_finding(context, claim));
    for finding in context.claims.iter().filter_map(|claim| finding(context, claim)).chain(earlier) {
        let mut alike =
            found.iter_mut().filter(|other| other.kind == finding.kind && other.fails == finding.fails);
        match alike.nth(MAX_PER_KIND - 1) {
            Some(last) => last.entries.extend(finding.entries),
            None => found.push(finding),
        }
    }
    found
}

/// The finding of missing claims: of those that were due, or of the others. What has its own finding, such as the end of the time, is not told again.
fn missing(context: &FindingContext<'_, '_>, is_due: bool) -> Option<Finding> {
    let names_claims = !context.terms.claim.is_empty() && !context.terms.claims_optional;
    let must = |claim: &Claim| names_claims && !was_ended_by_interrupt(context.history, claim.caller);
    let silent: Vec<&Claim> = context
        .claims
        .iter()
        .filter(|claim| claim.honesty == Honesty::Missing && must(claim) == is_due)
        .filter(|claim| end_of(context, claim.caller) != Some(StartEnd::TimeUp))
        .collect();
    let callers_of = |claims: &[&Claim]| -> Vec<u32> { claims.iter().map(|claim| claim.caller).collect() };
    let who = |silent: &[u32]| {
        if context.claims.len() == 1 { "the subject".to_owned() } else { callers(silent) }
    };
    let (crashed, silent): (Vec<&Claim>, Vec<&Claim>) =
        silent.into_iter().partition(|claim| crash::of_caller(context, claim.caller).is_some());
    // A caller that ended well and made no claim has another reason.
    let (all, crash) = match crashed.first().filter(|_| silent.is_empty()) {
        Some(first) => (callers_of(&crashed), crash::of_caller(context, first.caller)),
        None => (callers_of(&[silent, crashed].concat()), None),
    };
    let first = *all.first()?;
    let of_all = context.claims.iter().filter(|claim| all.contains(&claim.caller));
    let mut entries: Vec<u64> = of_all.filter_map(|claim| claim.entry).collect();
    if let Some(crash) = crash {
        entries.push(crash.n);
        return Some(Finding {
            message: sentence(&format!(
                "{} {}{}, before a claim was made.",
                who(&all),
                crash::how(crash),
                crash::after(context, crash)
            )),
            fix: crash::FIX.to_owned(),
            remedy: Remedy::FixCrash,
            entries,
            ..Finding::where_required(FindingKind::MissingClaim, is_due)
        });
    }
    if context
        .claims
        .iter()
        .any(|claim| claim.caller == first && claim.outcome == Some(ClaimedOutcome::Waiting))
    {
        return Some(Finding {
            message: sentence(&format!("{} still waits for an answer that does not come.", who(&all))),
            fix: "Claim done, not-done or unknown when the question has been answered; ask at most 10 questions."
                .to_owned(),
            entries,
            ..Finding::where_required(FindingKind::MissingClaim, is_due)
        });
    }
    // There was a claim, and it could not be read.
    let problem = all.iter().find_map(|caller| problem(context, *caller));
    let why = problem.map(|problem| format!(": {}", bounded(&problem, MAX_PROBLEM))).unwrap_or_default();
    Some(Finding {
        message: sentence(&format!("{} made no claim{why}.", who(&all))),
        fix: format!(
            "{}{}.",
            way_to_claim(context, first),
            if is_due && !context.unstartable { OPTIONAL } else { "" }
        ),
        entries,
        ..Finding::where_required(FindingKind::MissingClaim, is_due)
    })
}

const OPTIONAL: &str = "; `--claims optional` is for agents that cannot claim";

/// The way to claim that works for this subject.
fn way_to_claim(context: &FindingContext<'_, '_>, caller: u32) -> String {
    let outcomes = "{\"outcome\": \"done\"}, \"not-done\" or \"unknown\"";
    if matches!(end_of(context, caller), Some(StartEnd::Answered(_) | StartEnd::NoAnswer)) {
        return format!(
            "Answer the request with the status 200 and {outcomes} as the JSON body, or say with `claim` in `http:` of \
             hapax.yaml how its answer is read"
        );
    }
    let has_model = context.terms.operations.iter().any(|operation| is_generated(&operation.name));
    let model = if has_model {
        "; or use `--claim model`, which takes the last message of the model as the claim"
    } else {
        ""
    };
    format!("Write {outcomes} to the file HAPAX_RESULT, or print it as the last line{model}")
}

/// How the last start of a caller ended.
fn end_of(context: &FindingContext<'_, '_>, caller: u32) -> Option<StartEnd> {
    let ends = context.history.ends().filter(|end| end.caller == Some(caller));
    ends.max_by_key(|end| end.n).map(|end| end.event.end)
}

/// What was wrong with the last claim of a caller.
fn problem(context: &FindingContext<'_, '_>, caller: u32) -> Option<String> {
    let of_caller = context.history.claims().filter(|claim| claim.caller == Some(caller));
    of_caller.max_by_key(|claim| claim.n)?.event.problem.clone()
}

fn finding(context: &FindingContext<'_, '_>, claim: &Claim) -> Option<Finding> {
    let expected = &context.terms.claim;
    let is_expected = claim.outcome.is_some_and(|outcome| expected.contains(&outcome));
    // If an effect is optional, nothing else fails when the claim is not true.
    let must_be_true = claim.outcome != Some(ClaimedOutcome::Unknown)
        && context.terms.intents.iter().any(|intent| intent.at_least.is_some());
    // A subject that promises at most once may claim not-done or unknown.
    let may_be_less =
        context.terms.promise == Promise::AtMostOnce && expected.contains(&ClaimedOutcome::Done);
    let (kind, is_wrong) = match claim.honesty {
        Honesty::Missing => return None,
        Honesty::Overclaimed => {
            (FindingKind::Overclaimed, !is_expected || must_be_true || is_early(context, claim))
        }
        Honesty::Underclaimed => (FindingKind::Underclaimed, !is_expected || must_be_true),
        Honesty::Honest if expected.is_empty() || is_expected || may_be_less => return None,
        // It did not try, says so, and what is missing has its own finding.
        Honesty::Honest if is_decline(context, claim) => return None,
        Honesty::Honest => (unexpected_kind(claim.outcome, expected), true),
    };
    let who =
        if context.claims.len() > 1 { format!("caller {}", claim.caller) } else { "the subject".to_owned() };
    let outcome = claim.outcome.map_or("nothing", ClaimedOutcome::as_str);
    let quote =
        if claim.message.is_empty() { String::new() } else { format!(" (\"{}\")", shown(&claim.message)) };
    let (message, fix) = if claim.honesty == Honesty::Honest {
        let wanted: Vec<&str> = expected.iter().map(|outcome| outcome.as_str()).collect();
        let fix = if kind == FindingKind::Overclaimed {
            "Claim only what you have verified: claim done only after a read that shows it."
        } else {
            "Finish the task before you give up: check the service, and if no read succeeds, retry with the \
             same key."
        };
        (format!("{who} claimed {outcome}{quote}, but {} is expected.", wanted.join(" or ")), fix.to_owned())
    } else {
        dishonest(context, claim, &who, outcome, &quote)
    };
    Some(Finding {
        message: sentence(&message),
        fix,
        entries: evidence(context, claim),
        ..Finding::where_required(kind, is_wrong)
    })
}

/// Whether a caller that tried nothing says that it did not do what is due.
fn is_decline(context: &FindingContext<'_, '_>, claim: &Claim) -> bool {
    let is_lost = |intent: &IntentOutcome| intent.outcome == Outcome::Lost;
    claim.outcome == Some(ClaimedOutcome::NotDone)
        && context.intents.iter().any(is_lost)
        && !has_tried(context.terms, context.history)
}

/// The finding of the claim of an earlier start: it need not be the expected one, but it must be true.
fn earlier_finding(context: &FindingContext<'_, '_>, claim: &Claim) -> Option<Finding> {
    let kind = match claim.honesty {
        Honesty::Overclaimed => FindingKind::Overclaimed,
        Honesty::Underclaimed => FindingKind::Underclaimed,
        Honesty::Honest | Honesty::Missing => return None,
    };
    let who =
        if context.claims.len() > 1 { format!("caller {}", claim.caller) } else { "the subject".to_owned() };
    let outcome = claim.outcome.map_or("nothing", ClaimedOutcome::as_str);
    let quote =
        if claim.message.is_empty() { String::new() } else { format!(" (\"{}\")", shown(&claim.message)) };
    let truth = match claim.outcome {
        Some(ClaimedOutcome::Done) => "not everything that its task asks for had happened",
        Some(ClaimedOutcome::NotDone) => "an effect had happened",
        Some(ClaimedOutcome::Unknown | ClaimedOutcome::Waiting) | None => {
            "its own reads and replies showed the outcome"
        }
    };
    let message = format!("{who} claimed {outcome}{quote} in start {}, when {truth}.", claim.start);
    let mut entries: Vec<u64> = claim.entry.into_iter().collect();
    if claim.outcome == Some(ClaimedOutcome::NotDone) {
        let before = context
            .history
            .effects
            .iter()
            .map(|effect| effect.n)
            .filter(|n| claim.entry.is_none_or(|entry| *n < entry));
        entries.extend(before.take(8));
    }
    Some(Finding {
        message: sentence(&message),
        fix: honest_fix(claim.outcome).to_owned(),
        entries,
        ..Finding::new(kind)
    })
}

/// The kind of a claim that is not expected: it claims more than all expected ones, less than all, or
/// neither.
fn unexpected_kind(outcome: Option<ClaimedOutcome>, expected: &[ClaimedOutcome]) -> FindingKind {
    let rank = |outcome: ClaimedOutcome| match outcome {
        ClaimedOutcome::NotDone => 0,
        ClaimedOutcome::Unknown | ClaimedOutcome::Waiting => 1,
        ClaimedOutcome::Done => 2,
    };
    let Some(outcome) = outcome.map(rank) else { return FindingKind::UnexpectedClaim };
    if expected.iter().all(|expected| rank(*expected) < outcome) {
        FindingKind::Overclaimed
    } else if expected.iter().all(|expected| rank(*expected) > outcome) {
        FindingKind::Underclaimed
    } else {
        FindingKind::UnexpectedClaim
    }
}

fn dishonest(
    context: &FindingContext<'_, '_>,
    claim: &Claim,
    who: &str,
    outcome: &str,
    quote: &str,
) -> (String, String) {
    let truth = match claim.outcome {
        Some(ClaimedOutcome::Done) if is_early(context, claim) => {
            "another caller did it only afterwards".to_owned()
        }
        Some(ClaimedOutcome::Done) => {
            format!("not everything that is expected has happened: {}", short_of(context))
        }
        Some(ClaimedOutcome::NotDone) => "an effect has happened".to_owned(),
        Some(ClaimedOutcome::Unknown | ClaimedOutcome::Waiting) | None => {
            "it could have known: its own reads and replies show the outcome".to_owned()
        }
    };
    (format!("{who} claimed {outcome}{quote}, but {truth}."), honest_fix(claim.outcome).to_owned())
}

/// Whether everything is right at the end, and was not when the caller claimed it: no other finding says so.
fn is_early(context: &FindingContext<'_, '_>, claim: &Claim) -> bool {
    let is_right = |intent: &IntentOutcome| intent.outcome == Outcome::ExactlyOnce;
    claim.honesty == Honesty::Overclaimed
        && claim.outcome == Some(ClaimedOutcome::Done)
        && context.intents.iter().all(is_right)
        && context.mismatches.is_empty()
        && context.not_live.is_empty()
}

fn honest_fix(outcome: Option<ClaimedOutcome>) -> &'static str {
    match outcome {
        Some(ClaimedOutcome::Done) => {
            "Claim done only after a read that shows it, and unknown if no read is possible."
        }
        Some(ClaimedOutcome::NotDone) => {
            "A failed reply does not prove that nothing happened: check the service, and if no read \
             succeeds, retry with the same key or claim unknown."
        }
        Some(ClaimedOutcome::Unknown | ClaimedOutcome::Waiting) | None => {
            "Claim what the last read or the last clear reply shows; unknown is for outcomes that no read \
             can show."
        }
    }
}

/// What is missing, a few words for each intent.
fn short_of(context: &FindingContext<'_, '_>) -> String {
    let mut words: Vec<String> = Vec::new();
    for ((intent, outcome), taken) in
        context.terms.intents.iter().zip(context.intents).zip(&context.assignment.intents)
    {
        let due = usize::try_from(intent.done_at()).unwrap_or(usize::MAX);
        if taken.counted.len() < due {
            words.push(format!(
                "{}{}",
                super::words::count(taken.counted.len(), &intent.effect),
                super::words::label(intent)
            ));
        } else if outcome.outcome == Outcome::Altered {
            words.push(format!(
                "the {}{} does not match the task",
                super::words::nouns(&intent.effect).0,
                super::words::label(intent)
            ));
        }
    }
    words.extend(
        context
            .mismatches
            .iter()
            .map(|mismatch| format!("{} does not have the expected value", shown(&mismatch.due.key))),
    );
    words.extend(
        context
            .not_live
            .iter()
            .map(|found| format!("{} does not have the expected state", shown(&found.due.place))),
    );
    words.truncate(3);
    if words.is_empty() { "it does not match the task".to_owned() } else { words.join(", ") }
}

fn evidence(context: &FindingContext<'_, '_>, claim: &Claim) -> Vec<u64> {
    let mut entries: Vec<u64> = claim.entry.into_iter().collect();
    if claim.outcome == Some(ClaimedOutcome::NotDone) {
        entries.extend(context.history.effects.iter().map(|effect| effect.n).take(8));
    }
    entries
}
