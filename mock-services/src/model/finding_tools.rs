//! What a model does when a request offers no tool for a step: it searches for one, or waits for one. Programs hide
//! the tools of MCP servers behind a search, or offer them only in a later turn.

use serde_json::{Map, Value, json};

use super::arguments::types;
use super::conversation::{CallForm, OfferedTool, Question, Turn};
use super::structured::{StructuredContent, structured};
use super::tool_choice::{is_same_word, words};
use crate::description::PlannedStep;

/// The tools with which a program waits for others, or writes a plan: a call gives it another turn.
const WAITS: [&str; 8] = [
    "WaitForMcpServers",
    "TodoWrite",
    "todowrite",
    "todo_write",
    "write_todos",
    "update_plan",
    "update_todo_list",
    "todo",
];

/// Tools of agent programs about their own work, which fit no step although their arguments do.
const OWN_WORK: [&str; 18] = [
    "Agent",
    "AskUserQuestion",
    "CronCreate",
    "PushNotification",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "Task",
    "TaskCreate",
    "TaskUpdate",
    "Workflow",
    "followup_task",
    "report_intent",
    "request_user_input",
    "save_memory",
    "send_input",
    "spawn_agent",
    "store_memory",
];

/// How many tools a search asks for.
const MAX_FOUND: u32 = 20;

/// Whether a tool is about the program's own work.
pub(super) fn is_own_work(name: &str) -> bool {
    OWN_WORK.contains(&name) || WAITS.contains(&name)
}

/// The next call that can bring a tool for a step: a search that was not made yet, or a wait if no tool fits at all.
pub(super) fn way_to_tool(
    question: &Question,
    step: &PlannedStep,
    fits_none: bool,
) -> Option<(String, Value)> {
    search(question, step, "").or_else(|| wait(question).filter(|_| fits_none))
}

/// The next search for a tool that reads what a step makes.
pub(super) fn way_to_read(question: &Question, step: &PlannedStep) -> Option<(String, Value)> {
    search(question, step, "list")
}

fn search(question: &Question, step: &PlannedStep, verb: &str) -> Option<(String, Value)> {
    let tool = question.tools.iter().find(|tool| is_search(tool))?;
    let argument = query_argument(tool)?;
    let made = |query: &String| {
        let mut calls = question.calls().filter(|call| call.name == tool.name);
        calls.any(|call| call.arguments.get(argument).and_then(Value::as_str) == Some(query))
    };
    let query = queries(question, tool, step, verb).into_iter().find(|query| !made(query))?;
    let mut arguments = Map::new();
    arguments.insert(argument.to_owned(), json!(query));
    for (name, schema) in tool.schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if types(schema).iter().any(|kind| ["integer", "number"].contains(kind)) {
            let most = schema.get("maximum").and_then(Value::as_u64).unwrap_or(u64::from(MAX_FOUND));
            arguments.insert(name.clone(), json!(most.min(u64::from(MAX_FOUND))));
        }
    }
    Some((tool.name.clone(), Value::Object(arguments)))
}

fn is_search(tool: &OfferedTool) -> bool {
    tool.form == CallForm::Search || searches_tools(&tool.name)
}

/// Whether a tool with this name searches for tools: `tool_search`, `ToolSearch`, `find_tools`.
pub(super) fn searches_tools(name: &str) -> bool {
    let words = words(name);
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    has(&["tool", "tools"]) && has(&["search", "find", "discover"])
}

/// The argument for what is searched: `query`, or else the only required text.
fn query_argument(tool: &OfferedTool) -> Option<&str> {
    let properties = tool.schema.get("properties").and_then(Value::as_object)?;
    if let Some((name, _)) = properties.get_key_value("query") {
        return Some(name);
    }
    let required = tool.schema.get("required").and_then(Value::as_array)?;
    let mut texts = required
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| properties.get(*name).is_some_and(|schema| types(schema).contains(&"string")));
    texts.next().filter(|_| texts.next().is_none())
}

/// What is searched, in order: the names that the conversation lists, if the search takes names, then words.
fn queries(question: &Question, tool: &OfferedTool, step: &PlannedStep, verb: &str) -> Vec<String> {
    let (service, own) = step.operation.split_once('.').unwrap_or_default();
    let noun = step.nouns.first().map_or(service, String::as_str);
    let mut queries = Vec::new();
    let listed = listed_names(question, tool, &[service, noun]);
    if tool.description.contains("select:") && !listed.is_empty() {
        queries.push(format!("select:{}", listed.join(",")));
    }
    if verb.is_empty() {
        queries.push(format!("{service} {}", own.replace('-', " ")));
        queries.push(noun.to_owned());
    } else {
        queries.push(format!("{service} {verb} {noun}"));
    }
    queries.dedup();
    queries
}

/// The names of tools in the texts of a request that have one of these words.
fn listed_names(question: &Question, tool: &OfferedTool, nouns: &[&str]) -> Vec<String> {
    let texts = question.turns.iter().filter_map(|turn| match turn {
        Turn::System(text) | Turn::User(text) => Some(text.as_str()),
        Turn::Assistant(_) | Turn::ToolResult(_) => None,
    });
    let mut names: Vec<String> = Vec::new();
    for text in texts.chain([tool.description.as_str()]) {
        for name in text.split(|character: char| !character.is_alphanumeric() && character != '_') {
            let has = |noun: &&str| words(name).iter().any(|word| is_same_word(word, noun));
            let is_new = name.contains("__") && !names.iter().any(|have| have == name);
            if is_new && nouns.iter().any(has) && names.len() < MAX_FOUND as usize {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// A wait or a plan, unless the conversation has one.
fn wait(question: &Question) -> Option<(String, Value)> {
    let is_made = |tool: &&OfferedTool| question.calls().any(|call| call.name == tool.name);
    let mut waits = WAITS.iter().filter_map(|name| question.tools.iter().find(|tool| tool.name == *name));
    let tool = waits.find(|tool| !is_made(tool))?;
    let content = StructuredContent { text: "Do what the user asks for.", is_done: false };
    Some((tool.name.clone(), structured(&tool.schema, content)?))
}
