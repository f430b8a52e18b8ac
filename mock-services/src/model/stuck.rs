//! Why the model cannot go on, with what to write into the scenario. A trial in which that happens is void.

use super::conversation::{OfferedTool, Question};
use super::tool_choice::NoTool;
use crate::description::{PlannedStep, PlannedTask};

/// The text protocols.
const SPOKEN: &str = "It speaks ReAct (`Action:`, `Action Input:`, `Final Answer:`), JSON with `action` and \
                      `action_input` or with `name` and `arguments`, `<tool_call>`, and Python that ends with \
                      `final_answer(…)`.";

/// Why the model cannot go on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stuck {
    /// Why, and what to write into the scenario.
    pub(super) message: String,
    /// Whether no tool fits.
    pub(super) lacks_tool: bool,
}

impl Stuck {
    fn new(message: String) -> Self {
        Stuck { message, lacks_tool: false }
    }

    /// No tool was chosen for a step.
    pub(super) fn at_step(step: &PlannedStep, question: &Question, no_tool: &NoTool) -> Self {
        let operation = &step.operation;
        let lacks = |tool: &str, missing: &[String]| {
            format!("`{tool}` requires {}, which the step does not have", missing.join(" and "))
        };
        let reason = match no_tool {
            NoTool::NotOffered(tool) => format!("the request does not offer `{tool}`, which `tools` names"),
            NoTool::NotCovered { tool, missing } => lacks(tool, missing),
            NoTool::NoneFits(uncovered) if uncovered.is_empty() => {
                "no tool fits by its name and its required arguments".to_owned()
            }
            NoTool::NoneFits(uncovered) => {
                let lacking: Vec<String> =
                    uncovered.iter().map(|(tool, missing)| lacks(tool, missing)).collect();
                lacking.join("; ")
            }
            NoTool::Tie(tools) => format!("{} fit equally well", tools.join(" and ")),
        };
        let lines = match no_tool {
            NoTool::Tie(tools) => {
                tools.iter().map(|tool| format!("tools: {{{operation}: {tool}}}")).collect()
            }
            NoTool::NotCovered { .. } => Vec::new(),
            NoTool::NotOffered(_) | NoTool::NoneFits(_) => vec![format!("tools: {{{operation}: NAME}}")],
        };
        let help = match lines[..] {
            [] => "add the missing values to the fields of the step".to_owned(),
            _ => format!(
                "write the tool under the model in the scenario, or for the subject in hapax.yaml: {}",
                lines.join(" or ")
            ),
        };
        let message = format!(
            "the model has no tool for {operation}: {reason}. The request offers: {}. Fix: {help}",
            offered(&question.tools)
        );
        Stuck { message, lacks_tool: matches!(no_tool, NoTool::NoneFits(_)) }
    }

    /// No tool fits, and the shell does not have a variable of the subject.
    pub(super) fn no_variable(shell: &str, variable: &str) -> Self {
        let message = format!(
            "no tool fits, and the commands of `{shell}` do not have the variable {variable}: with `--via mcp` the \
             services have no address, and some programs hide variables from their shell. Fix: offer the tools of the \
             MCP server to the model, or run without `--via mcp` and let the program pass {variable} on"
        );
        Stuck::new(message)
    }

    /// The request wants a tool call, the task is done, and no tool takes a result.
    pub(super) fn no_output_tool(question: &Question) -> Self {
        let offered = offered(&question.tools);
        let message = format!(
            "the request requires a tool call, but no step is left and no tool takes a result. The request \
             offers: {offered}. Fix: let the request allow a text as its answer, or script the turns with `script`"
        );
        Stuck::new(message)
    }

    /// The model finds no value for a schema.
    pub(super) fn at_schema(what: &str) -> Self {
        let message = format!(
            "the model finds no value that the JSON Schema of {what} allows: it does not know patterns and \
             most formats. Fix: simplify the schema, or script the turns with `script`"
        );
        Stuck::new(message)
    }

    /// The prompt describes tools as text, and the model does not know how to call them.
    pub(super) fn no_protocol() -> Self {
        let message = format!(
            "the request offers no `tools`: its prompt describes them as text, in a protocol that the model does \
             not speak. {SPOKEN} Fix: let the framework send `tools`, replay a recording (`hapax record`), or \
             script the turns with `script`"
        );
        Stuck::new(message)
    }

    /// The prompt asks for a known protocol, and describes no tool in a form that the model reads.
    pub(super) fn no_described_tools() -> Self {
        let message = "the request offers no `tools`: its prompt asks for calls as text, and describes no tool in a \
                       form that the model reads. It reads Python signatures, `name(argument: type) - description`, \
                       `name: description, args: {…}`, `Tool Name: …` with `Tool Arguments: {…}`, and JSON with \
                       `name` and `parameters`. Fix: describe the tools in one of these forms, replay a recording \
                       (`hapax record`), or script the turns with `script`";
        Stuck::new(message.to_owned())
    }

    /// A message is the result of a call that no message shows.
    pub(super) fn result_without_call() -> Self {
        let message = format!(
            "a message of the request is the result of a tool (`Observation:`), and the message before it does not \
             show the call. {SPOKEN} Fix: keep the answers of the model in the conversation as they are, or send \
             results as the API's own tool results"
        );
        Stuck::new(message)
    }

    /// There are several tasks, and the request quotes none.
    pub(super) fn no_task(tasks: &[PlannedTask]) -> Self {
        let message = format!(
            "the scenario has {} tasks, and no message of the request has the text of one. Fix: let the subject \
             send HAPAX_TASK as it is, or script the turns with `script`",
            tasks.len()
        );
        Stuck::new(message)
    }
}

/// The tools with their required arguments: `charge(customer, amount)`.
fn offered(tools: &[OfferedTool]) -> String {
    let shown = tools.iter().map(|tool| {
        let required = tool.schema.get("required").and_then(serde_json::Value::as_array);
        let names: Vec<&str> = required.into_iter().flatten().filter_map(serde_json::Value::as_str).collect();
        format!("{}({})", tool.name, names.join(", "))
    });
    shown.collect::<Vec<_>>().join(", ")
}
