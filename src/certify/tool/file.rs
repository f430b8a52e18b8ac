//! The file that describes a command-line tool: its commands, how to read its state, and where a key goes.
//! Each problem has its position and a hint.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mock_services::word_enum;
use yaml_reader::{Key, Node, NodeKind, Problems, Reader, Source, parse};

use super::scenarios::ToolScenario;
use crate::certify::typeable;
use crate::certify::version_1::current_name;
use crate::subject::read_command;

/// The timeout of a call.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The placeholder of the key.
pub(super) const KEY: &str = "${key}";
/// The placeholder of a value that is different in each trial.
pub(super) const VALUE: &str = "${value}";

/// How the names of programs end that an interpreter runs.
const SCRIPTS: [&str; 12] = ["cjs", "jar", "js", "lua", "mjs", "mts", "php", "pl", "py", "rb", "sh", "ts"];

/// A command-line tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolFile {
    pub(super) name: String,
    /// The command that prints its version.
    pub(super) version: Option<Vec<String>>,
    /// The timeout of each call.
    pub(super) timeout: Duration,
    /// The variables that it gets from the environment of hapax.
    pub(super) pass: Vec<String>,
    /// The command that resets its state before each trial, if the state is not in the working directory.
    pub(super) reset: Option<Vec<String>>,
    pub(super) commands: Vec<ToolCommand>,
}

word_enum! {
    /// Whether a command changes anything.
    pub(super) enum CommandKind {
        Safe => "safe",
        Mutating => "mutating",
    }
}

/// A command of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolCommand {
    pub(super) name: String,
    /// Its name in the ids of cases.
    pub(super) id: String,
    pub(super) kind: CommandKind,
    pub(super) run: Vec<String>,
    /// Commands that run before it in each trial.
    pub(super) prepare: Vec<Vec<String>>,
    /// The arguments for an idempotency key, with its placeholder.
    pub(super) key: Option<Vec<String>>,
    /// The arguments for a dry run.
    pub(super) dry_run: Option<Vec<String>>,
    /// How to read its state back.
    pub(super) state: Option<StateRead>,
    /// The command with other arguments, if `run` has no `${value}`.
    pub(super) other: Option<Vec<String>>,
    /// A command that fails and can be retried, and one that fails for good.
    pub(super) fails: Option<(Vec<String>, Vec<String>)>,
    /// The scenarios that make no sense for it.
    pub(super) skip: Vec<ToolScenario>,
}

impl ToolCommand {
    /// The id of a scenario of this command.
    pub(super) fn scenario(&self, scenario: ToolScenario) -> String {
        format!("{}/{scenario}", self.id)
    }
}

/// How the state of a tool is read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StateRead {
    pub(super) run: Vec<String>,
    pub(super) count: StateCount,
}

/// How the output of a state command is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StateCount {
    /// The lines that are not empty.
    Lines,
    /// The output is a number.
    Number,
    /// The length of the list at this JSON pointer.
    Json(String),
}

impl ToolFile {
    /// Reads a file. Reports every problem at once. Relative programs are relative to `folder`.
    pub(crate) fn read(source: &Source, folder: &Path) -> Result<Self, Problems> {
        let tree = parse(source)?;
        let reader = Reader::new(source);
        let value = read_file(&reader, &tree, folder);
        reader.finish(value)
    }

    pub(super) fn mutating(&self) -> impl Iterator<Item = &ToolCommand> {
        self.commands.iter().filter(|command| command.kind == CommandKind::Mutating)
    }
}

fn read_file(reader: &Reader, tree: &Node, folder: &Path) -> Option<ToolFile> {
    let mut map = reader.map(tree, "the file of a tool")?;
    let (name, commands) = (map.required("tool"), map.required("commands"));
    let (version, timeout, pass) = (map.optional("version"), map.optional("timeout"), map.optional("pass"));
    let (reset, state) = (map.optional("reset"), map.optional("state"));
    map.finish();
    let state = state.and_then(|node| read_state(reader, node, folder));
    let entries = commands.and_then(|node| reader.entries(node));
    if let (Some(entries), Some(node)) = (entries, commands)
        && entries.is_empty()
    {
        reader.report_with_help(
            node.span,
            "`commands` is empty",
            "add one: add: {kind: mutating, run: [./tool, add, \"${value}\"]}",
        );
    }
    let commands = entries.map(|entries| {
        let ids = typeable(entries.iter().map(|(key, _)| key.name.as_str()));
        let read = |((key, node), id): (&(Key, Node), String)| {
            read_one(reader, key, id, node, state.as_ref(), folder)
        };
        entries.iter().zip(ids).filter_map(read).collect::<Vec<_>>()
    });
    Some(ToolFile {
        name: name.and_then(|node| reader.text(node))?.to_owned(),
        version: version.and_then(|node| read_program(reader, node, folder)),
        timeout: timeout.and_then(|node| read_time(reader, node)).unwrap_or(TIMEOUT),
        pass: pass.map(|node| read_texts(reader, node)).unwrap_or_default(),
        reset: reset.and_then(|node| read_program(reader, node, folder)),
        commands: commands?,
    })
}

fn read_one(
    reader: &Reader,
    key: &Key,
    id: String,
    node: &Node,
    shared_state: Option<&StateRead>,
    folder: &Path,
) -> Option<ToolCommand> {
    let mut map = reader.map(node, "a command")?;
    let (kind, run) = (map.required("kind"), map.required("run"));
    let (prepare, key_arguments, dry_run) =
        (map.optional("prepare"), map.optional("key"), map.optional("dry_run"));
    let (state, other, fails) = (map.optional("state"), map.optional("other"), map.optional("fails"));
    // `leave_out` is the old name.
    let skip = map.optional("skip").or(map.has("leave_out").then(|| map.optional("leave_out")).flatten());
    let span = map.place();
    map.finish();
    let kind = kind.and_then(|node| reader.one_of(node, &CommandKind::ALL.map(|kind| (kind.as_str(), kind))));
    let state = match state {
        Some(node) => read_state(reader, node, folder),
        None => shared_state.cloned(),
    };
    if state.is_none() && kind == Some(CommandKind::Mutating) {
        reader.report_with_help(
            span,
            "a mutating command needs `state`: hapax counts its effects with it",
            "add state: {run: [./tool, list], count: lines}, here or once for all commands",
        );
    }
    if let Some(node) = key_arguments.or(dry_run).filter(|_| kind == Some(CommandKind::Safe)) {
        reader.report_with_help(
            node.span,
            "a safe command has no key and no dry run",
            "remove it, or write kind: mutating",
        );
    }
    Some(ToolCommand {
        name: key.name.clone(),
        id,
        kind: kind?,
        run: run.and_then(|node| read_program(reader, node, folder))?,
        prepare: prepare.map(|node| read_commands(reader, node, folder)).unwrap_or_default(),
        key: key_arguments.and_then(|node| read_key(reader, node)),
        dry_run: dry_run.map(|node| read_arguments(reader, node)),
        state,
        other: other.and_then(|node| read_program(reader, node, folder)),
        fails: fails.and_then(|node| read_fails(reader, node, folder)),
        skip: skip
            .and_then(|node| reader.list(node))
            .map(|items| items.iter().filter_map(|item| read_scenario_name(reader, item)).collect())
            .unwrap_or_default(),
    })
}

fn read_scenario_name(reader: &Reader, node: &Node) -> Option<ToolScenario> {
    let known = node.as_text().and_then(|name| current_name(name).parse().ok());
    let words = ToolScenario::ALL.map(|scenario| (scenario.as_str(), scenario));
    known.or_else(|| reader.one_of(node, &words))
}

fn read_state(reader: &Reader, node: &Node, folder: &Path) -> Option<StateRead> {
    let mut map = reader.map(node, "`state`")?;
    let (run, count) = (map.required("run"), map.required("count"));
    map.finish();
    let count = count.and_then(|node| match &node.kind {
        NodeKind::Map(_) => {
            let mut map = reader.map(node, "`count`")?;
            let pointer = map.required("json");
            map.finish();
            let pointer = pointer?;
            let text = reader.text(pointer)?;
            if !text.is_empty() && !text.starts_with('/') {
                reader.report_with_help(
                    pointer.span,
                    "not a JSON pointer",
                    "write it as /items, or as \"\" for the whole answer",
                );
                return None;
            }
            Some(StateCount::Json(text.to_owned()))
        }
        _ => reader.one_of(node, &[("lines", StateCount::Lines), ("number", StateCount::Number)]),
    });
    Some(StateRead { run: run.and_then(|node| read_program(reader, node, folder))?, count: count? })
}

fn read_fails(reader: &Reader, node: &Node, folder: &Path) -> Option<(Vec<String>, Vec<String>)> {
    let mut map = reader.map(node, "`fails`")?;
    let (retryable, permanent) = (map.required("retryable"), map.required("permanent"));
    map.finish();
    let read = |node: Option<&Node>| node.and_then(|node| read_program(reader, node, folder));
    Some((read(retryable)?, read(permanent)?))
}

/// The arguments of a key: if there is no placeholder, the key follows.
fn read_key(reader: &Reader, node: &Node) -> Option<Vec<String>> {
    let mut arguments = read_arguments(reader, node);
    if arguments.is_empty() {
        reader.report_with_help(node.span, "`key` is empty", "for example: --idempotency-key");
        return None;
    }
    if !arguments.iter().any(|argument| argument.contains(KEY)) {
        arguments.push(KEY.to_owned());
    }
    Some(arguments)
}

fn read_arguments(reader: &Reader, node: &Node) -> Vec<String> {
    match &node.kind {
        NodeKind::List(_) => read_texts(reader, node),
        _ => reader.text(node).map(|text| vec![text.to_owned()]).unwrap_or_default(),
    }
}

fn read_texts(reader: &Reader, node: &Node) -> Vec<String> {
    let items = reader.list(node).unwrap_or_default();
    items.iter().filter_map(|item| reader.text(item)).map(str::to_owned).collect()
}

fn read_commands(reader: &Reader, node: &Node, folder: &Path) -> Vec<Vec<String>> {
    let items = reader.list(node).unwrap_or_default();
    items.iter().filter_map(|item| read_program(reader, item, folder)).collect()
}

/// A command. A relative path, and a script that an interpreter runs, is relative to the folder of the file. Any other
/// argument stays as it is: a file that the tool writes is in the directory of the trial, whatever is beside this file.
fn read_program(reader: &Reader, node: &Node, folder: &Path) -> Option<Vec<String>> {
    let mut words = read_command(reader, node)?;
    for (index, word) in words.iter_mut().enumerate() {
        let is_named = word.contains('/') || (index > 0 && is_script(word));
        let path = folder.join(&*word);
        if is_named && !word.contains("${") && Path::new(&*word).is_relative() && path.is_file() {
            *word = absolute(&path).to_string_lossy().into_owned();
        }
    }
    Some(words)
}

/// Whether this is the name of a program that an interpreter runs.
fn is_script(word: &str) -> bool {
    let extension = Path::new(word).extension().and_then(std::ffi::OsStr::to_str);
    extension.is_some_and(|extension| SCRIPTS.contains(&extension))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn read_time(reader: &Reader, node: &Node) -> Option<Duration> {
    let time = reader.duration(node)?;
    if time.is_zero() || time > Duration::from_secs(600) {
        reader.report_with_help(node.span, "the timeout must be from 1ms to 10m", "for example: 10s");
        return None;
    }
    Some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ToolFile, String> {
        let source = Source::new("tool.yaml", text);
        ToolFile::read(&source, Path::new(".")).map_err(|problems| problems.render(false))
    }

    #[test]
    fn a_complete_file_is_read() {
        let file = read(
            r#"
tool: todo
version: todo --version
timeout: 5s
pass: [LIST_TOKEN]
state: { run: todo list, count: lines }
commands:
  add:
    kind: mutating
    run: [todo, add, "${value}"]
    key: --idempotency-key
    dry_run: --dry-run
    fails: { retryable: todo busy, permanent: todo add }
    skip: [callers-at-once]
  remove:
    kind: mutating
    prepare: [[todo, add, "${value}"]]
    run: [todo, remove, "${value}"]
    key: ["--key=${key}"]
    state: { run: todo list --json, count: { json: /items } }
  list:
    kind: safe
    run: todo list
"#,
        )
        .unwrap();
        assert_eq!(file.timeout, Duration::from_secs(5));
        assert_eq!(file.commands[0].key, Some(vec!["--idempotency-key".to_owned(), KEY.to_owned()]));
        assert_eq!(file.commands[0].state.as_ref().unwrap().count, StateCount::Lines);
        assert_eq!(file.commands[0].skip, [ToolScenario::CallersAtOnce]);
        assert_eq!(file.commands[1].key, Some(vec!["--key=${key}".to_owned()]));
        assert_eq!(file.commands[1].state.as_ref().unwrap().count, StateCount::Json("/items".to_owned()));
        assert_eq!(file.commands[2].kind, CommandKind::Safe);
    }

    #[test]
    fn paths_and_scripts_are_relative_to_the_file_and_the_data_of_the_tool_is_not() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["todo.py", "todo.db", "todo", "add"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let words = |run: &str| {
            let text = format!("tool: todo\ncommands:\n  list: {{ kind: safe, run: {run} }}\n");
            let file = ToolFile::read(&Source::new("tool.yaml", &text), folder.path()).unwrap();
            file.commands[0].run.join(" ").replace(&format!("{}/", folder.path().display()), "FOLDER/")
        };
        assert_eq!(words("python3 -u todo.py add todo.db"), "python3 -u FOLDER/todo.py add todo.db");
        assert_eq!(words("./todo add gone.py"), "FOLDER/todo add gone.py");
        assert_eq!(words("todo add ./todo.db"), "todo add FOLDER/todo.db");
    }

    #[test]
    fn the_old_words_of_a_file_are_still_read() {
        let skip = |line: &str| {
            let text = format!("tool: todo\ncommands:\n  add: {{ kind: safe, run: todo, {line} }}\n");
            read(&text).unwrap().commands[0].skip.clone()
        };
        let new = skip("skip: [same-key-twice, callers-at-once, dry-run]");
        assert_eq!(skip("leave_out: [same-key-one-effect, eight-at-once, dry-run]"), new);
    }

    #[test]
    fn every_problem_has_its_place_and_a_hint() {
        let problems = [
            "tool: todo\n",
            "tool: todo\ncommands: {}\n",
            "tool: todo\ncommands:\n  add: { kind: mutates, run: todo add }\n",
            "tool: todo\ncommands:\n  add: { kind: mutating, run: todo add }\n",
            "tool: todo\ncommands:\n  list: { kind: safe, run: todo list, key: --key }\n",
            "tool: todo\nstate: { run: todo list, count: words }\ncommands:\n  add: { kind: mutating, run: 'todo | x' }\n",
            "tool: todo\ntimeout: 0s\nstate: { run: todo list, count: { json: items } }\ncommands:\n  add: { kind: safe, run: todo, skip: [twice] }\n",
        ];
        let all: Vec<String> = problems.iter().map(|text| read(text).unwrap_err()).collect();
        insta::assert_snapshot!(all.join("\n"));
    }
}
