//! One cell of each row of docs/tools.md: a published MCP server is installed from npm, and the reply to its write is
//! lost.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::kit::installed::installed;
use crate::kit::needs::{Test, tests};
use crate::kit::workspace::Workspace;

pub(crate) fn tests() -> Vec<Test> {
    tests![the_table_of_published_servers_says_what_they_do]
}

/// The names of the servers: docs/tools has a file for each.
fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names = files.filter_map(|file| file.to_str()?.strip_suffix(".yaml").map(str::to_owned));
    let mut names: Vec<String> = names.filter(|name| !name.ends_with(".answers")).collect();
    names.sort();
    names
}

/// A folder with the Node of the tests and its npm, for the path.
fn node(workspace: &Workspace) -> PathBuf {
    let node = installed().join("node");
    let folder = workspace.path().join("bin");
    std::fs::create_dir(&folder).unwrap();
    symlink(&node, folder.join("node")).unwrap();
    let wheel = node.canonicalize().unwrap().ancestors().nth(2).unwrap().to_owned();
    let npm = wheel.join("lib/node_modules/npm/bin/npm-cli.js");
    let script = format!("#!/bin/sh\nexec '{}' '{}' \"$@\"\n", node.display(), npm.display());
    std::fs::write(folder.join("npm"), script).unwrap();
    std::fs::set_permissions(folder.join("npm"), std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

async fn the_table_of_published_servers_says_what_they_do() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let page = std::fs::read_to_string(docs.join("tools.md")).unwrap();
    let workspace = Workspace::new();
    let path = format!("{}:{}", node(&workspace).display(), std::env::var("PATH").unwrap());
    let names = names(&docs.join("tools"));
    assert!(names.len() >= 24, "{names:?}");
    for name in names {
        let file = docs.join(format!("tools/{name}.yaml"));
        let first = std::fs::read_to_string(&file).unwrap();
        let command = first.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap();
        let command: Vec<&str> = command.split_whitespace().collect();
        let package = command[2];
        let row = page.lines().find(|line| line.starts_with(&format!("| `{package}` |"))).unwrap();
        let cells: Vec<&str> = row.split(" | ").collect();

        let (file, out) = (file.to_string_lossy().into_owned(), format!("out-{name}"));
        let answers = docs.join(format!("tools/{name}.answers.yaml"));
        let mut arguments = vec!["certify", "--mcp", "lost-reply", "--seed", "1", "--quiet"];
        arguments.extend(["--out", &out, "--tools", &file]);
        let answers = answers.is_file().then(|| answers.to_string_lossy().into_owned());
        arguments.extend(answers.iter().flat_map(|answers| ["--answers", answers]));
        arguments.push("--");
        arguments.extend(command.iter().copied());
        let called = workspace
            .command(&arguments)
            .env("PATH", &path)
            .env("XDG_CACHE_HOME", installed().join("cache"))
            .output()
            .unwrap();
        assert_ne!(called.status.code(), Some(2), "{package}: {}", String::from_utf8_lossy(&called.stderr));

        let trials = workspace.read(&format!("{out}/trials.jsonl"));
        let trials: Vec<Value> = trials
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["trial"].clone())
            .collect();
        let failed = trials.iter().find(|trial| trial["verdict"] == "fail");
        let passed = trials.iter().find(|trial| trial["verdict"] == "pass");
        let void = trials.iter().find(|trial| trial["verdict"] == "void");
        let shown = failed.or(passed).or(void).unwrap_or_else(|| panic!("{package}: {trials:?}"));
        let word = match (failed, passed) {
            (Some(_), _) => "**fail**",
            (None, Some(_)) => "pass",
            // Its texts say neither that it worked nor that it failed.
            (None, None) => "void",
        };
        assert_eq!(cells[3], word, "{package}: docs/tools.md is not what the server does; {shown}");
        // What the tool says depends on the version of Node.
        let (_, effects) = shown["message"].as_str().unwrap().split_once(" → ").unwrap();
        assert!(row.contains(&format!(" → {effects} |")), "{package}: {effects}\n{row}");
    }
}
