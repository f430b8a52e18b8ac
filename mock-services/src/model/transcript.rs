//! The transcript of a conversation in the text of a message, as some programs write it for a summary: a line
//! `[Assistant tool call]: NAME({…})`, and below it `[Tool result]: …`.

use serde_json::Value;

use super::conversation::{CallForm, Generation, Question, ToolCall, ToolResult, Turn};

/// The conversation with the calls and results of transcripts in its messages as turns of their own.
pub(super) fn with_calls(question: &Question) -> Question {
    let messages = question.turns.iter().filter_map(|turn| match turn {
        Turn::User(text) => Some(text.as_str()),
        Turn::System(_) | Turn::Assistant(_) | Turn::ToolResult(_) => None,
    });
    let found: Vec<Turn> = messages.flat_map(turns_in).collect();
    let turns = question.turns.iter().cloned().chain(found).collect();
    Question { turns, ..question.clone() }
}

fn turns_in(text: &str) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut open = Vec::new();
    for (label, content) in parts(text) {
        let label = label.to_lowercase();
        if label.contains("tool call") {
            for (name, arguments) in content.lines().filter_map(call) {
                let id = format!("transcript_{}", turns.len());
                open.push(id.clone());
                let call = ToolCall { id, name, arguments, form: CallForm::Function };
                turns.push(Turn::Assistant(Generation { calls: vec![call], ..Generation::default() }));
            }
        } else if label.contains("result") && !open.is_empty() {
            let text = content.trim().to_owned();
            turns.push(Turn::ToolResult(ToolResult { call: open.remove(0), text, is_error: false }));
        }
    }
    turns
}

/// The parts of a transcript: the label, and what follows it.
fn parts(text: &str) -> Vec<(&str, String)> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        if let Some((label, rest)) = labelled(line) {
            parts.push((label, rest.to_owned()));
        } else if let Some((_, content)) = parts.last_mut() {
            content.push('\n');
            content.push_str(line);
        }
    }
    parts
}

fn labelled(line: &str) -> Option<(&str, &str)> {
    let (label, rest) = line.strip_prefix('[')?.split_once("]:")?;
    let is_label = !label.is_empty() && label.chars().all(|letter| letter.is_alphabetic() || letter == ' ');
    is_label.then_some((label, rest))
}

fn call(line: &str) -> Option<(String, Value)> {
    let (name, rest) = line.trim().split_once('(')?;
    let arguments = serde_json::from_str::<Value>(rest.strip_suffix(')')?).ok()?;
    arguments.is_object().then(|| (name.trim().to_owned(), arguments))
}
