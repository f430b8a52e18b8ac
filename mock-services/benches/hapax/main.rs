//! The speed of `hapax serve`, `hapax run`, runs of controls, sealed starts and the model, measured from
//! outside: each server is its own process, the client is this process, and everything that is compared is
//! measured in the same run. Prints tables of ratios.
//!
//! `cargo bench` builds hapax in release mode first. `-- --quick` takes seconds and only shows that the
//! benchmark works; `-- --hapax PATH` measures another binary, by its path from the root of the repository;
//! `-- --before PATH` compares payments with another binary in the same run;
//! `-- --only serve`, `run`, `controls`, `sealed`, `model`, `events` or `histories` measures one part.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark prints, and stops where it cannot go on"
)]

mod client;
mod events;
mod histories;
mod model;
mod one_key;
mod peers;
mod process;
mod runs;
mod sealed;
mod serve;
mod servers;

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    if let Some(peer) = value("--peer") {
        return peers::run(&peer);
    }
    let quick = arguments.iter().any(|argument| argument == "--quick" || argument == "--test");
    let hapax = value("--hapax").map_or_else(built_binary, |path| root().join(path));
    let only = value("--only");
    let is_wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
    if let Some(before) = value("--before") {
        return serve::compare(&hapax, &root().join(before), quick);
    }
    if is_wanted("serve") {
        serve::measure(&hapax, quick);
        one_key::check(&hapax, if quick { 50 } else { 2_000 });
    }
    if is_wanted("run") {
        runs::measure(&hapax, &root(), quick);
    }
    if is_wanted("controls") {
        runs::measure_controls(&hapax, &root(), quick);
    }
    if is_wanted("sealed") {
        sealed::measure(&hapax, &root(), quick);
    }
    if is_wanted("model") {
        model::measure(&hapax, &root(), quick);
    }
    if is_wanted("events") {
        events::measure(&hapax, quick);
    }
    if is_wanted("histories") {
        histories::measure();
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// hapax in release mode, as users build it.
fn built_binary() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--bin", "hapax", "--message-format", "json-render-diagnostics"])
        .current_dir(root())
        .stderr(std::process::Stdio::inherit())
        .output()
        .expect("cargo");
    assert!(output.status.success(), "hapax was not built");
    let text = String::from_utf8(output.stdout).expect("JSON");
    let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let path = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    path.expect("the path of hapax")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
