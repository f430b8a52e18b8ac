//! The demo in the terminal: side by side if the width allows it, otherwise one below the other. It is
//! readable without colors.

use std::fmt::Write;

use super::{CustomerEffect, Demo, DemoRow};
use crate::report::View;
use crate::text::TextStyle;
use crate::text::{columns, wrap};

/// The maximum width that is used.
const MAX_WIDTH: usize = 110;
/// The minimum width for three columns.
const MIN_COLUMNS_WIDTH: usize = 72;
/// The space between two columns.
const GAP: usize = 3;

const INTRODUCTION: &str = "A careless and a careful agent get the same tasks, and the same faults are \
injected. What each one did to \
     the customer, according to the ledgers of the services:";

/// The demo as text, with what to do next.
#[must_use]
pub fn render(demo: &Demo, view: &View) -> String {
    let (width, style) = (view.width.min(MAX_WIDTH), TextStyle { color: view.color });
    let mut text = wrap(INTRODUCTION, width).join("\n");
    text.push_str("\n\n");
    if width >= MIN_COLUMNS_WIDTH {
        side_by_side(&mut text, demo, width, style)
    } else {
        stacked(&mut text, demo, width, style)
    }
    // Writing into a string cannot fail.
    let _ = writeln!(text, "{}\n", wrap(&sum(demo), width).join("\n"));
    next(&mut text, demo, style);
    text
}

fn side_by_side(text: &mut String, demo: &Demo, width: usize, style: TextStyle) {
    let others = demo.agents.len().max(1);
    let narrow = (width - 2 * GAP) * 3 / 10;
    let first = width - others * (narrow + GAP);
    let heads: Vec<Vec<String>> =
        demo.agents.iter().map(|agent| vec![format!("the {agent} agent")]).collect();
    let plain = |_: usize, line: &str| style.strong(line);
    columns_of(text, &["what went wrong".to_owned()], &heads, (first, narrow), plain);
    let rule: Vec<Vec<String>> = demo.agents.iter().map(|_| vec!["-".repeat(narrow)]).collect();
    columns_of(text, &["-".repeat(first)], &rule, (first, narrow), |_, line| style.faint(line));
    for row in &demo.rows {
        let cells: Vec<Vec<String>> = row.did.iter().map(|did| wrap(words(did), narrow)).collect();
        columns_of(text, &wrap(&row.about, first), &cells, (first, narrow), |agent, line| {
            styled(row, agent, line, style)
        });
        text.push('\n');
    }
}

/// Lines of several columns; what `style` makes of a cell has the same width.
fn columns_of(
    text: &mut String,
    about: &[String],
    cells: &[Vec<String>],
    (first, narrow): (usize, usize),
    style: impl Fn(usize, &str) -> String,
) {
    let height = cells.iter().map(Vec::len).chain([about.len()]).max().unwrap_or_default();
    for number in 0..height {
        let mut line = padded(about.get(number).map_or("", String::as_str), first);
        for (agent, cell) in cells.iter().enumerate() {
            let part = cell.get(number).map_or("", String::as_str);
            line.push_str(&" ".repeat(GAP));
            line.push_str(&style(agent, part));
            line.push_str(&" ".repeat(narrow.saturating_sub(columns(part))));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

fn stacked(text: &mut String, demo: &Demo, width: usize, style: TextStyle) {
    let widest = demo.agents.iter().map(|agent| columns(agent)).max().unwrap_or_default();
    for row in &demo.rows {
        let _ = writeln!(text, "{}", wrap(&row.about, width).join("\n"));
        for (number, (agent, did)) in demo.agents.iter().zip(&row.did).enumerate() {
            let lines = wrap(words(did), width.saturating_sub(widest + 4));
            for (line, part) in lines.iter().enumerate() {
                let who = if line == 0 { agent.as_str() } else { "" };
                let _ = writeln!(text, "  {}  {}", padded(who, widest), styled(row, number, part, style));
            }
        }
        text.push('\n');
    }
}

fn words(did: &Option<CustomerEffect>) -> &str {
    did.as_ref().map_or("(not finished)", |did| did.words.as_str())
}

fn styled(row: &DemoRow, agent: usize, line: &str, style: TextStyle) -> String {
    match row.did.get(agent) {
        Some(Some(did)) if did.wrong => style.bad(line),
        Some(Some(_)) => style.good(line),
        _ => style.faint(line),
    }
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// How often each agent was wrong.
fn sum(demo: &Demo) -> String {
    let each = demo.agents.iter().enumerate().map(|(number, agent)| {
        let finished = demo.rows.iter().filter_map(|row| row.did.get(number)?.as_ref());
        let (all, wrong) =
            finished.fold((0, 0), |(all, wrong), did| (all + 1, wrong + usize::from(did.wrong)));
        format!("The {agent} agent was wrong in {wrong} of {all} cases.")
    });
    each.collect::<Vec<_>>().join(" ")
}

fn next(text: &mut String, demo: &Demo, style: TextStyle) {
    let _ = writeln!(text, "{}", style.strong("What to do next"));
    let mut ways = vec![
        ("hapax run -- your-agent".to_owned(), "test your own agent, in any language"),
        ("hapax init".to_owned(), "create hapax.yaml, a first scenario and a CI workflow in this folder"),
    ];
    ways.extend(
        demo.next_command.iter().map(|command| (command.clone(), "see one of these failures in full")),
    );
    for (command, what) in ways {
        let _ = writeln!(text, "  {command}\n      {what}");
    }
}
