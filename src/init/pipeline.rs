//! The file with which hapax runs in CI: for GitHub or for GitLab, at the root of the repository, with what
//! the agent needs.

use std::fs;
use std::path::{Path, PathBuf};

use super::guess::{Guess, PublishedAgent};

pub(super) const GITHUB: &str = include_str!("files/workflow.yml");
pub(super) const GITLAB: &str = include_str!("files/gitlab-ci.yml");
/// The same for several jobs at once.
const GITHUB_PARTS: &str = include_str!("files/workflow-parts.yml");
const GITLAB_PARTS: &str = include_str!("files/gitlab-ci-parts.yml");

/// What the user has to know before the first release: the package that a workflow installs does not exist.
pub(super) const NOT_PUBLISHED: &str =
    "hapax is not published yet: in CI, set HAPAX_PACKAGE to a wheel that you built (docs/ci.md of hapax)";

/// A CI workflow: its path, relative to the folder of the project, and its content.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pipeline {
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// What the user has to do so that it is used.
    pub(super) next: Option<String>,
}

/// The workflow for the repository of the folder; for GitHub where the host is unknown. `parts` is the number of jobs
/// that share the trials, if there are several.
pub(super) fn pipeline(root: &Path, guess: &Guess, parts: Option<u32>) -> Pipeline {
    let place = RepositoryPlace::new(root);
    let directory = if place.below.is_empty() { "." } else { &place.below };
    let prefix = if place.below.is_empty() { String::new() } else { format!("{}/", place.below) };
    let count = parts.unwrap_or(1);
    let numbers: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
    let (github, gitlab) = match parts {
        None => (GITHUB, GITLAB),
        Some(_) => (GITHUB_PARTS, GITLAB_PARTS),
    };
    let fill = |text: &str, setup: &str| {
        text.replace("@SETUP@\n", setup)
            .replace("@DIRECTORY@", directory)
            .replace("@PREFIX@", &prefix)
            .replace("@PUBLISHED@", NOT_PUBLISHED)
            .replace("@PARTS@", &count.to_string())
            .replace("@NUMBERS@", &numbers.join(", "))
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
    };
    let setup = ToolSetup::new(root, guess);
    if !place.is_gitlab {
        let path = place.up.join(".github/workflows/hapax.yml");
        return Pipeline { path, text: fill(github, &setup.github()), next: None };
    }
    let is_taken = root.join(&place.up).join(".gitlab-ci.yml").exists();
    let name = if is_taken { ".gitlab/hapax.yml" } else { ".gitlab-ci.yml" };
    let next = is_taken.then(|| format!("add this to .gitlab-ci.yml: `include: {{ local: {name} }}`"));
    let job = setup.gitlab();
    let text = fill(gitlab, &job.setup)
        .replace("@IMAGE@", job.image)
        .replace("@PACKAGES@", format!("pipx {}", job.packages).trim_end());
    Pipeline { path: place.up.join(name), text, next }
}

/// The place of a folder in its repository.
struct RepositoryPlace {
    /// The way from the folder to the root of the repository: `../..`; empty where it is the root, or there
    /// is none.
    up: PathBuf,
    /// The way from the root to the folder: `services/billing`.
    below: String,
    is_gitlab: bool,
}

impl RepositoryPlace {
    fn new(root: &Path) -> Self {
        let here = RepositoryPlace { up: PathBuf::new(), below: String::new(), is_gitlab: false };
        // The folder itself may be given as an empty path.
        let Ok(folder) = fs::canonicalize(if root.as_os_str().is_empty() { Path::new(".") } else { root })
        else {
            return here;
        };
        let Some(top) = folder.ancestors().find(|folder| folder.join(".git").exists()) else { return here };
        let Ok(below) = folder.strip_prefix(top) else { return here };
        let up = below.components().map(|_| "..").collect();
        let config = fs::read_to_string(top.join(".git/config")).unwrap_or_default();
        let is_gitlab =
            config.lines().any(|line| line.trim_start().starts_with("url") && line.contains("gitlab"));
        RepositoryPlace {
            up,
            below: below.to_string_lossy().replace('\\', "/"),
            is_gitlab: is_gitlab || top.join(".gitlab-ci.yml").exists(),
        }
    }
}

/// What has to be installed before the agent can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolSetup<'a> {
    Python {
        installs: &'a str,
    },
    Uv,
    Node {
        installs: &'a str,
    },
    Go,
    Ruby,
    Rust,
    /// A shell, or something that is not known.
    Unknown,
}

impl<'a> ToolSetup<'a> {
    fn new(root: &Path, guess: &'a Guess) -> Self {
        if let Some(PublishedAgent { install, .. }) = &guess.agent {
            return match install.starts_with("pip") {
                true => ToolSetup::Python { installs: install },
                false => ToolSetup::Node { installs: install },
            };
        }
        let has = |name: &str| root.join(name).exists();
        let (program, last) = match guess.command.as_slice() {
            [] => return ToolSetup::Unknown,
            [program, others @ ..] => (program.as_str(), others.last().map_or("", String::as_str)),
        };
        let is_python =
            program.starts_with("python") || program.starts_with(".venv/") || has("pyproject.toml");
        match program {
            "uv" => ToolSetup::Uv,
            "npm" | "npx" | "node" | "pnpm" | "yarn" => ToolSetup::Node {
                installs: match () {
                    () if has("pnpm-lock.yaml") => "corepack enable && pnpm install --frozen-lockfile",
                    () if has("yarn.lock") => "corepack enable && yarn install --immutable",
                    () if has("package-lock.json") => "npm ci",
                    () if has("package.json") => "npm install",
                    () => "",
                },
            },
            "go" => ToolSetup::Go,
            "ruby" | "bundle" => ToolSetup::Ruby,
            "cargo" => ToolSetup::Rust,
            _ if is_python || last.ends_with(".py") => ToolSetup::Python {
                installs: match (
                    program.starts_with(".venv/"),
                    has("requirements.txt"),
                    has("pyproject.toml"),
                ) {
                    (true, true, _) => "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
                    (true, false, true) => "python3 -m venv .venv && .venv/bin/pip install .",
                    (true, false, false) => "python3 -m venv .venv",
                    (false, true, _) => "pip install -r requirements.txt",
                    (false, false, true) => "pip install .",
                    (false, false, false) => "",
                },
            },
            _ => ToolSetup::Unknown,
        }
    }

    /// Its steps of a GitHub workflow.
    fn github(self) -> String {
        let with =
            |action: &str, with: &str| format!("      - uses: {action}\n        with: {{ {with} }}\n\n");
        let installed = |command: &str| match command {
            "" => String::new(),
            command => format!("      - name: Install what the agent needs\n        run: {command}\n\n"),
        };
        match self {
            ToolSetup::Python { installs } => {
                with("actions/setup-python@v6", "python-version: \"3.13\"") + &installed(installs)
            }
            ToolSetup::Uv => "      - uses: astral-sh/setup-uv@v7\n\n".to_owned() + &installed("uv sync"),
            ToolSetup::Node { installs } => {
                with("actions/setup-node@v5", "node-version: 22") + &installed(installs)
            }
            ToolSetup::Go => with("actions/setup-go@v6", "go-version: stable"),
            ToolSetup::Ruby => with("ruby/setup-ruby@v1", "ruby-version: \"3.4\", bundler-cache: true"),
            ToolSetup::Rust => "      - name: Install Rust\n        \
                 run: rustup toolchain install stable --profile minimal\n\n"
                .to_owned(),
            ToolSetup::Unknown => "      # What your agent needs to run goes here.\n\n".to_owned(),
        }
    }

    /// Its parts of a GitLab job, which runs in an image of Debian.
    fn gitlab(self) -> GitlabSetup {
        let (packages, installs) = match self {
            ToolSetup::Python { installs } => {
                ("python3 python3-pip python3-venv python-is-python3", installs)
            }
            ToolSetup::Uv => ("python3", "pipx install uv && uv sync"),
            ToolSetup::Node { installs } => ("nodejs npm", installs),
            ToolSetup::Go => ("golang-go", ""),
            ToolSetup::Ruby => ("ruby-full bundler", "if [ -f Gemfile ]; then bundle install; fi"),
            ToolSetup::Rust | ToolSetup::Unknown => ("", ""),
        };
        // The Python of the system refuses to install packages globally without this option.
        let installs = installs
            .replace("pip install", "pip install --break-system-packages")
            .replace(".venv/bin/pip install --break-system-packages", ".venv/bin/pip install");
        let setup = match (self, installs.as_str()) {
            (ToolSetup::Unknown, _) => "    # What your agent needs to run goes here.\n".to_owned(),
            (_, "") => String::new(),
            (_, command) => format!("    - {command}\n"),
        };
        let image = if self == ToolSetup::Rust { "rust:latest" } else { "debian:stable" };
        GitlabSetup { image, packages, setup }
    }
}

/// What a GitLab job needs for an agent.
struct GitlabSetup {
    image: &'static str,
    /// Debian packages.
    packages: &'static str,
    /// Lines of `before_script`.
    setup: String,
}
