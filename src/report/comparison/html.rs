//! A comparison as a page.

use maud::{Markup, html};

use super::{cause, headline, significance_text, state};
use crate::ExitStatus;
use crate::report::formats::page::cases::case_link;
use crate::report::formats::page::{Frame, PageScript, frame, symbol};
use crate::results::{CaseState, Change, ChangeKind, Comparison};
use crate::text::line;

/// The links to the pages of the two runs, relative to the page of the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLinks {
    /// The page of the old run.
    pub old: String,
    /// The page of the new run.
    pub new: String,
}

impl RunLinks {
    /// The links from a page in the current folder to the pages in two folders of runs, as the user named
    /// them.
    #[must_use]
    pub fn to_folders(old: &str, new: &str) -> Self {
        let page = |folder: &str| {
            let path: String = folder.trim_end_matches('/').bytes().map(encoded).collect();
            // A name with a colon must not be read as a scheme.
            let start = if path.starts_with('/') || path.starts_with('.') { "" } else { "./" };
            format!("{start}{path}/{}", crate::report::PAGE_FILE)
        };
        RunLinks { old: page(old), new: page(new) }
    }
}

/// A byte of a path in a URL.
pub(in crate::report) fn encoded(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
        char::from(byte).to_string()
    } else {
        format!("%{byte:02X}")
    }
}

/// The comparison as a page; with links if the pages of the two runs are known.
#[must_use]
pub fn compare_page(comparison: &Comparison, links: Option<&RunLinks>) -> String {
    let (class, mark, word) = match comparison.exit_status() {
        ExitStatus::Success => ("pass", "✓", "not worse"),
        ExitStatus::Unproven => ("void", "○", "not compared"),
        _ => ("fail", "✗", "worse"),
    };
    let (old, new) = (links.map(|links| links.old.as_str()), links.map(|links| links.new.as_str()));
    let body = html! {
        header {
            p.brand {
                span.verdict.(class) { span aria-hidden="true" { (mark) } " " (word) } " "
                (run(&comparison.old, old)) " → " (run(&comparison.new, new))
            }
            h1 { (lead(comparison)) }
            p { (headline(comparison)) "." }
            dl.tiles { @for (kind, value, name) in tiles(comparison) {
                @let class = if value == 0 { "none" } else { kind_class(kind) };
                div.(class) {
                    dt { (name) }
                    dd { span.shape aria-hidden="true" { (kind_mark(kind)) } " " (value) }
                }
            } }
        }
        main { @for kind in ChangeKind::ALL {
            @if comparison.of_kind(kind).next().is_some() {
                h2.(kind_class(Some(kind))) {
                    span aria-hidden="true" { (kind_mark(Some(kind))) " " }
                    (comparison.of_kind(kind).count()) " " (kind.words())
                }
                (table(&comparison.of_kind(kind).collect::<Vec<_>>(), old, new))
            }
        } }
    };
    crate::text::ci_commands::page(
        &frame(Frame { title: "hapax: two runs", body, style: "", script: PageScript::None }).into_string(),
    )
    .into_owned()
}

/// The changes of one kind. The last column is left out if it would be empty.
fn table(changes: &[&Change], old: Option<&str>, new: Option<&str>) -> Markup {
    let has_chance = changes.iter().any(|change| change.chance.is_some());
    let columns = ["case", "was", "is", "cause"].into_iter().chain(has_chance.then_some("chance"));
    html! {
        div.wide-table { table.stacked {
            thead { tr { @for name in columns { th.short scope="col" { (name) } } } }
            tbody { @for change in changes { (row(change, old, new, has_chance)) } }
        } }
    }
}

/// The comparison in one sentence.
fn lead(comparison: &Comparison) -> String {
    let count = |kind| comparison.of_kind(kind).count();
    let cases = |number: usize| if number == 1 { "1 case".to_owned() } else { format!("{number} cases") };
    match (comparison.worse(), count(ChangeKind::Better)) {
        (0, _) if count(ChangeKind::FailingGone) > 0 => {
            let gone = cases(count(ChangeKind::FailingGone));
            format!("Nothing got worse, but {gone} that failed did not run again.")
        }
        (0, 0) if comparison.changes.is_empty() => "The two runs have the same results.".to_owned(),
        (0, 0) => "Nothing got worse or better.".to_owned(),
        (0, better) => format!("{} got better, and none got worse.", cases(better)),
        (worse, 0) => format!("{} got worse, and none got better.", cases(worse)),
        (worse, better) => format!("{} got worse, and {better} got better.", cases(worse)),
    }
}

fn tiles(comparison: &Comparison) -> [(Option<ChangeKind>, usize, &'static str); 4] {
    let count = |kind| comparison.of_kind(kind).count();
    [
        (Some(ChangeKind::Worse), comparison.worse(), "worse, new and failing, or failing and now skipped"),
        (Some(ChangeKind::Better), count(ChangeKind::Better), "better"),
        (
            Some(ChangeKind::New),
            count(ChangeKind::New) + count(ChangeKind::Gone) + count(ChangeKind::FailingGone),
            "new or gone",
        ),
        (None, comparison.same, "the same"),
    ]
}

const fn kind_class(kind: Option<ChangeKind>) -> &'static str {
    match kind {
        Some(ChangeKind::Worse | ChangeKind::NewFailing | ChangeKind::FailingSkipped) => "fail",
        Some(ChangeKind::Better) => "pass",
        Some(ChangeKind::FailingGone | ChangeKind::Gone | ChangeKind::New) => "void",
        None => "same",
    }
}

const fn kind_mark(kind: Option<ChangeKind>) -> &'static str {
    match kind {
        Some(ChangeKind::Worse | ChangeKind::NewFailing | ChangeKind::FailingSkipped) => "▼",
        Some(ChangeKind::Better) => "▲",
        Some(ChangeKind::FailingGone | ChangeKind::Gone) => "−",
        Some(ChangeKind::New) => "+",
        None => "=",
    }
}

fn run((name, subject): &(String, String), link: Option<&str>) -> Markup {
    html! {
        @match link {
            Some(link) => { a href=(link) { code { (line(name, 100)) } } }
            None => { code { (line(name, 100)) } }
        }
        " (" (line(subject, 200)) ")"
    }
}

fn row(change: &Change, old: Option<&str>, new: Option<&str>, has_chance: bool) -> Markup {
    html! {
        tr {
            th scope="row" { code { (line(&change.id, 300)) } }
            (state_cell("was", change, change.old, old))
            (state_cell("is", change, change.new, new))
            td data-name="cause" { (cause(change)) }
            @if has_chance { td data-name="chance" { (significance_text(change)) } }
        }
    }
}

/// The state of a case in one run, as a link to the case in the page of the run.
fn state_cell(name: &str, change: &Change, is: Option<CaseState>, page: Option<&str>) -> Markup {
    let words = html! {
        @if let Some(state) = is { span.(state.result.as_str()) aria-hidden="true" { (symbol(state.result)) " " } }
        (state(is))
    };
    html! {
        td.short data-name=(name) { @match page.filter(|_| is.is_some()) {
            Some(page) => { a href=(format!("{page}{}", case_link(&change.id))) { (words) } }
            None => { (words) }
        } }
    }
}
