//! The answer on one screen: a table of tools and questions, the sentences that matter, the remarks, and what
//! could not be tested.

use std::fmt::Write as _;

use super::battery::McpReport;
use super::questions::McpQuestion;
use crate::certify::{QuestionResult, QuestionStatus};

impl McpQuestion {
    /// The head of its column.
    const fn head(self) -> &'static str {
        match self {
            McpQuestion::SameCallTwice => "twice",
            McpQuestion::OneKeyTwice => "1 key",
            McpQuestion::TwoKeys => "2 keys",
            McpQuestion::OneKeyOtherArguments => "other",
            McpQuestion::CallersAtOnce => "at once",
            McpQuestion::Cancelled => "cancel",
            McpQuestion::ConnectionLost => "conn lost",
            McpQuestion::KilledAfterEffect => "killed",
            McpQuestion::ReplyLost => "reply lost",
            McpQuestion::ErrorAfterEffect => "false error",
            McpQuestion::RequestLost => "req lost",
            McpQuestion::BackendLies => "false ok",
        }
    }
}

const fn word(status: QuestionStatus) -> &'static str {
    match status {
        QuestionStatus::Held => "held",
        QuestionStatus::Failed => "FAILED",
        QuestionStatus::Unsure => "unsure",
        QuestionStatus::NotAsked => "-",
    }
}

/// The answer as text. `results` are those of the battery.
#[must_use]
pub fn render_mcp(report: &McpReport, results: &[QuestionResult]) -> String {
    let mut out = String::new();
    let subject = &report.battery.subject;
    let version = subject.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    // Writing into a string cannot fail.
    let _ = writeln!(out, "{}{version}, MCP {}\n", subject.name, report.protocol);
    table(&mut out, report, results);
    for tool in &report.writes {
        let mine = || results.iter().filter(|result| result.tool == *tool);
        let matters = |result: &&QuestionResult| {
            let informs = result.question == McpQuestion::SameCallTwice.as_str();
            matches!(result.result, QuestionStatus::Failed | QuestionStatus::Unsure)
                || (informs && result.result == QuestionStatus::Held)
        };
        let _ = writeln!(out, "\n{tool}");
        let width = mine().filter(matters).map(|result| result.question.len()).max().unwrap_or(0);
        for result in mine().filter(matters) {
            let (word, question) = (word(result.result), &result.question);
            let _ = writeln!(out, "  {word:<6}  {question:<width$}  {}", result.sentence);
        }
    }
    if let Some(callers) = &report.battery.callers {
        let _ = match callers.broke_at {
            Some(broke_at) => writeln!(
                out,
                "\nCallers at once: {} held, {broke_at} did not ({} trials each)",
                callers.held, callers.trials_each
            ),
            None => writeln!(
                out,
                "\nCallers at once: {} held ({} trials each)",
                callers.held, callers.trials_each
            ),
        };
    }
    section(&mut out, "Problems of the server", report.problems.iter().cloned());
    let remarks = report.remarks.iter().map(|remark| {
        format!("{} {}: {}\n    better: {}", remark.tool, remark.field, remark.problem, remark.better)
    });
    section(&mut out, "Remarks about the tool cards", remarks);
    section(
        &mut out,
        "Answers of the backend that the answers file declares",
        report.answers.iter().cloned(),
    );
    section(&mut out, "Not tested", report.battery.not_tested.iter().cloned());
    if !report.reads.is_empty() {
        let _ = writeln!(out, "\nOnly read: {}", report.reads.join(", "));
    }
    if report.writes.is_empty() {
        let _ = writeln!(
            out,
            "\nNo tool made a write reach a backend, so there is nothing to ask. Give arguments, or the read that \
             shows the effects of a tool (`verify`), in a tools file (--tools), or answers of the backend \
             (--answers)."
        );
    }
    out
}

fn table(out: &mut String, report: &McpReport, results: &[QuestionResult]) {
    if report.writes.is_empty() {
        return;
    }
    let first = report.writes.iter().map(|tool| tool.chars().count()).max().unwrap_or(0).max(4);
    let heads = McpQuestion::EVERY.map(McpQuestion::head);
    let _ = write!(out, "{:<first$}", "tool");
    heads.iter().for_each(|head| _ = write!(out, "  {head:<width$}", width = head.len().max(6)));
    let _ = writeln!(out);
    for tool in &report.writes {
        let _ = write!(out, "{tool:<first$}");
        for (question, head) in McpQuestion::EVERY.iter().zip(heads) {
            let found =
                results.iter().find(|result| result.tool == *tool && result.question == question.as_str());
            let word = found.map_or("-", |result| word(result.result));
            let _ = write!(out, "  {word:<width$}", width = head.len().max(6));
        }
        let _ = writeln!(out);
    }
    let lines: Vec<String> = out.lines().map(|line| line.trim_end().to_owned()).collect();
    *out = lines.join("\n") + "\n";
}

fn section(out: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}");
    lines.iter().for_each(|line| _ = writeln!(out, "  {line}"));
}
