//! Agents that have only a shell: where no tool fits, the model sends the request of a step with one line of `curl`. Its
//! own lines in the history are read as calls, so that everything else works as for tools. The address and the key are
//! in the variables that the subject has.

use serde_json::{Map, Value, json};

use super::arguments::types;
use super::conversation::{CallForm, Generation, OfferedTool, Question, ToolCall, Turn};
use super::next_turn::NextTurn;
use super::structured::{StructuredContent, structured};
use super::stuck::Stuck;
use super::tool_choice::words;
use crate::description::{KEY_ARGUMENT, PlannedRequest, PlannedStep, PlannedTask, ServiceRequest};

/// What a line prints if a variable is missing.
const NOT_SET: &str = "is not set";
/// What mini-swe-agent wants to be printed at the end.
const END_MARK: &str = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";
/// The content types that a request can have.
const CONTENT_TYPES: [&str; 2] = ["application/json", "application/x-www-form-urlencoded"];

/// A shell that a request offers, and the requests of the services that a step needs.
pub(super) struct Shell<'a> {
    tool: &'a OfferedTool,
    /// The argument for the command.
    argument: &'a str,
    requests: Vec<&'a PlannedRequest>,
}

impl<'a> Shell<'a> {
    /// The shell of a request, for the services of steps that no offered tool fits.
    pub(super) fn offered(
        question: &'a Question,
        task: &'a PlannedTask,
        has_tool: impl Fn(&PlannedStep) -> bool,
    ) -> Option<Self> {
        let (tool, argument) =
            question.tools.iter().find_map(|tool| Some((tool, command_argument(tool)?)))?;
        let mut services: Vec<&str> = Vec::new();
        for step in task.steps.iter().filter(|step| !has_tool(step)) {
            services.push(step.operation.split('.').next().unwrap_or_default());
        }
        let requests: Vec<&PlannedRequest> =
            task.requests.iter().filter(|request| services.contains(&request.service.as_str())).collect();
        (!requests.is_empty()).then_some(Shell { tool, argument, requests })
    }

    /// The question with the requests as tools. The error says that the shell does not have a variable.
    pub(super) fn question(&self, question: &Question) -> Result<Question, Stuck> {
        let results = question.turns.iter().filter_map(|turn| match turn {
            Turn::ToolResult(result) => Some(result.text.as_str()),
            Turn::System(_) | Turn::User(_) | Turn::Assistant(_) => None,
        });
        let is_missing =
            |name: &String| results.clone().any(|text| text.contains(&format!("{name}: {NOT_SET}")));
        if let Some(name) = self.variables().find(is_missing) {
            return Err(Stuck::no_variable(&self.tool.name, &name));
        }
        let mut tools = question.tools.clone();
        tools.extend(self.requests.iter().map(|request| as_tool(request)));
        Ok(Question { tools, ..question.clone() })
    }

    fn variables(&self) -> impl Iterator<Item = String> {
        self.requests
            .iter()
            .flat_map(|request| [variable(&request.service, "URL"), variable(&request.service, "KEY")])
    }

    /// What the model does, with the calls of requests as lines for the shell.
    pub(super) fn written(&self, mut next: NextTurn, question: &Question) -> NextTurn {
        let request_for = |name: &str| self.requests.iter().find(|request| request.tool.name == name);
        for call in &mut next.generation.calls {
            let line = request_for(&call.name).and_then(|request| line_for(request, &call.arguments));
            if let Some(line) = line {
                next.is_shell = true;
                *call = self.call(&call.id, line);
            }
        }
        for (_, tool, why) in &mut next.choices {
            if request_for(tool).is_some() {
                *why = format!("no tool fits, so the shell sends the request of {tool} with curl");
                *tool = self.tool.name.clone();
            }
        }
        let wants_mark = question.turns.iter().any(|turn| match turn {
            Turn::System(text) | Turn::User(text) => text.contains(END_MARK),
            Turn::Assistant(_) | Turn::ToolResult(_) => false,
        });
        if next.generation.calls.is_empty() && wants_mark {
            let Generation { text, .. } = &next.generation;
            let call = self.call("call_end", format!("echo {END_MARK}"));
            next.generation = Generation { calls: vec![call], ..Generation::text(text.clone()) };
        }
        next
    }

    /// A call of the shell with a line. Other required arguments get any value.
    fn call(&self, id: &str, line: String) -> ToolCall {
        let content = StructuredContent { text: "Do the next step.", is_done: false };
        let required = self.tool.schema.get("required").and_then(Value::as_array);
        let mut arguments = Map::new();
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            let schema = self.tool.schema.pointer(&format!("/properties/{name}")).unwrap_or(&Value::Null);
            arguments.insert(name.to_owned(), structured(schema, content).unwrap_or_default());
        }
        let is_list = self.tool.schema.pointer(&format!("/properties/{}", self.argument));
        let is_list = is_list.is_some_and(|schema| types(schema) == ["array"]);
        let command = if is_list { json!(["bash", "-lc", line]) } else { json!(line) };
        arguments.insert(self.argument.to_owned(), command);
        let arguments = Value::Object(arguments);
        ToolCall { id: id.to_owned(), name: self.tool.name.clone(), arguments, form: self.tool.form.clone() }
    }
}

/// The question with the lines of its history as the calls that they make, and whether there are any.
pub(super) fn read_lines(question: &Question, tasks: &[PlannedTask]) -> (Question, bool) {
    let requests: Vec<&PlannedRequest> = tasks.iter().flat_map(|task| &task.requests).collect();
    let mut question = question.clone();
    let mut has_lines = false;
    for turn in &mut question.turns {
        let Turn::Assistant(generation) = turn else { continue };
        for call in &mut generation.calls {
            if let Some((name, arguments)) = call_in(&call.arguments, &requests) {
                (call.name, call.arguments) = (name, arguments);
                has_lines = true;
            }
        }
    }
    (question, has_lines)
}

/// The call that a line in the arguments of a shell makes.
fn call_in(arguments: &Value, requests: &[&PlannedRequest]) -> Option<(String, Value)> {
    let values = arguments.as_object().into_iter().flat_map(Map::values);
    let mut lines = values.filter_map(|value| match value {
        Value::Array(words) => words.last().and_then(Value::as_str),
        value => value.as_str(),
    });
    let (address, sent) = lines.find_map(request_of)?;
    let of_service = requests.iter().filter(|request| variable(&request.service, "URL") == address);
    let found = of_service.filter_map(|request| Some((request, request.tool.arguments(&sent)?))).next();
    found.map(|(request, arguments)| (request.tool.name.clone(), Value::Object(arguments)))
}

/// The argument for the command, if a tool is a shell: `bash`, `exec_command`, `run_shell_command`.
fn command_argument(tool: &OfferedTool) -> Option<&str> {
    const SHELLS: [&str; 5] = ["bash", "shell", "terminal", "command", "cmd"];
    const OTHERS: [&str; 8] = ["run", "exec", "execute", "in", "local", "sh", "tool", "async"];
    const ARGUMENTS: [&str; 4] = ["command", "cmd", "script", "commands"];
    let words = words(tool.name.rsplit("__").next().unwrap_or(&tool.name));
    let is = |word: &String, list: &[&str]| list.contains(&word.as_str());
    let is_shell = words.iter().any(|word| is(word, &SHELLS))
        && words.iter().all(|word| is(word, &SHELLS) || is(word, &OTHERS));
    let properties = tool.schema.get("properties").and_then(Value::as_object).filter(|_| is_shell)?;
    let argument = ARGUMENTS.iter().find_map(|name| properties.get_key_value(*name))?;
    Some(argument.0)
}

/// A request as a tool.
fn as_tool(request: &PlannedRequest) -> OfferedTool {
    let tool = &request.tool;
    let mut properties = Map::new();
    for parameter in &tool.parameters {
        let mut schema = parameter.kind.schema();
        schema["description"] = json!(parameter.about);
        properties.insert(parameter.name.clone(), schema);
    }
    if request.takes_key {
        properties.insert(KEY_ARGUMENT.to_owned(), json!({ "type": "string" }));
    }
    let required = tool.parameters.iter().filter(|parameter| parameter.required);
    let required: Vec<&str> = required.map(|parameter| parameter.name.as_str()).collect();
    OfferedTool {
        name: tool.name.clone(),
        description: tool.about.clone(),
        schema: json!({ "type": "object", "properties": properties, "required": required }),
        form: CallForm::Function,
    }
}

/// The variable of a service: `HAPAX_PAYMENT_URL`.
fn variable(service: &str, what: &str) -> String {
    format!("HAPAX_{}_{what}", service.to_uppercase().replace('-', "_"))
}

/// The line that makes a call; `None` if its arguments make no request.
fn line_for(request: &PlannedRequest, arguments: &Value) -> Option<String> {
    let sent = request.tool.request(arguments.as_object()?).ok()?;
    let of_service = |what: &str| format!("\"${{{}:?{NOT_SET}}}\"", variable(&request.service, what));
    let mut line = format!("curl -sS -X {} {}{}", sent.method, of_service("URL"), quoted(&sent.target));
    line.push_str(&format!(" -H 'Authorization: Bearer '{}", of_service("KEY")));
    let content_type = sent.content_type.map(|kind| ("Content-Type".to_owned(), kind.to_owned()));
    for (name, value) in content_type.iter().chain(&sent.headers) {
        line.push_str(&format!(" -H {}", quoted(&format!("{name}: {value}"))));
    }
    if sent.content_type.is_some() {
        line.push_str(&format!(" --data-raw {}", quoted(&sent.body)));
    }
    line.push_str(" -w '\\nHTTP %{http_code}\\n'");
    Some(line)
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The request that a line of the model makes, and the variable with its address.
fn request_of(line: &str) -> Option<(String, ServiceRequest)> {
    let mut words = words_of(line)?.into_iter();
    let mut next = || words.next();
    if (next()?, next()?, next()?) != ("curl".to_owned(), "-sS".to_owned(), "-X".to_owned()) {
        return None;
    }
    let method = next()?;
    let address = next()?;
    let (stem, target) = address.strip_prefix("${")?.split_once('}')?;
    let stem = stem.split(':').next().unwrap_or_default().to_owned();
    let mut sent = ServiceRequest {
        method,
        target: target.to_owned(),
        headers: Vec::new(),
        content_type: None,
        body: String::new(),
    };
    while let (Some(option), Some(value)) = (next(), next()) {
        match (option.as_str(), value.split_once(": ")) {
            ("-H", Some(("Authorization", _))) => {}
            ("-H", Some(("Content-Type", kind))) => {
                sent.content_type = CONTENT_TYPES.into_iter().find(|known| *known == kind);
            }
            ("-H", Some((name, value))) => sent.headers.push((name.to_owned(), value.to_owned())),
            ("--data-raw", _) => sent.body = value,
            _ => {}
        }
    }
    Some((stem, sent))
}

/// The words of a line as the model writes it: texts in quotes are taken as they are.
fn words_of(line: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().push(characters.next()?),
            quote @ ('\'' | '"') => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        end if end == quote => break,
                        inside => word.push(inside),
                    }
                }
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{ParameterType, ToolDescription};

    fn charge() -> PlannedRequest {
        let tool = ToolDescription::new(
            "payment_create_charge",
            "payment.charge",
            "POST",
            "/v1/charges",
            "Charges.",
        )
        .form()
        .keyed()
        .required("amount", ParameterType::Integer, "The amount.")
        .optional("customer", ParameterType::Text, "The customer.")
        .optional("description", ParameterType::Text, "A text.")
        .optional("metadata", ParameterType::Labels, "Labels.");
        PlannedRequest { service: "payment".to_owned(), tool, takes_key: true }
    }

    fn mail() -> PlannedRequest {
        let tool = ToolDescription::new("email_send", "email.send", "POST", "/emails", "Sends.")
            .json()
            .required("to", ParameterType::Texts, "The recipients.")
            .required("subject", ParameterType::Text, "The subject.");
        PlannedRequest { service: "my-email".to_owned(), tool, takes_key: false }
    }

    #[test]
    fn the_line_of_a_call_is_read_as_the_same_call() {
        let charged = json!({
            "amount": 4999, "customer": "cus_42", "description": "Ann's \"order\" & $HOME `id`",
            "metadata": { "order": "ord_1001" }, "idempotency_key": "charge-ord_1001",
        });
        let sent = json!({ "to": ["ann@x.example"], "subject": "It's \\ $5: 'done'" });
        for (request, arguments) in [(charge(), charged), (mail(), sent)] {
            let line = line_for(&request, &arguments).unwrap();
            let (stem, read) = request_of(&line).unwrap();
            assert_eq!(stem, variable(&request.service, "URL"));
            assert_eq!(request.tool.arguments(&read).map(Value::Object), Some(arguments), "{line}");
        }
        assert_eq!(
            line_for(&charge(), &json!({ "amount": 1, "idempotency_key": "k" })).unwrap(),
            "curl -sS -X POST \"${HAPAX_PAYMENT_URL:?is not set}\"'/v1/charges' -H 'Authorization: Bearer \
             '\"${HAPAX_PAYMENT_KEY:?is not set}\" -H 'Content-Type: application/x-www-form-urlencoded' -H \
             'Idempotency-Key: k' --data-raw 'amount=1' -w '\\nHTTP %{http_code}\\n'"
        );
        for other in ["ls -la", "curl https://x.example", "curl -sS -X POST 'a", ""] {
            assert_eq!(request_of(other), None, "{other}");
        }
    }

    #[test]
    fn shells_are_known_by_their_names() {
        let tool = |name: &str, argument: &str| OfferedTool {
            name: name.to_owned(),
            description: String::new(),
            schema: json!({ "properties": { argument: { "type": "string" } } }),
            form: CallForm::Function,
        };
        for (name, argument) in [
            ("bash", "command"),
            ("Bash", "command"),
            ("exec_command", "cmd"),
            ("run_shell_command", "command"),
            ("mcp__dev__run_command", "command"),
        ] {
            assert_eq!(command_argument(&tool(name, argument)), Some(argument), "{name}");
        }
        for (name, argument) in
            [("send_command", "command"), ("bash_output", "bash_id"), ("write_stdin", "cmd")]
        {
            assert_eq!(command_argument(&tool(name, argument)), None, "{name}");
        }
    }
}
