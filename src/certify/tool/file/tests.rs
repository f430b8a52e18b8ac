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
    leave_out: [eight-at-once]
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
    assert_eq!(file.commands[0].leave_out, [ToolQuestion::EightAtOnce]);
    assert_eq!(file.commands[1].key, Some(vec!["--key=${key}".to_owned()]));
    assert_eq!(file.commands[1].state.as_ref().unwrap().count, StateCount::Json("/items".to_owned()));
    assert_eq!(file.commands[2].kind, CommandKind::Safe);
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
        "tool: todo\ntimeout: 0s\nstate: { run: todo list, count: { json: items } }\ncommands:\n  add: { kind: safe, run: todo, leave_out: [twice] }\n",
    ];
    let all: Vec<String> = problems.iter().map(|text| read(text).unwrap_err()).collect();
    insta::assert_snapshot!(all.join("\n"));
}
