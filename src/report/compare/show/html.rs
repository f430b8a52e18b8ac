//! A comparison as a page.

use maud::html;

use super::{cause, headline, significance_text, state};
use crate::report::compare::{ChangeKind, Comparison};
use crate::report::formats::page::{Frame, frame};
use crate::report::text::line;

/// The comparison as a page.
#[must_use]
pub fn compare_page(comparison: &Comparison) -> String {
    let (class, mark, word) = if comparison.is_worse() {
        ("fail", "✗", "something got worse")
    } else {
        ("pass", "✓", "nothing got worse")
    };
    let body = html! {
        header {
            p.brand {
                code { (line(&comparison.old.0, 100)) } " (" (line(&comparison.old.1, 200)) ") → "
                code { (line(&comparison.new.0, 100)) } " (" (line(&comparison.new.1, 200)) ")"
            }
            h1 { span.verdict.(class) { span aria-hidden="true" { (mark) } " " (word) } }
            p { (headline(comparison)) }
        }
        main { @for kind in ChangeKind::ALL {
            @if comparison.of_kind(kind).next().is_some() {
                h2 { (kind.words()) }
                table {
                    thead { tr {
                        @for name in ["case", "was", "is", "cause", "chance"] { th scope="col" { (name) } }
                    } }
                    tbody { @for change in comparison.of_kind(kind) {
                        tr {
                            th scope="row" { code { (line(&change.id, 300)) } }
                            td { (state(change.old)) }
                            td { (state(change.new)) }
                            td { (cause(change)) }
                            td { (significance_text(change)) }
                        }
                    } }
                }
            }
        } }
    };
    crate::report::text::ci_commands::page(
        &frame(Frame { title: "hapax: two runs", body, script: false }).into_string(),
    )
    .into_owned()
}
