//! Tools that a prompt describes as text: which protocol it asks for, the conversation as calls and results, and the
//! answer in the words of the protocol. Everything after this works as for tools that the request itself offers.

mod history;
mod prompt_tools;
#[cfg(test)]
mod tests;
mod write;

use serde_json::Value;

use super::conversation::{Generation, OfferedTool, Question, Turn};
use super::stuck::Stuck;
use super::tool_choice::words;

/// The tool of smolagents that takes the last answer.
const END_TOOL: &str = "final_answer";

/// How the model says in a text which tool it calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextProtocol {
    /// `Action: charge` and `Action Input: …`, as LangChain, CrewAI and LlamaIndex write it.
    React {
        /// Whether the input is always a JSON object; otherwise that of a tool with one argument is its value.
        json_input: bool,
        /// What stands before the last answer: `Final Answer:`.
        end: &'static str,
    },
    /// `{"action": "charge", "action_input": {…}}`, as LangChain writes it.
    ActionObject {
        /// Whether the object stands after `Action:`.
        after_label: bool,
        /// Whether the object stands in a fenced block.
        fenced: bool,
        /// Whether the input of a tool with one argument is its value.
        plain_input: bool,
    },
    /// `{"name": "charge", "arguments": {…}}` after `Action:` or between tags.
    NamedObject {
        /// Whether the object stands between `<tool_call>` and `</tool_call>`.
        tagged: bool,
        /// The tool that takes the last answer, with its argument.
        end: Option<(String, String)>,
    },
    /// Python that calls the tools as functions, and `final_answer(…)`, as smolagents writes it.
    Code(CodeForm),
}

/// Where the code of an answer stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CodeForm {
    /// Between these texts.
    Block(&'static str, &'static str),
    /// In the field `code` of a JSON object.
    Field,
}

/// The objects of JSON in a text, each with the text after it. What stands within one is not found again.
fn json_objects(text: &str) -> impl Iterator<Item = (Value, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[rest.find('{')?..];
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            if let Some(Ok(value)) = values.next() {
                rest = &rest[values.byte_offset()..];
                return Some((value, rest));
            }
            rest = &rest[1..];
        }
    })
}

/// A request as the model understands it.
#[derive(Debug)]
pub(super) struct Understood {
    /// The request with the tools, the calls and the results that its texts have.
    pub(super) question: Question,
    /// How the answer names its calls; `None` where the API has calls.
    pub(super) protocol: Option<TextProtocol>,
}

impl Understood {
    /// A request whose texts hold no calls.
    pub(super) fn as_it_is(question: &Question) -> Self {
        Understood { question: question.clone(), protocol: None }
    }

    /// What the model generates, as the API sends it: calls become text where the prompt asks for it.
    pub(super) fn written(&self, generation: &Generation) -> Generation {
        match &self.protocol {
            None => generation.clone(),
            // An empty answer is empty in every protocol.
            Some(_) if *generation == Generation::default() => generation.clone(),
            Some(protocol) => Generation::text(write::text(protocol, generation)),
        }
    }

    /// Leaves out the calls that the protocol has no words for.
    pub(super) fn expressible(&self, mut generation: Generation) -> Generation {
        let is_one_call = matches!(
            self.protocol,
            Some(
                TextProtocol::React { .. }
                    | TextProtocol::ActionObject { .. }
                    | TextProtocol::NamedObject { tagged: false, .. }
            )
        );
        if is_one_call {
            generation.calls.truncate(1);
        }
        generation
    }
}

/// Reads the texts of a request. The error says what the model does not understand.
pub(super) fn understand(question: &Question) -> Result<Understood, Stuck> {
    if !question.tools.is_empty() {
        let turns = history::turns(question, &question.tools, history::Marks::Required)?;
        return Ok(Understood { question: Question { turns, ..question.clone() }, protocol: None });
    }
    let prompt = prompt(question);
    let described = prompt_tools::described(&prompt);
    let is_end = |tool: &OfferedTool| tool.name == END_TOOL;
    let has_tools = described.iter().any(|tool| !is_end(tool));
    let protocol =
        if asks_for_plan(question) { None } else { protocol(&prompt, &described, question.schema.as_ref()) };
    let (Some(protocol), true) = (&protocol, has_tools) else {
        // A framework that sends calls of the API leaves `tools` out where it wants a text.
        let has_calls = question.calls().next().is_some();
        let is_plain =
            !announces_tools(&prompt) || has_calls || asks_for_plan(question) || asks_for_text(question);
        return match protocol {
            _ if is_plain => Ok(Understood::as_it_is(question)),
            Some(_) => Err(Stuck::no_described_tools()),
            None => Err(Stuck::no_protocol()),
        };
    };
    let turns = history::turns(question, &described, history::Marks::Optional)?;
    let tools: Vec<OfferedTool> = described.into_iter().filter(|tool| !is_end(tool)).collect();
    // The prompt is no summary of what was done, whatever its words are.
    let as_prompt = |turn: Turn| match turn {
        Turn::System(text) => Turn::User(text),
        turn => turn,
    };
    let turns = turns.into_iter().map(as_prompt).collect();
    let question = Question { turns, tools, schema: None, ..question.clone() };
    Ok(Understood { question, protocol: Some(protocol.clone()) })
}

/// The texts before the first answer of the model.
fn prompt(question: &Question) -> String {
    let before = question.turns.iter().map_while(|turn| match turn {
        Turn::System(text) | Turn::User(text) => Some(text.as_str()),
        Turn::Assistant(_) | Turn::ToolResult(_) => None,
    });
    before.collect::<Vec<_>>().join("\n")
}

fn protocol(prompt: &str, tools: &[OfferedTool], schema: Option<&Value>) -> Option<TextProtocol> {
    let has = |text: &str| prompt.contains(text);
    let has_line = |label: &str| prompt.lines().any(|line| line.trim_start().starts_with(label));
    let is_code = schema.and_then(|schema| schema.get("properties")?.get("code")).is_some();
    if is_code && has("final_answer") {
        return Some(TextProtocol::Code(CodeForm::Field));
    }
    if has("final_answer(") && has("Observation") {
        let forms = [
            ("<code>", "</code>", "<code>\n", "\n</code>"),
            ("```py", "<end_code>", "```py\n", "\n```<end_code>"),
            ("```python", "```", "```python\n", "\n```"),
            ("```py", "```", "```py\n", "\n```"),
        ];
        let form = forms.iter().find(|(open, close, ..)| has(open) && has(close));
        if let Some((.., open, close)) = form {
            return Some(TextProtocol::Code(CodeForm::Block(open, close)));
        }
    }
    if has("\"action_input\"") {
        return Some(TextProtocol::ActionObject {
            after_label: has_line("Action:"),
            fenced: schema.is_none(),
            plain_input: has("\"action_input\": string"),
        });
    }
    if has_line("Action Input:") && has_line("Action:") {
        let input = prompt.split("Action Input:").nth(1).and_then(|rest| rest.lines().next());
        let input = input.unwrap_or_default();
        return Some(TextProtocol::React {
            json_input: input.to_lowercase().contains("json") || input.contains('{'),
            end: if has("Final Answer:") || !has_line("Answer:") { "Final Answer:" } else { "Answer:" },
        });
    }
    if (has("\"name\"") || has("'name'")) && has("arguments") {
        let tagged = has("<tool_call>");
        let end = tools.iter().find(|tool| tool.name == END_TOOL).map(|tool| {
            let argument = tool.schema["properties"].as_object().and_then(|names| names.keys().next());
            (tool.name.clone(), argument.cloned().unwrap_or_else(|| "answer".to_owned()))
        });
        if tagged || has_line("Action:") {
            return Some(TextProtocol::NamedObject { tagged, end });
        }
    }
    None
}

/// Whether a prompt says that the model has tools.
fn announces_tools(prompt: &str) -> bool {
    const PHRASES: [&str; 13] = [
        "the following tools",
        "the following functions",
        "these tools",
        "these functions",
        "available tools",
        "available functions",
        "tools available",
        "functions available",
        "list of tools",
        "tools you can use",
        "tool name:",
        "<tools>",
        "tools:\n",
    ];
    let prompt = prompt.to_lowercase();
    PHRASES.iter().any(|phrase| prompt.contains(phrase))
}

/// The last message of the user.
fn last_message(question: &Question) -> &str {
    let last = question.turns.iter().rev().find_map(|turn| match turn {
        Turn::User(text) => Some(text.as_str()),
        Turn::System(_) | Turn::Assistant(_) | Turn::ToolResult(_) => None,
    });
    last.unwrap_or_default()
}

/// Whether smolagents asks for a plan, with the descriptions of the tools.
fn asks_for_plan(question: &Question) -> bool {
    last_message(question).contains("<end_plan>")
}

/// Whether the last message asks for a plan, a summary or a title. Frameworks do so with descriptions of tools, and take
/// any text.
fn asks_for_text(question: &Question) -> bool {
    const VERBS: [&str; 9] =
        ["create", "make", "write", "devise", "develop", "draft", "propose", "build", "produce"];
    let words = words(last_message(question));
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let has_verb = VERBS.iter().any(|verb| has(verb));
    has("summarize") || (has_verb && ["plan", "summary", "title"].into_iter().any(has))
}
