//! Whether a shipped scenario meets the defect of a program: the faults, interrupts and callers of each scenario are given to
//! the task of the program, in place of its own.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use yaml_reader::{Key, Node, NodeKind, Source, parse, write_flow};

use crate::program::Program;

/// What makes up a schedule in a scenario.
const SCHEDULE: [&str; 4] = ["faults", "interrupts", "callers", "deliver"];
/// Scenarios in which more than the schedule differs from one task.
const OTHERS: [&str; 5] = ["each", "turns", "approvals", "happens", "events"];
/// Where a schedule names operations.
const OPERATIONS: [&str; 6] = ["on", "received", "committed", "replied", "meet", "freeze"];

/// The keys of a scenario file and their values.
type Entries = Vec<(Key, Node)>;

/// What the shipped schedules show of a program.
pub(crate) struct ShippedResult {
    /// The cases in which the twin is right.
    pub(crate) cases: usize,
    /// Those of them in which the program is wrong.
    pub(crate) met: Vec<String>,
}

/// Runs a program and its twin under the schedules of all scenarios in a folder.
pub(crate) fn check(hapax: &Path, scenarios: &Path, program: &Program) -> io::Result<ShippedResult> {
    let folder = std::env::temp_dir().join(format!("defects-shipped-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let result =
        write_all(hapax, scenarios, program, &folder).and_then(|()| compare(hapax, program, &folder));
    fs::remove_dir_all(&folder)?;
    result
}

/// Writes a scenario for each schedule that fits the task.
fn write_all(hapax: &Path, scenarios: &Path, program: &Program, folder: &Path) -> io::Result<()> {
    let task = task_of(hapax, program, folder)?;
    let services: BTreeSet<&str> = program.expect.iter().filter_map(|one| one.split('.').next()).collect();
    for file in files_in(scenarios)? {
        let entries = entries_of(&file)?;
        let has = |names: &[&str]| entries.iter().any(|(key, _)| names.contains(&key.name.as_str()));
        if has(&OTHERS) || !has(&SCHEDULE) {
            continue;
        }
        let Some(text) = with_schedule(&task, &entries, &services) else { continue };
        let name = file.strip_prefix(scenarios).unwrap_or(&file).display().to_string().replace('/', "-");
        let written = folder.join("scenarios").join(name);
        fs::create_dir_all(written.with_file_name(""))?;
        fs::write(&written, text)?;
        // A fault can be one that the operations of this task cannot have.
        if !Command::new(hapax).arg("lint").arg(&written).output()?.status.success() {
            fs::remove_file(&written)?;
        }
    }
    Ok(())
}

/// The task, the services and the expectations of a program, as hapax writes them.
fn task_of(hapax: &Path, program: &Program, folder: &Path) -> io::Result<Entries> {
    let file = folder.join("task.yaml");
    let mut command = Command::new(hapax);
    command.args(["run", "--dry-run", "--task", program.task, "--save"]).arg(&file);
    program.expect.iter().for_each(|expect| _ = command.args(["--expect", expect]));
    command.args(["--", "true"]).output()?;
    let mut entries = entries_of(&file)?;
    let profile = entries.iter().find(|(key, _)| key.name == "matrix").and_then(|(_, matrix)| {
        let NodeKind::List(items) = &matrix.get("keys")?.kind else { return None };
        items.first()?.as_text().map(str::to_owned)
    });
    if let (Some(profile), Some((_, services))) =
        (profile, entries.iter_mut().find(|(key, _)| key.name == "services"))
    {
        replace(services, "${keys}", &profile);
    }
    entries.retain(|(key, _)| !SCHEDULE.contains(&key.name.as_str()) && key.name != "matrix");
    Ok(entries)
}

/// The task with the schedule of a scenario; `None` if it is about other services.
fn with_schedule(task: &Entries, scenario: &Entries, services: &BTreeSet<&str>) -> Option<String> {
    let mut schedule: Entries =
        scenario.iter().filter(|(key, _)| SCHEDULE.contains(&key.name.as_str())).cloned().collect();
    let mut names = BTreeSet::new();
    for (_, node) in &mut schedule {
        without_where(node);
        matrix_names(node, &mut names);
    }
    let matrix = scenario.iter().find(|(key, _)| key.name == "matrix").cloned();
    let matrix = matrix.filter(|_| !names.is_empty()).map(|(key, mut node)| {
        if let NodeKind::Map(entries) = &mut node.kind {
            entries.retain(|(key, _)| names.contains(&key.name));
        }
        (key, node)
    });
    let is_other =
        |operation: &str| operation.split_once('.').is_some_and(|(service, _)| !services.contains(service));
    if schedule.iter().any(|(_, node)| operations(node).into_iter().any(is_other)) {
        return None;
    }
    let tags = "tags: [clean]\n".to_owned();
    let entries = task.iter().filter(|(key, _)| key.name != "tags").chain(&matrix).chain(&schedule);
    Some(entries.fold(tags, |text, (key, node)| text + &format!("{}: {}\n", key.name, write_flow(node))))
}

/// A schedule is about all attempts: the orders of the scenario are others.
fn without_where(node: &mut Node) {
    match &mut node.kind {
        NodeKind::Map(entries) => {
            entries.retain(|(key, _)| key.name != "where");
            entries.iter_mut().for_each(|(_, value)| without_where(value));
        }
        NodeKind::List(items) => items.iter_mut().for_each(without_where),
        _ => {}
    }
}

fn matrix_names(node: &Node, names: &mut BTreeSet<String>) {
    match &node.kind {
        NodeKind::Text(text) => {
            names.extend(text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).map(str::to_owned));
        }
        NodeKind::Map(entries) => entries.iter().for_each(|(_, value)| matrix_names(value, names)),
        NodeKind::List(items) => items.iter().for_each(|item| matrix_names(item, names)),
        _ => {}
    }
}

/// The operations that a schedule names, without those of the matrix.
fn operations(node: &Node) -> Vec<&str> {
    match &node.kind {
        NodeKind::Map(entries) => entries
            .iter()
            .flat_map(|(key, value)| {
                let own = value.as_text().filter(|_| OPERATIONS.contains(&key.name.as_str()));
                own.into_iter().chain(operations(value))
            })
            .collect(),
        NodeKind::List(items) => items.iter().flat_map(operations).collect(),
        _ => Vec::new(),
    }
}

fn replace(node: &mut Node, what: &str, by: &str) {
    match &mut node.kind {
        NodeKind::Text(text) if text == what => by.clone_into(text),
        NodeKind::Map(entries) => entries.iter_mut().for_each(|(_, value)| replace(value, what, by)),
        NodeKind::List(items) => items.iter_mut().for_each(|item| replace(item, what, by)),
        _ => {}
    }
}

/// In which cases the twin is right, and in which of these the program is wrong.
fn compare(hapax: &Path, program: &Program, folder: &Path) -> io::Result<ShippedResult> {
    let [with, without] = [false, true].map(|is_corrected| results(hapax, program, folder, is_corrected));
    let (with, without) = (with?, without?);
    let right: Vec<&(String, String)> = without.iter().filter(|(_, result)| result == "pass").collect();
    let is_wrong = |id: &str| with.iter().any(|(other, result)| other == id && result == "fail");
    let met = right.iter().filter(|(id, _)| is_wrong(id)).map(|(id, _)| id.clone()).collect();
    Ok(ShippedResult { cases: right.len(), met })
}

/// The result of each case.
fn results(
    hapax: &Path,
    program: &Program,
    folder: &Path,
    is_corrected: bool,
) -> io::Result<Vec<(String, String)>> {
    let out = folder.join(format!("report-{is_corrected}"));
    let mut command = Command::new(hapax);
    command.arg("run").arg(folder.join("scenarios")).args(["--no-probe", "--quiet", "--out"]).arg(&out);
    command.arg("--").arg(std::env::current_exe()?).arg(program.name);
    command.args(is_corrected.then_some("--corrected"));
    let output = command.output()?;
    let failed = || io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned());
    let text = fs::read(out.join("report.json")).map_err(|_| failed())?;
    let report: Value = serde_json::from_slice(&text).map_err(|_| failed())?;
    let cases = report["cases"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(cases.iter().map(|case| (text(&case["id"]), text(&case["trials"][0]["verdict"]["result"]))).collect())
}

fn entries_of(file: &Path) -> io::Result<Entries> {
    let source = Source::new(file.display().to_string(), fs::read_to_string(file)?);
    match parse(&source).map_err(|problem| io::Error::other(problem.render(false)))?.kind {
        NodeKind::Map(entries) => Ok(entries),
        _ => Ok(Vec::new()),
    }
}

/// The scenario files in the folders of a folder.
fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_in(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
