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
    assert_eq!((send.key.as_deref(), send.verify.as_deref()), (Some("idempotency_key"), Some("list_emails")));
    assert!(file.tool("delete_everything").skip && !file.tool("unknown").skip);
    let only =
        ToolsFile::read(&Source::new("tools.yaml", "only_listed: true\ntools: { send: {} }\n")).unwrap();
    assert!(only.tool("unknown").skip && !only.tool("send").skip);
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
    assert_eq!(file.answers, ["{path: \"/a\", body: {ok: true}}"]);
    assert_eq!(file.files.len(), 1);
    std::fs::write(&path, "a: b\n").unwrap();
    assert!(file.add_answers("any", &path).is_err());
}
