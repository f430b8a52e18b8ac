//! The data for the script of the page: every case and trial, with texts by number and timelines as rows of
//! numbers, so that the data of thousands of trials is small. Trials that failed have their full timeline,
//! trials that passed a short one.

use std::rc::Rc;

use mock_services::ledger::{Entry, SavedLedger};
use serde::Serialize;

use crate::domain::{CapturedOutput, ControlName};
use crate::report::facts::{facts, honesty_words};
use crate::report::formats::page::budget::{Items, Texts};
use crate::report::formats::page::exchange::facts_of;
use crate::report::formats::page::frame::json_in_script;
use crate::report::formats::page::square::{keys_of, keys_of_skipped};
use crate::report::headline;
use crate::report::stderr::bad_ends;
use crate::report::timeline::{Item, Lane, Shape, Timeline};
use crate::results::Ledgers;
use crate::results::tally::{result_of, services_of, worst_first};
use crate::results::{CaseReport, Report, TrialReport};
use crate::score::{Claim, Finding, TrialStatus, Verdict};

/// The maximum number of characters of a text.
const MAX_TEXT: usize = 2_000;
/// The maximum number of characters of the output of a start; an eighth of it if the trial passed.
const MAX_OUTPUT: usize = 16_000;
/// The maximum number of characters of the headers and the body of a request or an answer.
const MAX_MESSAGE: usize = 8_000;
/// The maximum number of items of a timeline, if the trial failed and if it passed.
const MAX_FULL_ITEMS: usize = 3_000;
const MAX_SHORT_ITEMS: usize = 12;
/// The number of entries from which a short timeline is made.
const SHORT_ENTRIES: usize = 80;
/// The maximum number of items of all full timelines.
const MAX_ALL_FULL_ITEMS: usize = 80_000;
/// The maximum number of names and values of all entries.
const MAX_ALL_FACTS: usize = 60_000;
/// The maximum number of bytes of headers and bodies in a page.
const MAX_ALL_MESSAGES: usize = 1_000_000;
/// The maximum number of items of all short timelines.
const MAX_ALL_SHORT_ITEMS: usize = 60_000;

/// A page has all trials of a run that has at most so many. Of a larger run it has the first trials of each case that did not
/// pass, and a few that passed.
const MAX_TRIALS: usize = 6_000;
/// How many trials of a case a page has of a larger run, if they did not pass and if they passed.
const MAX_WRONG_TRIALS: usize = 40;
const MAX_PASSED_TRIALS: usize = 4;
/// How many of the other trials are in one file beside the page.
const TRIALS_OF_A_FILE: usize = 1_000;

/// The data for the script.
#[derive(Serialize)]
pub(super) struct Data {
    texts: Vec<String>,
    cases: Vec<CaseData>,
    skipped: Vec<SkippedData>,
    /// The case to show if the URL names none: the worst one.
    first: Option<usize>,
    /// Whether texts were shortened because there were too many.
    cut: bool,
    /// Whether the run is not finished, so that the page reloads itself.
    running: bool,
}

impl Data {
    /// There are no files beside the page.
    pub(super) fn stand_alone(&mut self) {
        self.cases.iter_mut().for_each(|case| case.files = 0);
    }
}

#[derive(Serialize)]
struct CaseData {
    id: u32,
    about: u32,
    task: u32,
    place: u32,
    tags: Vec<u32>,
    services: Vec<u32>,
    faults: Vec<u32>,
    /// The cells of the squares that it is in.
    cells: Vec<u32>,
    /// Each control, its expected outcome, whether that is a pass, and what it does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    controls: Vec<(u32, &'static str, &'static str, &'static str)>,
    result: &'static str,
    trials: Vec<TrialData>,
    /// How many trials of the case the page does not have.
    #[serde(skip_serializing_if = "crate::domain::is_default")]
    more: usize,
    /// How many files beside the page have them.
    #[serde(skip_serializing_if = "crate::domain::is_default")]
    files: usize,
}

#[derive(Serialize)]
struct SkippedData {
    id: u32,
    why: u32,
    cells: Vec<u32>,
}

#[derive(Serialize)]
struct TrialData {
    trial: u32,
    result: &'static str,
    outcome: &'static str,
    headline: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingData>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    void: Vec<u32>,
    claims: Vec<ClaimData>,
    facts: Vec<(u32, u32)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    output: Vec<OutputData>,
    replay: u32,
    /// How long it took, in milliseconds.
    took: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    torn: Option<u32>,
    lanes: Vec<(u8, u32)>,
    items: Vec<ItemData>,
    left_out: usize,
}

#[derive(Serialize)]
struct FindingData {
    kind: &'static str,
    fails: bool,
    message: u32,
    fix: u32,
    entries: Vec<u64>,
}

/// Caller, claimed outcome, message, honesty, and the start if it is an earlier one.
#[derive(Serialize)]
struct ClaimData(u32, &'static str, u32, &'static str, u32);

/// Caller, start, stdout, stderr, number of bytes that were cut, whether the start ended badly.
#[derive(Serialize)]
struct OutputData(u32, u32, u32, u32, u64, bool);

/// Shape, entry, microseconds, lane of the caller and of the service (from 1; 0 is none), attempt, label,
/// detail, and names and values in turn.
#[derive(Serialize)]
struct ItemData(
    u8,
    u64,
    u64,
    usize,
    usize,
    u64,
    u32,
    u32,
    #[serde(skip_serializing_if = "Vec::is_empty")] Vec<u32>,
);

struct Packer {
    texts: Texts,
    full: Items,
    short: Items,
    facts: Items,
    /// Bytes of headers and bodies.
    messages: Items,
    /// Whether the run has too many trials for a page.
    is_sampled: bool,
    /// Trials that did not pass, of such a run.
    wrong: Items,
}

/// The trials of a case that the page does not have.
struct OtherTrials<'r> {
    /// The place of the case in the data.
    place: usize,
    case: &'r CaseReport,
    trials: Vec<&'r TrialReport>,
}

/// Whether a page has only some of the trials.
pub(super) fn is_sampled(report: &Report) -> bool {
    report.cases.iter().map(|case| case.trials.len()).sum::<usize>() > MAX_TRIALS
}

/// The name of a file beside the page, and a script that gives its trials to the page. They have no timelines.
fn file(other: &OtherTrials<'_>, number: usize, first_text: &mut u32) -> (String, String) {
    let mut packer = Packer::new(false, Texts::starting_at(*first_text));
    let trials = other.trials.chunks(TRIALS_OF_A_FILE).nth(number).unwrap_or_default();
    let trials: Vec<TrialData> = trials
        .iter()
        .map(|trial| TrialData { torn: None, ..packer.trial(other.case, trial, None) })
        .collect();
    let texts = packer.texts.into_kept();
    let call = (other.place, *first_text, &texts, trials);
    *first_text = first_text.saturating_add(u32::try_from(texts.len()).unwrap_or(u32::MAX));
    let name = format!("{}-{}.js", other.place, number + 1);
    (name, format!("addTrials(...{});\n", json_in_script(&call).into_string()))
}

/// The files beside the page, made one by one.
pub(super) struct Files<'r> {
    others: Vec<OtherTrials<'r>>,
    first_text: u32,
}

impl<'r> Files<'r> {
    /// All of them, by name and content.
    pub(super) fn into_all(self) -> impl Iterator<Item = (String, String)> + use<'r> {
        let Files { others, mut first_text } = self;
        let all = others.into_iter().map(Rc::new).flat_map(|other| {
            let count = other.trials.len().div_ceil(TRIALS_OF_A_FILE);
            (0..count).map(move |number| (Rc::clone(&other), number))
        });
        all.map(move |(other, number)| file(&other, number, &mut first_text))
    }
}

/// The data of a run, and the files with the trials that are left out of it.
pub(super) fn data<'r>(report: &'r Report, ledgers: &Ledgers, running: bool) -> (Data, Files<'r>) {
    let mut packer = Packer::new(is_sampled(report), Texts::default());
    // The worst cases are packed first, so that the budget is sufficient for them.
    let mut packed: Vec<(&'r CaseReport, CaseData, Vec<&'r TrialReport>)> = worst_first(report)
        .into_iter()
        .map(|case| {
            let (data, others) = packer.case(case, ledgers);
            (case, data, others)
        })
        .collect();
    packed.sort_by_key(|(case, ..)| case.id.as_str());
    let worst = worst_first(report)
        .first()
        .filter(|case| result_of(case) != TrialStatus::Pass)
        .map(|case| case.id.as_str());
    let first = worst.and_then(|id| packed.iter().position(|(case, ..)| case.id == id));
    let skipped = report.skipped.iter().map(|skipped| SkippedData {
        id: packer.texts.name(&skipped.id),
        why: packer.texts.line(&skipped.why, MAX_TEXT),
        cells: keys_of_skipped(skipped, report).iter().map(|key| packer.texts.name(key)).collect(),
    });
    let skipped = skipped.collect();
    let (mut cases, mut others) = (Vec::new(), Vec::new());
    for (place, (case, data, trials)) in packed.into_iter().enumerate() {
        cases.push(data);
        others.push(OtherTrials { place, case, trials });
    }
    let (cut, texts) = (packer.texts.cut, packer.texts.into_kept());
    let first_text = u32::try_from(texts.len()).unwrap_or(u32::MAX);
    (Data { cases, skipped, first, cut, texts, running }, Files { others, first_text })
}

impl Packer {
    fn new(is_sampled: bool, texts: Texts) -> Self {
        Packer {
            texts,
            full: Items::new(MAX_ALL_FULL_ITEMS),
            short: Items::new(MAX_ALL_SHORT_ITEMS),
            facts: Items::new(MAX_ALL_FACTS),
            messages: Items::new(MAX_ALL_MESSAGES),
            is_sampled,
            wrong: Items::new(MAX_TRIALS),
        }
    }

    fn words(&mut self, text: &str) -> u32 {
        self.texts.line(text, MAX_TEXT)
    }

    /// The data of a case, and the trials that it does not have.
    fn case<'r>(&mut self, case: &'r CaseReport, ledgers: &Ledgers) -> (CaseData, Vec<&'r TrialReport>) {
        let (shown, others) = self.shown(case);
        let data = CaseData {
            id: self.texts.name(&case.id),
            about: self.words(&case.about),
            task: self.words(&case.task),
            place: self.words(&case.location()),
            tags: case.tags.iter().map(|tag| self.texts.name(tag)).collect(),
            services: services_of(case).into_iter().map(|service| self.texts.name(service)).collect(),
            faults: case
                .terms
                .faults
                .iter()
                .chain(&case.terms.interrupts)
                .map(|planned| self.words(&planned.text))
                .collect(),
            cells: keys_of(case).iter().map(|key| self.texts.name(key)).collect(),
            controls: case
                .controls
                .iter()
                .map(|control| {
                    let name = self.texts.name(&control.control);
                    let behavior = control.control.parse().map_or("", ControlName::behavior);
                    (name, control.is.as_str(), control.is.status().as_str(), behavior)
                })
                .collect(),
            result: result_of(case).as_str(),
            more: others.len(),
            files: others.len().div_ceil(TRIALS_OF_A_FILE),
            trials: shown
                .into_iter()
                .map(|trial| self.trial(case, trial, ledgers.find(&trial.ledger).as_deref()))
                .collect(),
        };
        (data, others)
    }

    /// The trials of a case that the page has, and the others. It has the worst one always, so that its result can be seen.
    fn shown<'r>(&mut self, case: &'r CaseReport) -> (Vec<&'r TrialReport>, Vec<&'r TrialReport>) {
        if !self.is_sampled {
            return (case.trials.iter().collect(), Vec::new());
        }
        let (mut wrong, mut passed, mut has_worst) = (0, 0, false);
        let worst = result_of(case);
        let is_shown = |trial: &&TrialReport| {
            if trial.verdict.result == TrialStatus::Pass {
                passed += 1;
                return passed <= MAX_PASSED_TRIALS;
            }
            wrong += 1;
            let is_worst = !has_worst && trial.verdict.result == worst;
            has_worst |= is_worst;
            is_worst || (wrong <= MAX_WRONG_TRIALS && self.wrong.take(1))
        };
        case.trials.iter().partition(is_shown)
    }

    fn trial(&mut self, case: &CaseReport, trial: &TrialReport, saved: Option<&SavedLedger>) -> TrialData {
        let verdict = &trial.verdict;
        let timeline = self.timeline(trial, saved);
        let entries = saved.map(|saved| saved.entries.as_slice()).unwrap_or_default();
        let is_full = verdict.result != TrialStatus::Pass;
        let bad_ends = bad_ends(entries);
        let torn = match saved {
            None => Some(self.words("the ledger has no such trial")),
            Some(saved) => saved.torn.as_ref().map(|torn| self.words(&torn.to_string())),
        };
        TrialData {
            trial: trial.trial,
            result: verdict.result.as_str(),
            outcome: verdict.outcome.as_str(),
            headline: self.words(&headline::of_verdict(verdict)),
            findings: verdict.findings.iter().map(|finding| self.finding(finding)).collect(),
            void: verdict.void_because.iter().map(|why| self.words(why)).collect(),
            claims: self.claims(verdict),
            facts: self.facts(case, trial),
            output: trial
                .output
                .iter()
                .map(|output| self.output(output, verdict.result, &bad_ends))
                .collect(),
            replay: self.texts.name(&trial.replay),
            took: trial.duration_ms,
            torn,
            lanes: timeline.lanes.iter().map(|lane| self.lane(lane)).collect(),
            items: timeline
                .items
                .iter()
                .map(|item| self.item(item, if is_full { entries } else { &[] }))
                .collect(),
            left_out: timeline.left_out,
        }
    }

    fn timeline(&mut self, trial: &TrialReport, saved: Option<&SavedLedger>) -> Timeline {
        let entries = saved.map(|saved| saved.entries.as_slice()).unwrap_or_default();
        if trial.verdict.result != TrialStatus::Pass && self.full.take(entries.len().min(MAX_FULL_ITEMS)) {
            let highlighted: Vec<u64> =
                trial.verdict.findings.iter().flat_map(|finding| finding.entries.iter().copied()).collect();
            return Timeline::new(entries).focused(&highlighted, MAX_FULL_ITEMS);
        }
        let short = Timeline::first_entries(entries, SHORT_ENTRIES).short(MAX_SHORT_ITEMS);
        if self.short.take(short.items.len()) { short } else { short.short(0) }
    }

    fn finding(&mut self, finding: &Finding) -> FindingData {
        FindingData {
            kind: finding.kind.as_str(),
            fails: finding.fails,
            message: self.words(&finding.message),
            fix: self.words(&finding.fix),
            entries: finding.entries.iter().copied().take(MAX_FULL_ITEMS).collect(),
        }
    }

    fn claims(&mut self, verdict: &Verdict) -> Vec<ClaimData> {
        let earlier = verdict.earlier_claims.iter().map(|claim| (claim, claim.start));
        let all = earlier.chain(verdict.claims.iter().map(|claim| (claim, 0)));
        all.map(|(claim, start)| self.claim(verdict, claim, start)).collect()
    }

    fn claim(&mut self, verdict: &Verdict, claim: &Claim, start: u32) -> ClaimData {
        let outcome = claim.outcome.map_or("missing", crate::scenario::ClaimedOutcome::as_str);
        let honesty = honesty_words(verdict, claim);
        ClaimData(claim.caller, outcome, self.texts.line(&claim.message, 500), honesty, start)
    }

    fn facts(&mut self, case: &CaseReport, trial: &TrialReport) -> Vec<(u32, u32)> {
        facts(case, trial).into_iter().map(|(name, text)| (self.words(name), self.words(&text))).collect()
    }

    fn output(
        &mut self,
        output: &CapturedOutput,
        result: TrialStatus,
        bad_ends: &[(u32, u32)],
    ) -> OutputData {
        let limit = if result == TrialStatus::Pass { MAX_OUTPUT / 8 } else { MAX_OUTPUT };
        let (stdout, stderr) =
            (self.texts.block(&output.stdout, limit), self.texts.block(&output.stderr, limit));
        let is_bad = bad_ends.contains(&(output.caller, output.start));
        OutputData(output.caller, output.start, stdout, stderr, output.cut, is_bad)
    }

    fn lane(&mut self, lane: &Lane) -> (u8, u32) {
        // The number of the kind in `timeline.js`.
        let kind = match lane {
            Lane::Caller(_) => 0,
            Lane::Service(_) => 1,
            Lane::Sender(_) => 2,
            Lane::Person => 3,
        };
        (kind, self.texts.name(&lane.label()))
    }

    /// The names and values of an entry, in turn, as long as the budget is sufficient.
    fn facts_of_entry(&mut self, n: u64, entries: &[Entry]) -> Vec<u32> {
        let found = entries.binary_search_by_key(&n, |entry| entry.n);
        let facts = found.map(|index| facts_of(&entries[index])).unwrap_or_default();
        if !self.facts.take(facts.len()) {
            return Vec::new();
        }
        let mut packed = Vec::new();
        for (name, value) in &facts {
            let value = match value.contains('\n') {
                true if !self.messages.take(value.len()) => continue,
                true => self.texts.block(value, MAX_MESSAGE),
                false => self.words(value),
            };
            packed.extend([self.texts.line(name, 200), value]);
        }
        packed
    }

    fn item(&mut self, item: &Item, entries: &[Entry]) -> ItemData {
        let lane = |lane: Option<usize>| lane.map_or(0, |lane| lane + 1);
        let (label, detail) = (self.texts.line(&item.label, 300), self.words(&item.detail));
        let attempt = item.attempt.unwrap_or(0);
        ItemData(
            shape(item.shape),
            item.n,
            item.at,
            lane(item.caller),
            lane(item.service),
            attempt,
            label,
            detail,
            self.facts_of_entry(item.n, entries),
        )
    }
}

/// The number of a shape in `timeline.js`.
const fn shape(shape: Shape) -> u8 {
    match shape {
        Shape::Start => 0,
        Shape::Request => 1,
        Shape::Refused => 2,
        Shape::Fault => 3,
        Shape::Commit => 4,
        Shape::Reply => 5,
        Shape::BrokenReply => 6,
        Shape::Cut => 7,
        Shape::End => 8,
        Shape::Claim => 9,
        Shape::Note => 10,
        Shape::BrokenRequest => 11,
    }
}
