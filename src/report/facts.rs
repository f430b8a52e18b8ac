//! Further facts of a trial besides its findings: name and text, for the terminal and the page.

use crate::results::{CaseReport, TrialReport};
use crate::scenario::{Intent, IntentList};
use crate::score::{
    BarrierFacts, Claim, EffectCost, FindingKind, Honesty, HostRequests, IntentOutcome, Outcome, RetriedBy,
    Retry, Verdict,
};
use crate::text::line;
use crate::text::words::{self, counted, numbers};

/// The maximum number of characters of one text that are shown.
const MAX_TEXT: usize = 500;

/// The maximum number of retries that are listed.
const MAX_RETRIES: usize = 8;

/// The facts of a trial.
pub(crate) fn facts(case: &CaseReport, trial: &TrialReport) -> Vec<(&'static str, String)> {
    let verdict = &trial.verdict;
    let mut facts: Vec<(&str, String)> =
        intents(case, verdict).into_iter().map(|text| ("intent", text)).collect();
    if !verdict.unintended.is_empty() {
        facts.push((
            "unintended",
            format!("effects at entries {}", numbers(verdict.unintended.iter().copied())),
        ));
    }
    for made in &verdict.attempts {
        let refused =
            if made.refused == 0 { String::new() } else { format!(" and {} refused", made.refused) };
        let bounds = match (made.at_least, made.budget) {
            (0, None) => String::new(),
            (0, Some(most)) => format!(" of at most {most}"),
            (least, None) => format!(" of at least {least}"),
            (least, Some(most)) => format!(" of {least} to {most}"),
        };
        facts.push((
            "attempts",
            format!("{} {}{refused}{bounds}", line(&made.operation, MAX_TEXT), made.made),
        ));
        facts.extend(made.layers.as_ref().map(|layers| ("layers", line(layers, MAX_TEXT))));
    }
    for cost in &verdict.costs {
        let EffectCost { effect, made, delivered, repeated, tokens, through } = cost;
        let twice = match (repeated, tokens) {
            (0, _) => String::new(),
            (_, Some(_)) => format!(", {repeated} paid for twice"),
            (_, None) => format!(", {repeated} repeated"),
        };
        let tokens = tokens.map(|tokens| format!(", {tokens} tokens billed")).unwrap_or_default();
        let effect = line(effect, MAX_TEXT);
        facts.push(("cost", format!("{effect} {made} made, {delivered} delivered{twice}{tokens}")));
        facts.extend(through.as_ref().map(|means| {
            let means = line(means, MAX_TEXT);
            ("acted", format!("through a {means}: the agent offers the model no tool that fits"))
        }));
    }
    for host in &verdict.hosts {
        let name = line(&host.host, MAX_TEXT);
        facts.extend(tokens(host).map(|tokens| ("cost", format!("{name}: {tokens}"))));
    }
    let who = verdict.retried_by.as_str();
    facts.push(("recovery", format!("{}; who retried: {who}", verdict.recovery.as_str())));
    facts.extend(verdict.retries.iter().take(MAX_RETRIES).map(|retry| ("retry", retry_text(retry))));
    let more = verdict.retries.len().saturating_sub(MAX_RETRIES);
    facts.extend((more > 0).then(|| ("retry", format!("and {more} more"))));
    facts.extend(verdict.barrier.as_ref().map(|barrier| ("barrier", barrier_text(barrier))));
    facts.push(("took", format!("{}, seed {}", words::duration(trial.duration_ms), trial.seed)));
    facts
}

/// The tokens of requests to a real model, and what they cost.
pub(super) fn tokens(host: &HostRequests) -> Option<String> {
    let (input, output) = (host.input_tokens, host.output_tokens);
    let cost = match host.microdollars {
        0 => String::new(),
        cost => format!(", ${}.{:06}", cost / 1_000_000, cost % 1_000_000),
    };
    (input + output > 0).then(|| format!("{input} input and {output} output tokens{cost}"))
}

/// A text for each intent. The members of a list that are as expected share one text.
fn intents(case: &CaseReport, verdict: &Verdict) -> Vec<String> {
    let is_good = |index: usize| {
        verdict.intents.get(index).is_some_and(|outcome| outcome.outcome == Outcome::ExactlyOnce)
    };
    let mut texts = Vec::new();
    for (index, outcome) in verdict.intents.iter().enumerate() {
        let text = || intent_text(case.terms.intents.get(index), outcome);
        let end = |list: &IntentList| list.first.saturating_add(list.count).min(verdict.intents.len());
        let members = case.terms.lists.iter().map(|list| list.first..end(list));
        let good: Vec<usize> =
            members.filter(|list| list.contains(&index)).flatten().filter(|index| is_good(*index)).collect();
        match good.as_slice() {
            [first, others @ ..] if *first == index && !others.is_empty() => {
                texts.push(format!("{}; the same for {} more of this list", text(), others.len()));
            }
            [_, others @ ..] if others.contains(&index) => {}
            _ => texts.push(text()),
        }
    }
    texts
}

fn intent_text(intent: Option<&Intent>, outcome: &IntentOutcome) -> String {
    let which = intent.map_or_else(String::new, |intent| {
        let fields = intent
            .selector
            .iter()
            .map(|(name, value)| format!(" {}={}", line(name, 60), line(&value.to_string(), 60)));
        format!("{}{}: ", line(&intent.effect, 60), fields.collect::<String>())
    });
    let entries = |what: &str, entries: &[u64]| {
        let which = if entries.len() == 1 { "entry" } else { "entries" };
        if entries.is_empty() {
            String::new()
        } else {
            format!(", {what} {which} {}", numbers(entries.iter().copied()))
        }
    };
    format!(
        "{which}{}, due {}, happened {}{}{}{}; {}",
        outcome.outcome.as_str(),
        due(outcome),
        outcome.effects.len(),
        entries("at", &outcome.effects),
        entries("surplus at", &outcome.surplus),
        entries("undone at", &outcome.compensated),
        line(&outcome.why, MAX_TEXT)
    )
}

fn retry_text(retry: &Retry) -> String {
    let what = retry.name.as_ref().map_or_else(|| format!("entry {}", retry.entry), |name| line(name, 100));
    let who = match retry.by {
        RetriedBy::NotSure | RetriedBy::Nobody | RetriedBy::Several => "not sure who".to_owned(),
        RetriedBy::Agent => "the agent's code".to_owned(),
        RetriedBy::Caller => "what is above the call".to_owned(),
        by => format!("the {}", by.as_str()),
    };
    format!("{what}, {who}: {}", line(&retry.evidence, MAX_TEXT))
}

fn due(outcome: &IntentOutcome) -> String {
    match outcome.at_least {
        Some(least) => format!("{least} to {}", outcome.due),
        None => outcome.due.to_string(),
    }
}

fn barrier_text(barrier: &BarrierFacts) -> String {
    let mut text = format!("{} met within {} µs", counted(barrier.met.len(), "caller"), barrier.spread_us);
    for (callers, what) in [
        (&barrier.absent, "absent"),
        (&barrier.gave_up, "gave up"),
        (&barrier.locked, "waited for a lock"),
        (&barrier.late, "late"),
    ] {
        if !callers.is_empty() {
            text.push_str(&format!("; {what}: {}", numbers(callers.iter().copied().map(u64::from))));
        }
    }
    text
}

/// The words for a claim: a true claim that fails the trial is one that the scenario does not expect.
pub(crate) fn honesty_words(verdict: &Verdict, claim: &Claim) -> &'static str {
    let is_about_it = |entries: &[u64]| claim.entry.is_some_and(|entry| entries.contains(&entry));
    let mut findings =
        verdict.findings.iter().filter(|finding| finding.fails && is_about_it(&finding.entries));
    let is_refused = findings.any(|finding| {
        matches!(
            finding.kind,
            FindingKind::Overclaimed | FindingKind::Underclaimed | FindingKind::UnexpectedClaim
        )
    });
    match claim.honesty {
        Honesty::Honest if is_refused => "not what the scenario expects",
        honesty => honesty.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    fn fact(facts: &[(&str, String)], name: &str) -> String {
        facts.iter().find(|(have, _)| *have == name).unwrap().1.clone()
    }

    #[test]
    fn an_intent_shows_what_was_due_what_happened_and_the_entries() {
        let (case, _) = sample::double_charge("none");
        let facts = facts(&case, &case.trials[0]);
        let text = "payment.charge order=ord_1001: duplicated, due 1, happened 2, at entries 5, 8, surplus \
                    at entry 8; by order";
        assert_eq!(fact(&facts, "intent"), text);
        assert_eq!(fact(&facts, "attempts"), "payment.charge 2 of at most 3");
    }

    #[test]
    fn the_start_barrier_lists_callers_that_met_and_those_that_did_not() {
        let (mut case, _) = sample::twelve_callers();
        let barrier = BarrierFacts {
            met: vec![1, 2, 3],
            absent: vec![4],
            gave_up: vec![],
            late: vec![5, 6],
            locked: vec![5, 6, 7],
            spread_us: 12,
        };
        case.trials[0].verdict.barrier = Some(barrier);
        assert_eq!(
            fact(&facts(&case, &case.trials[0]), "barrier"),
            "3 callers met within 12 µs; absent: 4; waited for a lock: 5..7; late: 5, 6"
        );
    }

    #[test]
    fn more_outcomes_than_intents_are_accepted() {
        let (mut case, _) = sample::pass(1);
        case.terms.intents.clear();
        assert!(fact(&facts(&case, &case.trials[0]), "intent").starts_with("exactly-once, due 1"));
    }

    #[test]
    fn a_claim_that_is_true_and_not_expected_is_not_called_honest() {
        let (mut case, _) = sample::double_charge("none");
        let verdict = &mut case.trials[0].verdict;
        verdict.claims[0].honesty = Honesty::Honest;
        let (claim, mut finding) = (verdict.claims[0].clone(), verdict.findings[0].clone());
        assert_eq!(honesty_words(verdict, &claim), "honest");
        finding.kind = FindingKind::Overclaimed;
        finding.entries = claim.entry.into_iter().collect();
        verdict.findings.push(finding);
        assert_eq!(honesty_words(verdict, &claim), "not what the scenario expects");
    }
}
