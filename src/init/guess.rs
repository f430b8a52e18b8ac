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

/// Files that are agents by their name, and what runs them. The first that is there counts.
const AGENTS: [(&str, &[&str]); 10] = [
    ("agent.py", &["python3"]),
    ("agent.ts", &["node", "--experimental-strip-types"]),
    ("agent.js", &["node"]),
    ("agent.mjs", &["node"]),
    ("agent.sh", &["sh"]),
    ("src/agent.py", &["python3"]),
    ("main.py", &["python3"]),
    ("app.py", &["python3"]),
    ("index.js", &["node"]),
    ("main.sh", &["sh"]),
];

/// Guesses what starts the agent of this folder.
#[must_use]
pub fn guess(root: &Path) -> Guess {
    let named = AGENTS.iter().find(|(file, _)| root.join(file).is_file()).map(|(file, runner)| {
        let command = runner.iter().chain([file]).map(|word| (*word).to_owned()).collect();
        Guess { command, because: format!("there is a file {file}"), is_sample: false }
    });
    named.or_else(|| npm_start(root)).or_else(|| cargo(root)).unwrap_or_else(|| Guess {
        command: vec!["sh".to_owned(), SAMPLE_AGENT.to_owned()],
        because: "no agent was found, so a small one is laid out to begin with".to_owned(),
        is_sample: true,
    })
}

fn npm_start(root: &Path) -> Option<Guess> {
    let package: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(root.join("package.json")).ok()?).ok()?;
    package.get("scripts")?.get("start")?.as_str()?;
    let command = ["npm", "start", "--silent"].map(str::to_owned).to_vec();
    Some(Guess { command, because: "package.json has a script `start`".to_owned(), is_sample: false })
}

fn cargo(root: &Path) -> Option<Guess> {
    (root.join("Cargo.toml").is_file() && root.join("src/main.rs").is_file()).then(|| Guess {
        command: ["cargo", "run", "--quiet"].map(str::to_owned).to_vec(),
        because: "there is a Cargo.toml with a src/main.rs".to_owned(),
        is_sample: false,
    })
}
