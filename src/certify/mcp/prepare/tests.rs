use serde_json::json;

use super::*;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn package(name: &str, version: &str, command: Option<&str>, arguments: &[&str]) -> PackageCommand {
    PackageCommand {
        name: name.to_owned(),
        version: version.to_owned(),
        command: command.map(str::to_owned),
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
    }
}

#[test]
fn the_package_of_an_npx_command_is_found() {
    let found = |text: &str| npx_package(&words(text));
    assert_eq!(found("-y resend-mcp"), Some(package("resend-mcp", "latest", None, &[])));
    assert_eq!(found("--yes @a/b@1.2.3 --flag x"), Some(package("@a/b", "1.2.3", None, &["--flag", "x"])));
    assert_eq!(found("-y -p @a/b@2.0.0 serve -v"), Some(package("@a/b", "2.0.0", Some("serve"), &["-v"])));
    assert_eq!(found("--package=c@1.0.0 -- serve"), Some(package("c", "1.0.0", Some("serve"), &[])));
    assert_eq!(found("-y"), None);
}

#[test]
fn the_package_of_a_uvx_command_is_found() {
    let found = |text: &str| uvx_package(&words(text));
    assert_eq!(
        found("mcp-server-time"),
        Some(package("mcp-server-time", "latest", Some("mcp-server-time"), &[]))
    );
    assert_eq!(found("mail-mcp@1.2 --x"), Some(package("mail-mcp", "1.2", Some("mail-mcp"), &["--x"])));
    assert_eq!(found("--from a==3.1 serve b"), Some(package("a", "3.1", Some("serve"), &["b"])));
    assert_eq!(found("--from"), None);
}

#[test]
fn any_other_command_is_left_as_it_is() {
    let command = words("python3 server.py");
    assert_eq!(prepare_server(&command, Path::new("unused")).unwrap().program, command);
}

#[test]
fn the_command_of_a_package_is_the_one_asked_for_or_the_one_with_its_name() {
    let one = json!({"name": "@a/server", "bin": "index.js"});
    assert_eq!(npm_command(&one, None).as_deref(), Some("server"));
    let two = json!({"name": "b", "bin": {"b": "x.js", "c": "y.js"}});
    assert_eq!(npm_command(&two, None).as_deref(), Some("b"));
    assert_eq!(npm_command(&two, Some("c")).as_deref(), Some("c"));
    assert_eq!(npm_command(&two, Some("d")), None);
    assert_eq!(npm_command(&json!({"name": "e"}), None), None);
}

#[test]
fn a_tag_is_not_a_version() {
    assert!(is_exact("1.2.3") && is_exact("2025.4.8") && is_exact("1.0.0-beta.1"));
    assert!(!is_exact("latest") && !is_exact("^1.2.3") && !is_exact("1") && !is_exact("1.x.0"));
    assert_eq!(last_version("\"1.0.1\""), Some("1.0.1".to_owned()));
    assert_eq!(last_version("[\"1.0.0\", \"1.0.1\"]"), Some("1.0.1".to_owned()));
}
