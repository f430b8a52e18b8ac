//! The list of the programs: what a search over fault schedules reads.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn defects(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_defects")).args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_list_says_of_each_program_how_to_run_it_and_what_it_is_for() {
    let (status, text) = defects(&["--list"]);
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert!(status == Some(0) && rows.len() >= 30, "{} programs", rows.len());
    let names: BTreeSet<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), rows.len(), "each name is there once");
    for row in &rows {
        let name = row["name"].as_str().unwrap();
        for text in ["about", "task", "finds"] {
            assert!(row[text].as_str().is_some_and(|text| !text.is_empty()), "{name} has no {text}");
        }
        assert!(row["expect"].as_array().is_some_and(|expect| !expect.is_empty()), "{name}");
        assert!(matches!(row["callers"].as_u64(), Some(1 | 2)), "{name}");
        let file = format!("src/programs/{}.rs", name.replace('-', "_"));
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file).exists(), "{file}");
    }
}

#[test]
fn a_name_that_is_not_in_the_list_is_refused() {
    assert_eq!(defects(&["no-such-program"]).0, Some(2));
    assert_eq!(defects(&[]).0, Some(2));
}
