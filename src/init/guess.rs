//! Guesses what starts the agent of a folder, from the files in it.

use std::path::Path;

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
}

impl Guess {
    /// What the user says starts it.
    #[must_use]
    pub fn said(command: Vec<String>) -> Self {
        Guess { command, because: "you say so".to_owned(), is_sample: false }
    }
}

/// Files that are agents by their name, and what runs them. The first that is there counts.
const AGENTS: [(&str, &[&str]); 12] = [
    ("agent.py", &["python3"]),
    ("agent.ts", &["node"]),
    ("agent.js", &["node"]),
    ("agent.mjs", &["node"]),
    ("agent.rb", &["ruby"]),
    ("agent.sh", &["sh"]),
    ("src/agent.py", &["python3"]),
    ("src/agent.ts", &["node"]),
    ("src/agent.js", &["node"]),
    ("main.py", &["python3"]),
    ("app.py", &["python3"]),
    ("index.js", &["node"]),
];

/// Guesses what starts the agent of this folder.
#[must_use]
pub fn guess(root: &Path) -> Guess {
    let named = AGENTS.iter().find(|(file, _)| root.join(file).is_file()).map(|(file, runner)| {
        let command = runner.iter().chain([file]).map(|word| (*word).to_owned()).collect();
        Guess { command, because: format!("there is a file {file}"), is_sample: false }
    });
    named.or_else(|| npm_start(root)).or_else(|| program(root)).unwrap_or_else(|| Guess {
        command: vec!["sh".to_owned(), SAMPLE_AGENT.to_owned()],
        because: "no agent was found, so a small one is laid out to begin with".to_owned(),
        is_sample: true,
    })
}

fn npm_start(root: &Path) -> Option<Guess> {
    let package: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(root.join("package.json")).ok()?).ok()?;
    package.get("scripts")?.get("start")?.as_str()?;
    // What npm itself says must not be taken for what the agent says.
    let command = ["npm", "start", "--silent"].map(str::to_owned).to_vec();
    Some(Guess { command, because: "package.json has a script `start`".to_owned(), is_sample: false })
}

fn program(root: &Path) -> Option<Guess> {
    let ways = [("Cargo.toml", "src/main.rs", &["cargo", "run", "--quiet"][..]), ("go.mod", "main.go", &["go", "run", "."][..])];
    let (list, main, command) =
        ways.into_iter().find(|(list, main, _)| root.join(list).is_file() && root.join(main).is_file())?;
    let command = command.iter().map(|word| (*word).to_owned()).collect();
    Some(Guess { command, because: format!("there is a {list} with a {main}"), is_sample: false })
}
