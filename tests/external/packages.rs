//! The packages for test runners, with the pinned runners that `packages/install` puts into
//! `target/packages`: their own tests, and the pages `docs/pytest.md` and `docs/vitest.md`, which are
//! followed as a reader would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

use crate::kit::installed;
use crate::kit::needs::{Test, tests};

/// Stands for text of a line, or for lines, that a page omits.
const LEFT_OUT: char = '…';

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

static INSTALLED: LazyLock<()> = LazyLock::new(|| {
    installed::clients();
    let status = Command::new(root().join("packages/install")).status();
    assert!(status.expect("packages/install should start").success(), "packages/install failed");
});

/// Runs a command line in a folder, with the runners in `PATH`; returns the exit status and the output.
fn run(folder: &Path, line: &str) -> (Option<i32>, String) {
    LazyLock::force(&INSTALLED);
    let target = root().join("target");
    let folders =
        ["packages/python/bin", "packages/node_modules/.bin", "clients"].map(|name| target.join(name));
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&others))).unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {line}")])
        .current_dir(folder)
        .env("PATH", path)
        .env("HAPAX_BIN", env!("CARGO_BIN_EXE_hapax"))
        .envs([("NO_COLOR", "1"), ("PYTHONDONTWRITEBYTECODE", "1"), ("COLUMNS", "120")])
        .env_remove("FORCE_COLOR")
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The folder of a project in which Node finds the installed packages.
fn folder_with_packages() -> TempDir {
    LazyLock::force(&INSTALLED);
    let folder = TempDir::new_in(root().join("target/packages")).unwrap();
    fs::write(folder.path().join("package.json"), r#"{ "private": true, "type": "module" }"#).unwrap();
    folder
}

/// One thing that a page asks its reader to do.
enum Ask {
    Save { path: String, text: String },
    Change { path: String, from: String, to: String },
    Run { command: String, shown: Vec<String> },
}

/// Everything that a page asks for. A block belongs to the paragraph directly above it, which ends with the
/// name of the file to save; other blocks of code are examples.
fn asks(page: &str) -> Vec<Ask> {
    let (mut asks, mut lines, mut paragraph) = (Vec::new(), page.lines(), String::new());
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else {
            if !line.is_empty() {
                paragraph = format!("{paragraph} {line}");
            } else if !lines.clone().next().is_some_and(|next| next.starts_with("```")) {
                paragraph.clear();
            }
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let path = paragraph.rsplit('`').nth(1).unwrap_or_default().to_owned();
        match kind {
            "console" => asks.push(Ask::Run {
                command: block[0].strip_prefix("$ ").unwrap().to_owned(),
                shown: block[1..].iter().map(|line| (*line).to_owned()).collect(),
            }),
            "diff" => {
                let signed =
                    |sign| block.iter().filter_map(|line| line.strip_prefix(sign)).collect::<String>();
                asks.push(Ask::Change { path, from: signed('-'), to: signed('+') });
            }
            _ if paragraph.ends_with("`:") => {
                asks.push(Ask::Save { path, text: format!("{}\n", block.join("\n")) });
            }
            _ => {}
        }
        paragraph.clear();
    }
    asks
}

/// Follows a page in a folder.
fn follow(page: &str, folder: &Path) {
    for ask in asks(page) {
        match ask {
            Ask::Save { path, text } => fs::write(folder.join(path), text).unwrap(),
            Ask::Change { path, from, to } => {
                let path = folder.join(path);
                let text = fs::read_to_string(&path).unwrap();
                assert_eq!(text.matches(&from).count(), 1, "the line to change occurs once: {from}");
                fs::write(path, text.replace(&from, &to)).unwrap();
            }
            Ask::Run { command, shown } => {
                // The runners of npm are in `PATH`.
                let (_, output) = run(folder, command.strip_prefix("npx ").unwrap_or(&command));
                let lines: Vec<String> = output.trim().lines().map(without_times).collect();
                let shown: Vec<String> = shown.iter().map(|line| without_times(line)).collect();
                assert!(
                    are_as_shown(&lines, &shown),
                    "`{command}` does not print what the page shows, but:\n{output}"
                );
            }
        }
    }
}

/// A line with 0.000 in place of its times, and without the seconds that Jest adds to a slow file.
fn without_times(line: &str) -> String {
    let is_seconds = |text: &str| text.strip_suffix(" s)").is_some_and(|text| text.parse::<f64>().is_ok());
    let line = match line.trim_end().rsplit_once(" (") {
        Some((start, seconds)) if is_seconds(seconds) => start,
        _ => line.trim_end(),
    };
    let is_time = |word: &str| {
        word.split_once('.')
            .is_some_and(|(whole, part)| part.len() == 3 && format!("{whole}{part}").parse::<u32>().is_ok())
    };
    let words: Vec<&str> = line.split(' ').map(|word| if is_time(word) { "0.000" } else { word }).collect();
    words.join(" ")
}

/// Whether lines are as shown; any number of them may be omitted at a line that has only the mark.
fn are_as_shown(lines: &[String], shown: &[String]) -> bool {
    match shown {
        [] => lines.is_empty(),
        [mark, rest @ ..] if mark.chars().eq([LEFT_OUT]) => {
            (0..=lines.len()).any(|skipped| are_as_shown(&lines[skipped..], rest))
        }
        [line, rest @ ..] => lines
            .split_first()
            .is_some_and(|(first, lines)| is_as_shown(first, line) && are_as_shown(lines, rest)),
    }
}

/// Whether a line is as shown; any text may be omitted at a mark.
fn is_as_shown(line: &str, shown: &str) -> bool {
    let Some((start, rest)) = shown.split_once(LEFT_OUT) else { return line == shown };
    line.strip_prefix(start).is_some_and(|line| {
        (0..=line.len()).any(|at| line.is_char_boundary(at) && is_as_shown(&line[at..], rest))
    })
}

async fn the_npm_package_has_the_version_of_hapax() {
    let text = fs::read_to_string(root().join("packages/typescript/package.json")).unwrap();
    let package: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
}

async fn the_page_about_pytest_works() {
    let folder = folder_with_packages();
    follow(include_str!("../../docs/pytest.md"), folder.path());
    let (status, output) = run(folder.path(), "mypy --strict --cache-dir=../mypy test_shop.py shop.py");
    assert_eq!(status, Some(0), "{output}");
}

async fn the_page_about_vitest_jest_and_node_works() {
    let folder = folder_with_packages();
    follow(include_str!("../../docs/vitest.md"), folder.path());
    let options = "--noEmit --strict --module nodenext --target es2022 --types node --skipLibCheck \
                   --allowImportingTsExtensions";
    let (status, output) = run(folder.path(), &format!("tsc {options} shop.test.ts shop.node.ts"));
    assert_eq!(status, Some(0), "{output}");
}

async fn the_python_package_passes_its_tests_and_is_typed() {
    let folder = folder_with_packages();
    let package = root().join("packages/python");
    let tests = package.join("tests").display().to_string();
    let base = folder.path().join("base").display().to_string();
    let (status, output) =
        run(folder.path(), &format!("pytest -q -n 2 -p no:cacheprovider --basetemp '{base}' '{tests}'"));
    assert_eq!(status, Some(0), "{output}");
    let source = package.join("src").display().to_string();
    let (status, output) = run(folder.path(), &format!("mypy --strict --cache-dir=../mypy '{source}'"));
    assert_eq!(status, Some(0), "{output}");
}

async fn the_typescript_package_passes_its_tests() {
    let folder = folder_with_packages();
    for file in fs::read_dir(root().join("packages/typescript/tests")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let (status, output) = run(folder.path(), "node --test services.test.mjs hooks.test.mjs");
    assert_eq!(status, Some(0), "{output}");
}

async fn a_fault_that_does_not_fire_fails_the_test_in_every_runner() {
    let folder = folder_with_packages();
    let tests = root().join("packages/typescript/tests");
    for (file, command, failed) in [
        ("unfired.node.mjs", "node --test unfired.node.mjs", "fail 1"),
        ("unfired.vitest.mjs", "vitest run --testTimeout 60000 unfired.vitest.mjs", "1 failed | 1 passed"),
        (
            "unfired.jest.cjs",
            "jest --testTimeout 60000 --rootDir . --testMatch '**/*.jest.cjs'",
            "1 failed, 1 passed",
        ),
    ] {
        // Vitest runs only files with `test` in their names.
        let name = if file.contains("vitest") { "unfired.test.mjs" } else { file };
        fs::copy(tests.join(file), folder.path().join(name)).unwrap();
        let (status, output) = run(folder.path(), &command.replace(file, name));
        assert_eq!(status, Some(1), "{command}: {output}");
        for text in [failed, "a fault did not fire, so the test proves nothing", "no request arrived"] {
            assert!(output.contains(text), "{command} does not print `{text}`: {output}");
        }
    }
}

pub(crate) fn tests() -> Vec<Test> {
    tests![
        the_npm_package_has_the_version_of_hapax,
        the_page_about_pytest_works,
        the_page_about_vitest_jest_and_node_works,
        the_python_package_passes_its_tests_and_is_typed,
        the_typescript_package_passes_its_tests,
        a_fault_that_does_not_fire_fails_the_test_in_every_runner,
    ]
}
