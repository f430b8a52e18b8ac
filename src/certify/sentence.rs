//! The sentence that a certificate begins with, for a reader who decides: who was tested, when, with what result, and
//! how sure that is. Pure.

use super::statement::{Statement, SubjectKindTested, Tested};
use super::trials::{CaseVerdict, Conclusion, ScenarioResult};
use crate::domain::Promise;
use crate::text::line;
use crate::text::words::counted;

/// The sentence of a certificate.
pub(super) fn sentence(statement: &Statement) -> String {
    let certificate = &statement.predicate;
    let (tested, reached) = (&certificate.tested, &certificate.reached);
    let kind = match tested.subject.kind {
        SubjectKindTested::Agent => "Agent",
        SubjectKindTested::McpServer => "MCP server",
        SubjectKindTested::CommandLineTool => "Command-line tool",
    };
    let name = line(&tested.subject.name, 200);
    let recipe = tested.subject.local_recipe.as_ref().map(|recipe| format!(" ({})", recipe.clause()));
    let version = tested.subject.version.as_ref().map(|version| format!(", version {}", line(version, 100)));
    // The date of a time of RFC 3339.
    let date = certificate.issued_at.split('T').next().unwrap_or_default();
    let result = if reached.verdict == CaseVerdict::Pass { passed(tested, reached) } else { failed(reached) };
    let (recipe, version) = (recipe.unwrap_or_default(), version.unwrap_or_default());
    format!("{kind} {name}{recipe}{version}, on {}: {result}", line(date, 40))
}

fn passed(tested: &Tested, reached: &Conclusion) -> String {
    let what = match (tested.subject.kind, tested.promise) {
        (SubjectKindTested::Agent, Promise::ExactlyOnce) => "every effect happened exactly once",
        (SubjectKindTested::Agent, Promise::AtMostOnce) => {
            "no effect happened twice, and none was lost without the agent saying so"
        }
        (SubjectKindTested::McpServer, _) => "the server did what the situation requires",
        (SubjectKindTested::CommandLineTool, _) => "the tool did what the situation requires",
    };
    let judged: Vec<&ScenarioResult> = judged(reached).collect();
    let (confidence, level) = (percent(reached.confidence), percent(reached.level));
    let by_itself = if judged.len() == 1 { "" } else { " for each situation by itself" };
    format!(
        "{}, {what}. With {confidence} confidence{by_itself}, this holds in at least {level} of all its trials.",
        all_trials(&judged)
    )
}

/// `in 299 of 299 trials of each of 37 situations`.
fn all_trials(judged: &[&ScenarioResult]) -> String {
    let count = judged.len();
    match trials_each(judged) {
        (fewest, most) if fewest != most => {
            format!("in all trials of {count} situations ({fewest} to {most} trials of each)")
        }
        (trials, _) if count == 1 => format!("in {trials} of {trials} trials of one situation"),
        (trials, _) => format!("in {trials} of {trials} trials of each of {count} situations"),
    }
}

/// The smallest and the largest number of trials of a scenario.
pub(super) fn trials_each(results: &[&ScenarioResult]) -> (u64, u64) {
    let trials = || results.iter().map(|result| result.trials);
    (trials().min().unwrap_or_default(), trials().max().unwrap_or_default())
}

fn failed(reached: &Conclusion) -> String {
    let count = |verdict| reached.scenarios.iter().filter(|result| result.verdict == verdict).count();
    let (failed, all) = (count(CaseVerdict::Fail), judged(reached).count());
    let open = match count(CaseVerdict::Void) + count(CaseVerdict::Inconclusive) {
        0 => String::new(),
        open => format!(" In {open} more the trials prove nothing."),
    };
    format!("it failed. In {failed} of {} at least one trial failed.{open}", counted(all, "situation"))
}

fn judged(reached: &Conclusion) -> impl Iterator<Item = &ScenarioResult> {
    reached.scenarios.iter().filter(|result| result.verdict != CaseVerdict::Skipped)
}

/// A share as a percentage, rounded down: a certificate does not say more than was shown.
pub(super) fn percent(share: f64) -> String {
    // One unit in the last place, so that 0.99 is not shown as 98.99 %.
    format!("{} %", (share * 1e4 + 1e-9).floor() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::envelope::SignedEnvelope;
    use super::super::issue::tests::sample_statement;
    use super::super::statement::{TestedRecipe, read_statement};
    use super::*;

    fn result(scenario: &str, trials: u64) -> ScenarioResult {
        let sample = sample_statement().predicate.reached.scenarios.remove(0);
        ScenarioResult { scenario: scenario.to_owned(), trials, level: 0.990_03, ..sample }
    }

    fn changed(change: impl FnOnce(&mut Tested, &mut Conclusion)) -> String {
        let mut statement = sample_statement();
        let certificate = &mut statement.predicate;
        certificate.tested.subject.kind = SubjectKindTested::Agent;
        certificate.reached.level = 0.990_03;
        certificate.reached.scenarios = (0..37).map(|number| result(&number.to_string(), 299)).collect();
        change(&mut certificate.tested, &mut certificate.reached);
        sentence(&statement)
    }

    #[test]
    fn the_sentence_says_who_was_tested_when_how_often_and_how_sure_the_result_is() {
        let failing = |_: &mut Tested, reached: &mut Conclusion| {
            reached.verdict = CaseVerdict::Fail;
            reached.scenarios[3].verdict = CaseVerdict::Fail;
            reached.scenarios[4].verdict = CaseVerdict::Void;
            reached.scenarios[5].verdict = CaseVerdict::Skipped;
        };
        let sentences = [
            changed(|_, _| ()),
            changed(|tested, _| tested.promise = Promise::AtMostOnce),
            changed(|tested, _| {
                tested.subject.name = "claude".to_owned();
                tested.subject.version = None;
                tested.subject.local_recipe = Some(TestedRecipe {
                    name: "claude".to_owned(),
                    file: "agents/claude.yaml".to_owned(),
                    starts: "./other ${task}".to_owned(),
                    replaces_shipped: true,
                });
            }),
            changed(|tested, reached| {
                tested.subject.kind = SubjectKindTested::McpServer;
                tested.subject.version = None;
                reached.scenarios[3].trials = 300;
            }),
            changed(|tested, reached| {
                tested.subject.kind = SubjectKindTested::CommandLineTool;
                reached.scenarios.truncate(1);
            }),
            changed(failing),
        ];
        insta::assert_snapshot!(sentences.join("\n"));
    }

    #[test]
    fn stored_certificates_of_each_kind_have_their_sentence() {
        let stored = |kind: &str| {
            let folder = format!("{}/tests/certificates/v1/{kind}", env!("CARGO_MANIFEST_DIR"));
            let bytes = std::fs::read(format!("{folder}/certificate.json")).unwrap();
            let payload = SignedEnvelope::read(&bytes).unwrap().payload().unwrap();
            sentence(&read_statement(&payload).unwrap().0)
        };
        insta::assert_snapshot!(["agent", "server", "tool"].map(stored).join("\n"));
    }

    #[test]
    fn a_percentage_is_rounded_down_but_not_below_what_was_asked() {
        let shares = [0.99, 0.990_03, 0.989_99, 0.95, 0.901_8, 0.999_999, 0.0];
        let expected = ["99 %", "99 %", "98.99 %", "95 %", "90.18 %", "99.99 %", "0 %"];
        assert_eq!(shares.map(percent), expected);
    }
}
