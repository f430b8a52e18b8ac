//! The answer of a certification on one screen, and the checks of a verification. It takes values and returns
//! text.

use super::issue::Certification;
use super::page::share;
use super::results::{QuestionResult, QuestionStatus};
use super::verify::{CheckResult, Verification};
use crate::report::View;
use crate::report::text::style::TextStyle;
use crate::report::text::{columns, fit, line, wrap};

/// The maximum number of questions that are shown one by one.
const MAX_ROWS: usize = 24;
/// The maximum number of findings that are shown.
const MAX_FINDINGS: usize = 6;

/// A certification on one screen.
#[must_use]
pub fn certification_text(certification: &Certification, view: &View) -> String {
    let style = TextStyle { color: view.color };
    let Certification { battery, conclusion, statement, signed_by } = certification;
    let width = view.width.clamp(60, 140);
    let mut out = rows(&conclusion.results, width, view.verbose, style);
    let mut push = |text: &str| {
        for part in wrap(text, width) {
            out.push_str(&part);
            out.push('\n');
        }
    };
    for finding in battery.findings.iter().take(MAX_FINDINGS) {
        push(&format!("- {}", line(finding, 600)));
    }
    if battery.findings.len() > MAX_FINDINGS {
        push(&format!("- and {} more findings", battery.findings.len() - MAX_FINDINGS));
    }
    for text in battery.not_tested.iter().take(MAX_FINDINGS) {
        push(&format!("not tested: {}", line(text, 600)));
    }
    if battery.not_tested.len() > MAX_FINDINGS {
        push(&format!("not tested: {} more, see the page", battery.not_tested.len() - MAX_FINDINGS));
    }
    let as_known = battery.controls.iter().filter(|check| check.is_as_known()).count();
    push("");
    push(&format!(
        "level reached: {} with a confidence of {} for each question; pass^{} at least {}",
        share(conclusion.level),
        conclusion.confidence,
        conclusion.pass_hat_k.k,
        share(conclusion.pass_hat_k.bound)
    ));
    if let Some(callers) = &battery.callers {
        let broke = callers.broke_at.map_or_else(
            || "the largest number that was tried".to_owned(),
            |count| format!("{count} did not hold"),
        );
        push(&format!(
            "callers at once: {} held ({broke}; {} trials each, {})",
            callers.held,
            callers.trials_each,
            line(&callers.question, 100)
        ));
    }
    if let Some(score) = battery.score {
        push(&format!("score: {score} of 3"));
    }
    push(&format!("controls: {as_known} of {} came out as known", battery.controls.len()));
    let name = line(&battery.subject.name, 120);
    let result = match statement {
        Err(why) => format!("{} {name}: {}", style.bad("NO CERTIFICATE"), line(&why.to_string(), 800)),
        Ok(_) if conclusion.result == QuestionStatus::Held => {
            let signed = match signed_by {
                Some(key) => format!("signed with the key {}", key.get(..16).unwrap_or(key)),
                None => "not signed: add --key FILE to sign it".to_owned(),
            };
            format!("{} {name}, {signed}", style.good("CERTIFIED"))
        }
        Ok(_) => {
            let failed =
                conclusion.results.iter().filter(|result| result.result == QuestionStatus::Failed).count();
            let questions = if failed == 1 { "question" } else { "questions" };
            format!("{} {name}: {failed} {questions} failed; the certificate says so", style.bad("FAILED"))
        }
    };
    push(&result);
    out
}

/// The questions: those that did not hold one by one, the others counted for each tool.
fn rows(results: &[QuestionResult], width: usize, verbose: bool, style: TextStyle) -> String {
    let is_shown = |result: &&QuestionResult| {
        verbose || results.len() <= MAX_ROWS || result.result != QuestionStatus::Held
    };
    let mut shown: Vec<&QuestionResult> = results.iter().filter(is_shown).collect();
    // Tools in the order of the trials; of each tool, what failed comes first.
    let place = |tool: &str| results.iter().position(|result| result.tool == tool);
    shown.sort_by_key(|result| (place(&result.tool), urgency(result.result)));
    let limit = if verbose { usize::MAX } else { MAX_ROWS };
    let wide = |text: fn(&QuestionResult) -> &str, most: usize| {
        shown.iter().take(limit).map(|result| columns(text(result))).max().unwrap_or(0).min(most)
    };
    let (tool_width, question_width) = (wide(|result| &result.tool, 24), wide(|result| &result.question, 44));
    let mut out = String::new();
    let mut last = "";
    for result in shown.iter().take(limit) {
        let tool = if last == result.tool { String::new() } else { line(&result.tool, 80) };
        last = &result.tool;
        let word = result.result.as_str();
        let colored = match result.result {
            QuestionStatus::Held => style.good(word),
            QuestionStatus::Failed => style.bad(word),
            QuestionStatus::Unsure => style.void(word),
            QuestionStatus::NotAsked => style.faint(word),
        };
        let head = format!(
            "{}  {}  {colored}{}",
            padded(&fit(&tool, tool_width), tool_width),
            padded(&fit(&line(&result.question, 80), question_width), question_width),
            " ".repeat("not-asked".len() - word.len())
        );
        let indent = tool_width + 4;
        let rest = if result.result == QuestionStatus::NotAsked {
            let used = indent + question_width + "not-asked".len() + 2;
            fit(&line(&result.sentence, 400), width.saturating_sub(used).max(20))
        } else {
            counts(result)
        };
        out.push_str(format!("{head}  {rest}").trim_end());
        out.push('\n');
        if matches!(result.result, QuestionStatus::Failed | QuestionStatus::Unsure) {
            for part in wrap(&line(&result.sentence, 400), width.saturating_sub(indent)) {
                out.push_str(&format!("{}{part}\n", " ".repeat(indent)));
            }
        }
    }
    if shown.len() > limit {
        out.push_str(&format!("and {} more that did not hold\n", shown.len() - limit));
    }
    let hidden = results.len() - shown.len();
    if hidden > 0 {
        out.push_str(&format!("{hidden} questions held; -v lists them\n"));
    }
    out
}

fn counts(result: &QuestionResult) -> String {
    match (result.trials + result.voids, result.failures, result.voids) {
        (0, _, _) => String::new(),
        (all, 0, 0) => format!("{all} trials"),
        (all, failures, 0) => format!("{failures} of {all} trials failed"),
        (all, 0, voids) => format!("{voids} of {all} trials void"),
        (all, failures, voids) => format!("{failures} of {all} trials failed, {voids} void"),
    }
}

/// What failed comes first.
const fn urgency(status: QuestionStatus) -> u8 {
    match status {
        QuestionStatus::Failed => 0,
        QuestionStatus::Unsure => 1,
        QuestionStatus::Held => 2,
        QuestionStatus::NotAsked => 3,
    }
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// The checks of a certificate.
#[must_use]
pub fn verification_text(verification: &Verification, view: &View) -> String {
    let style = TextStyle { color: view.color };
    let certificate = &verification.statement.predicate;
    let mut out = format!(
        "certificate of {} for {}, by hapax {}\n",
        line(&certificate.issued_at, 40),
        line(&certificate.tested.name, 120),
        line(&certificate.tested_with.hapax, 40)
    );
    for (name, result) in &verification.checks {
        let (word, text) = match result {
            CheckResult::Good(text) => (style.good("ok         "), text),
            CheckResult::Bad(text) => (style.bad("WRONG      "), text),
            CheckResult::NotChecked(text) => (style.void("not checked"), text),
        };
        out.push_str(&format!("  {word}  {name}: {}\n", line(text, 400)));
    }
    let reached = &certificate.reached;
    let says = if reached.result == QuestionStatus::Held {
        format!("it says that every question held at a level of {}", share(reached.level))
    } else {
        "it says that the subject failed".to_owned()
    };
    let result = match verification.exit_status() {
        crate::ExitStatus::Success => style.good("VALID"),
        crate::ExitStatus::Unproven => style.void("NOT PROVEN"),
        _ => style.bad("NOT VALID AS A PASS"),
    };
    out + &format!("{result}: {says}\n")
}

#[cfg(test)]
mod tests {
    use super::super::statement::NoCertificate;
    use super::super::statement::tests::{sample_battery, sample_facts};
    use super::*;
    use crate::certify::statement::{Conclusion, statement};

    const VIEW: View = View { width: 100, color: false, verbose: false };

    fn certification(change: impl FnOnce(&mut crate::certify::BatteryResult)) -> Certification {
        let mut battery = sample_battery();
        change(&mut battery);
        let facts = sample_facts();
        let conclusion = Conclusion::of(&battery.trials, facts.asked);
        let made = statement(&battery, facts).map(Box::new);
        Certification {
            battery,
            conclusion,
            statement: made,
            signed_by: Some("0123456789abcdef0123".to_owned()),
        }
    }

    #[test]
    fn a_certificate_on_one_screen() {
        insta::assert_snapshot!(certification_text(&certification(|_| ()), &VIEW));
    }

    #[test]
    fn a_failure_on_one_screen() {
        let text = certification_text(
            &certification(|battery| {
                let trial = &mut battery.trials[3];
                trial.outcome = crate::certify::ProbeOutcome::Failed;
                trial.sentence = "`create` twice with one key → two effects".to_owned();
                battery.findings.push("`create` has no key that reaches the backend.".to_owned());
            }),
            &VIEW,
        );
        assert!(text.lines().count() <= 24, "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn every_reason_for_no_certificate_is_said() {
        let reasons = [
            certification(|battery| battery.controls[0].found = "2".to_owned()),
            certification(|battery| battery.controls.clear()),
            certification(|battery| battery.trials[3].outcome = crate::certify::ProbeOutcome::Void),
            certification(|battery| battery.trials.truncate(40)),
            certification(|battery| battery.trials.clear()),
            certification(|battery| battery.interrupted = true),
        ];
        let text = |certification: &Certification| match &certification.statement {
            Err(why) => why.to_string(),
            Ok(_) => "a certificate".to_owned(),
        };
        insta::assert_snapshot!(reasons.iter().map(text).collect::<Vec<_>>().join("\n"));
        assert!(matches!(reasons[5].statement, Err(NoCertificate::Interrupted)));
    }
}
