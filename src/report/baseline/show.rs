//! A run measured against a baseline, in words.

use std::fmt::Write as _;

use crate::report::baseline::{Measured, Moved};
use crate::report::formats::terminal::View;
use crate::report::text::line;
use crate::report::text::style::Paint;
use crate::report::text::words::counted;
use crate::scenario::ControlOutcome;

/// What got worse, what is known to fail, what got better and what proves nothing; `file` is the name of the
/// baseline.
#[must_use]
pub fn baseline_text(measured: &Measured, file: &str, view: &View) -> String {
    let (paint, file) = (Paint { colour: view.colour }, line(file, 200));
    let mut out = format!("Measured against {file}:\n");
    let groups = [
        (paint.bad("WORSE"), &measured.worse),
        (paint.unsure("VOID"), &measured.void),
        (paint.good("BETTER"), &measured.better),
        (paint.faint("KNOWN"), &measured.known),
    ];
    for (word, cases) in groups {
        for moved in cases {
            let _ = writeln!(out, "{word}  {}  {}", line(&moved.id, 300), change(moved));
        }
    }
    let _ = writeln!(out, "{}", result(measured, paint));
    if !measured.worse.is_empty() {
        let _ = writeln!(out, "Mend it; or, if it is to be known from now on, add --update-baseline.");
    } else if !measured.better.is_empty() {
        let _ = writeln!(out, "Add --update-baseline to keep what got better.");
    }
    out
}

fn change(moved: &Moved) -> String {
    match moved.was {
        Some(was) if was == moved.came => moved.came.word().to_owned(),
        Some(was) => format!("{} → {}", was.word(), moved.came.word()),
        None if moved.came == ControlOutcome::Void => moved.came.word().to_owned(),
        None => format!("{}, not known to fail", moved.came.word()),
    }
}

fn result(measured: &Measured, paint: Paint) -> String {
    let rest = format!("{} known to fail, {} better", measured.known.len(), measured.better.len());
    let void =
        if measured.void.is_empty() { String::new() } else { format!("{} void, ", measured.void.len()) };
    if !measured.worse.is_empty() {
        format!("{}  {} worse, {void}{rest}", paint.bad("FAILED"), counted(measured.worse.len(), "case"))
    } else if !measured.void.is_empty() {
        format!("{}  nothing is worse, {void}{rest}", paint.unsure("VOID"))
    } else {
        format!("{}  nothing is worse, {rest}", paint.good("PASSED"))
    }
}
