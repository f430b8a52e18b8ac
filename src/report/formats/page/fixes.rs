//! What to fix first: one kind of change, how many cases it is for, and each of its fixes with one example and the
//! other cases folded.

use maud::{Markup, html};

use crate::report::causes::{CauseFix, FailureCause, causes, other_fixes};
use crate::report::formats::page::cases::case_link;
use crate::results::Report;
use crate::text::line;
use crate::text::words::counted;

/// The maximum number of causes that are shown, and how many of them are not folded.
const MAX_CAUSES: usize = 20;
const UNFOLDED_CAUSES: usize = 5;
/// How many fixes of each cause are not folded, and the maximum number of folded ones.
const UNFOLDED_FIXES: usize = 4;
const MAX_FIXES: usize = 20;
/// The maximum number of cases of each fix that are listed.
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
    let (first, rest) = cause.fixes.split_at(cause.fixes.len().min(UNFOLDED_FIXES));
    html! {
        li {
            p.fix { span.count { (counted(cause.reach.cases.len(), "case")) } " " (cause.remedy.sentence()) }
            @if let [only] = cause.fixes.as_slice() {
                (advice(only, false))
            } @else {
                ul.fixes { @for fix in first { li { (advice(fix, true)) } } }
                @if !rest.is_empty() {
                    details.more {
                        summary { (other_fixes(rest.len())) }
                        ul.fixes { @for fix in rest.iter().take(MAX_FIXES) { li { (advice(fix, true)) } } }
                        @if rest.len() > MAX_FIXES {
                            p { "And " (other_fixes(rest.len() - MAX_FIXES)) "." }
                        }
                    }
                }
            }
        }
    }
}

/// One advice, with an example and its cases; with their number if it is not that of the whole cause.
fn advice(fix: &CauseFix<'_>, is_counted: bool) -> Markup {
    let (example, others) = match fix.reach.cases.split_first() {
        Some((first, others)) => (Some(*first), others),
        None => (None, [].as_slice()),
    };
    html! {
        p {
            @if is_counted { strong { (counted(fix.reach.cases.len(), "case")) ":" } " " }
            (with_code(&line(fix.fix, 1_000)))
        }
        p.cause {
            span.tag { (fix.kind.as_str()) } " " (with_code(&line(fix.example, 600))) " "
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

/// The text, with what stands between backticks as code.
fn with_code(text: &str) -> Markup {
    // A backtick without a second one is a character like others.
    let is_paired = text.matches('`').count().is_multiple_of(2);
    html! {
        @if is_paired {
            @for (index, part) in text.split('`').enumerate() {
                @if index % 2 == 1 { code { (part) } } @else { (part) }
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
