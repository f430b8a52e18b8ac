//! Sealed runs: the machine that a trial has for itself, with its folders for temporary files and its process ids.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::kit::needs::{Test, tests};
use crate::kit::workspace::{Workspace, charge};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        callers_of_one_trial_share_a_machine_and_have_other_process_ids,
        a_restart_finds_what_the_killed_start_left_behind_and_has_another_process_id,
        a_restart_on_an_empty_machine_finds_nothing_and_the_other_callers_stay_where_they_are,
        no_trial_finds_what_another_one_left_behind,
        system_v_ipc_is_that_of_the_machine,
        a_project_and_its_tools_among_the_temporary_files_stay_visible_and_nothing_else_does,
        a_working_directory_that_is_the_folder_for_temporary_files_stays_visible,
    ]
}

/// Binds a socket that is named by its process id, as many tools do, and then is the shell with the rest.
const TOOL: &str = r#"use IO::Handle; use IO::Socket::UNIX; use Socket;
my $socket = IO::Socket::UNIX->new(Type => SOCK_STREAM, Local => "/tmp/tool-$$.sock", Listen => 1);
print $socket ? "bound\n" : "cannot bind: $!\n";
STDOUT->flush;
exec 'bash', 'agent.sh';
"#;

/// Makes the charge of the task.
const CHARGE: &str = r#"
body='amount=4999&customer=cus_42&currency=usd&metadata[order]=ord_1001'
exec 3<>/dev/tcp/api.stripe.com/80
printf 'POST /v1/charges HTTP/1.1\r\nHost: api.stripe.com\r\nAuthorization: Bearer any\r\nConnection: close\r\n' >&3
printf 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %s\r\n\r\n%s' "${#body}" "$body" >&3
cat <&3 >/dev/null
"#;

/// What each start of each caller of each trial printed.
fn outputs(workspace: &Workspace) -> Vec<String> {
    let report = workspace.report();
    let trials =
        report["cases"].as_array().unwrap().iter().flat_map(|case| case["trials"].as_array().unwrap());
    let outputs = trials.flat_map(|trial| trial["output"].as_array().unwrap().clone());
    outputs.map(|output: Value| output["stdout"].as_str().unwrap().to_owned()).collect()
}

fn run(workspace: &Workspace, more: &[&str], command: &[&str]) -> Vec<String> {
    let called = workspace.call(&[&["run", "plain", "--sealed"], more, &["--"], command].concat());
    assert!([0, 1].contains(&called.status), "{}{}", called.stdout, called.stderr);
    outputs(workspace)
}

const KILLED: &str = "interrupts: [{ when: { received: payment.charge }, do: kill, then: RESTART }]\n";

async fn callers_of_one_trial_share_a_machine_and_have_other_process_ids() {
    let workspace = Workspace::new();
    let meet = "touch /tmp/here-$HAPAX_CALLER /dev/shm/here-$HAPAX_CALLER /var/tmp/here-$HAPAX_CALLER\n\
        for folder in /tmp /dev/shm /var/tmp; do\n\
        until [ $(ls $folder | grep -c here-) = 2 ]; do sleep 0.01; done\ndone\necho met\n";
    workspace.write("scenarios/plain.yaml", &charge("callers: 2\n"));
    workspace.write("tool.pl", TOOL).write("agent.sh", meet);
    assert_eq!(run(&workspace, &[], &["perl", "tool.pl"]), ["bound\nmet\n", "bound\nmet\n"]);
}

async fn a_restart_finds_what_the_killed_start_left_behind_and_has_another_process_id() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(&KILLED.replace("RESTART", "restart")));
    workspace.write("tool.pl", TOOL);
    workspace.write("agent.sh", &format!("echo \"sockets: $(ls /tmp | grep -c sock)\"\n{CHARGE}"));
    let outputs = run(&workspace, &[], &["perl", "tool.pl"]);
    assert_eq!(outputs, ["bound\nsockets: 1\n", "bound\nsockets: 2\n"]);
}

/// Says how many journals there are, and writes one into each folder for temporary files.
const JOURNAL: &str = r#"
echo "journals: $(cat /tmp/journal /var/tmp/journal /dev/shm/journal "$TMPDIR/journal" 2>/dev/null | wc -l)"
for folder in /tmp /var/tmp /dev/shm; do echo charged >>"$folder/journal"; done
"#;

async fn a_restart_on_an_empty_machine_finds_nothing_and_the_other_callers_stay_where_they_are() {
    let workspace = Workspace::new();
    workspace.write("agent.sh", &format!("{JOURNAL}{CHARGE}"));
    for (restart, found) in [("{ restart: { state: empty } }", 0), ("restart", 4)] {
        workspace.write("scenarios/plain.yaml", &charge(&KILLED.replace("RESTART", restart)));
        let outputs = run(&workspace, &[], &["bash", "agent.sh"]);
        assert_eq!(outputs, ["journals: 0\n".to_owned(), format!("journals: {found}\n")], "{restart}");
    }
}

async fn no_trial_finds_what_another_one_left_behind() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge("")).write("agent.sh", JOURNAL);
    let outputs = run(&workspace, &["--trials", "3", "-j", "1"], &["bash", "agent.sh"]);
    assert_eq!(outputs, ["journals: 0\n"; 3]);
}

/// Says how many messages are in a queue, adds one, and then is the shell with the rest.
const QUEUE: &str = r#"use IPC::SysV qw(IPC_CREAT IPC_STAT S_IRUSR S_IWUSR); use IPC::Msg;
my $queue = IPC::Msg->new(7, IPC_CREAT | S_IRUSR | S_IWUSR) or die "no queue: $!";
print "messages: ", $queue->stat->qnum, "\n";
$queue->snd(1, "charged") or die $!;
$| = 1; print "";
exec 'bash', 'agent.sh';
"#;

async fn system_v_ipc_is_that_of_the_machine() {
    let workspace = Workspace::new();
    workspace.write("queue.pl", QUEUE).write("agent.sh", CHARGE);
    for (restart, found) in [("restart", 1), ("{ restart: { state: empty } }", 0)] {
        workspace.write("scenarios/plain.yaml", &charge(&KILLED.replace("RESTART", restart)));
        let outputs = run(&workspace, &["--trials", "2", "-j", "1"], &["perl", "queue.pl"]);
        let both = ["messages: 0\n".to_owned(), format!("messages: {found}\n")];
        assert_eq!(outputs, [&both[..], &both].concat(), "{restart}");
    }
    // Callers that are there at the same time share it, too.
    workspace.write("scenarios/plain.yaml", &charge("callers: 2\n"));
    let mut outputs = run(&workspace, &[], &["perl", "queue.pl"]);
    outputs.sort();
    assert_eq!(outputs, ["messages: 0\n", "messages: 1\n"]);
}

async fn a_project_and_its_tools_among_the_temporary_files_stay_visible_and_nothing_else_does() {
    let (tools, other) = (tempfile::tempdir_in("/tmp").unwrap(), tempfile::tempdir_in("/tmp").unwrap());
    let tool = tools.path().join("bin/tool");
    fs::create_dir(tool.parent().unwrap()).unwrap();
    fs::write(&tool, "#!/bin/sh\necho \"beside: $(cat \"$(dirname \"$0\")/../lib/data\")\"\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(tools.path().join("lib")).unwrap();
    fs::write(tools.path().join("lib/data"), "data\n").unwrap();
    fs::write(other.path().join("secret"), "secret\n").unwrap();
    // A checkout, and hapax runs in a folder of it.
    let workspace = Workspace { folder: tempfile::tempdir_in("/tmp").unwrap() };
    workspace.write(".git/HEAD", "").write("shared/library.sh", "echo library\n");
    let agent = format!(
        "{}\n. ../../shared/library.sh\nfor path in {} ../../../{}; do\n\
         echo \"other: $(cat \"$path/secret\" 2>/dev/null)\"\ndone\necho kept >>kept\n",
        tool.display(),
        other.path().display(),
        other.path().file_name().unwrap().to_string_lossy()
    );
    workspace.write("agents/one/agent.sh", &agent).write("agents/one/scenarios/plain.yaml", &charge(""));
    let mut hapax = workspace.command(&["run", "plain", "--sealed", "--", "bash", "agent.sh"]);
    let path = format!("{}:{}", tools.path().join("bin").display(), std::env::var("PATH").unwrap());
    hapax.current_dir(workspace.path().join("agents/one")).env("PATH", path);
    let called = crate::kit::workspace::Called::from(hapax.output().unwrap()).expect(1);
    let report: Value =
        serde_json::from_str(&workspace.read("agents/one/reports/latest/report.json")).unwrap();
    let output = report["cases"][0]["trials"][0]["output"][0]["stdout"].as_str().unwrap();
    // The folder of the tool is visible by `PATH`, and what is beside it is not.
    assert_eq!(output, "beside: \nlibrary\nother: \nother: \n", "{}", called.stderr);
    assert_eq!(workspace.read("agents/one/kept"), "kept\n", "it is the working directory itself");
}

async fn a_working_directory_that_is_the_folder_for_temporary_files_stays_visible() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    let file = workspace.path().join("scenarios/plain.yaml");
    workspace.write("hapax.yaml", "subjects: { shop: { command: [test, -f, FILE], directory: /tmp } }\n");
    let text = workspace.read("hapax.yaml").replace("FILE", &file.to_string_lossy());
    workspace.write("hapax.yaml", &text);
    workspace.call(&["run", "plain", "--sealed"]);
    let ledger = workspace.read("reports/latest/ledger.jsonl");
    assert!(ledger.contains("\"end\":\"exited\",\"status\":0"), "{ledger}");
}
