//! Many callers of one trial, and machines that do not allow them.

use crate::kit::workspace::{Called, HAPAX, WRITES, Workspace, charge, verdict};

fn many(callers: u32) -> String {
    format!("callers: {{ count: {callers}, meet: none }}\n{}", charge(""))
}

#[test]
fn two_hundred_callers_of_one_trial_are_all_counted() {
    let workspace = Workspace::new();
    let agent = format!("{WRITES}charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001' >/dev/null\n");
    workspace.write("scenarios/many.yaml", &many(200)).write("agent.sh", &agent);
    workspace.call(&["run", "scenarios/many.yaml", "--", "bash", "agent.sh"]).expect(1);
    let report = workspace.report();
    let verdict = verdict(&report, "many");
    assert!(verdict.to_string().contains("200 charges for ord_1001"), "{verdict:#}");
}

#[test]
fn a_machine_that_does_not_allow_the_callers_says_so_before_the_first_trial() {
    let workspace = Workspace::new();
    workspace.write("scenarios/many.yaml", &many(1000));
    let limited = |arguments: &[&str]| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "ulimit -n 1024 && exec \"$0\" \"$@\"", HAPAX]).args(arguments);
        command.current_dir(workspace.path()).env("NO_COLOR", "1");
        Called::from(command.output().unwrap())
    };
    let lint = limited(&["lint", "scenarios/many.yaml"]).expect(0);
    assert_eq!(
        lint.stderr,
        "note: many has 1000 callers, and this machine allows 41 (its open files); raise the limit of open files \
         (`ulimit -n`)\n"
    );
    assert_eq!(lint.stdout, "1 file, 1 case: no problem\n");
    let run = limited(&["run", "scenarios/many.yaml", "--subject", "careful"]).expect(2);
    assert!(run.stderr.contains("many has 1000 callers, and this machine allows 41"), "{}", run.stderr);
    assert!(run.stderr.contains("ulimit -n"), "{}", run.stderr);
}
