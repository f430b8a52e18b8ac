//! The page of a certificate, in the look of the page of a run. It takes values and returns text.

use maud::{Markup, html};

use super::statement::{Certificate, ControlCheck, Statement, Tested};
use super::trials::{AskedLevel, CaseVerdict, Conclusion};
use crate::report::{Frame, PageScript, frame};
use crate::text::words::counted;
use crate::text::{ci_commands, line};

/// The page of a certificate.
pub(super) fn certificate_page(statement: &Statement, signed_by: Option<&str>) -> String {
    let certificate = &statement.predicate;
    let tested = &certificate.tested;
    let passes = certificate.reached.verdict == CaseVerdict::Pass;
    let (class, mark, word) = if passes { ("pass", "✓", "pass") } else { ("fail", "✗", "fail") };
    let findings: Vec<String> = tested.findings.iter().map(|finding| finding.sentence()).collect();
    let not_tested = tested.not_tested.iter().cloned().chain(certificate.reached.not_tested());
    let not_tested: Vec<String> = not_tested.collect();
    let body = html! {
        header {
            p.brand { "hapax " (line(&certificate.hapax, 40)) ", certificate of "
                (line(&certificate.issued_at, 40)) }
            h1 {
                span.verdict.(class) { span aria-hidden="true" { (mark) } " " (word) }
                " " code { (line(&tested.subject.name, 200)) }
            }
            @if let Some(warning) = tested.warning() { p.warning { (warning) } }
            @match signed_by {
                Some(key) => p { "Signed with the key " code { (line(key, 80)) } "." },
                None => p.warning {
                    "This certificate is not signed: nothing shows who issued it, or that it was not changed."
                },
            }
            dl.numbers { @for (name, value, more) in numbers(tested, certificate.asked, &certificate.reached) {
                div { dt { (name) } dd { (value) @if !more.is_empty() { small { " " (more) } } } }
            } }
        }
        main {
            (scenarios(certificate))
            (texts("Findings", &findings))
            (texts("Not tested", &not_tested))
            (texts("Settings that limit what is tested or compared", &tested.silencing))
            (texts("Notes", &tested.notes))
            (texts("What this shows", &certificate.shows))
            (texts("What this does not show", &certificate.does_not_show))
            (digests(statement))
            (controls(&tested.controls))
        }
    };
    let title = format!("hapax: certificate of {}", line(&tested.subject.name, 100));
    ci_commands::page(&frame(Frame { title: &title, body, script: PageScript::None }).into_string())
        .into_owned()
}

/// The numbers of a certificate: what each is, its value, and more about it.
pub(super) fn numbers(
    tested: &Tested,
    asked: AskedLevel,
    reached: &Conclusion,
) -> Vec<(&'static str, String, String)> {
    let pass_hat_k = &reached.pass_hat_k;
    let mut numbers = vec![
        (
            "level reached",
            share(reached.level),
            format!("asked: {} with a confidence of {}", share(asked.level), share(asked.confidence)),
        ),
        (
            "pass^k",
            share(pass_hat_k.estimate),
            format!("k = {}; at least {}", pass_hat_k.k, share(pass_hat_k.bound)),
        ),
    ];
    if let Some(callers) = &tested.callers {
        let failed = callers.failed_at.map(|count| format!(", not {count}")).unwrap_or_default();
        let more = format!("{} trials each{failed}; {}", callers.trials_each, line(&callers.scenario, 200));
        numbers.push(("callers at once", callers.passed.to_string(), more));
    }
    if let Some(score) = tested.score {
        let more = match tested.unlisted_writes.len() {
            0 => String::new(),
            count => format!("without {} that the file does not list", counted(count, "command")),
        };
        numbers.push(("score", format!("{score} of 3"), more));
    }
    let as_known = tested.controls.iter().filter(|check| check.is_as_known()).count();
    let controls = format!("{as_known} of {}", tested.controls.len());
    numbers.push(("controls", controls, "as known".to_owned()));
    numbers
}

/// A share, rounded down: a certificate does not say more than was shown.
pub(super) fn share(share: f64) -> String {
    // One unit in the last place, so that 0.99 is not shown as 0.9899.
    format!("{:.4}", (share * 1e4 + 1e-9).floor() / 1e4)
}

fn scenarios(certificate: &Certificate) -> Markup {
    html! {
        h2 { "Scenarios" }
        table {
            thead { tr { @for name in ["scenario", "verdict", "trials", "level", "what happened"] {
                th scope="col" { (name) }
            } } }
            tbody { @for result in &certificate.reached.scenarios { tr {
                th scope="row" { code { (line(&result.scenario, 200)) } }
                td { (result.verdict) @if let Some(finding) = result.finding { ": " (finding) } }
                td {
                    (result.trials)
                    @if result.failures > 0 { ", " (result.failures) " failed" }
                    @if result.not_held > 0 { " (" (result.not_held) " void because of the subject)" }
                    @if result.voids > 0 { ", " (result.voids) " void" }
                    @if result.second_tries > 0 { ", " (result.second_tries) " second tries" }
                    @if !result.not_tested.is_empty() {
                        ", " (counted(result.not_tested.len(), "case")) " not tested"
                    }
                }
                td { @if result.trials > 0 { (share(result.level)) } }
                td {
                    (line(&result.message, 600))
                    @if !result.evidence.is_empty() && result.verdict != CaseVerdict::Pass {
                        ul { @for seen in &result.evidence { li { code { (line(seen, 400)) } } } }
                    }
                }
            } } }
        }
    }
}

fn texts(title: &str, texts: &[String]) -> Markup {
    html! { @if !texts.is_empty() {
        h2 { (title) }
        ul { @for text in texts { li { (line(text, 1_000)) } } }
    } }
}

fn digests(statement: &Statement) -> Markup {
    let Certificate { tested, seed, head, .. } = &statement.predicate;
    let subjects = statement.subject.iter().map(|subject| (&subject.name, &subject.digest.sha256));
    let files = tested.files.iter().map(|file| (&file.name, &file.sha256));
    let scenarios = tested.scenarios.iter().map(|found| (&found.scenario, &found.digest));
    html! {
        h2 { "What was tested, and with what" }
        p {
            "Command: " code { (line(&tested.subject.command.join(" "), 600)) }
            @if let Some(version) = &tested.subject.version { ", version " (line(version, 100)) }
            ". Seed " (seed) ". Head of the hash chain: "
            code { (line(head, 100)) } "."
        }
        table {
            thead { tr { th scope="col" { "file or scenario" } th scope="col" { "SHA-256" } } }
            tbody { @for (name, digest) in subjects.chain(files).chain(scenarios) { tr {
                th scope="row" { code { (line(name, 300)) } }
                td { code { (line(digest, 80)) } }
            } } }
        }
    }
}

fn controls(checks: &[ControlCheck]) -> Markup {
    html! {
        h2 { "Controls in the same run" }
        table {
            thead { tr { @for name in ["control", "case", "known", "found"] { th scope="col" { (name) } } } }
            tbody { @for check in checks { tr {
                th scope="row" { code { (line(&check.control, 100)) } }
                td { code { (line(&check.case, 300)) } }
                td { (line(&check.expected, 100)) }
                td { (line(&check.found, 100)) }
            } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::statement::tests::sample_statement;
    use super::*;

    #[test]
    fn the_page_says_what_was_tested_and_what_that_shows() {
        let page = certificate_page(&sample_statement(), None);
        let body = page.split("<body>").nth(1).unwrap();
        insta::assert_snapshot!(body.replace("<tr>", "\n<tr>").replace("<h2>", "\n<h2>"));
    }

    #[test]
    fn a_share_is_rounded_down_but_not_below_what_was_asked() {
        assert_eq!(
            [share(0.99), share(0.990_03), share(0.989_99), share(1.0)],
            ["0.9900", "0.9900", "0.9899", "1.0000"]
        );
    }

    #[test]
    fn text_of_a_subject_cannot_become_markup() {
        let mut statement = sample_statement();
        statement.predicate.tested.subject.name = "<script>alert(1)</script>".to_owned();
        assert!(!certificate_page(&statement, Some("key")).contains("<script>alert"));
    }
}
