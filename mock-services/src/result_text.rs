//! Reads the text of a tool result: whether it says that the call worked, that it failed, or neither. The model and
//! the client of MCP servers use this one reader, so that both understand the same text in the same way.

use serde_json::{Map, Value};

mod literal;

/// The maximum number of words at the beginning, and at the end, of a text that are looked at: the exception of a
/// traceback is at its end.
const MAX_WORDS: usize = 40;
/// How many levels of texts within texts are read.
const MAX_DEPTH: usize = 4;

/// What the text of a tool result says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultText {
    /// It does not say that anything failed.
    Success,
    /// It says that the call failed.
    Error,
    /// It says neither: it is empty, or it only mentions an error.
    Unclear,
}

impl ResultText {
    /// Reads the text of a tool result.
    #[must_use]
    pub fn of(text: &str) -> Self {
        of_text(text, MAX_DEPTH)
    }
}

/// The value that a text is written as: JSON, or the representation of a value in Python or JavaScript.
#[must_use]
pub fn value_in(text: &str) -> Option<Value> {
    let text = text.trim();
    serde_json::from_str(text).ok().or_else(|| literal::parse(text))
}

/// Whether a text has no content: it is empty, or a value with nothing in it, such as `{}`, `None` or
/// `{"errors": null}`. A tool without a return value has such a result, and so has an error that is written as JSON.
#[must_use]
pub fn is_without_content(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || text == "None" || value_in(text).is_some_and(|value| has_no_content(&value))
}

fn has_no_content(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => is_without_content(text),
        Value::Array(items) => items.iter().all(has_no_content),
        Value::Object(object) => object.values().all(has_no_content),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether an object says that the call failed: `{"error": "…"}`, `{"ok": false}`, `{"status": 500}`.
#[must_use]
pub fn is_error_object(object: &Map<String, Value>) -> bool {
    const FAILED: [&str; 9] =
        ["error", "err", "failed", "failure", "declined", "rejected", "denied", "timeout", "unavailable"];
    let is_false = |name: &str| object.get(name).and_then(Value::as_bool) == Some(false);
    let is_failed = |name: &str| match object.get(name) {
        Some(Value::String(text)) => {
            let text = text.to_ascii_lowercase();
            FAILED.contains(&text.as_str()) || text.parse().is_ok_and(is_error_status)
        }
        Some(Value::Number(number)) => number.as_u64().is_some_and(is_error_status),
        _ => false,
    };
    let has = |name: &str| match object.get(name) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
        Some(_) => true,
    };
    ["error", "errors", "isError", "is_error"].into_iter().any(has)
        || ["ok", "success", "succeeded"].into_iter().any(is_false)
        || ["status", "status_code", "statusCode", "result", "type"].into_iter().any(is_failed)
}

fn is_error_status(status: u64) -> bool {
    (400..600).contains(&status)
}

fn of_text(text: &str, depth: usize) -> ResultText {
    let text = text.trim();
    if text.is_empty() {
        return ResultText::Unclear;
    }
    match value_in(text).or_else(|| cut_object_in(text)) {
        Some(value) => of_value(&value, depth),
        None => of_prose(text, depth),
    }
}

/// The object that a text begins with and that a program has cut because it is long: what is complete of it.
fn cut_object_in(text: &str) -> Option<Value> {
    let (mut depth, mut is_text, mut is_escaped, mut end) = (0_usize, false, false, None);
    for (at, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            _ if is_text => {}
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.checked_sub(1)?,
            ',' if depth == 1 => end = Some(at),
            _ => {}
        }
        if depth == 0 {
            // It does not begin with an object, or the object is complete and more text follows.
            return None;
        }
    }
    serde_json::from_str::<Value>(&format!("{}}}", &text[..end?])).ok()
}

fn of_value(value: &Value, depth: usize) -> ResultText {
    let Some(depth) = depth.checked_sub(1) else { return ResultText::Unclear };
    match value {
        _ if has_no_content(value) => ResultText::Unclear,
        Value::Null | Value::Bool(false) => ResultText::Unclear,
        Value::Bool(true) | Value::Number(_) => ResultText::Success,
        Value::String(text) => of_text(text, depth),
        Value::Array(items) => match items.as_slice() {
            [] => ResultText::Unclear,
            // A list of blocks or results with one entry is only around it.
            [only] if only.is_object() || only.is_string() => of_value(only, depth),
            _ => ResultText::Success,
        },
        Value::Object(object) if is_error_object(object) => ResultText::Error,
        Value::Object(object) if has_failed_exit(object) => ResultText::Error,
        // The output of a command.
        Value::Object(object) if ["output", "stdout"].iter().any(|name| object.contains_key(*name)) => {
            let texts = ["output", "stdout", "stderr"].iter().filter_map(|name| object.get(*name)?.as_str());
            let mut texts = texts.filter(|text| !text.trim().is_empty()).map(|text| of_text(text, depth));
            if texts.any(|text| text == ResultText::Error) { ResultText::Error } else { ResultText::Success }
        }
        // A content block.
        Value::Object(object) if object.get("type").and_then(Value::as_str) == Some("text") => {
            of_value(object.get("text").unwrap_or(&Value::Null), depth)
        }
        Value::Object(object) => match object.iter().collect::<Vec<_>>().as_slice() {
            [] => ResultText::Unclear,
            // An object around a text, such as `{"result": "…"}`, or around what was made.
            [(_, inner @ (Value::String(_) | Value::Object(_)))] => match of_value(inner, depth) {
                ResultText::Error => ResultText::Error,
                ResultText::Success | ResultText::Unclear => ResultText::Success,
            },
            _ => ResultText::Success,
        },
    }
}

/// How a text begins that says that the call failed.
const BEGINNINGS: [&str; 27] = [
    "error",
    "err:",
    "failed",
    "failure",
    "unable to",
    "could not",
    "couldn't",
    "cannot",
    "can't",
    "exception",
    "traceback",
    "an error occurred",
    "something went wrong",
    "request failed",
    "fetch failed",
    "internal server error",
    "bad gateway",
    "service unavailable",
    "gateway timeout",
    "too many requests",
    "unauthorized",
    "forbidden",
    "socket hang up",
    "mcp error",
    // Codex, about a tool that it does not have.
    "unsupported call",
    "no such tool",
    "unknown tool",
];
/// What a text contains that says that the call failed.
const PHRASES: [&str; 23] = [
    "reported tool error",
    "traceback (most recent call last)",
    "timed out",
    "failed to ",
    "failed with",
    "failed:",
    "failed because",
    "error occurred",
    "error code",
    "connection reset",
    "connection refused",
    "connection aborted",
    "econnreset",
    "econnrefused",
    "socket hang up",
    // Bun.
    "connection was closed",
    "connection closed",
    "closed unexpectedly",
    "server disconnected",
    "transport send error",
    "curl: (",
    "no such tool",
    // Copilot CLI, about a lost connection whose message has the digits of a 401.
    "re-authentication required",
];
/// What a text contains that says that the call was ended before its result was known.
const ENDED: [&str; 13] = [
    "operation cancelled",
    "operation canceled",
    "cancelled tool execution",
    "canceled tool execution",
    "execution was interrupted",
    "tool was interrupted",
    "interrupted by user",
    "interrupted by the user",
    "aborted by user",
    "aborted by the user",
    "call was cancelled",
    "call was canceled",
    "no result provided",
];
/// Words that a text about a failure has, and others as well.
const WORDS: [&str; 12] = [
    "error",
    "failed",
    "failure",
    "exception",
    "timeout",
    "unavailable",
    "refused",
    "aborted",
    "disconnected",
    "interrupted",
    "unreachable",
    "unsupported",
];
/// What denies the word after it.
const DENIALS: [&str; 4] = ["no", "without", "0", "zero"];

fn of_prose(text: &str, depth: usize) -> ResultText {
    let plain = text.to_lowercase();
    let beginning = plain.trim_start_matches(|character: char| !character.is_alphanumeric());
    if ["null", "none", "undefined", "false"].contains(&beginning) {
        return ResultText::Unclear;
    }
    let begins = BEGINNINGS.iter().any(|words| {
        let rest = beginning.strip_prefix(words);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '-'))
    });
    if begins || is_stack_trace(text) {
        return ResultText::Error;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let (first, last) = (words.iter().take(MAX_WORDS), words.iter().skip(MAX_WORDS).rev().take(MAX_WORDS));
    let seen: Vec<&str> = first.copied().chain(last.copied().collect::<Vec<_>>().into_iter().rev()).collect();
    let shown = seen.join(" ").to_lowercase();
    let is_denied = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| seen.get(before));
        before.is_some_and(|word| DENIALS.contains(&word.to_lowercase().as_str()))
    };
    if PHRASES.iter().any(|phrase| shown.contains(phrase) || plain.starts_with(phrase))
        || seen.iter().enumerate().any(|(at, word)| !is_denied(at) && names_error(word, seen.get(at + 1)))
        || failed_exit(&plain)
    {
        return ResultText::Error;
    }
    if ENDED.iter().any(|phrase| shown.contains(phrase)) {
        return ResultText::Unclear;
    }
    let value = last_value_in(text).filter(|value| !has_no_content(value));
    let said = value.map(|value| of_value(&value, depth));
    // The words of a value are read with it.
    let prose = if said.is_some() { text.split(['{', '[']).next().unwrap_or_default() } else { text };
    let prose = prose.split_whitespace().count();
    let mentions = |(at, word): (usize, &&str)| {
        let parts = word.to_lowercase();
        let mut parts = parts.split(|character: char| !character.is_alphanumeric());
        parts.any(|part| WORDS.contains(&part.strip_suffix('s').unwrap_or(part))) && !is_denied(at)
    };
    match said {
        Some(ResultText::Error) => ResultText::Error,
        _ if seen.iter().take(prose).enumerate().any(mentions) => ResultText::Unclear,
        said => said.unwrap_or(ResultText::Success),
    }
}

/// The last object or list of objects in a text: a program writes lines before and after the output of a command or a tool,
/// such as `Wall time: 0.1 s`.
#[must_use]
pub fn last_value_in(text: &str) -> Option<Value> {
    let mut last = None;
    let mut rest = text;
    while let Some(at) = rest.find(['{', '[']) {
        rest = &rest[at..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let found = values.next().and_then(Result::ok);
        let is_objects = |list: &Vec<Value>| list.iter().all(Value::is_object);
        match found {
            Some(value @ Value::Object(_)) => {
                rest = &rest[values.byte_offset()..];
                last = Some(value);
            }
            Some(value) if value.as_array().is_some_and(is_objects) => {
                rest = &rest[values.byte_offset()..];
                last = Some(value);
            }
            _ => rest = &rest[1..],
        }
    }
    last
}

/// Whether an object has the exit code of a command, also in `metadata`, and it is not 0.
fn has_failed_exit(object: &Map<String, Value>) -> bool {
    let inner = object.get("metadata").and_then(Value::as_object);
    let objects = [Some(object), inner].into_iter().flatten();
    let codes = objects.flat_map(|object| {
        ["exit_code", "exitCode", "returncode"].into_iter().filter_map(|name| object.get(name)?.as_i64())
    });
    codes.into_iter().any(|code| code != 0)
}

/// Whether a text names the exit code of a command, and it is not 0: `Process exited with code 7`.
fn failed_exit(plain: &str) -> bool {
    const MARKS: [&str; 6] =
        ["exited with code", "exit code", "exit status", "exited with status", "<returncode>", "returncode"];
    MARKS.iter().any(|mark| {
        plain.match_indices(mark).any(|(at, _)| {
            let after = plain[at + mark.len()..].trim_start_matches([':', '=', ' ', '"', '\'']);
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u32>().is_ok_and(|code| code != 0)
        })
    })
}

/// Whether a word is the name of an exception (`ConnectionError('reset')`), the beginning of a message (`error:`), or
/// the status of an answer (`HTTP 500`, `status code 502`).
fn names_error(word: &str, next: Option<&&str>) -> bool {
    let name = word.split(|character: char| !character.is_alphanumeric()).find(|part| !part.is_empty());
    let name = name.unwrap_or_default();
    let is_exception = ["Error", "Exception"].iter().any(|end| {
        name.strip_suffix(end).is_some_and(|before| before.ends_with(|last: char| last.is_lowercase()))
    });
    let plain = word.to_lowercase();
    let says_nothing = |next: &&&str| {
        let next = next.to_lowercase();
        ["null", "none", "false", "0"].contains(&next.trim_matches(|c: char| !c.is_alphanumeric()))
    };
    let is_message = ["error:", "exception:"].iter().any(|end| plain.ends_with(end));
    let status = |text: &str| {
        let digits = text.trim_matches(|character: char| !character.is_ascii_digit());
        digits.len() == 3 && digits.parse().is_ok_and(is_error_status)
    };
    let is_status = ["http", "status", "code", "status:", "code:"].contains(&plain.as_str())
        && next.is_some_and(|next| status(next));
    is_exception || (is_message && next.filter(says_nothing).is_none()) || is_status
}

/// Whether lines name the places of a stack trace, as Node, Java, Go and Rust write them.
fn is_stack_trace(text: &str) -> bool {
    let place = |line: &str| {
        let line = line.trim_start();
        (line.starts_with("at ") && line.ends_with(|last: char| last == ')' || last.is_ascii_digit()))
            || (line.starts_with("File \"") && line.contains(", line "))
            || line.starts_with("goroutine ")
    };
    text.lines().any(|line| line.trim_start().to_lowercase().starts_with("traceback (most recent"))
        || text.lines().filter(|line| place(line)).count() >= 2
        || (text.contains("panicked at ") && text.contains("thread '"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_object_that_is_cut_what_is_complete_counts() {
        let charge =
            "{\"id\":\"ch_1\",\"card\":{\"status\":\"unavailable\"},\"url\":\"https://pay\n[truncated]";
        assert_eq!(ResultText::of(charge), ResultText::Success);
        assert_eq!(ResultText::of("{\"error\":\"card, declined\",\"request\":{\"id\":"), ResultText::Error);
    }

    #[test]
    fn a_text_that_says_that_the_call_failed_is_an_error() {
        let trace = "Traceback (most recent call last):\n  File \"/app/agent.py\", line 41, in charge\n    \
                     return client.charges.create(customer=customer, amount=amount, currency=currency, \
                     metadata={\"order\": order}, idempotency_key=None, expand=[\"customer\", \"balance\"])\n  \
                     File \"/app/stripe/client.py\", line 7, in create\n    raise error\nKeyError: 'id'\n";
        let node = "TypeError: terminated\n    at Fetch.onAborted (node:internal/deps/undici:11190:53)\n    \
                    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)";
        for text in [
            "{'error': 'HTTP error: 500', 'status': 'failed'}",
            "{ error: 'fetch failed', status: 500 }",
            "\"Failed to create customer\"",
            "'Failed to create customer'",
            "Failed to send: reset",
            "Error: 500",
            "MCP server 'hapax': Re-authentication required for MCP server \"hapax\". Sign in again.",
            "❌ Error executing tool",
            "**Error:** no connection",
            "{\"error\": \"fetch failed\"}",
            "{\"error\": {\"message\": \"x\"}}",
            "{\"errors\": [{\"message\": \"x\"}], \"data\": null}",
            "{\"ok\": false}",
            "{\"success\": False, 'detail': None}",
            "{\"status\": \"failed\"}",
            "{\"status\": 503, \"body\": \"\"}",
            "{\"isError\": true, \"content\": []}",
            "{\"type\": \"error\", \"message\": \"x\"}",
            "{\"result\": \"Error: connection reset\"}",
            "[{\"type\": \"text\", \"text\": \"Error: reset\"}]",
            "\"{\\\"error\\\": \\\"reset\\\"}\"",
            "Error: connection reset",
            "ConnectionError('x')",
            "TimeoutException",
            "the request timed out",
            "Request failed with status code 502",
            "The backend answered with HTTP 500.",
            "MCP tool 'charge' reported tool error for function call: {\"name\":\"charge\"} with response: [{\"a\":1}]",
            "Tool error: the service is down",
            "The socket connection was closed unexpectedly. For more information, pass `verbose: true` in the \
             second argument to fetch()",
            "unsupported call: mcp__hapax__payment_create_charge",
            "Wall time: 5.0070 seconds\nOutput:\ntool call error: tool call failed for `hapax/charge`",
            "Wall time: 0.0100 seconds\nProcess exited with code 0\nOutput:\n{\"error\": {\"message\": \"x\"}}",
            "Wall time: 0.0100 seconds\nProcess exited with code 52\nOutput:\n",
            "<returncode>7</returncode>\n<output></output>",
            "curl: (52) Empty reply from server",
            "{\"error\": {\"message\": \"x\"}}\nHTTP 402",
            "Command: curl --data-raw '{\"to\": 1}'\nOutput: {\"error\": \"x\"}\nExit Code: 0",
            "{\"output\": \"curl: (52) Empty reply\", \"metadata\": {\"exit_code\": 0}}",
            "{\"output\": \"\", \"metadata\": {\"exit_code\": 52}}",
            "{\"returncode\": 7, \"output\": \"\"}",
            trace,
            &trace[35..],
            node,
        ] {
            assert_eq!(ResultText::of(text), ResultText::Error, "{text}");
        }
    }

    #[test]
    fn a_text_without_an_error_is_a_success() {
        for text in [
            "{\"id\": \"ch_1\", \"status\": \"succeeded\", \"error\": null}",
            "{'id': 'ch_1', 'status': 'succeeded', 'error': None, 'paid': True}",
            "{\"ok\": true, \"errors\": []}",
            "{\"ok\": true, \"error\": null}",
            "{\"status\": 201}",
            "{\"id\": 1}",
            "charged 4999",
            "sent: 1",
            "sent without errors",
            "Done, no error: 1 mail",
            "0 errors, 3 sent",
            "[1]",
            "true",
            "OK",
            "status: 201",
            "Subscription sub_1 canceled.",
            "{\"id\": \"ch_1\"}\nHTTP 200",
            "<returncode>0</returncode>\n<output>\n{\"id\": \"ch_1\", \"error\": null}\nHTTP 200\n</output>",
            "{\"returncode\": 0, \"output\": \"{\\\"id\\\": 1}\\nHTTP 200\"}",
            "Output: {\"id\": \"ch_1\"}\nError: (none)\nExit Code: 0\nSignal: (none)",
            "Wall time: 0.0100 seconds\nProcess exited with code 0\nOutput:\n{\"id\": \"ch_1\"}",
        ] {
            assert_eq!(ResultText::of(text), ResultText::Success, "{text}");
        }
    }

    #[test]
    fn a_text_that_says_neither_is_unclear() {
        let nothing = [
            "",
            "{}",
            "[]",
            "null",
            "None",
            "'{}'",
            "{\"errors\": null, \"retryAfter\": null}",
            "{'data': []}",
        ];
        for text in nothing {
            assert!(is_without_content(text), "{text}");
        }
        let ended = [
            "[Operation Cancelled] Reason: User cancelled tool execution.",
            "No result provided",
            "The execution of this tool, or a previous tool was interrupted.",
            "[Tool execution was interrupted]",
            "[Request interrupted by user for tool use]",
        ];
        let mentioned = [
            "The error report was filed",
            "false",
            "Charged ch_1, 0 tool errors",
            "There was an exception for {\"name\": \"charge\", \"amount\": 4999}",
        ];
        for text in nothing.into_iter().chain(ended).chain(mentioned) {
            assert_eq!(ResultText::of(text), ResultText::Unclear, "{text}");
        }
    }
}
