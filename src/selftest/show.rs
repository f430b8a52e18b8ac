//! A selftest in words.

use std::fmt::Write;

use super::{Judged, Row, Wrong};

/// What is wrong, in full, and a line that counts the rest; with `table` also what every control came to in
/// every case.
#[must_use]
pub fn render(judged: &Judged, table: bool) -> String {
    let mut text = String::new();
    if table {
        for row in &judged.rows {
            let _ = writeln!(text, "{}  {}  {}", row.case, row.control, came(row));
        }
    }
    for wrong in &judged.wrong {
        let _ = match wrong {
            Wrong::Other(row) => writeln!(
                text,
                "{} came to `{}` in {}, and not to `{}`{}",
                row.control,
                came(row),
                row.case,
                row.expected.word(),
                because(row)
            ),
            Wrong::NothingFails(scenario) => writeln!(
                text,
                "{scenario} tests nothing: no control fails it\n  list a control that it catches, or tag it `clean`"
            ),
            Wrong::CarefulFails(case) => {
                writeln!(
                    text,
                    "{case} says that `careful` does not pass\n  what no subject can pass tests nothing: change what it expects"
                )
            }
        };
    }
    for (scenario, service) in &judged.unknown {
        let _ = writeln!(
            text,
            "{scenario} is not checked: it is over your own service `{service}`, and no control knows how to use it\n  \
             check it with subjects of your own: one that must pass and one that must fail (`hapax run {scenario} -- ...`)"
        );
    }
    let done = judged.rows.iter().filter(|row| row.came.is_some()).count();
    let result = match judged.wrong.len() {
        0 if judged.interrupted => format!("interrupted when {done} were done, which came out as expected"),
        0 if judged.rows.is_empty() && !judged.unknown.is_empty() => "there was nothing to check".to_owned(),
        0 => "all as expected".to_owned(),
        1 => "1 thing is wrong".to_owned(),
        many => format!("{many} things are wrong"),
    };
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (scenarios, trials) = (counted(judged.scenarios, "scenario"), counted(judged.rows.len(), "trial"));
    let _ = writeln!(text, "selftest: {scenarios}, {trials} of controls: {result}");
    text
}

fn came(row: &Row) -> &'static str {
    row.came.map_or("nothing (not run)", |came| came.word())
}

fn because(row: &Row) -> String {
    let Some(trial) = &row.trial else { return String::new() };
    let mut text = String::new();
    for finding in &trial.verdict.findings {
        let _ = write!(text, "\n  {}", finding.message);
    }
    for why in &trial.verdict.void_because {
        let _ = write!(text, "\n  void: {why}");
    }
    let _ = write!(text, "\n  again: {}", trial.replay);
    text
}
