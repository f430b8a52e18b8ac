//! `index.html`: the run as one self-contained file that loads nothing, but for the trials of a large run, most of which
//! are in files beside it. The frame, the squares and the list of cases are HTML; a script draws the details of a case
//! from data in the page, when the user selects it.

mod budget;
pub(crate) mod cases;
mod data;
mod exchange;
mod fixes;
mod frame;
mod head;
mod square;

use crate::report::impact::impact;
use crate::results::Ledgers;
use crate::results::Report;
use crate::results::tally::Tally;
use crate::score::TrialStatus;
use frame::json_in_script;
pub(crate) use frame::{Frame, PageScript, frame};

/// The page of a run. It stands alone: of a large run it has only some trials.
#[must_use]
pub fn page(report: &Report, ledgers: &Ledgers) -> String {
    render(report, ledgers, PageKind::Alone).0
}

/// The page of a run, and for a large run the other trials, as files in the folder [`TRIALS_FOLDER`] beside it, by name
/// and content.
pub fn page_and_files<'r>(
    report: &'r Report,
    ledgers: &Ledgers,
) -> (String, impl Iterator<Item = (String, String)> + use<'r>) {
    let (page, files) = render(report, ledgers, PageKind::WithFiles);
    (page, files.into_all())
}

/// The folder of the files beside the page.
pub const TRIALS_FOLDER: &str = "trials";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageKind {
    Alone,
    WithFiles,
    /// It reloads itself.
    SoFar,
}

/// The page of a run that is not finished. It reloads itself.
#[must_use]
pub fn page_so_far(report: &Report, ledgers: &Ledgers) -> String {
    render(report, ledgers, PageKind::SoFar).0
}

fn render<'r>(report: &'r Report, ledgers: &Ledgers, kind: PageKind) -> (String, data::Files<'r>) {
    let (tally, is_running) = (Tally::new(report), kind == PageKind::SoFar);
    let (mut data, files) = data::data(report, ledgers, is_running);
    let has_files = kind == PageKind::WithFiles && data::is_sampled(report);
    if !has_files {
        data.stand_alone();
    }
    let body = maud::html! {
        (head::head(report, &impact(report, ledgers), &tally, is_running))
        main {
            (fixes::fixes(report))
            (square::squares(report))
            (cases::cases(report))
        }
        script #data type="application/json" { (json_in_script(&data)) }
    };
    let title = format!("hapax: {}", crate::text::line(&report.subject, 100));
    let script = match has_files {
        true => PageScript::WithFiles(frame::SCRIPT),
        false => PageScript::Alone(frame::SCRIPT),
    };
    let page = frame(Frame { title: &title, body, style: "", script }).into_string();
    (crate::text::ci_commands::page(&page).into_owned(), files)
}

/// The shape of a result, so that color is never the only sign.
pub(crate) const fn symbol(result: TrialStatus) -> &'static str {
    match result {
        TrialStatus::Pass => "✓",
        TrialStatus::Fail => "✗",
        TrialStatus::Void => "○",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::results::sample;
    use crate::results::{CaseReport, SavedLedgers, TrialReport};

    fn data_of(page: &str) -> serde_json::Value {
        let (_, rest) = page.split_once(r#"<script id="data" type="application/json">"#).unwrap();
        let (json, _) = rest.split_once("</script>").unwrap();
        serde_json::from_str(json).unwrap()
    }

    /// The page without its style, its script and its data.
    fn frame_of(page: &str) -> String {
        let (before, rest) = page.split_once("<style>").unwrap();
        let (_, rest) = rest.split_once("</style>").unwrap();
        let (body, _) = rest.split_once("<script").unwrap();
        format!("{}{body}", before.replace("><", ">\n<")).replace("><", ">\n<")
    }

    #[test]
    fn the_page_names_the_subject_and_what_to_fix_first() {
        let (report, ledgers) = sample::run();
        let page = page(&report, &ledgers);
        let frame: String = frame_of(&page)
            .lines()
            .filter(|line| !line.contains("Content-Security-Policy"))
            .collect::<Vec<_>>()
            .join("\n");
        insta::assert_snapshot!(frame);
    }

    #[test]
    fn the_page_loads_nothing() {
        let (report, ledgers) = sample::run();
        let page = page(&report, &ledgers);
        for asking in
            ["src=", "@import", "url(", "fetch(", "XMLHttpRequest", "<iframe", "<link rel=\"stylesheet\""]
        {
            assert!(!page.contains(asking), "{asking}");
        }
        assert_eq!(
            page.matches("http").count(),
            2 + page.matches("www.w3.org").count() - 1,
            "the policy's attribute and the name of SVG"
        );
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn hostile_text_is_shown_and_does_nothing() {
        let hostile = format!("{}</style>{}", sample::HOSTILE, "x".repeat(1_000_000));
        let (mut case, saved) = sample::hostile(&hostile);
        case.about.clone_from(&hostile);
        case.task.clone_from(&hostile);
        case.tags = vec![hostile.clone()];
        case.trials[0].verdict.findings[0].fix.clone_from(&hostile);
        let (mut report, ledgers) = sample::run_of(vec![(case, saved)]);
        report.subject.clone_from(&hostile);
        let page = page(&report, &ledgers);
        assert_eq!(page.matches("<script").count(), 2, "the data and the page's own");
        assert_eq!(page.matches("</style>").count(), 1);
        assert!(!page.contains("<img"));
        assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
        assert!(page.len() < 200_000, "{} bytes", page.len());
        data_of(&page);
    }

    #[test]
    fn timelines_are_in_full_for_what_failed_and_in_short_for_what_passed() {
        let (report, ledgers) = sample::run_of(vec![sample::twelve_callers(), sample::pass(1)]);
        let data = data_of(&page(&report, &ledgers));
        let (failed, passed) = (&data["cases"][0]["trials"][0], &data["cases"][1]["trials"][0]);
        assert_eq!(failed["left_out"], 0);
        assert_eq!(failed["lanes"].as_array().unwrap().len(), 13);
        assert!(passed["items"].as_array().unwrap().len() <= 12);
        assert_eq!(data["first"], 0, "the worst case is open");
    }

    /// So many trials, one in `nth` of them failed, each with a ledger as long as twelve callers make it.
    fn many(count: usize, nth: usize, wordy: bool) -> (Report, SavedLedgers) {
        let mut ledgers = SavedLedgers::new();
        let mut cases: Vec<CaseReport> = Vec::new();
        for number in 0..count {
            let (mut case, saved) =
                if number % nth == 0 { sample::twelve_callers() } else { sample::pass(1) };
            case.id = format!("{}-{}@n={number}", case.scenario, number % 40);
            case.scenario = format!("{}-{}", case.scenario, number % 40);
            let trial: &mut TrialReport = &mut case.trials[0];
            trial.ledger.clone_from(&case.id);
            trial.replay = format!("hapax replay reports/many '{}' --trial 1", case.id);
            if wordy {
                let words = format!("{number} {}", "<lorem> & ".repeat(300));
                trial.output = vec![crate::domain::CapturedOutput {
                    caller: 1,
                    start: 1,
                    stdout: words.clone(),
                    stderr: words,
                    cut: 0,
                }];
            }
            ledgers.insert(case.id.clone(), saved);
            cases.push(case);
        }
        let (mut report, _) = sample::run_of(vec![]);
        report.cases = cases;
        (report, ledgers)
    }

    const LARGEST: usize = 15_000_000;

    #[test]
    fn five_thousand_trials_make_a_page_that_a_browser_opens() {
        let (report, ledgers) = many(5_000, 10, false);
        let page = page(&report, &ledgers);
        assert!(page.len() < LARGEST, "{} bytes", page.len());
    }

    #[test]
    fn five_thousand_failures_of_wordy_subjects_do_so_too() {
        let (report, ledgers) = many(5_000, 1, true);
        let page = page(&report, &ledgers);
        assert!(page.len() < LARGEST, "{} bytes", page.len());
        assert_eq!(data_of(&page)["cut"], true);
    }

    #[test]
    fn of_many_trials_the_page_has_those_that_failed_and_a_few_that_passed() {
        let (mut report, mut ledgers) = (sample::run_of(vec![]).0, SavedLedgers::new());
        for (number, fails) in [(1, false), (2, true)] {
            let (mut case, saved) = if fails { sample::lost() } else { sample::pass(number) };
            let trial = case.trials[0].clone();
            // The failures come late.
            let passed = sample::pass(number).0.trials[0].clone();
            let made = (1..=4_000).map(|trial_number| TrialReport {
                trial: trial_number,
                ..if fails && trial_number <= 3_900 { passed.clone() } else { trial.clone() }
            });
            case.trials = made.collect();
            ledgers.insert(trial.ledger, saved);
            report.cases.push(case);
        }
        report.cases.sort_by(|one, other| one.id.cmp(&other.id));
        let data = data_of(&page(&report, &ledgers));
        for case in data["cases"].as_array().unwrap() {
            let trials = case["trials"].as_array().unwrap();
            let failed = trials.iter().filter(|trial| trial["result"] == "fail").count();
            let expected = if case["result"] == "fail" { 40 } else { 0 };
            assert_eq!((failed, trials.len() - failed), (expected, 4));
            assert_eq!((&case["more"], &case["files"]), (&(4_000 - trials.len()).into(), &Value::Null));
        }
        // The other trials are in files, each in one of them.
        let (page, files) = page_and_files(&report, &ledgers);
        assert!(page.contains("script-src 'sha256-") && page.contains(" 'self';"));
        let data = data_of(&page);
        let files: Vec<(String, Value)> = files.map(|(name, script)| (name, called_with(&script))).collect();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["0-1.js", "0-2.js", "0-3.js", "0-4.js", "1-1.js", "1-2.js", "1-3.js", "1-4.js"]);
        let mut first_text = data["texts"].as_array().unwrap().len();
        for (place, case) in data["cases"].as_array().unwrap().iter().enumerate() {
            assert_eq!(case["files"], 4);
            let own: Vec<&Value> =
                files.iter().map(|(_, file)| file).filter(|file| file[0] == place).collect();
            let mut numbers: Vec<u64> = std::iter::once(&case["trials"])
                .chain(own.iter().map(|file| &file[3]))
                .flat_map(|trials| trials.as_array().unwrap())
                .map(|trial| trial["trial"].as_u64().unwrap())
                .collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (1..=4_000).collect::<Vec<u64>>());
            for file in own {
                assert_eq!(file[1], first_text, "the texts are numbered on");
                let texts = file[2].as_array().unwrap();
                let headline = file[3][0]["headline"].as_u64().unwrap();
                assert!((first_text..first_text + texts.len()).contains(&usize::try_from(headline).unwrap()));
                first_text += texts.len();
            }
        }
        let (small, ledgers) = sample::run();
        let (page, files) = page_and_files(&small, &ledgers);
        assert!(files.count() == 0 && !page.contains(" 'self'"));
    }

    /// The arguments of the only call of a script.
    fn called_with(script: &str) -> Value {
        let arguments = script.strip_prefix("addTrials(...").and_then(|rest| rest.strip_suffix(");\n"));
        serde_json::from_str(arguments.unwrap()).unwrap()
    }

    #[test]
    fn hundreds_of_failures_are_folded_by_what_to_fix_and_a_few_are_not() {
        let groups = |failures: usize| {
            let (mut report, ledgers) = many(failures, 1, false);
            for case in report.cases.iter_mut().skip(failures / 2) {
                case.trials[0].verdict.findings = sample::lost().0.trials.remove(0).verdict.findings;
            }
            let page = page(&report, &ledgers);
            assert!(page.find("What to fix first") < page.find("class=\"squares\""), "{failures}");
            let groups: Vec<String> = page
                .split("<details class=\"group\"")
                .skip(1)
                .map(|group| {
                    let (head, rest) = group.split_once("<ul").unwrap();
                    let rows = rest.split("</ul>").next().unwrap().matches("<li").count();
                    format!("{} {} {rows}", head.contains(" open"), head.split_once("</span>").unwrap().1)
                })
                .collect();
            groups.join("\n").replace("</h3></summary>", "")
        };
        insta::assert_snapshot!(format!("{}\n\n{}", groups(50), groups(120)));
    }

    #[test]
    fn the_page_of_a_run_that_is_not_finished_says_so_and_reloads_itself() {
        let (mut report, ledgers) = sample::run_of(vec![sample::pass(1), sample::pass(2)]);
        (report.planned, report.seed) = (9, 271_828_182_845_904);
        let running = page_so_far(&report, &ledgers);
        assert!(!running.contains("271828182845904"), "a subject could read it");
        assert!(page(&report, &ledgers).contains("271828182845904"));
        assert!(running.contains("Running: 2 of 9 trials have ended."));
        assert!(running.contains("○</span> running"), "it has not passed");
        assert!(running.contains("Loading: ") && !page(&report, &ledgers).contains("Loading: "));
        assert!(!running.contains("planned trials were not run"));
        assert_eq!(data_of(&running)["running"], true);
        let finished = page(&report, &ledgers);
        assert!(!finished.contains("Running:") && finished.contains("7 of 9 planned trials were not run"));
        assert_eq!(data_of(&finished)["running"], false);
    }
}
