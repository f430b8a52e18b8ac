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
