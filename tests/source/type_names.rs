//! Checks the source of each package: a type name is defined once, so that a name means one thing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that mock-services defines more than once. A service has one type each for the associated types of the
/// trait `Service`; the name of its folder says which service they belong to. hapax has no such names.
const MOCK_SERVICES_ALLOWED: [(&str, &str); 3] = [
    ("Call", "`Service::Call` of each service"),
    ("Effect", "`Service::Effect` of each service"),
    ("State", "`Service::State` of each service"),
];

#[test]
fn a_type_name_is_defined_once_in_a_package() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (folder, allowed) in [("src", &[][..]), ("mock-services/src", &MOCK_SERVICES_ALLOWED[..])] {
        let root = root.join(folder);
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in source_files(&root) {
            let text = fs::read_to_string(&path).unwrap();
            let shown = path.strip_prefix(&root).unwrap().display().to_string();
            for name in defined_types(&text) {
                places.entry(name).or_default().push(shown.clone());
            }
        }
        assert!(places.len() > 100, "the scan finds the types of {folder}: {}", places.len());
        let is_allowed = |name: &str| allowed.iter().any(|(allowed, _)| *allowed == name);
        let doubled: Vec<_> =
            places.iter().filter(|(name, places)| places.len() > 1 && !is_allowed(name)).collect();
        assert!(doubled.is_empty(), "give each of these types of {folder} its own name: {doubled:#?}");
    }
}

#[test]
fn types_are_found_however_they_are_defined() {
    let text = "pub struct One;\npub(crate) enum Two { A }\n    pub enum InMacro {\n    type Ignored = u8;\n\
                pub trait Three {}\ntype Four = u8;\n#[cfg(test)]\nmod tests {\n    struct Ignored;\n}\n";
    assert_eq!(defined_types(text), ["One", "Two", "InMacro", "Three", "Four"]);
}

/// The source files below a folder, without those of tests, and without the one that has the names of another
/// module on systems that do not have it.
fn source_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "sample" && name != "tests" {
            files.extend(source_files(&path));
        } else if name.ends_with(".rs")
            && !name.ends_with("tests.rs")
            && name != "testing.rs"
            && name != "sealed_elsewhere.rs"
        {
            files.push(path);
        }
    }
    files
}

/// The names of the types that a file defines outside of its tests.
fn defined_types(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().filter_map(defined_type).collect()
}

fn defined_type(line: &str) -> Option<String> {
    let indent = line.len() - line.trim_start().len();
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    let keyword = words.next()?;
    // Enums that a macro defines are indented; indented `type` and `trait` items belong to another item.
    let is_type = match keyword {
        "struct" | "enum" => indent == 0 || (indent == 4 && line.trim_start().starts_with("pub")),
        "type" | "trait" => indent == 0,
        _ => false,
    };
    let name: String = words.next()?.chars().take_while(|character| character.is_alphanumeric()).collect();
    (is_type && !name.is_empty()).then_some(name)
}
