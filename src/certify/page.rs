//! The page of a certificate: one printed page for a reader who decides, then the details. It takes values and returns
//! text.

use maud::{Markup, html};

use super::sentence::{percent, sentence, trials_each};
use super::statement::{Certificate, ControlCheck, Statement, SubjectKindTested, Tested};
use super::trials::{AskedLevel, CaseVerdict, Conclusion, ScenarioResult};
use super::{CERTIFICATE_FILE, CERTIFICATE_PAGE};
use crate::report::{Frame, PageScript, frame};
use crate::text::words::counted;
use crate::text::{ci_commands, line};

const STYLE: &str = include_str!("page.css");
/// The maximum number of names for one reason on the first page.
const MAX_NAMES: usize = 6;

/// The page of a certificate.
pub(super) fn certificate_page(statement: &Statement, signed_by: Option<&str>) -> String {
    let certificate = &statement.predicate;
    let tested = &certificate.tested;
    let passes = certificate.reached.verdict == CaseVerdict::Pass;
    let (class, mark, word) = if passes { ("pass", "✓", "pass") } else { ("fail", "✗", "fail") };
    let findings: Vec<String> = tested.findings.iter().map(|finding| finding.sentence()).collect();
    let body = html! {
        header {
            p.brand { "hapax " (line(&certificate.hapax, 40)) ", certificate of "
                (line(&certificate.issued_at, 40)) }
            h1 {
                span.verdict.(class) { span aria-hidden="true" { (mark) } " " (word) }
                " " (sentence(statement))
            }
            @if let Some(warning) = tested.warning() { p.warning { (warning) } }
            @if signed_by.is_none() { p.warning {
                "This certificate is not signed: nothing shows who issued it, or that it was not changed."
            } }
        }
        main {
            (not_passed(&certificate.reached))
            (texts("Findings", &findings))
            (what_was_tested(certificate))
            (what_was_not_tested(certificate))
            (texts("Settings that limit what is tested or compared", &tested.silencing))
            (texts("Notes", &tested.notes))
            (valid_for(statement))
            (signature(signed_by))
            div.annex {
                (statistics(certificate))
                (scenarios(&certificate.reached))
                (evidence(&certificate.reached))
                (not_tested_one_by_one(certificate))
                (digests(certificate))
                (controls(&tested.controls))
            }
        }
    };
    let local = if tested.subject.local_recipe.is_some() { " (local recipe)" } else { "" };
    let title = format!("hapax: certificate of {}{local}", line(&tested.subject.name, 100));
    let page = frame(Frame { title: &title, body, style: STYLE, script: PageScript::None });
    ci_commands::page(&page.into_string()).into_owned()
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

/// The scenarios that were judged and did not pass.
fn not_passed(reached: &Conclusion) -> Markup {
    let is_open =
        |result: &&ScenarioResult| !matches!(result.verdict, CaseVerdict::Pass | CaseVerdict::Skipped);
    let results: Vec<&ScenarioResult> = reached.scenarios.iter().filter(is_open).collect();
    html! { @if !results.is_empty() {
        h2 { "What did not pass" }
        div.wide-table { table {
            thead { tr { @for name in ["situation", "trials", "what happened"] { th scope="col" { (name) } } } }
            tbody { @for result in results { tr {
                th.names scope="row" { code { (line(&result.scenario, 200)) } }
                td { (outcome(result)) }
                td { @if let Some(finding) = result.finding { (finding) ": " } (line(&result.message, 600)) }
            } } }
        } }
    } }
}

fn outcome(result: &ScenarioResult) -> String {
    let all = result.trials + result.voids;
    match result.verdict {
        CaseVerdict::Fail => format!("{} of {all} failed", result.failures),
        CaseVerdict::Void => format!("{} of {all} void", result.voids),
        _ => format!("{all}, too few"),
    }
}

/// The scenarios that passed, a row for each service, tool or command.
fn what_was_tested(certificate: &Certificate) -> Markup {
    let passed = certificate.reached.scenarios.iter().filter(|result| result.verdict == CaseVerdict::Pass);
    let mut groups: Vec<(&str, Vec<(&str, &ScenarioResult)>)> = Vec::new();
    for result in passed {
        let (group, name) = result.scenario.split_once('/').unwrap_or(("", &result.scenario));
        match groups.iter_mut().find(|(other, _)| *other == group) {
            Some((_, results)) => results.push((name, result)),
            None => groups.push((group, vec![(name, result)])),
        }
    }
    let (what, first) = match certificate.tested.subject.kind {
        SubjectKindTested::Agent => (
            "A situation is a task of the agent, mostly with a failure: a lost reply, an error after the effect, a \
             crash, several callers at once. It is a scenario of hapax.",
            "tasks",
        ),
        SubjectKindTested::McpServer => (
            "A situation is a tool of the server and what happens to its calls: a repeated call, a lost reply, a \
             killed server. docs/mcp-servers.md of hapax says what each requires.",
            "tool",
        ),
        SubjectKindTested::CommandLineTool => (
            "A situation is a command of the tool and what happens to it: the same key twice, a kill midway, several \
             calls at once. docs/certify.md of hapax says what each requires.",
            "command",
        ),
    };
    html! {
        h2 { "What was tested" }
        p { (what) }
        @if groups.is_empty() { p { "No situation passed." } } @else { div.wide-table { table {
            thead { tr {
                @for name in [first, "situations that passed", "trials of each", "holds in at least"] {
                    th scope="col" { (name) }
                }
            } }
            tbody { @for (group, results) in &groups { tr {
                th.names scope="row" { code { (line(group, 200)) } }
                td.names { @for (index, (name, _)) in results.iter().enumerate() {
                    @if index > 0 { ", " } code { (line(name, 200)) }
                } }
                td { (range(&results.iter().map(|(_, result)| *result).collect::<Vec<_>>())) }
                td.word { (percent(results.iter().map(|(_, result)| result.level).fold(1.0, f64::min))) }
            } } }
        } } }
    }
}

fn range(results: &[&ScenarioResult]) -> String {
    match trials_each(results) {
        (fewest, most) if fewest == most => most.to_string(),
        (fewest, most) => format!("{fewest} to {most}"),
    }
}

/// Everything that was not tested: scenarios and cases, each with the reason after its name.
fn not_tested(certificate: &Certificate) -> Vec<String> {
    let reached = &certificate.reached;
    // One whose cases are listed is not listed itself.
    let is_skipped =
        |result: &&ScenarioResult| result.verdict == CaseVerdict::Skipped && result.not_tested.is_empty();
    let skipped = reached.scenarios.iter().filter(is_skipped);
    let skipped = skipped.map(|result| format!("{}: {}", result.scenario, result.message));
    certificate.tested.not_tested.iter().cloned().chain(reached.not_tested()).chain(skipped).collect()
}

/// The texts by their reasons, with the names before them.
fn by_reason(texts: &[String]) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for text in texts {
        let (name, reason) = text.split_once(": ").unwrap_or(("", text));
        match groups.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, names)) => names.push(name),
            None => groups.push((reason, vec![name])),
        }
    }
    groups
}

fn what_was_not_tested(certificate: &Certificate) -> Markup {
    let texts = not_tested(certificate);
    html! {
        h2 { "What was not tested" }
        ul {
            @for (reason, names) in by_reason(&texts) { li {
                @for name in names.iter().take(MAX_NAMES).filter(|name| !name.is_empty()) {
                    code { (line(name.trim_matches('`'), 200)) } ", "
                }
                @if names.len() > MAX_NAMES { (names.len() - MAX_NAMES) " more, " }
                "because: " (line(reason, 1_000))
            } }
            @for text in &certificate.does_not_show { li { (line(text, 1_000)) } }
        }
    }
}

fn not_tested_one_by_one(certificate: &Certificate) -> Markup {
    let all = not_tested(certificate);
    let is_shortened = by_reason(&all).iter().any(|(_, names)| names.len() > MAX_NAMES);
    html! { @if is_shortened { (texts("Not tested, one by one", &all)) } }
}

/// What the certificate is about. Its digests are the only names that nobody can give to something else.
fn valid_for(statement: &Statement) -> Markup {
    let subject = &statement.predicate.tested.subject;
    html! { div.together {
        h2 { "Valid for" }
        @if statement.subject.is_empty() {
            p.warning { "No digest identifies what was tested: it is known by its name only." }
        } @else {
            p { "Only for files with these SHA-256 digests, started with "
                code { (line(&subject.command.join(" "), 600)) } ":" }
            (digest_table(statement.subject.iter().map(|file| (&file.name, &file.digest.sha256))))
        }
    } }
}

fn signature(signed_by: Option<&str>) -> Markup {
    html! { div.together {
        h2 { "Signature, and how to check it" }
        p {
            @match signed_by {
                Some(key) => {
                    (CERTIFICATE_FILE) " is signed with the Ed25519 key " code { (line(key, 80)) }
                    ". Get the public key from the issuer, and check it with:"
                }
                None => {
                    "It is not signed, so only the folder of the certification shows that it was not changed. Check \
                     it with:"
                }
            }
        }
        p { code {
            "hapax certify verify " (CERTIFICATE_FILE)
            @if signed_by.is_some() { " --public-key FILE" }
            " --subject FILE --run FOLDER"
        } }
        p {
            code { "--subject" } " compares a file with the digests above. " code { "--run" }
            " takes the folder of the certification, computes every verdict again, and checks that "
            (CERTIFICATE_PAGE) " shows what " (CERTIFICATE_FILE) " says."
        }
    } }
}

fn statistics(certificate: &Certificate) -> Markup {
    html! {
        h2 { "Statistics" }
        dl.numbers {
            @for (name, value, more) in numbers(&certificate.tested, certificate.asked, &certificate.reached) {
                div { dt { (name) } dd { (value) @if !more.is_empty() { small { " " (more) } } } }
            }
        }
        ul { @for text in &certificate.shows { li { (line(text, 1_000)) } } }
    }
}

fn scenarios(reached: &Conclusion) -> Markup {
    html! {
        h2 { "Scenarios" }
        div.wide-table { table {
            thead { tr { @for name in ["scenario", "verdict", "trials", "level", "what happened"] {
                th scope="col" { (name) }
            } } }
            tbody { @for result in &reached.scenarios { tr {
                th.names scope="row" { code { (line(&result.scenario, 200)) } }
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
                td { (line(&result.message, 600)) }
            } } }
        } }
    }
}

/// What was seen where a scenario did not pass.
fn evidence(reached: &Conclusion) -> Markup {
    let has_some =
        |result: &&ScenarioResult| !result.evidence.is_empty() && result.verdict != CaseVerdict::Pass;
    let results: Vec<&ScenarioResult> = reached.scenarios.iter().filter(has_some).collect();
    html! { @if !results.is_empty() {
        h2 { "What was seen" }
        @for result in results {
            p { code { (line(&result.scenario, 200)) } ":" }
            ul { @for seen in &result.evidence { li { code { (line(seen, 400)) } } } }
        }
    } }
}

fn texts(title: &str, texts: &[String]) -> Markup {
    html! { @if !texts.is_empty() {
        h2 { (title) }
        ul { @for text in texts { li { (line(text, 1_000)) } } }
    } }
}

fn digests(certificate: &Certificate) -> Markup {
    let Certificate { tested, seed, head, .. } = certificate;
    let files = tested.files.iter().map(|file| (&file.name, &file.sha256));
    let scenarios = tested.scenarios.iter().map(|found| (&found.scenario, &found.digest));
    html! {
        h2 { "Tested with" }
        p { "Seed " (seed) ". Head of the hash chain of the trials: " code { (line(head, 100)) } "." }
        (digest_table(files.chain(scenarios)))
    }
}

fn digest_table<'a>(rows: impl Iterator<Item = (&'a String, &'a String)>) -> Markup {
    let rows: Vec<_> = rows.collect();
    html! { @if !rows.is_empty() { div.wide-table { table {
        thead { tr { th scope="col" { "name" } th scope="col" { "SHA-256" } } }
        tbody { @for (name, digest) in rows { tr {
            th scope="row" { code { (line(name, 300)) } }
            td.names { code { (line(digest, 80)) } }
        } } }
    } } } }
}

fn controls(checks: &[ControlCheck]) -> Markup {
    html! {
        h2 { "Controls in the same run" }
        div.wide-table { table {
            thead { tr { @for name in ["control", "case", "known", "found"] { th scope="col" { (name) } } } }
            tbody { @for check in checks { tr {
                th.names scope="row" { code { (line(&check.control, 100)) } }
                td { code { (line(&check.case, 300)) } }
                td.word { (line(&check.expected, 100)) }
                td.word { (line(&check.found, 100)) }
            } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::issue::tests::sample_statement;
    use super::*;

    #[test]
    fn the_page_says_what_was_tested_and_what_that_shows() {
        let page = certificate_page(&sample_statement(), None);
        let body = page.split("<body>").nth(1).unwrap();
        insta::assert_snapshot!(body.replace("<tr>", "\n<tr>").replace("<h2>", "\n<h2>"));
    }

    #[test]
    fn the_page_of_an_unsealed_agent_that_failed_says_so_first() {
        let mut statement = sample_statement();
        let certificate = &mut statement.predicate;
        certificate.tested.subject.kind = SubjectKindTested::Agent;
        certificate.tested.sealed = Some(false);
        let skipped = |number: u32| format!("mail/case-{number}: the agent cannot send mail");
        certificate.tested.not_tested = (1..=8).map(skipped).collect();
        certificate.reached.verdict = CaseVerdict::Fail;
        let failed = &mut certificate.reached.scenarios[1];
        (failed.verdict, failed.failures) = (CaseVerdict::Fail, 2);
        failed.message = "the customer was charged twice".to_owned();
        let page = certificate_page(&statement, Some("0123456789abcdef"));
        let body = page.split("<body>").nth(1).unwrap();
        insta::assert_snapshot!(body.replace("<tr>", "\n<tr>").replace("<h2>", "\n<h2>"));
    }

    #[test]
    fn what_was_not_tested_is_grouped_by_its_reason() {
        let texts = ["a: no mail", "b: it is slow", "c: no mail", "alone"].map(str::to_owned);
        let expected = [("no mail", vec!["a", "c"]), ("it is slow", vec!["b"]), ("alone", vec![""])];
        assert_eq!(by_reason(&texts), expected);
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
