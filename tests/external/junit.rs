//! `junit.xml` of real runs, with every kind of result, against the schema that Jenkins uses.

use std::path::Path;

use crate::kit::workspace::{Workspace, charge};

use crate::kit::installed;
use crate::kit::needs::{Test, tests};

/// The problems of a file by the schema; empty if there are none.
async fn problems(path: &Path) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = root.join("target/clients/junit-10.xsd");
    installed::output("tests/junit/check.py", &[schema.to_str().unwrap(), path.to_str().unwrap()], vec![])
        .await
}

/// Prints text that is not allowed in XML without escaping, and charges nothing.
const HOSTILE: &str = r#"
printf '<script>alert(1)</script> ]]> <!-- & \033[31m \000 \357\277\276 \355\240\200 \377 "quoted"\r\n'
printf ']]></system-err></testcase> \342\200\256 \001\013\014' >&2
printf '{"outcome": "done", "message": "]]> <b> & \\u0000 \\u001b[31m \\ufffe \\" "}\n'
"#;

async fn a_run_that_passes_fails_is_void_and_skips_meets_the_schema() {
    let workspace = Workspace::new();
    workspace.write(
        "hapax.yaml",
        &format!(
            "subjects:\n  mine:\n    command: [{}, control, naive]\n    can: [payment]\n",
            crate::kit::workspace::HAPAX
        ),
    );
    workspace
        .write("scenarios/far.yaml", &charge("faults: [{ on: payment.charge, attempt: 2, reply: drop }]\n"));
    let cases = [
        "payment/clean",
        "payment/lost-reply@keys=none",
        "payment/lying-success",
        "deploy",
        "scenarios/far.yaml",
    ];
    workspace.call(&[&["run", "--subject", "mine", "--trials", "2"], &cases[..]].concat()).expect(1);
    let xml = workspace.read("reports/latest/junit.xml");
    for element in ["<failure ", "<error ", "<skipped ", "/>\n"] {
        assert!(xml.contains(element), "{element} is not in {xml}");
    }
    assert_eq!(problems(&workspace.path().join("reports/latest/junit.xml")).await, "");
}

async fn any_output_of_a_subject_meets_the_schema() {
    let workspace = Workspace::new();
    workspace.write("agent.sh", HOSTILE);
    let about = "]]> <b> & \\\" \\uFFFE \\U0001F600";
    workspace.write(
        "scenarios/hostile.yaml",
        &charge("").replace("about: One charge.", &format!("about: \"{about}\"")),
    );
    workspace.call(&["run", "scenarios/hostile.yaml", "--", "sh", "agent.sh"]).expect(1);
    let xml = workspace.read("reports/latest/junit.xml");
    assert!(xml.contains("<system-out>") && xml.contains("<system-err>"), "{xml}");
    assert_eq!(problems(&workspace.path().join("reports/latest/junit.xml")).await, "");
}

async fn the_sample_meets_the_schema() {
    assert_eq!(problems(&Path::new(env!("CARGO_MANIFEST_DIR")).join("reports/sample/junit.xml")).await, "");
}

async fn a_report_that_violates_the_schema_is_noticed() {
    let workspace = Workspace::new();
    let files =
        [("known.xml", "<testsuites><testsuite mood=\"good\"/></testsuites>"), ("torn.xml", "<testsuites>")];
    for (name, text) in files {
        workspace.write(name, text);
        assert_ne!(problems(&workspace.path().join(name)).await, "", "{name}");
    }
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_run_that_passes_fails_is_void_and_skips_meets_the_schema,
        any_output_of_a_subject_meets_the_schema,
        the_sample_meets_the_schema,
        a_report_that_violates_the_schema_is_noticed,
    ]
}
