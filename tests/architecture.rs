//! The modules of `src/` import each other in one direction only.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of hapax, and those that each may import. A module may always import itself.
const HAPAX: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("exit_status", &["domain"]),
    ("log", &[]),
    ("scratch", &[]),
    ("trust", &[]),
    ("scenario", &["domain"]),
    ("fit", &["domain", "scenario"]),
    ("score", &["domain", "fit", "scenario"]),
    ("subject", &["domain", "scenario", "scratch", "trust"]),
    ("trial", &["domain", "fit", "log", "scenario", "scratch", "subject", "trust"]),
    ("report", &["domain", "scenario", "score"]),
    ("run", &["domain", "log", "report", "scenario", "score", "scratch", "subject", "trial"]),
    ("serve", &["domain", "report", "scenario", "scratch", "subject", "trust"]),
    ("demo", &["domain", "report", "run", "scenario", "score", "subject"]),
    ("selftest", &["domain", "report", "run", "scenario", "score", "subject"]),
    ("init", &["domain", "scenario", "subject"]),
    (
        "cli",
        &[
            "demo", "domain", "init", "log", "report", "run", "scenario", "score", "scratch", "selftest",
            "serve", "subject", "trial",
        ],
    ),
];

#[test]
fn the_modules_of_hapax_import_each_other_in_one_direction() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let found = forbidden(&root, HAPAX);
    assert!(found.is_empty(), "these imports are not in the table of allowed ones:\n{}", found.join("\n"));
}

#[test]
fn every_module_of_hapax_is_in_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let listed: BTreeSet<String> = HAPAX.iter().map(|(module, _)| (*module).to_owned()).collect();
    let modules = sources(&root).iter().filter_map(|file| module_of(&root, file)).collect::<BTreeSet<_>>();
    assert_eq!(modules, listed);
}

#[test]
fn the_table_has_no_circle() {
    let table: BTreeMap<&str, &[&str]> = HAPAX.iter().copied().collect();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    while done.len() < table.len() {
        let next = table.iter().find(|(module, imports)| {
            !done.contains(*module) && imports.iter().all(|import| done.contains(import))
        });
        let (module, _) = next.expect("every remaining module imports another that remains");
        done.insert(module);
    }
}

#[test]
fn the_engine_of_mock_services_knows_nothing_of_sockets() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("mock-services/src");
    let below_the_wire = ["delivery", "engine", "fault", "idempotency", "ledger", "service", "yaml"];
    for file in sources(&root) {
        let module = module_of(&root, &file).unwrap_or_default();
        if below_the_wire.contains(&module.as_str()) {
            let found = imports(&fs::read_to_string(&file).unwrap());
            assert!(!found.contains("wire"), "{} imports wire", file.display());
        }
    }
}

/// The imports between the modules below a folder that its table does not allow.
fn forbidden(root: &Path, table: &[(&str, &[&str])]) -> Vec<String> {
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
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let lines: Vec<&str> = lines.collect();
    let mut found = BTreeSet::new();
    for line in lines {
        for (place, _) in line.match_indices("crate::") {
            // `$crate::` and `mock_services_crate::` are something else.
            if line[..place].ends_with(|last: char| last == '$' || last == '_' || last.is_alphanumeric()) {
                continue;
            }
            let rest = &line[place + "crate::".len()..];
            let name = |text: &str| -> String {
                text.chars().take_while(|letter| letter.is_ascii_lowercase() || *letter == '_').collect()
            };
            match rest.strip_prefix('{') {
                Some(group) => found.extend(group.split(',').map(|part| name(part.trim()))),
                None => _ = found.insert(name(rest)),
            }
        }
    }
    found.remove("");
    found
}

#[test]
fn imports_are_found_in_every_form() {
    let text = "use crate::score::{a, b};\nuse crate::{run, trial::Setup};\n// use crate::cli;\nlet x = crate::fit::y();\n\
                #[cfg(test)]\nmod tests {\n    use crate::demo::z;\n}\n";
    assert_eq!(imports(text).into_iter().collect::<Vec<_>>(), ["fit", "run", "score", "trial"]);
}
