//! The file that says more about the tools of a server than their descriptions do.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};
use yaml_reader::{Node, NodeKind, Problem, Problems, Reader, Source, Span, parse, write_flow};

use crate::certify::evidence::FileDigest;
use crate::scenario::{any_host_service, read_text};
use crate::subject::read_command;

/// The names of the files in the result.
const TOOLS_FILE: &str = "tools file";
const ANSWERS_FILE: &str = "answers file";

/// What a file says about the tools of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ToolsFile {
    /// By the name of the tool.
    pub(crate) tools: BTreeMap<String, ToolSettings>,
    /// Environment variables of the server.
    pub(super) env: Vec<(String, String)>,
    /// The command that prepares the server, before it is sealed.
    pub(crate) prepare: Option<Vec<String>>,
    /// Headers of the requests to a server over HTTP.
    pub(crate) headers: BTreeMap<String, String>,
    /// The services that stand in for its backend, as in a scenario: each name with its settings.
    pub(super) services: Vec<(String, String)>,
    /// Whether tools that it does not name are skipped.
    only_listed: bool,
    /// The answers of the backend that the user declares, in the order in which the service looks at them.
    pub(super) answers: Vec<WrittenAnswer>,
    /// The files that were read.
    pub(super) files: Vec<FileDigest>,
}

/// An answer of the backend, as a file declares it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WrittenAnswer {
    /// Where it stands: `line 3 of the answers file`.
    place: String,
    /// What it says, on one line.
    text: String,
}

impl WrittenAnswer {
    /// The answers of a list.
    fn of_list(source: &Source, file: &str, list: &[Node]) -> Vec<Self> {
        let written = |node: &Node| {
            let before = source.text().get(..node.span.start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            WrittenAnswer { place: format!("line {line} of the {file}"), text: write_flow(node) }
        };
        list.iter().map(written).collect()
    }

    /// What the result says about it.
    pub(super) fn note(&self, is_matched: bool) -> String {
        let WrittenAnswer { place, text } = self;
        match is_matched {
            true => format!("{place} declares the answer {text}"),
            false => format!(
                "{place} declares the answer {text}, and no request matched it: check its method, host, path and \
                 `where`"
            ),
        }
    }
}

/// What a file says about one tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ToolSettings {
    /// The arguments to call it with.
    pub(super) arguments: Option<Map<String, Value>>,
    /// Arguments that replace some of them, for the scenario with one key and other arguments.
    pub(super) other: Option<Map<String, Value>>,
    /// The parameter that is its key.
    pub(super) key: Option<String>,
    /// The tool that shows whether it happened.
    pub(crate) verify: Option<String>,
    pub(super) skip: bool,
}

impl ToolsFile {
    /// Whether it sets this variable of the server.
    pub(super) fn sets(&self, variable: &str) -> bool {
        self.env.iter().any(|(name, _)| name == variable)
    }

    /// Reads a file. Reports every problem with its position.
    pub(crate) fn load(path: &Path) -> Result<Self, Problems> {
        let source = read_source(path)?;
        let mut file = ToolsFile::read(&source)?;
        file.files.push(FileDigest::of_text(TOOLS_FILE, source.text()));
        Ok(file)
    }

    fn read(source: &Source) -> Result<Self, Problems> {
        let (tree, reader) = (parse(source)?, Reader::new(source));
        let mut file = read_file(&reader, &tree);
        let service = tree.get("services").zip(any_host_service());
        let answers = service.and_then(|(services, name)| services.get(name)?.get("answers"));
        if let (Some(file), Some(NodeKind::List(list))) = (&mut file, answers.map(|node| &node.kind)) {
            file.answers = WrittenAnswer::of_list(source, TOOLS_FILE, list);
        }
        reader.finish(file)
    }

    /// What it says about a tool.
    pub(super) fn tool(&self, name: &str) -> ToolSettings {
        let unlisted = || ToolSettings { skip: self.only_listed, ..ToolSettings::default() };
        self.tools.get(name).cloned().unwrap_or_else(unlisted)
    }

    /// Adds the answers of a file to the settings of the service that answers for any host.
    pub(crate) fn add_answers(&mut self, service: &str, path: &Path) -> Result<(), Problems> {
        let source = read_source(path)?;
        self.files.push(FileDigest::of_text(ANSWERS_FILE, source.text()));
        let tree = parse(&source)?;
        let list = tree.get("answers").unwrap_or(&tree);
        let NodeKind::List(items) = &list.kind else {
            let reader = Reader::new(&source);
            reader.report_with_help(
                list.span,
                "expected a list of answers",
                "write `answers:` and a list below it",
            );
            return reader.finish(None::<()>);
        };
        self.answers.extend(WrittenAnswer::of_list(&source, ANSWERS_FILE, items));
        let answers = write_flow(list);
        match self.services.iter_mut().find(|(known, _)| known == service) {
            Some((_, settings)) => {
                let whole = settings.trim();
                let inner =
                    whole.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
                let inner = inner.trim();
                let separator = if inner.is_empty() { "" } else { ", " };
                *settings = format!("{{ {inner}{separator}answers: {answers} }}");
            }
            None => {
                self.services
                    .push((service.to_owned(), format!("{{ idempotency: stripe, answers: {answers} }}")));
            }
        }
        Ok(())
    }
}

fn read_source(path: &Path) -> Result<Source, Problems> {
    let name = path.to_string_lossy().into_owned();
    read_text(path).map(|text| Source::new(name.clone(), text)).map_err(|error| {
        let source = Source::new(name, String::new());
        let mut problems = Problems::default();
        problems.push(Problem::new(&source, Span::default(), format!("cannot read the file: {error}")));
        problems
    })
}

fn read_file(reader: &Reader, tree: &Node) -> Option<ToolsFile> {
    let mut map = reader.map(tree, "a file about tools")?;
    let mut file = ToolsFile::default();
    if let Some(tools) = map.optional("tools") {
        for (key, node) in reader.entries(tools)? {
            file.tools.insert(key.name.clone(), read_tool(reader, node)?);
        }
    }
    if let Some(env) = map.optional("env") {
        for (key, node) in reader.entries(env)? {
            let value = match &node.kind {
                NodeKind::Integer(number) => number.to_string(),
                NodeKind::Bool(value) => value.to_string(),
                _ => reader.text(node)?.to_owned(),
            };
            file.env.push((key.name.clone(), value));
        }
    }
    if let Some(prepare) = map.optional("prepare") {
        file.prepare = Some(read_command(reader, prepare)?);
    }
    if let Some(headers) = map.optional("headers") {
        for (key, node) in reader.entries(headers)? {
            file.headers.insert(key.name.clone(), reader.text(node)?.to_owned());
        }
    }
    if let Some(services) = map.optional("services") {
        for (key, node) in reader.entries(services)? {
            let text = match node.kind {
                NodeKind::Null => "{}".to_owned(),
                _ => write_flow(node),
            };
            file.services.push((key.name.clone(), text));
        }
    }
    if let Some(only) = map.optional("only_listed") {
        file.only_listed = reader.boolean(only)?;
    }
    map.finish();
    Some(file)
}

fn read_tool(reader: &Reader, node: &Node) -> Option<ToolSettings> {
    let mut map = reader.map(node, "a tool")?;
    let object = |node: &Node| match json(node) {
        Value::Object(entries) => Some(entries),
        _ => reader.unexpected(node, "a map of arguments"),
    };
    let settings = ToolSettings {
        arguments: map.optional("arguments").and_then(object),
        other: map.optional("other").and_then(object),
        key: map.optional("key").and_then(|node| reader.text(node)).map(str::to_owned),
        verify: map.optional("verify").and_then(|node| reader.text(node)).map(str::to_owned),
        skip: map.optional("skip").and_then(|node| reader.boolean(node)).unwrap_or(false),
    };
    map.finish();
    Some(settings)
}

/// A value as JSON.
fn json(node: &Node) -> Value {
    match &node.kind {
        NodeKind::Null => Value::Null,
        NodeKind::Bool(value) => Value::Bool(*value),
        NodeKind::Integer(value) => Value::from(*value),
        NodeKind::Float(value) => Value::from(*value),
        NodeKind::Text(text) => Value::String(text.clone()),
        NodeKind::List(items) => items.iter().map(json).collect(),
        NodeKind::Map(entries) => entries.iter().map(|(key, node)| (key.name.clone(), json(node))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_how_to_call_each_tool() {
        let text = "\
prepare: npm ci
headers: { Authorization: Bearer $TOKEN }
env: { MAIL_KEY: re_1, PORT: 8080 }
services:
  email: { idempotency: resend }
  payment:
tools:
  send_email:
    arguments: { to: [a@example.com], subject: Hello, retries: 3 }
    key: idempotency_key
    verify: list_emails
  delete_everything: { skip: true }
";
        let file = ToolsFile::read(&Source::new("tools.yaml", text)).unwrap();
        assert_eq!(file.prepare.as_deref(), Some(&["npm".to_owned(), "ci".to_owned()][..]));
        assert_eq!(file.headers["Authorization"], "Bearer $TOKEN");
        assert_eq!(file.env[1], ("PORT".to_owned(), "8080".to_owned()));
        assert_eq!(file.services[1], ("payment".to_owned(), "{}".to_owned()));
        let send = file.tool("send_email");
        assert_eq!(
            Value::Object(send.arguments.unwrap()),
            serde_json::json!({"to": ["a@example.com"], "subject": "Hello", "retries": 3})
        );
        assert_eq!(
            (send.key.as_deref(), send.verify.as_deref()),
            (Some("idempotency_key"), Some("list_emails"))
        );
        assert!(file.tool("delete_everything").skip && !file.tool("unknown").skip);
        let only =
            ToolsFile::read(&Source::new("tools.yaml", "only_listed: true\ntools: { send: {} }\n")).unwrap();
        assert!(only.tool("unknown").skip && !only.tool("send").skip);
    }

    #[test]
    fn the_answers_of_the_services_of_a_file_have_their_lines() {
        let text =
            "services:\n  web:\n    answers:\n      - { path: /a }\n      - path: /b\n        read: true\n";
        let file = ToolsFile::read(&Source::new("tools.yaml", text)).unwrap();
        let notes: Vec<String> = file.answers.iter().map(|answer| answer.note(false)).collect();
        assert_eq!(
            notes,
            [
                "line 4 of the tools file declares the answer {path: \"/a\"}, and no request matched it: check its \
                 method, host, path and `where`",
                "line 5 of the tools file declares the answer {path: \"/b\", read: true}, and no request matched it: \
                 check its method, host, path and `where`",
            ]
        );
    }

    #[test]
    fn every_problem_of_a_file_is_reported_with_its_position() {
        let text = "tools:\n  send: { argument: 1 }\n  other: { arguments: [1] }\n";
        let problems = ToolsFile::read(&Source::new("tools.yaml", text)).unwrap_err();
        let shown = problems.render(false);
        assert!(shown.contains("tools.yaml:2") && shown.contains("tools.yaml:3"), "{shown}");
    }

    #[test]
    fn answers_are_added_to_the_settings_of_a_service() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.yaml");
        std::fs::write(&path, "answers:\n  - { path: /a, body: { ok: true } }\n").unwrap();
        let mut file = ToolsFile {
            services: vec![("any".to_owned(), "{ a: { b: c } }".to_owned())],
            ..ToolsFile::default()
        };
        file.add_answers("any", &path).unwrap();
        assert_eq!(file.services[0].1, "{ a: { b: c }, answers: [{path: \"/a\", body: {ok: true}}] }");
        assert_eq!(
            file.answers[0].note(true),
            "line 2 of the answers file declares the answer {path: \"/a\", body: {ok: true}}"
        );
        assert_eq!(file.files.len(), 1);
        std::fs::write(&path, "a: b\n").unwrap();
        assert!(file.add_answers("any", &path).is_err());
    }
}
