//! Follows `docs/adding-a-scenario.md` as a reader would: saves its files, makes its changes, runs its
//! commands with the real program, and compares their output with what the page shows. Other pages must name
//! what there is.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use hapax::domain::{ControlName, Excuse, FindingKind};
use hapax::report::Format;
use hapax::scenario::shipped;
use mock_services::fault::ReplyKind;
use mock_services::idempotency::profiles_page;

const PAGE: &str = include_str!("../../docs/adding-a-scenario.md");
/// A mark for lines that the page omits.
const LEFT_OUT: &str = "…";

/// One thing that the page asks its reader to do.
#[derive(Debug, PartialEq, Eq)]
enum Ask {
    Save { path: String, text: String },
    Change { from: String, to: String },
    Run { command: String, shown: Vec<String> },
}

/// Everything that the page asks for, in order.
fn asks(page: &str) -> Vec<Ask> {
    let mut asks = Vec::new();
    let (mut lines, mut paragraph) = (page.lines(), String::new());
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            asks.extend(of_block(kind, &block, &paragraph));
        } else if !line.trim().is_empty() {
            paragraph = if paragraph.is_empty() { line.to_owned() } else { format!("{paragraph} {line}") };
            continue;
        } else if lines.clone().next().is_some_and(|next| next.starts_with("```")) {
            // The paragraph directly above a block belongs to it.
            continue;
        }
        paragraph.clear();
    }
    asks
}

fn of_block(kind: &str, block: &[&str], paragraph: &str) -> Vec<Ask> {
    match kind {
        "yaml" | "python" => {
            let path =
                paragraph.rsplit('`').nth(1).unwrap_or_else(|| panic!("no file is named above {block:?}"));
            vec![Ask::Save { path: path.to_owned(), text: format!("{}\n", block.join("\n")) }]
        }
        "diff" => {
            let with = |sign: char| {
                block.iter().filter_map(|line| line.strip_prefix(sign)).collect::<Vec<_>>().join("\n")
            };
            vec![Ask::Change { from: with('-'), to: with('+') }]
        }
        "console" => commands(block),
        other => panic!("the test does not know what to do with a block of `{other}`"),
    }
}

fn commands(block: &[&str]) -> Vec<Ask> {
    let starts: Vec<usize> = (0..block.len()).filter(|place| block[*place].starts_with("$ ")).collect();
    let ends = starts.iter().copied().skip(1).chain([block.len()]);
    let one = |(start, end): (usize, usize)| Ask::Run {
        command: block[start][2..].to_owned(),
        shown: block[start + 1..end].iter().map(|line| (*line).to_owned()).collect(),
    };
    starts.iter().copied().zip(ends).map(one).collect()
}

/// Whether lines are as shown; any number of them may be omitted at a mark.
fn are_as_shown(lines: &[&str], shown: &[String]) -> bool {
    match shown {
        [] => lines.is_empty(),
        [mark, rest @ ..] if mark == LEFT_OUT => {
            (0..=lines.len()).any(|skipped| are_as_shown(&lines[skipped..], rest))
        }
        [line, rest @ ..] => {
            lines.split_first().is_some_and(|(first, lines)| first == line && are_as_shown(lines, rest))
        }
    }
}

/// A reader with an empty folder.
struct Reader {
    home: tempfile::TempDir,
    status: i32,
}

impl Reader {
    fn follow(&mut self, ask: &Ask) {
        match ask {
            Ask::Save { path, text } => {
                let path = self.home.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Ask::Change { from, to } => {
                let path = self.home.path().join("worker.py");
                let text = fs::read_to_string(&path).unwrap();
                assert_eq!(text.matches(from).count(), 1, "the line to be changed occurs once: {from}");
                fs::write(path, text.replace(from, to)).unwrap();
            }
            Ask::Run { command, shown } => self.run(command, shown),
        }
    }

    /// Runs a command; `$?` is the status of the previous one. Standard error is compared if standard output
    /// is empty.
    fn run(&mut self, command: &str, shown: &[String]) {
        let program = Path::new(env!("CARGO_BIN_EXE_hapax")).parent().unwrap();
        let others = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths([program.to_owned()].into_iter().chain(std::env::split_paths(&others)))
                .unwrap();
        let line = format!("(exit {}); {command}", self.status);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &line])
            .current_dir(self.home.path())
            .env("PATH", path)
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100");
        let output = shell.stdin(Stdio::null()).output().unwrap();
        self.status = output.status.code().unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let printed = if out.is_empty() { &err } else { &out };
        let lines: Vec<&str> = printed.lines().collect();
        assert!(are_as_shown(&lines, shown), "`{command}` does not print what the page shows:\n{out}{err}");
    }
}

#[test]
fn the_commands_of_a_page_print_what_the_page_shows() {
    let asks = asks(PAGE);
    let mut reader = Reader { home: tempfile::tempdir().unwrap(), status: 0 };
    for ask in &asks {
        reader.follow(ask);
    }
    for verb in ["lint", "list", "selftest", "run"] {
        let call = format!("hapax {verb} ");
        let is_run = |ask: &Ask| matches!(ask, Ask::Run { command, .. } if command.starts_with(&call));
        assert!(asks.iter().any(is_run), "the page shows `hapax {verb}`");
    }
    let saved = asks.iter().filter(|ask| matches!(ask, Ask::Save { .. })).count();
    let changed = asks.iter().filter(|ask| matches!(ask, Ask::Change { .. })).count();
    assert_eq!((saved, changed), (3, 1), "two scenarios and a worker are saved, and the worker is fixed");
}

#[test]
fn commands_and_outputs_are_read_from_a_page() {
    let page = "Save it as\n`a.yaml` now:\n\n```yaml\nabout: a\n```\n\n```console\n$ one\n$ two\nout\n\n\
        ```\n```diff\n-x\n+y\n```\n";
    let run = |command: &str, shown: &[&str]| Ask::Run {
        command: command.to_owned(),
        shown: shown.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(
        asks(page),
        [
            Ask::Save { path: "a.yaml".to_owned(), text: "about: a\n".to_owned() },
            run("one", &[]),
            run("two", &["out", ""]),
            Ask::Change { from: "x".to_owned(), to: "y".to_owned() },
        ]
    );
}

#[test]
fn lines_may_be_omitted_only_at_a_mark() {
    let shown = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    assert!(are_as_shown(&["a", "b", "c"], &shown(&["a", "…", "c", "…"])));
    assert!(are_as_shown(&[], &shown(&["…"])));
    for wrong in [&["a", "c"][..], &["a", "b"], &["…", "b"], &["a", "b", "c", "d"]] {
        assert!(!are_as_shown(&["a", "b", "c"], &shown(wrong)), "{wrong:?}");
    }
}

/// The complete scenarios of a page: its blocks of YAML that begin with `about`.
fn scenarios(page: &str) -> Vec<String> {
    let mut lines = page.lines();
    let mut blocks = Vec::new();
    while lines.any(|line| line == "```yaml") {
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(block.join("\n"));
    }
    blocks.retain(|block| block.starts_with("about:"));
    blocks
}

#[test]
fn every_scenario_of_the_cookbook_and_of_the_pages_about_web_and_model_passes_lint_and_selftest() {
    let home = tempfile::tempdir().unwrap();
    for (name, page, count) in [
        ("cookbook", include_str!("../../docs/cookbook.md"), 12),
        ("web", include_str!("../../docs/web.md"), 1),
        ("model", include_str!("../../docs/model.md"), 1),
    ] {
        let scenarios = scenarios(page);
        assert_eq!(scenarios.len(), count, "docs/{name}.md");
        for (number, text) in scenarios.iter().enumerate() {
            assert!(text.contains("\ncontrols:\n"), "selftest checks nothing without controls:\n{text}");
            fs::write(home.path().join(format!("{name}-{number}.yaml")), text).unwrap();
        }
    }
    for verb in ["lint", "selftest"] {
        let called = Command::new(env!("CARGO_BIN_EXE_hapax")).arg(verb).arg(home.path()).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&called.stdout), String::from_utf8_lossy(&called.stderr));
        assert!(called.status.success(), "`hapax {verb}` finds a problem in a page:\n{out}{err}");
    }
}

/// The words in the first cells of the tables of a page.
fn first_cells(page: &str) -> String {
    page.lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(" | ").next())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_pages_have_a_row_for_every_format() {
    let reports = first_cells(include_str!("../../docs/reports.md"));
    for word in Format::ALL.map(Format::as_str) {
        let is_row = |row: &str| row.trim_start_matches('{').split(['`', ':']).next() == Some(word);
        assert!(reports.lines().any(is_row), "no row for `{word}` in\n{reports}");
    }
}

/// The lines of a page after one that starts with `after`, as far as they start with `begin`, are these. With
/// `INSTA_UPDATE=always`, they are written.
fn check_lines(page: &str, after: &str, begin: &str, wanted: &[String]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| line.starts_with(after)).unwrap() + 1;
    let length = lines[start..].iter().take_while(|line| line.starts_with(begin)).count();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        let wanted = wanted.iter().map(String::as_str);
        let all = lines[..start].iter().copied().chain(wanted).chain(lines[start + length..].iter().copied());
        fs::write(&path, all.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    } else {
        assert_eq!(
            lines[start..start + length],
            *wanted,
            "{page} is stale: INSTA_UPDATE=always cargo test --test source docs"
        );
    }
}

#[test]
fn the_tables_of_replies_are_those_of_the_list() {
    let rows = ReplyKind::ALL.into_iter().flat_map(|kind| kind.facts().docs);
    let rows = rows.map(|(form, about)| format!("| `{form}` | {about} |"));
    let rows: Vec<String> = std::iter::once("| --- | --- |".to_owned()).chain(rows).collect();
    check_lines("docs/faults.md", "| reply | on the wire |", "|", &rows);
    let word = |kind: ReplyKind| match kind.facts().content {
        content if content.is_for_reads() => format!("`{kind}` (reads only)"),
        _ => format!("`{kind}`"),
    };
    let words = ReplyKind::ALL.map(word).join(", ");
    check_lines(
        "mock-services/README.md",
        "| `commit` |",
        "| `reply` |",
        &[format!("| `reply` | {words} |")],
    );
}

#[test]
fn the_page_of_idempotency_profiles_is_that_of_their_files() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/profiles.md");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        fs::write(&path, profiles_page()).unwrap();
    }
    let page = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(page, profiles_page(), "stale: INSTA_UPDATE=always cargo test --test source docs");
}

#[test]
fn the_glossary_explains_every_finding_in_the_order_of_harm_and_with_the_words_of_the_table() {
    let page = include_str!("../../docs/glossary.md");
    let section = page.split("## Findings").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let expected = FindingKind::ALL.map(|kind| {
        let meaning = kind.meaning().trim_end_matches('.');
        let (first, rest) = meaning.split_at(1);
        format!("| `{kind}` | {}{rest} |", first.to_lowercase())
    });
    assert_eq!(rows.len(), expected.len());
    for (row, start) in rows.iter().zip(&expected) {
        assert!(row.starts_with(start), "the row of docs/glossary.md\n{row}\nshould begin with\n{start}");
    }
}

#[test]
fn the_glossary_explains_every_excuse_with_its_reason_and_the_findings_that_it_covers() {
    let page = include_str!("../../docs/glossary.md");
    let section = page.split("## Excuses").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let expected = Excuse::ALL.map(|excuse| {
        let named = |is_covered: bool| {
            let kinds = FindingKind::ALL.into_iter().filter(|kind| excuse.covers_kind(*kind) == is_covered);
            kinds.map(|kind| format!("`{kind}`")).collect::<Vec<_>>()
        };
        let (covered, others) = (named(true), named(false));
        let kinds = if covered.len() > others.len() {
            format!("all but {}", others.join(", "))
        } else {
            covered.join(", ")
        };
        format!("| `{excuse}` | {} | {kinds}", excuse.reason())
    });
    assert_eq!(rows.len(), expected.len(), "{}", expected.join("\n"));
    for (row, start) in rows.iter().zip(&expected) {
        assert!(row.starts_with(start), "the row of docs/glossary.md\n{row}\nshould begin with\n{start}");
    }
}

/// A kind of finding is a row of one table: a match that lists the kinds elsewhere would be a second one.
#[test]
fn only_the_table_of_findings_lists_their_kinds() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kinds: Vec<String> = FindingKind::ALL.map(|kind| format!("{kind:?}")).to_vec();
    let mut files = vec![home.join("src")];
    let mut lists = Vec::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let name = path.strip_prefix(home).unwrap();
        let text = fs::read_to_string(&path).unwrap_or_default();
        let is_named = |kind: &&String| text.contains(&format!("FindingKind::{kind}"));
        // A file needs a few kinds for what it does, and never most of them.
        if name.extension().is_some_and(|ending| ending == "rs") && kinds.iter().filter(is_named).count() > 9
        {
            lists.push(name.to_owned());
        }
    }
    assert!(
        lists.is_empty(),
        "these files list the kinds of findings, as src/domain/findings.rs does: {lists:?}"
    );
}

#[test]
fn the_page_about_controls_explains_each_and_shows_their_expected_outcomes() {
    let page = include_str!("../../docs/controls.md");
    let rows = first_cells(page);
    for control in ControlName::names() {
        assert!(rows.lines().any(|row| row.starts_with(&format!("{control}`"))), "no row for `{control}`");
    }
    let cases = shipped().unwrap();
    let columns = ["naive", "keyed", "verify-first", "timid", "careful"];
    let mut compared = 0;
    for line in page.lines().filter(|line| line.starts_with("| `") && line.contains('/')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).skip(1).collect();
        let id = cells[0].trim_matches('`');
        let case = cases.iter().find(|case| case.id == id).unwrap_or_else(|| panic!("there is no case {id}"));
        for (control, shown) in columns.iter().zip(&cells[1..]) {
            let expected = case.controls.iter().find(|term| term.control == *control);
            assert_eq!(*shown, expected.map_or("–", |term| term.is.as_str()), "{control} in {id}");
            compared += 1;
        }
    }
    assert_eq!(compared, 25);
}

#[test]
fn every_file_that_the_page_for_contributors_names_exists() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(home.join("CONTRIBUTING.md")).unwrap();
    let folders = ["src/", "mock-services/", "docs/", "tests/", "scenarios/", ".ci/"];
    // `NAME` is a placeholder for what a contributor adds.
    let is_path =
        |word: &&str| folders.iter().any(|folder| word.starts_with(folder)) && !word.contains("NAME");
    let named: Vec<&str> = page.split('`').skip(1).step_by(2).filter(is_path).collect();
    assert!(named.len() > 20, "{named:?}");
    let missing: Vec<&&str> = named.iter().filter(|path| !home.join(path).exists()).collect();
    assert!(missing.is_empty(), "CONTRIBUTING.md names files that do not exist: {missing:?}");
}
