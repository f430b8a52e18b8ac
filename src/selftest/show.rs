//! A selftest as text.

use std::fmt::Write;

use super::{SelftestProblem, SelftestResult, SelftestRow};

/// All problems, and a line with the number of the rest; with `table` also the outcome of every control in
/// every case.
#[must_use]
pub fn render(judged: &SelftestResult, table: bool) -> String {
    let mut text = String::new();
    if table {
        for row in &judged.rows {
            let _ = writeln!(text, "{}  {}  {}", row.case, row.control, outcome(row));
        }
    }
    for wrong in &judged.wrong {
        let _ = match wrong {
            SelftestProblem::Other(row) => writeln!(
                text,
                "{}: `{}` in {}, expected `{}`{}",
                row.control,
                outcome(row),
                row.case,
                row.expected.as_str(),
                because(row)
            ),
            SelftestProblem::NothingFails(scenario) => writeln!(
                text,
                "{scenario} tests nothing: no control fails it\n  list a control that fails it, or tag it \
                 `clean`"
            ),
            SelftestProblem::Unexplained { case, control, service, drawing } => writeln!(
                text,
                "{control}: what the callers of {service} saw in {case} contradicts its rules; this is a bug of \
                 hapax\n  {}",
                drawing.trim_end().replace('\n', "\n  ").replace("\n  \n", "\n\n")
            ),
            SelftestProblem::CarefulFails(case) => {
                writeln!(
                    text,
                    "{case} expects that `careful` does not pass\n  a case that no subject can pass tests \
                     nothing: change what it expects"
                )
            }
        };
    }
    for (scenario, service) in &judged.unknown {
        let _ = writeln!(
            text,
            "{scenario} is not checked: it uses your own service `{service}`, which no control can use\n  \
             check it with your own subjects: one that must pass and one that must fail (`hapax run \
             {scenario} -- ...`)"
        );
    }
    for (why, count) in &judged.not_judged {
        let _ = writeln!(text, "histories of several callers that were not judged, because {why}: {count}");
    }
    if judged.explained > 0 {
        let _ = writeln!(text, "histories of several callers that can be explained: {}", judged.explained);
    }
    let done = judged.rows.iter().filter(|row| row.outcome.is_some()).count();
    let result = match judged.wrong.len() {
        0 if judged.interrupted => format!("interrupted after {done}, which were as expected"),
        0 if judged.rows.is_empty() && !judged.unknown.is_empty() => "nothing to check".to_owned(),
        0 => "all as expected".to_owned(),
        1 => "1 thing is wrong".to_owned(),
        many => format!("{many} things are wrong"),
    };
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (scenarios, trials) = (counted(judged.scenarios, "scenario"), counted(judged.rows.len(), "trial"));
    let _ = writeln!(text, "selftest: {scenarios}, {trials} of controls: {result}");
    text
}

fn outcome(row: &SelftestRow) -> &'static str {
    row.outcome.map_or("not run", |outcome| outcome.as_str())
}

fn because(row: &SelftestRow) -> String {
    let Some(trial) = &row.trial else { return String::new() };
    let mut text = String::new();
    for finding in &trial.verdict.findings {
        let _ = write!(text, "\n  {}", finding.message);
    }
    for why in &trial.verdict.void_because {
        let _ = write!(text, "\n  void: {why}");
    }
    let _ = write!(text, "\n  replay: {}", trial.replay);
    text
}

#[cfg(test)]
mod tests {
    use mock_services::{HistoryConclusion, HistoryReport};

    use super::*;
    use crate::ExitStatus;
    use crate::selftest::judge;

    #[test]
    fn a_history_that_cannot_be_explained_is_a_problem_and_one_that_was_not_judged_is_counted() {
        let history = |callers: usize, conclusion: HistoryConclusion| {
            let service = "records".to_owned();
            ("concurrency/x".to_owned(), HistoryReport { service, callers, conclusion })
        };
        let unknown = || HistoryConclusion::Unknown { why: "the time for the search was over".to_owned() };
        let mut judged = judge(&[], &[]);
        judged.add_histories(
            "careful",
            vec![
                history(1, HistoryConclusion::Explained),
                history(2, HistoryConclusion::Explained),
                history(2, unknown()),
            ],
        );
        assert_eq!(judged.exit_status(), ExitStatus::Success);
        let drawing = "no order of these calls gives these answers:\n\n  caller 1  ├1─┤\n".to_owned();
        judged.add_histories("racer", vec![history(2, HistoryConclusion::Unexplained { drawing })]);
        assert_eq!(judged.exit_status(), ExitStatus::Failed);
        insta::assert_snapshot!(render(&judged, false), @r"
        racer: what the callers of records saw in concurrency/x contradicts its rules; this is a bug of hapax
          no order of these calls gives these answers:

            caller 1  ├1─┤
        histories of several callers that were not judged, because the time for the search was over: 1
        histories of several callers that can be explained: 1
        selftest: 0 scenarios, 0 trials of controls: 1 thing is wrong
        ");
    }
}
