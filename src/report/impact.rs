//! What a run means to the people that its effects are about, in one sentence: "In 66 of 185 cases the customer
//! paid twice: $3,299.34 too much." Every format begins with it.

use std::collections::BTreeMap;

use mock_services::ledger::{Entry, Event, SavedLedger};
use mock_services::{catalog, money};

use crate::results::Ledgers;
use crate::results::tally::{Count, Tally};
use crate::results::{CaseReport, Report, TrialReport};
use crate::scenario::{Intent, Promise};
use crate::score::{FindingKind, IntentOutcome, TrialStatus};
use crate::text::line;
use crate::text::words::counted;

/// The maximum number of sentences after the first.
const MAX_OTHERS: usize = 5;
/// The maximum number of currencies that are named.
const MAX_CURRENCIES: usize = 4;

/// What a run means, in sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Impact {
    /// The most important sentence.
    pub(crate) lead: String,
    /// Further sentences: other harm, and void trials.
    pub(crate) others: Vec<String>,
}

/// What a run means to the people that its effects are about.
pub(crate) fn impact(report: &Report, ledgers: &Ledgers) -> Impact {
    let unit = Unit::new(report);
    let tally = Tally::new(report);
    let mut harms = harms(report, ledgers);
    // The most harmful first, of these those with money, then those of the most trials.
    harms.sort_by_key(|(harm, extent)| {
        (harm.kind().harm(), extent.money.is_empty(), std::cmp::Reverse(extent.trials))
    });
    let mut sentences: Vec<String> =
        harms.iter().map(|(harm, extent)| unit.sentence(extent.trials, &harm.words(extent))).collect();
    if unit.count.fail > 0 && sentences.is_empty() {
        sentences.push(format!("{} of {} failed.", unit.count.fail, unit.named(unit.count.judged())));
    }
    if sentences.is_empty() {
        sentences.push(unit.passed(report, &tally));
    }
    let mut sentences = sentences.into_iter();
    let lead = sentences.next().unwrap_or_default();
    let mut others: Vec<String> = sentences.collect();
    let more = others.len().saturating_sub(MAX_OTHERS);
    others.truncate(MAX_OTHERS);
    if more > 0 {
        let kinds = if more == 1 { "kind" } else { "kinds" };
        others.push(format!("And {more} other {kinds} of failure."));
    }
    if unit.count.void > 0 && unit.count.judged() > 0 {
        let (are, they) = if unit.count.void == 1 { ("is", "it proves") } else { ("are", "they prove") };
        others.push(format!("{} {are} void: {they} nothing.", unit.named(unit.count.void)));
    }
    Impact { lead, others }
}

/// What is counted: cases, or trials if a case has several.
struct Unit {
    word: &'static str,
    count: Count,
}

impl Unit {
    fn new(report: &Report) -> Self {
        let mut count = Count::default();
        let trials = report.cases.iter().flat_map(|case| &case.trials);
        trials.for_each(|trial| count.add(trial.verdict.result));
        let is_case = report.cases.iter().all(|case| case.trials.len() <= 1);
        Unit { word: if is_case { "case" } else { "trial" }, count }
    }

    fn named(&self, number: usize) -> String {
        counted(number, self.word)
    }

    fn sentence(&self, number: usize, what: &str) -> String {
        let all = self.count.judged();
        match (number, all) {
            (1, 1) => format!("In the only {} {what}.", self.word),
            (number, all) if number >= all => format!("In all {} {what}.", self.named(all)),
            (number, all) => format!("In {number} of {} {what}.", self.named(all)),
        }
    }

    /// The sentence of a run in which nothing failed.
    fn passed(&self, report: &Report, tally: &Tally) -> String {
        let judged = self.count.judged();
        if report.is_empty_part() {
            return "This part of the run has no trials.".to_owned();
        }
        if judged == 0 {
            return match self.count.void {
                0 => "No trial was finished, so nothing is proven.".to_owned(),
                1 => format!("The only {} is void, so nothing is proven.", self.word),
                void => format!("All {} are void, so nothing is proven.", self.named(void)),
            };
        }
        let what = if tally.exactly_once == tally.trials.judged() {
            "each effect happened exactly once"
        } else if report.promise() == Promise::AtMostOnce {
            "no effect happened more often than it should, and the agent said what was missing"
        } else {
            "each effect happened as the scenario accepts it"
        };
        let ran = if tally.unfinished { " that ran" } else { "" };
        match judged {
            1 => format!("In the only {}{ran} {what}.", self.word),
            judged => format!("In all {}{ran} {what}.", self.named(judged)),
        }
    }
}

/// Something that went wrong, in the terms of the people that it is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Harm {
    /// An effect happened more often than due.
    Repeated(String),
    /// An effect happened more often than due, and was undone.
    Undone(String),
    /// An effect happened that must not happen.
    Forbidden(String),
    /// An effect that was due did not happen.
    Missing(String),
    /// Anything else that findings of this kind describe.
    Other(FindingKind),
}

/// In how many trials something went wrong, and how much.
#[derive(Debug, Clone, Default)]
struct Extent {
    trials: usize,
    /// Whether the effect happened more often than twice.
    more_than_twice: bool,
    /// Whether the effect was due more often than once.
    due_more_than_once: bool,
    /// The surplus money, by currency.
    money: BTreeMap<String, i64>,
}

impl Harm {
    /// The worst kind of finding that describes it.
    const fn kind(&self) -> FindingKind {
        match self {
            Harm::Repeated(_) => FindingKind::Duplicated,
            Harm::Undone(_) => FindingKind::Compensated,
            Harm::Forbidden(_) => FindingKind::Unintended,
            Harm::Missing(_) => FindingKind::Lost,
            Harm::Other(kind) => *kind,
        }
    }

    fn words(&self, extent: &Extent) -> String {
        match self {
            Harm::Repeated(effect) => {
                let money = money_words(&extent.money);
                let much = if money.is_empty() { String::new() } else { format!(": {money} too much") };
                format!("{} {}{much}", happened(effect), extent.how_often())
            }
            Harm::Undone(effect) => {
                format!("{} {}, and the surplus was undone", happened(effect), extent.how_often())
            }
            Harm::Forbidden(effect) => {
                let money = money_words(&extent.money);
                let much = if money.is_empty() { String::new() } else { format!(": {money} too much") };
                format!("{} although the task does not allow it{much}", happened(effect))
            }
            Harm::Missing(effect) => match catalog::impact(effect) {
                Some(impact) => format!("{} although the task asks for it", impact.missing),
                None => format!("{} is missing", with_article(&catalog::nouns(effect).0)),
            },
            Harm::Other(kind) => kind.impact().to_owned(),
        }
    }
}

impl Extent {
    fn how_often(&self) -> &'static str {
        match (self.due_more_than_once, self.more_than_twice) {
            (true, _) => "more often than asked",
            (false, true) => "more than once",
            (false, false) => "twice",
        }
    }

    fn add_money(&mut self, entries: &[u64], saved: Option<&SavedLedger>) {
        for (currency, amount) in entries.iter().filter_map(|entry| money_at(*entry, saved)) {
            let sum = self.money.entry(currency).or_default();
            *sum = sum.saturating_add(amount);
        }
    }
}

/// What happened, without its number: `the customer paid`.
fn happened(effect: &str) -> String {
    match catalog::impact(effect) {
        Some(impact) => impact.happened.to_owned(),
        None => format!("{} happened", with_article(&line(&catalog::nouns(effect).0, 100))),
    }
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

/// All harm of a run. Each trial counts once for each harm.
fn harms(report: &Report, ledgers: &Ledgers) -> Vec<(Harm, Extent)> {
    let mut harms: BTreeMap<Harm, Extent> = BTreeMap::new();
    for case in &report.cases {
        for trial in case.trials.iter().filter(|trial| trial.verdict.result == TrialStatus::Fail) {
            let of_trial = harms_of(case, trial, ledgers.find(&trial.ledger).as_deref());
            for (harm, extent) in of_trial {
                let all = harms.entry(harm).or_default();
                all.trials += 1;
                all.more_than_twice |= extent.more_than_twice;
                all.due_more_than_once |= extent.due_more_than_once;
                for (currency, amount) in extent.money {
                    let sum = all.money.entry(currency).or_default();
                    *sum = sum.saturating_add(amount);
                }
            }
        }
    }
    harms.into_iter().collect()
}

fn harms_of(case: &CaseReport, trial: &TrialReport, saved: Option<&SavedLedger>) -> BTreeMap<Harm, Extent> {
    let verdict = &trial.verdict;
    let mut harms: BTreeMap<Harm, Extent> = BTreeMap::new();
    for finding in verdict.failing() {
        let before = harms.len();
        for (intent, outcome) in case.terms.intents.iter().zip(&verdict.intents) {
            if let Some(harm) = harm_of(finding.kind, intent, outcome)
                && !harms.contains_key(&harm)
            {
                let extent = extent_of(&harm, case, verdict.intents.as_slice(), saved);
                harms.insert(harm, extent);
            }
        }
        let is_named = harms.len() > before || harms.keys().any(|harm| harm.explains(finding.kind));
        if !is_named {
            harms.insert(Harm::Other(finding.kind), Extent::default());
        }
    }
    harms
}

impl Harm {
    /// Whether findings of this kind describe the same harm.
    fn explains(&self, kind: FindingKind) -> bool {
        self.kind() == kind || (matches!(self, Harm::Repeated(_)) && kind == FindingKind::Diverged)
    }
}

/// The harm that a finding of this kind describes, for one intent.
fn harm_of(kind: FindingKind, intent: &Intent, outcome: &IntentOutcome) -> Option<Harm> {
    let effect = || intent.effect.clone();
    let left = remaining(outcome);
    match kind {
        FindingKind::Duplicated | FindingKind::Diverged if intent.times > 0 && !left.is_empty() => {
            Some(Harm::Repeated(effect()))
        }
        FindingKind::Compensated if !outcome.compensated.is_empty() && left.is_empty() => {
            Some(Harm::Undone(effect()))
        }
        FindingKind::Unintended if intent.times == 0 && !left.is_empty() => Some(Harm::Forbidden(effect())),
        FindingKind::Lost if is_lost(outcome) => Some(Harm::Missing(effect())),
        _ => None,
    }
}

/// The surplus effects that were not undone.
fn remaining(outcome: &IntentOutcome) -> Vec<u64> {
    outcome.surplus.iter().copied().filter(|entry| !outcome.compensated.contains(entry)).collect()
}

fn is_lost(outcome: &IntentOutcome) -> bool {
    let kept = outcome.effects.len().saturating_sub(outcome.surplus.len());
    kept < usize::try_from(outcome.least()).unwrap_or(usize::MAX)
}

/// How much of a harm a trial has, over all intents of the same effect.
fn extent_of(
    harm: &Harm,
    case: &CaseReport,
    outcomes: &[IntentOutcome],
    saved: Option<&SavedLedger>,
) -> Extent {
    let (Harm::Repeated(effect) | Harm::Forbidden(effect) | Harm::Undone(effect)) = harm else {
        return Extent::default();
    };
    let mut extent = Extent::default();
    for (intent, outcome) in case.terms.intents.iter().zip(outcomes) {
        let surplus = if matches!(harm, Harm::Undone(_)) { vec![] } else { remaining(outcome) };
        if intent.effect == *effect && !(surplus.is_empty() && outcome.compensated.is_empty()) {
            extent.due_more_than_once |= intent.times > 1;
            extent.more_than_twice |= surplus.len() + outcome.compensated.len() > 1;
            extent.add_money(&surplus, saved);
        }
    }
    extent
}

/// The currency and the amount of a committed effect, if it has them.
fn money_at(entry: u64, saved: Option<&SavedLedger>) -> Option<(String, i64)> {
    let entries: &[Entry] = &saved?.entries;
    let index = entries.binary_search_by_key(&entry, |entry| entry.n).ok()?;
    let Event::Committed { effect, fields, .. } = &entries[index].event else { return None };
    let (amount, currency) = catalog::money(effect, fields).filter(|(amount, _)| *amount > 0)?;
    Some((currency.to_ascii_lowercase(), amount))
}

/// Amounts of money: `$3,299.34 and 5000 JPY`.
fn money_words(sums: &BTreeMap<String, i64>) -> String {
    let mut all: Vec<String> =
        sums.iter().map(|(currency, sum)| grouped(&line(&money(*sum, currency), 60))).collect();
    let more = all.len().saturating_sub(MAX_CURRENCIES);
    all.truncate(MAX_CURRENCIES);
    if more > 0 {
        all.push(counted(more, "other amount"));
    }
    match all.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}

/// The text with commas between the thousands of its first number.
fn grouped(text: &str) -> String {
    let start = text.find(|character: char| character.is_ascii_digit()).unwrap_or(text.len());
    let (before, rest) = text.split_at(start);
    let length = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(length);
    let mut out = before.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + after
}

#[cfg(test)]
#[path = "impact_tests.rs"]
mod tests;
