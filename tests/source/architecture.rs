//! The modules of each package import each other in one direction only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use mock_services::catalog;

/// Modules, and those that each may import.
type ImportTable = Vec<(&'static str, Vec<&'static str>)>;

/// The modules of hapax, and those that each may import. A module may always import itself.
const HAPAX: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("exit_status", &["domain"]),
    ("process_env", &[]),
    ("log", &["process_env"]),
    ("proc_stat", &[]),
    ("process_protection", &[]),
    ("scratch", &[]),
    ("text", &[]),
    ("trust", &["process_env"]),
    ("outbound", &["trust"]),
    ("mcp", &["domain", "outbound", "process_env"]),
    ("record", &["outbound", "process_env", "subject"]),
    ("scenario", &["domain"]),
    ("fit", &["domain", "scenario"]),
    ("score", &["domain", "fit", "scenario"]),
    (
        "subject",
        &[
            "domain",
            "outbound",
            "proc_stat",
            "process_env",
            "process_protection",
            "scenario",
            "scratch",
            "trust",
        ],
    ),
    ("trial", &["domain", "fit", "log", "mcp", "proc_stat", "scenario", "scratch", "subject", "trust"]),
    ("results", &["domain", "scenario", "score", "text"]),
    ("report", &["domain", "results", "scenario", "score", "text"]),
    (
        "run",
        &[
            "domain",
            "log",
            "proc_stat",
            "process_env",
            "results",
            "scenario",
            "score",
            "scratch",
            "subject",
            "trial",
        ],
    ),
    ("serve", &["domain", "outbound", "report", "scenario", "scratch", "subject", "text", "trust"]),
    ("doctor", &["process_env", "subject"]),
    ("demo", &["domain", "report", "results", "run", "scenario", "score", "subject", "text"]),
    ("selftest", &["domain", "results", "run", "scenario", "score", "subject"]),
    (
        "explore",
        &[
            "domain",
            "exit_status",
            "process_env",
            "report",
            "results",
            "run",
            "scenario",
            "score",
            "scratch",
            "selftest",
            "subject",
            "text",
        ],
    ),
    ("lint", &["scenario", "subject"]),
    ("init", &["domain", "scenario", "subject"]),
    (
        "certify",
        &[
            "domain",
            "explore",
            "mcp",
            "process_env",
            "report",
            "results",
            "run",
            "scenario",
            "score",
            "scratch",
            "selftest",
            "subject",
            "text",
            "trial",
        ],
    ),
    (
        "cli",
        &[
            "certify",
            "demo",
            "doctor",
            "domain",
            "explore",
            "init",
            "lint",
            "log",
            "mcp",
            "process_env",
            "process_protection",
            "record",
            "report",
            "results",
            "run",
            "scenario",
            "score",
            "scratch",
            "selftest",
            "serve",
            "subject",
            "text",
            "trial",
        ],
    ),
];

/// The same for mock-services; the services that are written in Rust are all alike.
const MOCK_SERVICES: &[(&str, &[&str])] = &[
    ("after", &[]),
    ("clock", &[]),
    ("distinct_json", &[]),
    ("endpoints", &[]),
    ("examples", &[]),
    ("history", &[]),
    ("index", &[]),
    ("money", &[]),
    ("result_text", &[]),
    ("word_enum", &[]),
    ("idempotency", &["after", "word_enum"]),
    ("service", &["after", "idempotency", "word_enum"]),
    ("sender", &["service", "word_enum"]),
    ("fault", &["examples", "service", "word_enum"]),
    ("ledger", &["clock", "fault", "service", "word_enum"]),
    ("delivery", &["fault", "ledger", "service"]),
    ("engine", &["clock", "delivery", "fault", "history", "idempotency", "index", "ledger", "service"]),
    ("wire", &["delivery", "engine", "fault", "ledger", "service"]),
    ("services", &["clock", "delivery", "engine", "fault", "idempotency", "ledger", "service", "wire"]),
    ("description", &["after", "idempotency", "sender", "service", "services", "word_enum"]),
    (
        "custom",
        &["built_in", "description", "endpoints", "fault", "idempotency", "sender", "service", "services"],
    ),
    ("catalog", &["built_in", "custom", "description", "fault", "service"]),
];

/// The modules that a service may import.
const SERVICE: &[&str] = &[
    "description",
    "distinct_json",
    "endpoints",
    "idempotency",
    "index",
    "ledger",
    "money",
    "result_text",
    "sender",
    "service",
    "services",
    "word_enum",
];

/// The packages: the folder of the source of each, and its table.
fn packages() -> [(PathBuf, ImportTable); 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = |rows: &[(&'static str, &[&'static str])]| -> ImportTable {
        rows.iter().map(|(module, imports)| (*module, imports.to_vec())).collect()
    };
    let mut mock_services = table(MOCK_SERVICES);
    let services: Vec<&str> = catalog::built_in().iter().map(|service| service.name.as_str()).collect();
    mock_services.extend(services.iter().map(|service| (*service, SERVICE.to_vec())));
    mock_services.push(("built_in", [&["description"], services.as_slice()].concat()));
    [(root.join("src"), table(HAPAX)), (root.join("mock-services/src"), mock_services)]
}

#[test]
fn the_modules_of_a_package_import_each_other_in_one_direction() {
    for (root, table) in packages() {
        let found = forbidden(&root, &table);
        assert!(
            found.is_empty(),
            "these imports are not in the table of allowed ones:\n{}",
            found.join("\n")
        );
    }
}

#[test]
fn every_module_is_in_the_table_of_its_package() {
    for (root, table) in packages() {
        let listed: BTreeSet<String> = table.iter().map(|(module, _)| (*module).to_owned()).collect();
        let modules =
            sources(&root).iter().filter_map(|file| module_of(&root, file)).collect::<BTreeSet<_>>();
        assert_eq!(modules, listed);
    }
}

#[test]
fn only_one_module_reads_the_environment_of_hapax() {
    for (root, _) in packages() {
        let reads = |file: &PathBuf| {
            let text = fs::read_to_string(file).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            ["env::var(", "env::vars(", "env::var_os(", "env::vars_os("]
                .iter()
                .any(|call| code.contains(call))
        };
        let found: Vec<PathBuf> = sources(&root).into_iter().filter(reads).collect();
        assert!(found.iter().all(|file| file.ends_with("src/process_env.rs")), "{found:?}");
    }
}

#[test]
fn no_table_has_a_circle() {
    for (_, table) in packages() {
        let table: BTreeMap<&str, Vec<&str>> = table.into_iter().collect();
        let mut done: BTreeSet<&str> = BTreeSet::new();
        while done.len() < table.len() {
            let next = table.iter().find(|(module, imports)| {
                !done.contains(*module) && imports.iter().all(|import| done.contains(import))
            });
            let (module, _) = next.expect("every remaining module imports another that remains");
            done.insert(module);
        }
    }
}

/// The imports between the modules below a folder that its table does not allow.
fn forbidden(root: &Path, table: &[(&str, Vec<&str>)]) -> Vec<String> {
    let mut found = Vec::new();
    for file in sources(root) {
        let Some(module) = module_of(root, &file) else { continue };
        let Some((_, allowed)) = table.iter().find(|(name, _)| *name == module) else { continue };
        let text = fs::read_to_string(&file).unwrap();
        for import in imports(&text) {
            if import != module && !allowed.contains(&import.as_str()) {
                found.push(format!("{} imports {import}", file.strip_prefix(root).unwrap().display()));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The source files below a folder, without those that are compiled for tests only.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(sources(&path).into_iter().filter(|_| name != "tests" && name != "sample"));
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !name.ends_with("tests")
            && name != "testing"
        {
            found.push(path);
        }
    }
    found
}

/// The module at the top that a file belongs to; `None` for the files of the crate itself.
fn module_of(root: &Path, file: &Path) -> Option<String> {
    let relative = file.strip_prefix(root).unwrap();
    let first = Path::new(relative.components().next()?.as_os_str()).file_stem()?.to_string_lossy();
    (!["lib", "main"].contains(&&*first)).then(|| first.into_owned())
}

/// The names that follow `crate::` in code that is not compiled for tests only.
fn imports(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line.trim_start(), "\n"])
        .collect();
    let mut found = BTreeSet::new();
    for (place, start) in code.match_indices("crate::") {
        // `$crate::` and `mock_services_crate::` are something else.
        if code[..place].ends_with(|last: char| last == '$' || last == '_' || last.is_alphanumeric()) {
            continue;
        }
        let rest = &code[place + start.len()..];
        match rest.strip_prefix('{') {
            Some(group) => found.extend(members(group).map(first_name)),
            None => _ = found.insert(first_name(rest)),
        }
    }
    found.remove("");
    found
}

/// The members of a group of imports, without what is in braces inside of it.
fn members(group: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let outside = move |character: char| {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0 && character == ','
    };
    let mut open = 1;
    let end = group.find(|character: char| {
        open += match character {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        open == 0
    });
    group[..end.unwrap_or(group.len())].split(outside)
}

fn first_name(path: &str) -> String {
    path.trim_start().chars().take_while(|letter| letter.is_ascii_lowercase() || *letter == '_').collect()
}

#[test]
fn imports_are_found_in_every_form() {
    let text = "use crate::score::{a, b};\nuse crate::{run::{self, cli}, trial::Setup};\n// use crate::cli;\n\
                let x = crate::fit::y();\nuse crate::{\n    log,\n    trust::Trust,\n};\n\
                #[cfg(test)]\nmod tests {\n    use crate::demo::z;\n}\n";
    let found = imports(text);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["fit", "log", "run", "score", "trial", "trust"]);
}

#[test]
fn a_forbidden_import_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [("low.rs", "use crate::high::A;\n"), ("high/mod.rs", "use crate::low::B;\n")] {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let table = [("low", vec![]), ("high", vec!["low"])];
    assert_eq!(forbidden(folder.path(), &table), ["low.rs imports high"]);
}
