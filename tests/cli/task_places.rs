//! The task where agents take it: as an argument, on the standard input and in a file; and a home directory and a way to
//! continue for programs that need them.

use crate::kit::workspace::{Called, WRITES, Workspace, charge};

/// Charges if its only argument, its input or the file has the task, whichever `$1` names.
const AGENT: &str = r#"
case $1 in
  argument) [ $# = 2 ] && task=$2 ;;
  joined) [ $# = 2 ] && task=${2#--message=} ;;
  input) task=$(cat) ;;
  file) task=$(cat "$HAPAX_TASK_FILE") ;;
esac
[ "$task" = "$HAPAX_TASK" ] || { echo "the task is '$task'" >&2; exit 1; }
charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001' >/dev/null
echo '{"outcome": "done"}'
"#;

/// A task that a shell would run.
const TASK: &str = "task: 'Charge customer cus_42 $49.99 for order ord_1001. $(touch run) `touch run` \"'";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let scenario = charge("");
    let line = scenario.lines().find(|line| line.starts_with("task:")).unwrap();
    workspace.write("scenarios/mine/charge.yaml", &scenario.replace(line, TASK));
    workspace.write("agent.sh", &format!("{WRITES}{AGENT}"));
    workspace
}

fn probed_run(workspace: &Workspace, arguments: &[&str]) -> Called {
    workspace.command(arguments).env_remove("HAPAX_NO_SMOKE").env("COLUMNS", "160").output().unwrap().into()
}

#[test]
fn the_task_is_one_argument_the_input_or_a_file_and_never_read_by_a_shell() {
    for words in [
        &["--", "bash", "agent.sh", "argument", "${task}"][..],
        &["--", "bash", "agent.sh", "joined", "--message=${task}"],
        &["--stdin", "task", "--", "bash", "agent.sh", "input"],
        &["--", "bash", "agent.sh", "file"],
    ] {
        let workspace = workspace();
        let arguments = [&["run", "mine"], words].concat();
        workspace.call(&arguments).expect(0);
        assert!(!workspace.path().join("run").exists(), "{words:?}: a shell ran the task");
    }
    let called = workspace().call(&["run", "mine", "--stdin", "task", "--", "true"]).expect(1);
    assert!(called.stdout.contains("--stdin task -- true"), "the replay command: {}", called.stdout);
}

#[test]
fn hapax_yaml_has_the_same_places_for_the_task() {
    let workspace = workspace();
    workspace.write(
        "hapax.yaml",
        "subjects:\n  argument: { command: [bash, agent.sh, argument, \"${task}\"] }\n  \
         input: { command: [bash, agent.sh, input], stdin: task }\n",
    );
    workspace.call(&["run", "mine", "--subject", "argument", "--subject", "input"]).expect(0);
}

#[test]
fn a_placeholder_that_is_not_known_or_in_a_script_of_a_shell_is_an_error_with_a_way_out() {
    let workspace = workspace();
    let called = workspace.call(&["run", "mine", "--", "bash", "agent.sh", "${tsk}"]).expect(2);
    assert!(
        called.stderr.contains("did you mean `${task}`?") && called.stderr.contains("`$${`"),
        "{}",
        called.stderr
    );
    let called = workspace.call(&["run", "mine", "--", "bash", "-c", "echo ${task}"]).expect(2);
    assert!(called.stderr.contains("\"$HAPAX_TASK\""), "{}", called.stderr);
    workspace.write("hapax.yaml", "subjects: { mine: { command: [bash, agent.sh, \"${prompt}\"] } }\n");
    let called = workspace.call(&["run", "mine"]).expect(2);
    assert!(
        called.stderr.contains("hapax.yaml:1:") && called.stderr.contains("${task}"),
        "{}",
        called.stderr
    );
}

#[test]
fn a_task_that_is_too_long_for_an_argument_has_other_places() {
    let workspace = workspace();
    let long = format!("task: Charge cus_42 {}", "x".repeat(140_000));
    workspace
        .write("scenarios/mine/charge.yaml", &charge("").replacen("task: Charge customer cus_42", &long, 1));
    let called =
        probed_run(&workspace, &["run", "mine", "--", "bash", "agent.sh", "argument", "${task}"]).expect(2);
    assert!(called.stderr.contains("--stdin task"), "{}", called.stderr);
}

#[test]
fn an_agent_that_made_no_attempt_is_told_the_lines_that_give_it_the_task() {
    let workspace = workspace();
    let called = probed_run(&workspace, &["run", "mine", "--can", "payment", "--", "true"]).expect(1);
    assert!(called.stdout.contains("hapax run --can payment -- true '${task}'\n"), "{}", called.stdout);
    assert!(called.stdout.contains("hapax run --can payment --stdin task -- true\n"), "{}", called.stdout);
    let called = probed_run(&workspace, &["run", "mine", "--", "true", "${task}"]).expect(1);
    assert!(!called.stdout.contains("--stdin task"), "{}", called.stdout);
    workspace.write("hapax.yaml", "subjects: { mine: { command: 'true' } }\n");
    let called = probed_run(&workspace, &["run", "mine"]).expect(1);
    assert!(called.stdout.contains("`stdin: task`"), "{}", called.stdout);
}

/// Charges at its first start, and continues with another command, which finds what the first wrote into its home.
const PROGRAM: &str = r#"
[ "$HOME" = "$HAPAX_STATE_DIR/home" ] && [ "$PWD" = "$HAPAX_STATE_DIR/work" ] || exit 5
[ "$(cat "$HOME/.agent/config")" = "url=$HAPAX_PAYMENT_URL home=$HOME" ] || exit 6
[ "$CONFIG" = "$HOME/.agent" ] || exit 7
case $1 in
  begin) echo begun > "$HOME/session"
    charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001' >/dev/null ;;
  continue) [ "$(cat "$HOME/session")" = begun ] && [ "$2" = "$HAPAX_TASK" ] || exit 8 ;;
esac
echo '{"outcome": "done"}'
"#;

#[test]
fn a_program_has_a_home_of_its_own_and_is_continued_with_its_own_command_after_a_kill() {
    let workspace = workspace();
    let kill = "interrupts:\n  - { when: { committed: payment.charge }, do: kill, then: restart }\n";
    workspace.write("scenarios/mine/charge.yaml", &charge(kill));
    let program = workspace.write("program.sh", &format!("{WRITES}{PROGRAM}")).path().join("program.sh");
    let config = format!(
        "subjects:\n  mine:\n    command: [bash, {path}, begin]\n    resume: [bash, {path}, continue, \"${{task}}\"]\n    \
         env: {{ CONFIG: \"${{home}}/.agent\" }}\n    home:\n      .agent/config: \"url=${{payment.url}} home=${{home}}\"\n",
        path = program.display()
    );
    workspace.write("hapax.yaml", &config);
    workspace.call(&["run", "mine"]).expect(0);
    workspace.write("hapax.yaml", &config.replace(".agent/config:", "../config:"));
    let called = workspace.call(&["run", "mine"]).expect(2);
    assert!(called.stderr.contains("is not a file in a home directory"), "{}", called.stderr);
}
