//! Requests of a program that are about the conversation and not about the task: a title, a summary, memories. The task
//! is in their history, and they are answered without it.

use super::arguments::telling_values;
use super::conversation::{Question, Turn};
use super::tool_choice::words;
use crate::description::{PlannedStep, PlannedTask};

/// A request about the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SideJob {
    /// It asks for a summary with which another conversation goes on.
    Summary,
    /// It asks for anything else.
    Other,
}

/// Words of requests for a summary.
const SUMMARIES: [&str; 14] = [
    "context checkpoint compaction",
    "summary of the conversation",
    "summary of our conversation",
    "summary from the conversation",
    "summarize the conversation",
    "summarize our conversation",
    "summarize this conversation",
    "summarizing conversations",
    "summarizes internal chat history",
    "handoff summary",
    "state_snapshot",
    "continuing our conversation",
    "context summarization",
    "conversation to summarize",
];
/// Words of other requests about a conversation.
const OTHERS: [&str; 10] = [
    "memory extraction",
    "extract memories",
    "memory consolidation",
    "title generator",
    "generate a title",
    "generate a short title",
    "generate a concise title",
    "title for this conversation",
    "who should speak next",
    "suggest what the user",
];
/// How much of the instructions is read for such words: the rest describes how the program works.
const MAX_INSTRUCTIONS: usize = 400;

impl SideJob {
    /// Its word in the ledger.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            SideJob::Summary => "summary",
            SideJob::Other => "other",
        }
    }

    /// The job that a request is; `None` if it is about the task.
    pub(super) fn of(question: &Question, tasks: &[PlannedTask]) -> Option<Self> {
        let last = match question.turns.last() {
            Some(Turn::User(text)) => text.to_lowercase(),
            _ => return None,
        };
        let instructions = question.turns.iter().find_map(|turn| match turn {
            Turn::System(text) => {
                Some(text.chars().take(MAX_INSTRUCTIONS).collect::<String>().to_lowercase())
            }
            Turn::User(_) | Turn::Assistant(_) | Turn::ToolResult(_) => None,
        });
        let texts = [last.clone(), instructions.unwrap_or_default()];
        let has = |words: &[&str]| words.iter().any(|words| texts.iter().any(|text| text.contains(words)));
        let steps = || tasks.iter().flat_map(|task| &task.steps);
        if steps().any(|step| last.contains(&subject(step).to_lowercase())) {
            // It is a summary with which the conversation goes on.
            return None;
        }
        let one_line = |text: &str| text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
        let has_value = |step: &PlannedStep| {
            telling_values(&step.fields).iter().any(|value| last.contains(&value.to_lowercase()))
        };
        let is_about_task = tasks.iter().any(|task| one_line(&last).contains(&one_line(&task.text)))
            || steps().any(has_value);
        if has(&SUMMARIES) {
            Some(SideJob::Summary)
        } else if has(&OTHERS) {
            Some(SideJob::Other)
        } else if !is_about_task && question.calls().next().is_some() && asks_for_summary(&last) {
            Some(SideJob::Summary)
        } else {
            None
        }
    }
}

fn asks_for_summary(text: &str) -> bool {
    const VERBS: [&str; 5] = ["create", "write", "provide", "generate", "produce"];
    let words = words(text);
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    has("summarize") || (has("summary") && VERBS.iter().any(|verb| has(verb)))
}

/// How far a step is, as a summary says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reported {
    Done,
    /// It was tried so often, and the result is not known.
    Tried(u32),
    NotTried,
}

impl Reported {
    /// How often the step was tried without a known result.
    pub(super) const fn times(self) -> u32 {
        match self {
            Reported::Tried(times) => times,
            Reported::Done | Reported::NotTried => 0,
        }
    }
}

/// The sentence of a summary about a step.
pub(super) fn sentence(step: &PlannedStep, reported: Reported) -> String {
    let how = match reported {
        Reported::Done => "done".to_owned(),
        Reported::Tried(times) => format!("tried {times} times, result not known"),
        Reported::NotTried => "not tried yet".to_owned(),
    };
    format!("{} {how}.", subject(step))
}

fn subject(step: &PlannedStep) -> String {
    let fields: Vec<String> = step.fields.iter().map(|(name, value)| format!("{name} {value}")).collect();
    format!("{} ({}):", step.operation, fields.join(", "))
}

/// Whether a conversation has results of tools and has not been summarized since it began.
pub(super) fn can_be_summarized(question: &Question, tasks: &[PlannedTask]) -> bool {
    let has_results = question.turns.iter().any(|turn| matches!(turn, Turn::ToolResult(_)));
    let is_summarized = |step| reported(question, step, 0).is_some();
    has_results
        && SideJob::of(question, tasks).is_none()
        && !tasks.iter().flat_map(|task| &task.steps).any(is_summarized)
}

/// What the latest summary in a conversation says about a step, of which so many equal ones are before it.
pub(super) fn reported(question: &Question, step: &PlannedStep, equal_before: usize) -> Option<Reported> {
    let subject = subject(step);
    let mut texts = question.turns.iter().rev().filter_map(|turn| match turn {
        Turn::System(text) | Turn::User(text) => Some(text.as_str()),
        Turn::Assistant(generation) => Some(generation.text.as_str()),
        Turn::ToolResult(_) => None,
    });
    let after = texts.find_map(|text| {
        let (at, found) = text.match_indices(&subject).nth(equal_before)?;
        Some(text[at + found.len()..].trim_start())
    })?;
    if after.starts_with("done") {
        return Some(Reported::Done);
    }
    let times = after.strip_prefix("tried ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    Some(times.map_or(Reported::NotTried, Reported::Tried))
}
