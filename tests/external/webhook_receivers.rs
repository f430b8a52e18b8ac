//! The receivers of `examples/webhooks`, on their real frameworks: the careful ones pass, the careless ones do not.

use crate::kit::installed;
use crate::kit::needs::{Test, tests};
use crate::kit::workspace::Workspace;

/// What the careful receivers pass.
const PASSED: [&str; 9] = [
    "event/delivered-again",
    "event/five-at-once",
    "event/answered-with-an-error",
    "event/killed-after-the-effect",
    "event/killed-before-the-effect",
    "event/forged-first",
    "event/sent-again-by-hand",
    "event/wrong-signature@signature",
    "event/other-type",
];

/// A workspace with the receivers as subjects that are named by their files.
fn receivers() -> Workspace {
    installed::clients();
    let workspace = Workspace::new();
    let mut subjects = "subjects:\n".to_owned();
    for name in ["careless.py", "careful.py", "careless.ts", "careful.ts"] {
        let text = std::fs::read_to_string(installed::root().join("examples/webhooks").join(name)).unwrap();
        workspace.write(name, &text);
        let interpreter = installed::command(name)[0].display().to_string();
        subjects += &format!(
            "  {}: {{ http: \"http://127.0.0.1:${{port}}/\", command: {interpreter} {name}, \
             receives: {{ path: /hooks/stripe }}, can: [email.send] }}\n",
            name.replace('.', "-")
        );
    }
    workspace.write("hapax.yaml", &subjects);
    workspace.write("package.json", "{\"type\": \"module\"}");
    let modules = installed::root().join("tests/clients/node/node_modules").canonicalize().unwrap();
    std::os::unix::fs::symlink(modules, workspace.path().join("node_modules")).unwrap();
    workspace
}

fn passes(subject: &str) {
    let workspace = receivers();
    let arguments = [&["run", "--subject", subject], &PASSED[..]].concat();
    workspace.call(&arguments).expect(0);
}

fn fails(subject: &str) {
    let workspace = receivers();
    for (scenario, finding) in
        [("event/delivered-again", "duplicated"), ("event/wrong-signature@signature", "unintended")]
    {
        let ended = workspace.call(&["run", "--subject", subject, scenario]);
        assert_eq!(ended.status, 1, "{}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains(finding), "{}", ended.stdout);
    }
}

async fn the_careful_receiver_on_fastapi_passes() {
    passes("careful-py");
}

async fn the_careful_receiver_on_hono_passes() {
    passes("careful-ts");
}

async fn the_careless_receiver_on_fastapi_sends_twice_and_believes_anybody() {
    fails("careless-py");
}

async fn the_careless_receiver_on_hono_sends_twice_and_believes_anybody() {
    fails("careless-ts");
}

pub(crate) fn tests() -> Vec<Test> {
    tests![
        the_careful_receiver_on_fastapi_passes,
        the_careful_receiver_on_hono_passes,
        the_careless_receiver_on_fastapi_sends_twice_and_believes_anybody,
        the_careless_receiver_on_hono_sends_twice_and_believes_anybody,
    ]
}
