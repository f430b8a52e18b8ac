//! The square: for each operation, what was committed × what the caller saw, with the results of the cases that
//! test it. A cell is selected to see only its cases.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use mock_services::fault::{CommitKind, ReplyKind};

use crate::report::formats::page::symbol;
use crate::results::tally::{Count, result_of};
use crate::results::{CaseReport, Report, Skipped};
use crate::scenario::{Planned, PlannedFault};
use crate::score::TrialStatus;
use crate::text::line;

/// The maximum number of operations that are drawn.
const MAX_OPERATIONS: usize = 40;
/// The key of cases without faults and interrupts.
const CLEAN: &str = "clean";
/// The key of cases with interrupts and without faults.
const INTERRUPTED: &str = "interrupted";

/// A cell: an operation, what is committed, and what the caller sees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FaultPlace {
    operation: String,
    commit: CommitKind,
    seen: Column,
}

/// What the caller sees. Statuses come in the order of their numbers, after the other replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Column {
    status: Option<u16>,
    reply: ReplyKind,
}

impl Column {
    fn word(self) -> String {
        self.status.map_or_else(|| self.reply.to_string(), |status| status.to_string())
    }
}

impl FaultPlace {
    fn from_planned(planned: &Planned) -> Option<Self> {
        let PlannedFault { commit, reply, status } = planned.fault()?;
        Some(FaultPlace { operation: planned.operation.clone(), commit, seen: Column { status, reply } })
    }

    /// Its name in the URL.
    fn key(&self) -> String {
        line(&format!("{} {} {}", self.operation, self.commit, self.seen.word()), 300)
    }
}

fn places(case: &CaseReport) -> BTreeSet<FaultPlace> {
    case.terms.faults.iter().filter_map(FaultPlace::from_planned).collect()
}

/// The keys of the cells of a case, for the filter.
pub(super) fn keys_of(case: &CaseReport) -> Vec<String> {
    let places = places(case);
    if !places.is_empty() {
        return places.iter().map(FaultPlace::key).collect();
    }
    vec![if case.terms.interrupts.is_empty() { CLEAN } else { INTERRUPTED }.to_owned()]
}

/// The keys of the cells of a skipped case: those of the cases of its scenario that have the same value of the
/// matrix name that decides the cell. None if no such name is known, because the report has no faults of a
/// skipped case.
pub(super) fn keys_of_skipped(skipped: &Skipped, report: &Report) -> Vec<String> {
    places_of_skipped(skipped, report).iter().map(FaultPlace::key).collect()
}

fn places_of_skipped(skipped: &Skipped, report: &Report) -> BTreeSet<FaultPlace> {
    let Some((scenario, variant)) = skipped.id.split_once('@') else { return BTreeSet::new() };
    let ran: Vec<&CaseReport> = report.cases.iter().filter(|case| case.scenario == scenario).collect();
    let named = variant.split(',').filter_map(|pair| pair.split_once('='));
    for (name, value) in named {
        let mut by_value: BTreeMap<&str, BTreeSet<BTreeSet<FaultPlace>>> = BTreeMap::new();
        for case in &ran {
            let value = case.variant.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str());
            by_value.entry(value.unwrap_or_default()).or_default().insert(places(case));
        }
        let decides = by_value.len() > 1
            && by_value.values().all(|places| places.len() == 1)
            && by_value.values().collect::<BTreeSet<_>>().len() > 1;
        if decides && let Some(places) = by_value.get(value).and_then(|places| places.first()) {
            return places.clone();
        }
    }
    BTreeSet::new()
}

/// The results of the cases of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Results {
    count: Count,
    skipped: usize,
}

impl Results {
    fn result(self) -> Option<TrialStatus> {
        match self.count {
            Count { fail: 1.., .. } => Some(TrialStatus::Fail),
            Count { void: 1.., .. } => Some(TrialStatus::Void),
            Count { pass: 1.., .. } => Some(TrialStatus::Pass),
            Count { .. } => None,
        }
    }

    /// How dark a cell is, from 1 to 4: the share of the cases with its result.
    fn level(self) -> usize {
        let all = self.count.all().max(1);
        let part = match self.result() {
            Some(TrialStatus::Fail) => self.count.fail,
            Some(TrialStatus::Void) => self.count.void,
            Some(TrialStatus::Pass) | None => self.count.pass,
        };
        (part * 4).div_ceil(all).clamp(1, 4)
    }

    fn words(self) -> String {
        let Count { pass, fail, void } = self.count;
        let skipped = if self.skipped > 0 { format!(", {} skipped", self.skipped) } else { String::new() };
        format!("{fail} failed, {void} void, {pass} passed{skipped}")
    }
}

type Cells = BTreeMap<FaultPlace, Results>;

fn cells(report: &Report) -> Cells {
    let mut cells = Cells::new();
    for case in &report.cases {
        for place in places(case) {
            cells.entry(place).or_default().count.add(result_of(case));
        }
    }
    for skipped in &report.skipped {
        for place in places_of_skipped(skipped, report) {
            cells.entry(place).or_default().skipped += 1;
        }
    }
    cells
}

/// The operations that have cells, in the order in which the scenarios use them: a charge before the mail about
/// it.
fn operations(report: &Report, cells: &Cells) -> Vec<String> {
    let faulted: BTreeSet<&str> = cells.keys().map(|place| place.operation.as_str()).collect();
    let used = |case: &CaseReport| -> Vec<String> {
        let due = case.terms.intents.iter().map(|intent| intent.effect.clone());
        let all = due.chain(case.terms.faults.iter().map(|fault| fault.operation.clone()));
        let mut seen = BTreeSet::new();
        all.filter(|name| faulted.contains(name.as_str()) && seen.insert(name.clone())).collect()
    };
    let mut sequences: Vec<Vec<String>> = report.cases.iter().map(used).collect();
    // Long sequences say the most about the order.
    sequences.sort_by_key(|sequence| std::cmp::Reverse(sequence.len()));
    let mut order: Vec<String> = Vec::new();
    for sequence in sequences {
        let mut after = None;
        for name in sequence {
            let index = order.iter().position(|have| *have == name).unwrap_or_else(|| {
                let index = after.map_or(order.len(), |index: usize| index + 1);
                order.insert(index, name.clone());
                index
            });
            after = Some(index);
        }
    }
    order
}

/// All squares; nothing if no case has a fault.
pub(super) fn squares(report: &Report) -> Markup {
    let cells = cells(report);
    let operations = operations(report, &cells);
    let others = others(report);
    let fails = report.cases.iter().any(|case| result_of(case) == TrialStatus::Fail);
    html! {
        @if !cells.is_empty() {
            section #squares aria-labelledby="squares-title" {
                h2 #squares-title { @if fails { "Where it fails" } @else { "What was tested" } }
                p.legend {
                    "What the service committed (rows) × what the caller saw (columns). "
                    span.key.fail { "✗ failed" } " " span.key.void { "○ void" } " "
                    span.key.pass { "✓ passed" } " " span.key.skipped { "– skipped" }
                    " of the cases of a cell; select a cell to see only them."
                }
                div.squares {
                    @for operation in operations.iter().take(MAX_OPERATIONS) { (square(operation, &cells)) }
                    @if !others.is_empty() {
                        table.square {
                            caption { "other cases" }
                            tbody { @for (key, words, results) in &others {
                                tr { th scope="row" { (words) } (cell(key, words, *results)) }
                            } }
                        }
                    }
                }
                @if operations.len() > MAX_OPERATIONS {
                    p.faint { "And " (operations.len() - MAX_OPERATIONS) " other operations." }
                }
            }
        }
    }
}

fn others(report: &Report) -> Vec<(&'static str, &'static str, Results)> {
    let of = |key: &'static str, words: &'static str| {
        let mut results = Results::default();
        for case in report.cases.iter().filter(|case| keys_of(case) == [key]) {
            results.count.add(result_of(case));
        }
        (key, words, results)
    };
    let all = [of(CLEAN, "no fault"), of(INTERRUPTED, "killed or frozen")];
    all.into_iter().filter(|(_, _, results)| results.count.all() > 0).collect()
}

fn square(operation: &str, cells: &Cells) -> Markup {
    let own = || cells.keys().filter(|place| place.operation == operation);
    let rows: BTreeSet<CommitKind> = own().map(|place| place.commit).collect();
    let columns: BTreeSet<Column> = own().map(|place| place.seen).collect();
    html! {
        table.square {
            caption { (line(operation, 100)) span.cue { "Scroll sideways for more replies →" } }
            thead { tr {
                td.corner { "commit ↓ reply →" }
                @for column in &columns {
                    th scope="col" title=(column.reply.facts().title) { (column.word()) }
                }
            } }
            tbody { @for row in &rows {
                tr {
                    th scope="row" title=(commit_words(*row)) { (row) }
                    @for column in &columns {
                        @let place =
                            FaultPlace { operation: operation.to_owned(), commit: *row, seen: *column };
                        @match cells.get(&place) {
                            Some(results) => { (cell(&place.key(), &place.key(), *results)) }
                            None => { td.untested { span title="no case tests this" { "·" } } }
                        }
                    }
                }
            } }
        }
    }
}

fn cell(key: &str, named: &str, results: Results) -> Markup {
    let (class, mark) =
        results.result().map_or(("skipped", "–"), |result| (result.as_str(), symbol(result)));
    let Count { pass, fail, void } = results.count;
    let all = results.count.all();
    let number = match results.result() {
        Some(TrialStatus::Fail) if fail < all => format!("{fail}/{all}"),
        Some(TrialStatus::Fail) => fail.to_string(),
        Some(TrialStatus::Void) if void < all => format!("{void}/{all}"),
        Some(TrialStatus::Void) => void.to_string(),
        Some(TrialStatus::Pass) => pass.to_string(),
        None => results.skipped.to_string(),
    };
    let words = format!("{}: {}", line(named, 300), results.words());
    let level = format!("l{}", results.level());
    html! {
        td {
            button.place.(class).(level) type="button" data-cell=(key) aria-pressed="false" aria-label=(words)
                title=(words) {
                span aria-hidden="true" { (mark) } (number)
            }
        }
    }
}

fn commit_words(commit: CommitKind) -> &'static str {
    match commit {
        CommitKind::Now => "the service commits before it replies",
        CommitKind::Never => "the service does not commit",
        CommitKind::Later => "the service commits after the reply",
        CommitKind::Twice => "the request is delivered twice",
        CommitKind::Part => "the service commits a part of a list",
        CommitKind::Reverts => "the service commits, and loses it afterwards",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;
    use mock_services::fault::Fault;

    fn with_fault(number: usize, line: &str) -> sample::SampleCase {
        let (mut case, saved) = sample::pass(number);
        case.terms.faults = vec![Planned::from(&line.parse::<Fault>().unwrap())];
        (case, saved)
    }

    #[test]
    fn a_fault_has_its_place_whatever_its_details_and_also_in_a_report_that_has_only_its_line() {
        for (line, key) in [
            ("payment.charge#1 commit=now reply=drop", "payment.charge now drop"),
            (
                "payment.charge#[1, 2] commit={later: 300ms} reply={status: 503, body: \"no 1\"} caller=2",
                "payment.charge later 503",
            ),
            (
                "x.y#1..3 commit={part: 0.5} reply={hang: {release: 300ms}} where.order=a optional",
                "x.y part hang",
            ),
        ] {
            let planned = Planned::from(&line.parse::<Fault>().unwrap());
            let json = serde_json::to_value(&planned).unwrap();
            assert_eq!(json["fault"]["commit"], key.split(' ').nth(1).unwrap());
            let only_its_line = Planned { fault: None, ..planned.clone() };
            assert!(serde_json::to_value(&only_its_line).unwrap().get("fault").is_none());
            for planned in [planned, only_its_line] {
                assert_eq!(FaultPlace::from_planned(&planned).unwrap().key(), key);
            }
        }
        let (operation, text) = ("x.y".to_owned(), "x.y#1 committed: kill, then restart".to_owned());
        let interrupt = Planned { operation, text, optional: false, fault: None };
        assert_eq!(FaultPlace::from_planned(&interrupt), None);
    }

    #[test]
    fn operations_come_in_the_order_of_the_scenario_and_replies_in_the_order_of_the_faults() {
        let (mut both, saved) = with_fault(1, "payment.charge#1 commit=now reply=drop");
        let mut mail = both.terms.intents[0].clone();
        mail.effect = "email.send".to_owned();
        both.terms.intents.push(mail);
        let (report, _) = sample::run_of(vec![
            with_fault(2, "email.send#1 commit=never reply={status: 503}"),
            with_fault(3, "email.send#1 commit=now reply=reset"),
            (both, saved),
        ]);
        let cells = cells(&report);
        assert_eq!(operations(&report, &cells), ["payment.charge", "email.send"]);
        let page = squares(&report).into_string();
        let at = |text: &str| page.find(text).unwrap();
        assert!(at("payment.charge<") < at("email.send<"));
        assert!(at(">reset</th>") < at(">503</th>"));
        assert!(page.contains("data-cell=\"email.send never 503\""), "{page}");
    }

    #[test]
    fn a_cell_shows_its_worst_result_with_a_shape_and_a_number() {
        let results = |pass, fail, void, skipped| Results { count: Count { pass, fail, void }, skipped };
        let shown = |results| cell("k", "k", results).into_string();
        assert!(shown(results(2, 1, 0, 0)).contains("✗</span>1/3"));
        assert!(shown(results(0, 3, 0, 0)).contains("✗</span>3<"));
        assert!(shown(results(2, 0, 1, 0)).contains("○</span>1/3"));
        assert!(shown(results(2, 0, 0, 1)).contains("✓</span>2<"));
        assert!(shown(results(0, 0, 0, 4)).contains("–</span>4<"));
        assert!(shown(results(2, 1, 0, 4)).contains("k: 1 failed, 0 void, 2 passed, 4 skipped"));
    }

    #[test]
    fn a_skipped_case_is_in_the_cell_of_the_cases_with_the_same_fault() {
        let case = |keys: &str, reply: &str| {
            let (mut case, saved) = with_fault(1, &format!("payment.charge#1 commit=now reply={reply}"));
            case.id = format!("{}@keys={keys},reply={reply}", case.scenario);
            case.variant = vec![("keys".to_owned(), keys.to_owned()), ("reply".to_owned(), reply.to_owned())];
            case.trials[0].ledger.clone_from(&case.id);
            (case, saved)
        };
        let (mut report, _) = sample::run_of(vec![case("stripe", "drop"), case("stripe", "reset")]);
        let skipped = |id: &str| Skipped::new(id.to_owned(), String::new());
        let keys = |id: &str, report: &Report| keys_of_skipped(&skipped(id), report);
        assert_eq!(keys("payment/verified@keys=none,reply=drop", &report), ["payment.charge now drop"]);
        assert_eq!(keys("payment/verified@keys=none,reply=garble", &report), [""; 0]);
        assert_eq!(keys("payment/other@keys=none,reply=drop", &report), [""; 0]);
        report.cases.truncate(1);
        assert_eq!(
            keys("payment/verified@keys=none,reply=drop", &report),
            [""; 0],
            "one case proves nothing"
        );
    }

    #[test]
    fn cases_without_a_fault_have_cells_of_their_own() {
        let (mut case, saved) = sample::pass(1);
        case.terms.faults.clear();
        assert_eq!(keys_of(&case), ["clean"]);
        case.terms.interrupts = vec![Planned {
            text: "kill".to_owned(),
            operation: "payment.charge".to_owned(),
            optional: false,
            fault: None,
        }];
        assert_eq!(keys_of(&case), ["interrupted"]);
        let (mut report, _) = sample::run_of(vec![(case, saved), sample::pass(2)]);
        let page = squares(&report).into_string();
        assert!(page.contains("data-cell=\"interrupted\"") && page.contains("What was tested"), "{page}");
        report.cases[0].trials[0].verdict.result = TrialStatus::Fail;
        assert!(squares(&report).into_string().contains("Where it fails"));
    }
}
