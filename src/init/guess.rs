//! Guesses the command that starts the agent of a folder, from the files in it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::SAMPLE_AGENT;

/// What starts the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    /// The command.
    pub command: Vec<String>,
    /// Why this one.
    pub because: String,
    /// Whether it is the agent that comes with hapax, because none was found.
    pub is_sample: bool,
    /// The published program that the user names.
    pub agent: Option<PublishedAgent>,
}

/// A published agent program, for which hapax or the project has a recipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedAgent {
    /// The name of the recipe.
    pub name: String,
    /// The command that installs it.
    pub install: String,
    /// The text of the recipe.
    pub recipe: String,
}

impl Guess {
    /// What the user says starts it.
    #[must_use]
    pub fn given(command: Vec<String>) -> Self {
        Guess { command, because: "given on the command line".to_owned(), is_sample: false, agent: None }
    }

    /// The published program that the user names, with the command of its recipe.
    #[must_use]
    pub fn published(command: Vec<String>, agent: PublishedAgent) -> Self {
        let because = format!("the recipe agents/{}.yaml", agent.name);
        Guess { command, because, is_sample: false, agent: Some(agent) }
    }

    fn found(command: &[&str], because: String) -> Self {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        Guess { command, because, is_sample: false, agent: None }
    }
}

/// Files that are agents by their name. The first that is there counts.
const AGENTS: [&str; 9] = [
    "agent.py",
    "agent.ts",
    "agent.js",
    "agent.mjs",
    "agent.rb",
    "agent.sh",
    "src/agent.py",
    "src/agent.ts",
    "src/agent.js",
];

/// Files with which programs often begin. They count where nothing says more.
const MAINS: [&str; 6] = ["main.py", "app.py", "index.ts", "src/index.ts", "index.js", "src/index.js"];

/// Guesses what starts the agent of this folder.
#[must_use]
pub fn guess(root: &Path) -> Guess {
    let named =
        |files: &[&str]| files.iter().find(|file| root.join(file).is_file()).map(|file| of_file(root, file));
    named(&AGENTS)
        .or_else(|| start_script(root))
        .or_else(|| project_script(root))
        .or_else(|| named(&MAINS))
        .or_else(|| program(root))
        .unwrap_or_else(|| Guess {
            command: vec!["sh".to_owned(), SAMPLE_AGENT.to_owned()],
            because: "no agent was found, so an example agent is created".to_owned(),
            is_sample: true,
            agent: None,
        })
}

/// What runs a file: what the project itself uses for files of this kind.
fn of_file(root: &Path, file: &str) -> Guess {
    let has = |name: &str| root.join(name).exists();
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    let (runner, and): (&[&str], &str) = match ending {
        "py" if has("uv.lock") => (&["uv", "run"], " and a uv.lock"),
        "py" if has(".venv/bin/python") => (&[".venv/bin/python"], " and a .venv"),
        "py" => (&["python3"], ""),
        "ts" if uses_tsx(root) => (&["npx", "--no-install", "tsx"], ", and package.json names tsx"),
        "rb" => (&["ruby"], ""),
        "sh" => (&["sh"], ""),
        _ => (&["node"], ""),
    };
    Guess::found(&[runner, &[file]].concat(), format!("there is a file {file}{and}"))
}

fn package(root: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(root.join("package.json")).ok()?).ok()
}

fn uses_tsx(root: &Path) -> bool {
    let named = |package: &Value| {
        ["dependencies", "devDependencies"].iter().any(|list| package[*list]["tsx"].is_string())
    };
    root.join("node_modules/.bin/tsx").exists() || package(root).is_some_and(|package| named(&package))
}

fn start_script(root: &Path) -> Option<Guess> {
    package(root)?.get("scripts")?.get("start")?.as_str()?;
    // The output of the package manager must not be read as output of the agent.
    let command: &[&str] = if root.join("pnpm-lock.yaml").is_file() {
        &["pnpm", "--silent", "start"]
    } else if root.join("yarn.lock").is_file() {
        &["yarn", "--silent", "start"]
    } else {
        &["npm", "start", "--silent"]
    };
    Some(Guess::found(command, "package.json has a script `start`".to_owned()))
}

/// The first entry of `[project.scripts]` in pyproject.toml.
fn project_script(root: &Path) -> Option<Guess> {
    let text = fs::read_to_string(root.join("pyproject.toml")).ok()?;
    let inside = text.lines().map(str::trim).skip_while(|line| *line != "[project.scripts]").skip(1);
    let mut entries = inside.take_while(|line| !line.starts_with('[')).filter(|line| !line.starts_with('#'));
    let name = entries.find_map(|line| line.split_once('='))?.0.trim().trim_matches(['"', '\'']).to_owned();
    let is_name = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let installed = format!(".venv/bin/{name}");
    let because = format!("pyproject.toml names the script {name}");
    Some(if root.join("uv.lock").is_file() {
        Guess::found(&["uv", "run", &name], because)
    } else if root.join(".venv").is_dir() {
        Guess::found(&[&installed], because)
    } else {
        Guess::found(&[&name], because)
    })
}

fn program(root: &Path) -> Option<Guess> {
    let ways = [
        ("Cargo.toml", "src/main.rs", &["cargo", "run", "--quiet"][..]),
        ("go.mod", "main.go", &["go", "run", "."][..]),
    ];
    let (list, main, command) =
        ways.into_iter().find(|(list, main, _)| root.join(list).is_file() && root.join(main).is_file())?;
    Some(Guess::found(command, format!("there is a {list} with a {main}")))
}
