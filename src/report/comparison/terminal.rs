//! A comparison in the terminal.

use std::fmt::Write as _;

use super::{cause, headline, significance_text, state};
use crate::report::formats::terminal::View;
use crate::results::{ChangeKind, Comparison};
use crate::text::style::TextStyle;
use crate::text::{fit, line};

/// The comparison as text.
#[must_use]
pub fn compare_text(comparison: &Comparison, view: &View) -> String {
    let style = TextStyle { color: view.color };
    let width = view.width.clamp(40, 160);
    let mut out = String::new();
    for kind in ChangeKind::ALL {
        for change in comparison.of_kind(kind) {
            let word = kind.words().to_uppercase();
            let word = match kind {
                ChangeKind::Worse | ChangeKind::NewFailing => style.bad(&word),
                ChangeKind::Better => style.good(&word),
                ChangeKind::Gone | ChangeKind::New => style.void(&word),
            };
            let _ = writeln!(out, "{word}  {}", style.strong(&line(&change.id, 300)));
            let _ = writeln!(
                out,
                "{}",
                fit(&format!("      {} → {}", state(change.old), state(change.new)), width)
            );
            let cause = cause(change);
            if !cause.is_empty() {
                let _ = writeln!(out, "{}", fit(&format!("      {cause}"), width));
            }
            let significance_text = significance_text(change);
            if !significance_text.is_empty() {
                let _ = writeln!(out, "{}", fit(&format!("      {significance_text}"), width));
            }
        }
    }
    if !comparison.changes.is_empty() {
        out.push('\n');
    }
    let named = |(run, subject): &(String, String)| format!("{} ({})", line(run, 100), line(subject, 100));
    let _ =
        writeln!(out, "{} → {}: {}", named(&comparison.old), named(&comparison.new), headline(comparison));
    out
}
