//! A comparison for a pull request.

use std::fmt::Write as _;

use super::{cause, headline, significance_text, state};
use crate::report::MAX_SUMMARY_BYTES;
use crate::results::{ChangeKind, Comparison};
use crate::text::escape::{code, markdown};
use crate::text::line;

/// The comparison as Markdown, under GitHub's limit.
#[must_use]
pub fn compare_md(comparison: &Comparison) -> String {
    let worse = if comparison.is_worse() { "something got worse" } else { "nothing got worse" };
    let named = |(run, subject): &(String, String)| {
        format!("{} {}", code(&line(run, 100)), code(&line(subject, 100)))
    };
    let mut out = format!(
        "## hapax: {worse}\n\n{} → {}: {}.\n",
        named(&comparison.old),
        named(&comparison.new),
        headline(comparison)
    );
    if comparison.changes.is_empty() {
        return out;
    }
    out.push_str("\n| change | case | was | is | cause | chance |\n| --- | --- | --- | --- | --- | --- |\n");
    let rows = ChangeKind::ALL.into_iter().flat_map(|kind| comparison.of_kind(kind));
    for (place, change) in rows.enumerate() {
        let id = code(&line(&change.id, 300));
        let (was, is, significance_text) = (
            markdown(&state(change.old)),
            markdown(&state(change.new)),
            markdown(&significance_text(change)),
        );
        let row = format!(
            "| {} | {id} | {was} | {is} | {} | {significance_text} |\n",
            change.kind.words(),
            cause(change)
        );
        if out.len() + row.len() > MAX_SUMMARY_BYTES {
            let _ = writeln!(
                out,
                "\n{} more are left out: this would be too long.",
                comparison.changes.len() - place
            );
            break;
        }
        out.push_str(&row);
    }
    out
}
