//! `hapax explore`: what it finds in programs with one defect, what it writes, and what it says where it cannot search.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::kit::workspace::{Called, HAPAX, WRITES, Workspace, charge};

/// The program with the defects: it is built with the tests of the workspace.
fn defects() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let path = Path::new(HAPAX).with_file_name("defects");
        let built = Command::new(env!("CARGO")).args(["build", "--quiet", "-p", "defects"]).status();
        assert!(built.is_ok_and(|built| built.success()) && path.is_file(), "{}", path.display());
        path
    })
}

/// The row of a program in the list of the defects.
fn listed(name: &str) -> Value {
    let list = Command::new(defects()).arg("--list").output().unwrap().stdout;
    let list: Vec<Value> = serde_json::from_slice(&list).unwrap();
    list.into_iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no program {name}"))
}

/// Searches in a program of the defects.
fn explore(workspace: &Workspace, name: &str, is_corrected: bool, more: &[&str]) -> Called {
    let row = listed(name);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut words = vec!["explore".to_owned(), "--task".to_owned(), text(&row["task"])];
    for expect in row["expect"].as_array().unwrap() {
        words.extend(["--expect".to_owned(), text(expect)]);
    }
    if row["callers"] != 1 {
        words.extend(["--callers".to_owned(), row["callers"].to_string()]);
    }
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words.extend(["--".to_owned(), defects().display().to_string(), name.to_owned()]);
    words.extend(is_corrected.then(|| "--corrected".to_owned()));
    workspace.call(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn json(called: &Called) -> Value {
    serde_json::from_str(&called.stdout).unwrap_or_else(|error| panic!("{error}: {}", called.stdout))
}

/// Each of these programs fails in an earlier trial than this.
const TWIN_TRIALS: &str = "40";

/// It is found, its file fails it, and passes its twin, and the search says nothing about the twin.
fn is_found(name: &str, kind: &str) {
    let workspace = Workspace::new();
    let found = json(&explore(&workspace, name, false, &["--first", "--json", "--out", "out"]).expect(1));
    let failure = &found["failures"][0];
    assert_eq!(failure["kind"], kind, "{failure:#}");
    let file = failure["file"].as_str().unwrap();
    workspace.call(&["lint", file]).expect(0);
    // A caller that gets no time from a busy machine seems to wait for another one: the trial is void, and says so.
    let is_as_named = (0..3).any(|_| {
        let called = workspace.call(&["selftest", file]);
        assert!(
            called.status == 0 || called.stdout.contains("waited for something else"),
            "{}",
            called.stdout
        );
        called.status == 0
    });
    assert!(is_as_named, "{name}");
    let program = defects().display().to_string();
    workspace.call(&["run", file, "--no-probe", "--", &program, name]).expect(1);
    workspace.call(&["run", file, "--no-probe", "--", &program, name, "--corrected"]);
    assert_ne!(workspace.report()["cases"][0]["trials"][0]["verdict"]["result"], "fail", "{name}: its twin");
    let twin = explore(&workspace, name, true, &["--budget", TWIN_TRIALS, "--json", "--out", "twin"]);
    assert_eq!(json(&twin)["failures"], Value::Array(Vec::new()), "{name}: {}", twin.stdout);
}

#[test]
fn a_fault_on_the_third_of_three_writes_is_found() {
    is_found("third-charge-fresh-key", "duplicated");
}

#[test]
fn a_charge_that_is_made_by_the_capture_of_a_hold_is_searched_in() {
    is_found("limited-capture-charges", "unintended");
}

#[test]
fn a_fault_that_only_the_retry_after_another_meets_is_found() {
    is_found("key-changes-after-failure", "duplicated");
}

#[test]
fn a_stale_read_is_found() {
    is_found("refunds-the-latest", "lost");
}

#[test]
fn a_read_about_something_else_is_found() {
    is_found("audit-charges-again", "duplicated");
}

#[test]
fn a_kill_between_an_effect_and_the_note_of_it_is_found() {
    is_found("table-after-effect", "duplicated");
}

#[test]
fn a_check_before_the_write_of_another_caller_is_found() {
    is_found("write-without-condition", "duplicated");
}

#[test]
fn a_reset_and_then_a_closed_connection_are_found() {
    is_found("reset-then-closed-is-new", "duplicated");
}

#[test]
fn two_kills_are_found() {
    is_found("third-start-takes-new-key", "duplicated");
}

#[test]
fn a_caller_that_is_frozen_for_longer_than_a_lease_is_found() {
    is_found("lease-ends-while-frozen", "duplicated");
}

/// `charged` charges order 7 with one key, and says whether there was a success.
const CHARGE_WITH_KEY: &str = r#"
post() {
  exec 3<>"/dev/tcp/127.0.0.1/${HAPAX_PAYMENT_URL##*:}" || return
  body='amount=500&customer=cus_42&currency=usd&metadata[order]=7'
  head="POST /v1/charges HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer $HAPAX_PAYMENT_KEY\r\n"
  head="${head}Idempotency-Key: order-7\r\nContent-Type: application/x-www-form-urlencoded\r\n"
  printf '%b%s' "${head}Content-Length: ${#body}\r\nConnection: close\r\n\r\n" "$body" >&3
  cat <&3
}
charged() { post 2>/dev/null | grep -aq '^HTTP/1.1 200'; }
claim() { echo "{\"outcome\": \"$1\"}"; }
"#;

/// A scenario that `careful` cannot do: its steps are about another order than its expectation.
const WITHOUT_WITNESS: &str = "about: The order is in another system.\ntask: Charge the order that is due.\n\
     steps: [{do: payment.charge, with: {order: \"1\", amount: 1, customer: cus_1}}]\n\
     services: {payment: {idempotency: stripe}}\n\
     expect: {effects: [{effect: payment.charge, where: {order: \"7\"}, times: 1}], claim: [done, not-done, unknown]}\n";

#[test]
fn where_careful_cannot_do_the_task_without_faults_a_failure_counts() {
    let workspace = Workspace::new();
    // It gives up after one attempt, and says so.
    let agent = format!("{CHARGE_WITH_KEY}charged && claim done || claim unknown");
    workspace.write("scenarios/other.yaml", WITHOUT_WITNESS);
    let options =
        ["--no-probe", "--depth", "1", "--first", "--json", "--out", "out", "--", "bash", "-c", &agent];
    let found = workspace.call(&[&["explore", "other"][..], &options].concat()).expect(1);
    let failure = &json(&found)["failures"][0];
    assert_eq!(
        (&failure["kind"], &failure["careful"]),
        (&"lost".into(), &"cannot-do-task".into()),
        "{failure:#}"
    );
}

#[test]
fn a_right_agent_ends_with_0_although_some_interrupts_cannot_happen() {
    let workspace = Workspace::new();
    // The last request has the key of the one before, so it commits nothing.
    let agent = format!(
        "{CHARGE_WITH_KEY}times=0\nfor attempt in 1 2 3 4 5 6 7 8; do\n\
         charged && times=$((times + 1)); [ $times -lt 2 ] || break; done\n\
         [ $times -gt 0 ] && claim done || claim unknown"
    );
    let options = ["--no-probe", "--depth", "1", "--json", "--out", "out"];
    let passed = json(&search(&workspace, &options, &agent).expect(0));
    assert_eq!((&passed["failures"], &passed["unknown_singles"]), (&Value::Array(Vec::new()), &0.into()));
    let not_tried = passed["not_tried"].as_array().unwrap();
    assert!(not_tried.iter().any(|what| what == "a restart on the next day (--next-day)"), "{not_tried:?}");
    // Each shows that its call commits nothing.
    let log = workspace.read("out/explore.jsonl");
    assert!(!log.contains("\"not-fired\""), "a replay has no interrupt at its commit: {log}");
}

#[test]
fn a_search_that_is_continued_ends_as_one_that_was_not_interrupted() {
    let workspace = Workspace::new();
    let name = "key-changes-after-failure";
    let whole =
        json(&explore(&workspace, name, false, &["--budget", "60", "--json", "--out", "whole"]).expect(1));
    explore(&workspace, name, false, &["--budget", "18", "--json", "--out", "parts"]);
    let begun = workspace.read("parts/explore.jsonl");
    // A machine that stopped while it wrote a line.
    workspace.write("parts/explore.jsonl", &format!("{begun}{{\"tried\":{{\"tri"));
    let resumed =
        json(&explore(&workspace, name, false, &["--budget", "42", "--json", "--resume", "parts"]).expect(1));
    assert_eq!(resumed["trials"], whole["trials"]);
    let names = |result: &Value| -> Vec<Value> {
        result["failures"].as_array().unwrap().iter().map(|failure| failure["name"].clone()).collect()
    };
    assert_eq!(names(&resumed), names(&whole));
    // What was known is not tried again.
    let log = workspace.read("parts/explore.jsonl");
    assert!(log.starts_with(&begun));
    let tried = log.lines().skip(2).map(|line| serde_json::from_str::<Value>(line).unwrap()["tried"].take());
    let showed_something =
        |one: &Value| ["pass", "fail"].map(Value::from).contains(&one["observed"]["result"]);
    let mut tried: Vec<String> =
        tried.filter(showed_something).map(|one| format!("{} {}", one["schedule"], one["repeat"])).collect();
    let all = tried.len();
    tried.sort();
    tried.dedup();
    assert_eq!(tried.len(), all);
    // Each trial can be replayed.
    let failing =
        log.lines().skip(2).map(|line| serde_json::from_str::<Value>(line).unwrap()["tried"].take());
    let failing = failing.into_iter().find(|one| one["observed"]["result"] == "fail").unwrap();
    let trial = failing["trial"].to_string();
    let scenario =
        explore(&workspace, name, false, &["--resume", "parts", "--scenario-of", &trial]).expect(0).stdout;
    workspace.write("trial.yaml", &scenario);
    let program = defects().display().to_string();
    workspace.call(&["run", "trial.yaml", "--no-probe", "--", &program, name]).expect(1);
    let none = explore(&workspace, name, false, &["--resume", "parts", "--scenario-of", "9999"]).expect(2);
    assert!(none.stderr.contains("has no trial 9999"), "{}", none.stderr);
    let second = explore(&workspace, name, false, &["--out", "parts"]).expect(2);
    assert!(
        second.stderr.contains("parts has a search") && second.stderr.contains("--resume parts"),
        "{}",
        second.stderr
    );
    let other = explore(&workspace, name, true, &["--resume", "parts"]).expect(2);
    assert!(other.stderr.contains("the log of another search"), "{}", other.stderr);
    let page = workspace.read("whole/explore.html");
    assert!(page.contains("Covered, assumed and left") && !page.contains("http-equiv=\"refresh\""), "{page}");
}

#[test]
fn the_parts_of_a_search_are_put_together() {
    let workspace = Workspace::new();
    let name = "limited-refund-forgets-amount";
    for part in ["1/2", "2/2"] {
        let out = format!("part-{}", &part[..1]);
        explore(&workspace, name, false, &["--depth", "1", "--partition", part, "--out", &out]);
    }
    let missing = ["--depth", "1", "--merge", "part-1", "--out", "all"];
    let missing = explore(&workspace, name, false, &missing).expect(2);
    assert!(missing.stderr.contains("of 2 parts, these are missing: 2"), "{}", missing.stderr);
    let merged = ["--depth", "1", "--merge", "part-1", "part-2", "--out", "all", "--json"];
    let merged = json(&explore(&workspace, name, false, &merged).expect(1));
    let whole =
        json(&explore(&workspace, name, false, &["--depth", "1", "--out", "whole", "--json"]).expect(1));
    let schedules = |result: &Value| -> Vec<(Value, u64)> {
        let rows = result["counts"].as_array().unwrap().iter();
        let tried =
            |row: &Value| ["covered", "not_reached", "void"].map(|count| row[1][count].as_u64().unwrap());
        rows.map(|row| (row[0].clone(), tried(row).iter().sum())).collect()
    };
    assert_eq!(schedules(&merged), schedules(&whole));
    assert_eq!(merged["failures"].as_array().unwrap().len(), whole["failures"].as_array().unwrap().len());
}

const TASK: [&str; 5] =
    ["explore", "--task", "Charge order 7", "--expect", "payment.charge:order=7,amount=500,customer=cus_42"];

fn search(workspace: &Workspace, more: &[&str], agent: &str) -> Called {
    let command = ["--", "bash", "-c", agent];
    let command = if more.contains(&"--subject") { &[][..] } else { &command[..] };
    workspace.call(&[&TASK[..], more, command].concat())
}

#[test]
fn where_nothing_can_be_searched_for_it_says_so_and_does_not_pass() {
    let workspace = Workspace::new();
    let silent = search(&workspace, &["--out", "a"], "echo done").expect(1);
    assert!(silent.stdout.contains("sent no request to a service"), "{}", silent.stdout);
    assert!(silent.stdout.contains("    hapax explore --task 'Charge order 7'"), "{}", silent.stdout);
    let silent = search(&workspace, &["--out", "a", "--no-probe"], "echo done").expect(3);
    assert!(silent.stdout.contains("made no call to a service"), "{}", silent.stdout);
    let charge = "charge 'amount=500&customer=cus_42&metadata[order]=7' >/dev/null\n";
    let charges_twice = format!("{WRITES}{charge}{charge}echo done");
    let twice = search(&workspace, &["--out", "b"], &charges_twice).expect(1);
    assert!(twice.stdout.contains("A trial without faults came out wrong"), "{}", twice.stdout);
    let twice = search(&workspace, &["--out", "b", "--no-probe"], &charges_twice).expect(1);
    assert!(twice.stdout.contains("wrong without any fault"), "{}", twice.stdout);
    let short = search(&workspace, &["--out", "c", "--budget", "4", "--subject", "careful"], "").expect(3);
    assert!(short.stdout.contains("this is no pass"), "{}", short.stdout);
    assert!(short.stderr.contains("--resume c"), "{}", short.stderr);
    let several = workspace.call(&["explore", "payment", "--subject", "careful"]).expect(2);
    assert!(several.stderr.contains("a search is about one"), "{}", several.stderr);
    let budget = search(&workspace, &["--budget", "soon", "--subject", "careful"], "").expect(2);
    assert!(budget.stderr.contains("write it as 5m"), "{}", budget.stderr);
    let missing = search(&workspace, &["--resume", "nowhere", "--subject", "careful"], "").expect(2);
    assert!(missing.stderr.contains("explore.jsonl"), "{}", missing.stderr);
}

#[test]
fn ctrl_c_keeps_what_is_known_and_the_search_goes_on_from_there() {
    let workspace = Workspace::new();
    workspace.write("hold", "").pipe("waiting");
    let agent = format!(
        "{WRITES}(cd '{}'; echo >>starts; [ $(wc -l <starts) = 7 ] && [ -e hold ] && read -r _ <waiting)\n\
         charge 'amount=500&customer=cus_42&metadata[order]=7' >/dev/null\necho done",
        workspace.path().display()
    );
    let with = ["-j", "1", "--", "bash", "-c", &agent];
    let mut command = workspace.command(&[&TASK[..], &["--out", "out"], &with].concat());
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Opening the pipe waits until the agent reads it.
    let waiting = std::fs::File::options().write(true).open(workspace.path().join("waiting")).unwrap();
    let pid = i32::try_from(running.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let interrupted = Called::from(running.wait_with_output().unwrap()).expect(1);
    drop(waiting);
    assert!(interrupted.stdout.contains("interrupted"), "{}", interrupted.stdout);
    assert!(interrupted.stderr.contains("add --resume out to the same command"), "{}", interrupted.stderr);
    let begun = workspace.read("out/explore.jsonl");
    // The seventh start is in the fifth trial: the probe started the agent once, and in one trial it was restarted.
    assert_eq!(begun.lines().skip(2).count(), 4, "each trial that had ended is kept: {begun}");
    workspace.call(&[&TASK[..], &["--resume", "out", "--first"], &with].concat()).expect(1);
    assert!(workspace.read("out/explore.jsonl").starts_with(&begun));
}

#[test]
fn the_requests_of_callers_are_let_in_in_the_order_of_the_scenario() {
    let workspace = Workspace::new();
    let mail = |number: u32| {
        format!(
            "mail '{{\"from\":\"a@example.com\",\"to\":[\"b@example.com\"],\"subject\":\"s{number}\",\"text\":\"x\"}}' >/dev/null"
        )
    };
    let agent = format!("{WRITES}{}\n{}\necho done", mail(1), mail(2));
    workspace.write(
        "scenarios/ordered.yaml",
        "about: Two callers.\ntask: Send two mails.\ncallers: {count: 2, order: [2, 1, 1, 2]}\n\
         expect: {effects: [{effect: email.send, where: {to: b@example.com}, times: 4}]}\n",
    );
    let run =
        ["run", "scenarios/ordered.yaml", "--claims", "optional", "--no-probe", "--", "bash", "-c", &agent];
    workspace.call(&run);
    let ledger = workspace.read("reports/latest/ledger.jsonl");
    let let_in: Vec<u64> = ledger
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|entry| entry["name"] == "let-in")
        .filter_map(|entry| entry["caller"].as_u64())
        .collect();
    assert_eq!(let_in, [2, 1, 1, 2], "{ledger}");
    // Callers that are never there are waited for in vain.
    let text = workspace.read("scenarios/ordered.yaml").replace("[2, 1, 1, 2]", "[2, 2, 2]");
    workspace.write("scenarios/ordered.yaml", &text);
    workspace.call(&run).expect(3);
    let report = workspace.report();
    let why = report["cases"][0]["trials"][0]["verdict"]["void_because"][0].as_str().unwrap().to_owned();
    assert!(why.contains("caller 2 had ended when it was its turn, at request 3"), "{why}");
}

#[test]
fn a_restart_on_the_next_day_needs_its_library() {
    let workspace = Workspace::new();
    workspace.write(
        "scenarios/late.yaml",
        &charge("interrupts: [{ when: { committed: payment.charge }, do: kill, then: { restart: { day: next } } }]\n"),
    );
    for arguments in
        [&["explore", "late", "--next-day", "--", "true"][..], &["run", "late", "--subject", "careful"]]
    {
        let called: Called =
            workspace.command(arguments).env("HAPAX_LIBFAKETIME", "/no/such/file").output().unwrap().into();
        assert_ne!(called.status, 0, "{}", called.stdout);
        let text = format!("{}{}", called.stdout, called.stderr);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("HAPAX_LIBFAKETIME names /no/such/file, which is not a file"), "{text}");
    }
}
