//! The answer of a certification on one screen, and the checks of a verification. It takes values and returns
//! text.

use super::issue::{Certification, NoCertificate};
use super::page::{numbers, share};
use super::statement::CertifiedFinding;
use super::trials::{CaseVerdict, ScenarioResult};
use super::verify::{CheckResult, Verification};
use crate::ExitStatus;
use crate::report::View;
use crate::text::TextStyle;
use crate::text::words::counted;
use crate::text::{columns, fit, line, wrap};

/// The maximum number of scenarios that are shown one by one.
const MAX_ROWS: usize = 24;
/// The maximum number of findings, and of other remarks, that are shown.
const MAX_FINDINGS: usize = 12;

/// A certification on one screen.
pub(crate) fn certification_text(certification: &Certification, view: &View) -> String {
    let style = TextStyle { color: view.color };
    let Certification { tested, asked, conclusion, issued } = certification;
    let width = view.width.clamp(60, 140);
    let mut out = String::new();
    if let Some(warning) = tested.warning() {
        push(&mut out, warning, width);
    }
    out.push_str(&rows(&conclusion.scenarios, width, view.verbose, style));
    let findings: Vec<String> = tested.findings.iter().map(CertifiedFinding::sentence).collect();
    let not_tested: Vec<String> = tested.not_tested.iter().cloned().chain(conclusion.not_tested()).collect();
    let remarks = [
        ("- ", &findings),
        ("not tested: ", &not_tested),
        ("limited by the settings: ", &tested.silencing),
        ("note: ", &tested.notes),
    ];
    for (start, texts) in remarks {
        for text in texts.iter().take(MAX_FINDINGS) {
            push(&mut out, &format!("{start}{}", line(text, 600)), width);
        }
        if texts.len() > MAX_FINDINGS {
            push(&mut out, &format!("{start}{} more, see the page", texts.len() - MAX_FINDINGS), width);
        }
    }
    let mut push = |text: &str| push(&mut out, text, width);
    push("");
    if !matches!(issued, Err(NoCertificate::Partial(_) | NoCertificate::NoWrites)) {
        for (name, value, more) in numbers(tested, *asked, conclusion) {
            let more = if more.is_empty() { more } else { format!(" ({more})") };
            push(&format!("{name}: {value}{more}"));
        }
    }
    let recipe = tested.subject.local_recipe.as_ref().map(|recipe| format!(" ({})", recipe.clause()));
    let name = line(&tested.subject.name, 120) + &recipe.unwrap_or_default();
    push(&match issued {
        Err(why) => format!("{} {name}: {}", style.bad("NO CERTIFICATE"), line(&why.to_string(), 800)),
        Ok(signed_by) if conclusion.verdict == CaseVerdict::Pass => {
            let signed = match signed_by {
                Some(key) => format!("signed with the key {}", key.get(..16).unwrap_or(key)),
                None => "not signed: add --key FILE to sign it".to_owned(),
            };
            format!("{} {name}, {signed}", style.good("CERTIFIED"))
        }
        Ok(_) => {
            let fails = |result: &&ScenarioResult| result.verdict == CaseVerdict::Fail;
            let failed = counted(conclusion.scenarios.iter().filter(fails).count(), "scenario");
            format!("{} {name}: {failed} failed; the certificate says so", style.bad("FAILED"))
        }
    });
    out
}

fn push(out: &mut String, text: &str, width: usize) {
    for part in wrap(text, width) {
        out.push_str(&part);
        out.push('\n');
    }
}

/// The scenarios: those that do not pass one by one, worst first, and the others as well if they are few.
fn rows(results: &[ScenarioResult], width: usize, verbose: bool, style: TextStyle) -> String {
    let is_shown = |result: &&ScenarioResult| {
        verbose || results.len() <= MAX_ROWS || result.verdict != CaseVerdict::Pass
    };
    let mut shown: Vec<&ScenarioResult> = results.iter().filter(is_shown).collect();
    shown.sort_by_key(|result| urgency(result.verdict));
    let limit = if verbose { usize::MAX } else { MAX_ROWS };
    let name_width =
        shown.iter().take(limit).map(|result| columns(&result.scenario)).max().unwrap_or(0).min(60);
    let verdict_width =
        shown.iter().take(limit).map(|result| result.verdict.as_str().len()).max().unwrap_or(0);
    let mut out = String::new();
    for result in shown.iter().take(limit) {
        let name = fit(&line(&result.scenario, 200), name_width);
        let padding = " ".repeat(name_width - columns(&name));
        let word = result.verdict.as_str();
        let (colored, rest) = match result.verdict {
            CaseVerdict::Pass => (style.good(word), counts(result)),
            CaseVerdict::Fail => (style.bad(word), counts(result)),
            CaseVerdict::Void | CaseVerdict::Inconclusive => (style.void(word), counts(result)),
            CaseVerdict::Skipped => {
                let used = name_width + verdict_width + 4;
                let why = fit(&line(&result.message, 400), width.saturating_sub(used).max(20));
                (style.faint(word), why)
            }
        };
        let after = " ".repeat(verdict_width - word.len());
        out.push_str(format!("{name}{padding}  {colored}{after}  {rest}").trim_end());
        out.push('\n');
        if !matches!(result.verdict, CaseVerdict::Pass | CaseVerdict::Skipped) {
            for part in wrap(&line(&result.message, 400), width.saturating_sub(4)) {
                out.push_str(&format!("    {part}\n"));
            }
        }
    }
    if shown.len() > limit {
        out.push_str(&format!("and {} more that do not pass\n", shown.len() - limit));
    }
    let hidden = results.len() - shown.len();
    if hidden > 0 {
        out.push_str(&format!("{} passed; -v lists them\n", counted(hidden, "scenario")));
    }
    out
}

fn counts(result: &ScenarioResult) -> String {
    let finding = result.finding.map(|finding| format!("{finding}: ")).unwrap_or_default();
    let all = counted(usize::try_from(result.trials + result.voids).unwrap_or(usize::MAX), "trial");
    let mut parts = Vec::new();
    if result.failures > 0 {
        parts.push(format!("{finding}{} of {all} failed", result.failures));
    }
    if result.not_held > 0 {
        parts.push(format!("{} of them void because of the subject", result.not_held));
    }
    if result.voids > 0 {
        let of = if result.failures > 0 { String::new() } else { format!(" of {all}") };
        parts.push(format!("{}{of} void", result.voids));
    }
    if parts.is_empty() {
        parts.push(all);
    }
    if !result.not_tested.is_empty() {
        parts.push(format!("{} not tested", counted(result.not_tested.len(), "case")));
    }
    parts.join(", ")
}

/// What fails comes first.
const fn urgency(verdict: CaseVerdict) -> u8 {
    match verdict {
        CaseVerdict::Fail => 0,
        CaseVerdict::Void | CaseVerdict::Inconclusive => 1,
        CaseVerdict::Pass => 2,
        CaseVerdict::Skipped => 3,
    }
}

/// The checks of a certificate.
pub(crate) fn verification_text(verification: &Verification, view: &View) -> String {
    let style = TextStyle { color: view.color };
    let certificate = &verification.statement.predicate;
    let mut out = format!(
        "certificate of {} for {}, by hapax {}\n",
        line(&certificate.issued_at, 40),
        line(&certificate.tested.subject.name, 120),
        line(&certificate.hapax, 40)
    );
    if let Some(warning) = certificate.tested.warning() {
        out.push_str(&format!("  {warning}\n"));
    }
    for (name, result) in &verification.checks {
        let (word, text) = match result {
            CheckResult::Good(text) => (style.good("ok         "), text),
            CheckResult::Bad(text) => (style.bad("WRONG      "), text),
            CheckResult::NotChecked(text) => (style.void("not checked"), text),
        };
        out.push_str(&format!("  {word}  {name}: {}\n", line(text, 400)));
    }
    let reached = &certificate.reached;
    let says = if reached.verdict == CaseVerdict::Pass {
        format!("it says that every scenario passed at a level of {}", share(reached.level))
    } else {
        "it says that the subject failed".to_owned()
    };
    let result = match verification.exit_status() {
        ExitStatus::Success => style.good("VALID"),
        ExitStatus::Unproven => style.void("NOT PROVEN"),
        _ => style.bad("NOT VALID AS A PASS"),
    };
    out + &format!("{result}: {says}\n")
}

#[cfg(test)]
mod tests {
    use super::super::issue::tests::sample_certification;
    use super::*;
    use crate::domain::FindingKind;

    const VIEW: View = View { width: 100, color: false, verbose: false };

    #[test]
    fn a_certificate_on_one_screen() {
        insta::assert_snapshot!(certification_text(&sample_certification(|_| ()), &VIEW));
    }

    #[test]
    fn a_failure_on_one_screen() {
        let text = certification_text(
            &sample_certification(|tested| {
                let trial = &mut tested.trials[3];
                trial.verdict = CaseVerdict::Fail;
                trial.finding = Some(FindingKind::Duplicated);
                trial.message = "`create` twice with one key → two effects".to_owned();
                tested.findings.push(CertifiedFinding {
                    kind: "score".to_owned(),
                    fails: false,
                    message: "`create`: not observed for a score of 1: same-key-twice.".to_owned(),
                    fix: String::new(),
                });
            }),
            &VIEW,
        );
        assert!(text.lines().count() <= 24, "{text}");
        insta::assert_snapshot!(text);
    }
}
