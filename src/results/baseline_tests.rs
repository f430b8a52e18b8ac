use proptest::prelude::*;

use super::*;
use crate::domain::HarmRank;
use crate::results::sample;
use crate::score::FindingKind;

fn read(text: &str, ids: &[&str]) -> Result<Baseline, Problems> {
    Baseline::read(&Source::new("known.yaml", text), &ids.iter().copied().collect(), UnknownCases::Reject)
}

fn ids(report: &Report) -> BTreeSet<&str> {
    report.cases.iter().map(|case| case.id.as_str()).collect()
}

fn named(moved: &[BaselineChange]) -> Vec<&str> {
    moved.iter().map(|moved| moved.id.as_str()).collect()
}

#[test]
fn a_baseline_is_small_sorted_and_has_what_fails() {
    let (report, _) = sample::run();
    insta::assert_snapshot!(Baseline::default().updated(&report).written());
}

#[test]
fn an_empty_baseline_says_so_and_reads_back() {
    let empty = Baseline::default();
    insta::assert_snapshot!(empty.written());
    assert_eq!(read(&empty.written(), &[]).unwrap(), empty);
    assert_eq!(read("# nothing\n", &[]).unwrap(), empty);
}

#[test]
fn what_is_known_to_fail_is_no_longer_worse() {
    let (report, _) = sample::run();
    let before = Baseline::default().measure(&report);
    assert_eq!((before.worse.len(), before.known.len(), before.void.len()), (4, 0, 1));
    let after = Baseline::default().updated(&report).measure(&report);
    assert_eq!((after.worse.len(), after.known.len(), after.void.len()), (0, 4, 1));
}

#[test]
fn a_worse_failure_is_worse_and_so_are_other_wrong_effects() {
    let (report, _) = sample::run_of(vec![sample::lost()]);
    let id = report.cases[0].id.as_str();
    let known =
        |control_outcome: &str| read(&format!("{id}: {control_outcome}\n"), &[id]).unwrap().measure(&report);
    assert_eq!(named(&known("altered").worse), [id]);
    assert_eq!(named(&known("lost").known), [id]);
    assert_eq!(named(&known("duplicated").worse), [id]);
}

#[test]
fn a_case_whose_effects_are_right_now_is_better_even_if_it_fails() {
    let (mut report, _) = sample::run_of(vec![sample::lost()]);
    let verdict = &mut report.cases[0].trials[0].verdict;
    verdict.outcome = crate::score::Outcome::ExactlyOnce;
    verdict.findings.retain(|finding| finding.kind == FindingKind::Overclaimed);
    assert_eq!(verdict.control_outcome(), ControlOutcome::Failed(FindingKind::Overclaimed));
    let id = report.cases[0].id.as_str();
    let measured = read(&format!("{id}: duplicated\n"), &[id]).unwrap().measure(&report);
    assert_eq!(named(&measured.better), [id]);
}

#[test]
fn another_failure_that_is_as_harmful_is_never_better() {
    for (_, was) in failures() {
        for (_, now) in failures() {
            let (before, after) = (was.harm().unwrap(), now.harm().unwrap());
            assert_eq!(is_better(now, was), before < after, "{was} → {now}");
            assert!(!is_better(now, was) || after != HarmRank::Effect, "{was} → {now}: a wrong effect");
        }
        assert!(is_better(ControlOutcome::Pass, was), "{was}");
    }
}

#[test]
fn a_case_that_passes_again_leaves_the_baseline_and_a_void_one_stays() {
    let (mut report, _) = sample::run_of(vec![sample::lost(), sample::void()]);
    let [lost, void] = [report.cases[1].id.clone(), report.cases[0].id.clone()];
    assert_eq!(report.cases[0].trials[0].verdict.control_outcome(), ControlOutcome::Void);
    let baseline = read(&format!("{lost}: lost\n{void}: duplicated\n"), &[&lost, &void]).unwrap();
    report.cases[1].trials = sample::pass(1).0.trials;
    let measured = baseline.measure(&report);
    assert_eq!(named(&measured.better), [lost.as_str()]);
    assert_eq!(named(&measured.void), [void.as_str()], "what proves nothing is not better");
    assert_eq!(baseline.updated(&report), read(&format!("{void}: duplicated\n"), &[&void]).unwrap());
}

#[test]
fn cases_that_were_not_run_stay_in_the_baseline() {
    let (report, _) = sample::run_of(vec![sample::pass(1)]);
    let baseline = read("elsewhere: lost\n", &["elsewhere"]).unwrap();
    assert_eq!(baseline.updated(&report), baseline);
    assert_eq!(baseline.measure(&report), BaselineComparison::default());
}

#[test]
fn what_is_wrong_with_a_baseline_is_shown_with_its_place() {
    let ids = ["payment/lost-reply@keys=none", "email/bounced"];
    let text = "payment/lost-reply@keys=nine: duplicated\nemail/bounced: doubled\ncrash/gone: lost\n";
    insta::assert_snapshot!(read(text, &ids).unwrap_err().render(false));
    assert!(read("- a\n", &ids).is_err());
    assert!(read("email/bounced: pass\n", &ids).is_err(), "a pass need not be known");
    assert!(read("email/bounced: void\n", &ids).is_err(), "what proves nothing cannot be known");
}

#[test]
fn an_entry_without_a_case_is_dropped_when_the_file_is_written_again() {
    let file = Source::new("known.yaml", "gone: lost\nhere: lost\n");
    let kept = Baseline::read(&file, &BTreeSet::from(["here"]), UnknownCases::Drop).unwrap();
    assert_eq!(kept, read("here: lost\n", &["here"]).unwrap());
}

proptest! {
    #[test]
    fn a_baseline_reads_back_as_it_was_written(
        entries in proptest::collection::btree_map("\\PC{1,30}", 0usize..13, 0..8),
    ) {
        let known = entries.into_iter().map(|(id, index)| (id, failures()[index].1));
        let known: BTreeMap<String, ControlOutcome> = known.collect();
        let ids: BTreeSet<&str> = known.keys().map(String::as_str).collect();
        let baseline = Baseline(known.clone());
        let file = Source::new("known.yaml", baseline.written());
        let read = Baseline::read(&file, &ids, UnknownCases::Reject);
        prop_assert_eq!(read.map_err(|problems| problems.render(false)), Ok(baseline));
    }

    #[test]
    fn a_run_is_never_worse_than_the_baseline_that_it_has_updated(
        fail in proptest::collection::vec(0u8..3, 1..6),
    ) {
        let sampled = fail.iter().zip(1..).map(|(kind, number)| {
            let (mut case, saved) = match kind {
                0 => sample::pass(number),
                1 => sample::lost(),
                _ => sample::double_charge("none"),
            };
            case.id = format!("case@n={number}");
            (case, saved)
        });
        let (report, _) = sample::run_of(sampled.collect());
        let updated = Baseline::default().updated(&report);
        let measured = updated.measure(&report);
        prop_assert!(measured.worse.is_empty() && measured.better.is_empty());
        prop_assert_eq!(measured.known.len(), updated.len());
        prop_assert!(ids(&report).len() >= updated.len());
    }
}
