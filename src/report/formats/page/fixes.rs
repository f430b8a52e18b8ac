//! What to fix first: one fix, how many cases it is for, one example, and the other cases folded.

use maud::{Markup, html};

use crate::report::causes::{FailureCause, causes};
use crate::report::formats::page::cases::case_link;
use crate::report::model::Report;
use crate::report::text::line;
use crate::report::text::words::counted;

/// The maximum number of causes that are shown, and how many of them are not folded.
const MAX_CAUSES: usize = 20;
const UNFOLDED_CAUSES: usize = 5;
/// The maximum number of cases of each cause that are listed.
const MAX_CASES: usize = 60;

/// What to fix first, by cause.
pub(super) fn fixes(report: &Report) -> Markup {
    let causes = causes(report);
    let shown = &causes[..causes.len().min(MAX_CAUSES)];
    let (first, rest) = shown.split_at(shown.len().min(UNFOLDED_CAUSES));
    html! {
        @if !causes.is_empty() {
            section #causes aria-labelledby="causes-title" {
                h2 #causes-title { "What to fix first" }
                ol { @for cause in first { (item(cause)) } }
                @if !rest.is_empty() {
                    details.more {
                        summary { (counted(causes.len() - first.len(), "other cause")) }
                        ol start=(first.len() + 1) { @for cause in rest { (item(cause)) } }
                        @if causes.len() > MAX_CAUSES {
                            p { "And " (counted(causes.len() - MAX_CAUSES, "other cause")) "." }
                        }
                    }
                }
            }
        }
    }
}

fn item(cause: &FailureCause<'_>) -> Markup {
    let (example, others) = match cause.cases.split_first() {
        Some((first, others)) => (Some(*first), others),
        None => (None, [].as_slice()),
    };
    html! {
        li {
            p.fix { span.count { (counted(cause.cases.len(), "case")) } " " (cause.remedy.sentence()) }
            p { (with_code(&line(cause.fix, 1_000))) }
            p.cause {
                span.tag { (cause.kind.word()) } " " (with_code(&line(cause.example, 600))) " "
                @if let Some(id) = example {
                    "Example: " a href=(case_link(id)) { (line(id, 300)) }
                }
            }
            @if !others.is_empty() {
                details.ids {
                    summary { (counted(others.len(), "other case")) }
                    ul { @for id in others.iter().take(MAX_CASES) {
                        li { a href=(case_link(id)) { (line(id, 300)) } }
                    } }
                    @if others.len() > MAX_CASES {
                        p { "And " (others.len() - MAX_CASES) " more." }
                    }
                }
            }
        }
    }
}

/// The text, with what stands between backticks as code.
fn with_code(text: &str) -> Markup {
    // A backtick without a second one is a character like others.
    let is_paired = text.matches('`').count().is_multiple_of(2);
    html! {
        @if is_paired {
            @for (place, part) in text.split('`').enumerate() {
                @if place % 2 == 1 { code { (part) } } @else { (part) }
            }
        } @else {
            (text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_backticks_is_code_and_stays_escaped() {
        let shown = with_code("use `<b>` and not <i>").into_string();
        assert_eq!(shown, "use <code>&lt;b&gt;</code> and not &lt;i&gt;");
        assert_eq!(with_code("one ` alone").into_string(), "one ` alone");
    }
}
