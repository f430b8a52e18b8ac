//! Interrupts at a moment of the ledger.

use std::process::Command;

use serde_json::Value;

use crate::kit::workspace::{Called, HAPAX, LOOK, Workspace, charge, verdict};

/// The ledger of the last run: kinds of entries and names of notes, in order.
fn history(workspace: &Workspace) -> Vec<String> {
    let lines = workspace.read("reports/latest/ledger.jsonl");
    let entries = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries
        .filter_map(|entry| match entry["kind"].as_str()? {
            "noted" => Some(entry["name"].as_str()?.to_owned()),
            kind @ ("received" | "committed" | "replied") => Some(kind.to_owned()),
            _ => None,
        })
        .collect()
}

fn place(history: &[String], what: &str) -> usize {
    history.iter().position(|have| have == what).unwrap_or_else(|| panic!("no {what} in {history:?}"))
}

fn run_interrupted(moment: &str, more: &str) -> (Workspace, Vec<String>) {
    let workspace = Workspace::new();
    let interrupts = format!("interrupts: [{{ when: {{ {moment}: payment.charge }}, {more} }}]\n");
    workspace.write("scenarios/interrupted.yaml", &charge(&interrupts));
    workspace.call(&["run", "scenarios/interrupted.yaml", "--subject", "careful"]).expect(0);
    let history = history(&workspace);
    (workspace, history)
}

#[test]
fn a_kill_at_received_takes_effect_before_the_commit() {
    let (_, history) = run_interrupted("received", "do: kill");
    assert!(
        place(&history, "received") < place(&history, "interrupted")
            && place(&history, "interrupted") < place(&history, "committed"),
        "{history:?}"
    );
    assert_eq!(history.iter().filter(|what| *what == "started").count(), 2, "{history:?}");
}

#[test]
fn a_kill_at_committed_takes_effect_before_the_reply() {
    let (_, history) = run_interrupted("committed", "do: kill");
    assert!(
        place(&history, "committed") < place(&history, "interrupted")
            && place(&history, "interrupted") < place(&history, "replied"),
        "{history:?}"
    );
}

#[test]
fn a_kill_at_replied_takes_effect_before_the_next_request_and_before_the_end() {
    let (_, history) = run_interrupted("replied", "do: kill");
    // The subject did nothing between the reply and the interrupt.
    assert_eq!(place(&history, "replied") + 1, place(&history, "interrupted"), "{history:?}");
    assert_eq!(history.iter().filter(|what| *what == "started").count(), 2, "{history:?}");
}

/// Runs the subject that writes a note when it has the whole reply, and interrupts it at `replied`.
fn noting(how: &str, interrupt: &str, trials: u32, status: i32) -> (Workspace, Value) {
    let workspace = Workspace::new();
    let interrupts = format!("interrupts: [{{ when: {{ replied: payment.charge }}, do: {interrupt} }}]\n");
    workspace.write("scenarios/noted.yaml", &charge(&interrupts));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/noting.pl");
    // The state directory is removed with its trial, so the last start prints whether there is a note.
    let agent = format!(
        "perl '{script}' {how}; status=$?; [ -e \"$HAPAX_STATE_DIR/note\" ] && echo NOTED; exit $status"
    );
    let trials = trials.to_string();
    workspace
        .call(&["run", "scenarios/noted.yaml", "--trials", &trials, "--", "bash", "-c", &agent])
        .expect(status);
    let report = workspace.report();
    (workspace, report)
}

fn outputs(report: &Value) -> Vec<String> {
    let trials = report["cases"][0]["trials"].as_array().unwrap();
    let texts = trials.iter().flat_map(|trial| trial["output"].as_array().unwrap());
    texts.map(|output| output["stdout"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_subject_with_threads_that_is_killed_at_replied_never_acts_on_the_reply() {
    for (how, trials) in [("plain", 34), ("threads", 12)] {
        let (workspace, report) = noting(how, "kill", trials, 0);
        let outputs = outputs(&report);
        assert_eq!(outputs.len(), 2 * trials as usize, "{how}");
        assert!(outputs.iter().all(|output| !output.contains("NOTED")), "{how}: {outputs:?}");
        let lines = workspace.read("reports/latest/ledger.jsonl");
        let entries: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let whole =
            entries.iter().filter(|entry| entry["kind"] == "replied" && entry["whole"] == true).count();
        let killed =
            entries.iter().filter(|entry| entry["name"] == "ended" && entry["fields"]["status"] == 9).count();
        assert_eq!(
            (whole, killed),
            (trials as usize, trials as usize),
            "{how}: the whole reply was sent, and it died"
        );
    }
}

#[test]
fn a_subject_that_ended_or_disconnected_before_the_interrupt_makes_the_trial_void() {
    for how in ["leaves", "hangs-up"] {
        let workspace = Workspace::new();
        // The body takes so long that a client that leaves before it, or after the head, has left.
        let more = "faults: [{ on: payment.charge, reply: { drip: 500ms } }]\n\
                    interrupts: [{ when: { replied: payment.charge }, do: kill }]\n";
        workspace.write("scenarios/noted.yaml", &charge(more));
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/noting.pl");
        workspace.call(&["run", "scenarios/noted.yaml", "--timeout", "3s", "--", "perl", script, how]);
        let report = workspace.report();
        let found = verdict(&report, "noted");
        let lines = workspace.read("reports/latest/ledger.jsonl");
        if lines.contains("\"name\":\"interrupted\"") {
            // On a busy machine it may still have been connected: then it was killed.
            assert!(lines.contains("\"end\":\"signaled\",\"status\":9"), "{how}: {lines}");
            continue;
        }
        assert_ne!(found["result"], "pass", "{how}: {found:#}");
        assert!(found["void_because"].to_string().contains("did not fire"), "{how}: {found:#}");
    }
}

#[test]
fn a_stop_at_replied_takes_effect_before_the_subject_acts_on_the_reply() {
    let (_, report) = noting("plain", "stop", 8, 0);
    assert!(outputs(&report).iter().all(|output| !output.contains("NOTED")), "{report:#}");
}

#[test]
fn a_frozen_subject_goes_on_and_passes() {
    let (workspace, history) = run_interrupted("committed", "do: { freeze: 100ms }");
    assert!(place(&history, "interrupted") < place(&history, "replied"), "{history:?}");
    assert_eq!(history.iter().filter(|what| *what == "started").count(), 1, "{history:?}");
    assert_eq!(verdict(&workspace.report(), "interrupted")["result"], "pass");
}

#[test]
fn a_canceled_subject_gets_the_signal_and_can_still_make_a_claim() {
    let workspace = Workspace::new();
    let interrupts = "interrupts: [{ when: { received: payment.charge }, do: cancel }]\n";
    workspace.write("scenarios/cancelled.yaml", &charge(interrupts));
    // The service does not answer until the interrupt has taken effect, so the claim comes after the signal.
    let agent = "\
trap 'signal=yes' INT
printf 'POST /v1/payment_intents HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer %s\\r\\nContent-Type: \
        application/x-www-form-urlencoded\\r\\n' \
  \"$HAPAX_PAYMENT_KEY\" > request
body='amount=4999&currency=usd&customer=cus_42&confirm=true&metadata[order]=ord_1001'
printf 'Content-Length: %d\\r\\n\\r\\n%s' ${#body} \"$body\" >> request
exec 3<>\"/dev/tcp/127.0.0.1/${HAPAX_PAYMENT_URL##*:}\"
cat request >&3
while [ ! \"$signal\" ]; do read -r -t 1 line <&3; done
echo \"{\\\"outcome\\\": \\\"done\\\", \\\"message\\\": \\\"cancelled: ${signal:-no}\\\"}\"
";
    workspace.write("agent.sh", agent);
    let arguments = ["run", "scenarios/cancelled.yaml", "--", "bash", "agent.sh"];
    for mut hapax in [workspace.command(&arguments), without_signals(&workspace, &arguments)] {
        Called::from(hapax.output().unwrap()).expect(0);
        let report = workspace.report();
        assert_eq!(verdict(&report, "cancelled")["claims"][0]["message"], "cancelled: yes");
    }
}

/// The command as a script starts it in the background, and worse: with signals that are ignored, and signals
/// that are blocked.
fn without_signals(workspace: &Workspace, arguments: &[&str]) -> Command {
    let ignoring = "use POSIX; $SIG{$_} = 'IGNORE' for qw(INT QUIT HUP CHLD USR2); \
        sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGINT, SIGTERM, SIGUSR1)); exec @ARGV";
    let hapax = workspace.command(arguments);
    let mut command = Command::new("perl");
    command.args(["-e", ignoring, HAPAX]).args(arguments).current_dir(workspace.path());
    for (name, value) in hapax.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

#[test]
#[cfg(target_os = "linux")]
fn a_subject_ignores_and_blocks_no_signal_although_hapax_does() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    for sealed in [&["--sealed"][..], &[]] {
        let subject = ["--", "grep", "-E", "SigIgn|SigBlk", "/proc/self/status"];
        let arguments = [&["run", "scenarios/plain.yaml"], sealed, &subject].concat();
        let ended = Called::from(without_signals(&workspace, &arguments).output().unwrap());
        if ended.status == 2 && !sealed.is_empty() {
            eprintln!("this machine allows no namespaces");
            continue;
        }
        ended.expect(1);
        // The signals 32 and 33 belong to the C library, which lets no program change them.
        const OF_LIBRARY: u64 = 0b11 << 31;
        let output = outputs(&workspace.report()).remove(0);
        let masks = output.lines().map(|line| line.split_once(":\t").unwrap());
        let masks: Vec<(&str, u64)> =
            masks.map(|(name, mask)| (name, u64::from_str_radix(mask, 16).unwrap() & !OF_LIBRARY)).collect();
        assert_eq!(masks, [("SigBlk", 0), ("SigIgn", 0)], "{sealed:?}");
    }
}

#[test]
fn an_interrupt_that_never_took_effect_makes_the_trial_void() {
    let workspace = Workspace::new();
    workspace.write(
        "scenarios/never.yaml",
        &charge("interrupts: [{ when: { received: payment.charge, attempt: 2 }, do: kill }]\n"),
    );
    let called = workspace.call(&["run", "scenarios/never.yaml", "--subject", "careful"]).expect(3);
    assert!(
        called.stdout.contains("did not fire") || called.stdout.contains("did not fire"),
        "{}",
        called.stdout
    );
}

#[test]
fn a_restart_has_the_same_directory_and_a_turn_too() {
    let workspace = Workspace::new();
    let agent =
        "echo $HAPAX_CALLER $HAPAX_TASK >> \"$HAPAX_STATE_DIR/starts\"; cat \"$HAPAX_STATE_DIR/starts\"";
    workspace.write(
        "scenarios/turns.yaml",
        &charge("turns: [{ task: Look again. }]\n")
            .replace("where: { order: ord_1001 }, with: { amount: 4999 }", "times: 0..1"),
    );
    workspace
        .call(&["run", "scenarios/turns.yaml", "--", "bash", "-c", &format!("{agent}; {LOOK}")])
        .expect(0);
    let report = workspace.report();
    let second = report["cases"][0]["trials"][0]["output"][1]["stdout"].as_str().unwrap();
    let (names, tasks): (Vec<&str>, Vec<&str>) =
        second.lines().map(|line| line.split_once(' ').unwrap()).unzip();
    assert_eq!(tasks, ["Charge customer cus_42 $49.99 for order ord_1001.", "Look again."]);
    assert_eq!(names[0], names[1], "a caller keeps its name");
}

#[test]
fn a_restart_after_a_time_waits_for_that_time() {
    let (workspace, history) = run_interrupted("received", "do: kill, then: { restart: { after: 300ms } }");
    assert_eq!(history.iter().filter(|what| *what == "started").count(), 2, "{history:?}");
    let lines = workspace.read("reports/latest/ledger.jsonl");
    let entries: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let at = |name: &str, place: usize| {
        let mut named = entries.iter().filter(|entry| entry["name"] == name);
        named.nth(place).unwrap_or_else(|| panic!("no {name} {place} in {lines}"))["at"].as_u64().unwrap()
    };
    assert!(at("started", 1) - at("ended", 0) >= 300_000, "{lines}");
}
