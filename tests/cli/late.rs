//! What an agent over HTTP does after its trial has ended.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use serde_json::Value;

use super::over_http::{charge_over, request, task};
use crate::kit::workspace::{Called, Workspace, charge, kinds};

/// An agent that takes tasks until it is stopped: it calls `act` with all tasks so far, and then answers.
fn agent(act: fn(&[Value]) -> Vec<TcpStream>) -> (u16, Receiver<()>, JoinHandle<Vec<TcpStream>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (over, ended) = channel();
    let served = std::thread::spawn(move || {
        let (mut tasks, mut kept) = (Vec::new(), Vec::new());
        for line in listener.incoming() {
            let mut line = line.unwrap();
            let mut first = [0];
            if line.peek(&mut first).unwrap() == 0 {
                break;
            }
            tasks.push(task(&mut line));
            kept.extend(act(&tasks));
            line.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"outcome\": \"done\"}").unwrap();
        }
        drop(over);
        kept
    });
    (port, ended, served)
}

/// Tells an agent to stop.
fn stop(port: u16) {
    drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
}

fn workspace(port: u16, watch: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write(
        "hapax.yaml",
        &format!("subjects: {{ shop: {{ http: \"http://127.0.0.1:{port}/task\", watch: {watch} }} }}\n"),
    );
    workspace
}

/// The output without line breaks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The status of an answer.
fn status(answer: &str) -> &str {
    answer.split_whitespace().nth(1).unwrap_or_default()
}

#[test]
fn a_duplicate_after_the_end_of_its_trial_fails_it() {
    // The second charge for the first task is sent when the second task comes.
    let (port, _ended, served) = agent(|tasks| {
        if let [first, _second] = tasks {
            let answer = charge_over(first);
            assert_eq!(status(&answer), "503", "it cannot be taken for a success: {answer}");
        }
        assert_eq!(status(&charge_over(tasks.last().unwrap())), "200");
        vec![]
    });
    let workspace = workspace(port, "1s");
    workspace.write("scenarios/a.yaml", &charge("")).write("scenarios/b.yaml", &charge(""));
    let called = workspace.call(&["run", "scenarios", "-j", "1"]).expect(1);
    stop(port);
    served.join().unwrap();
    assert!(
        words(&called.stdout)
            .contains("After its trial had ended, the subject sent a payment.charge (POST /v1/charges)"),
        "{}",
        called.stdout
    );
    let report = workspace.report();
    let verdicts: Vec<&Value> =
        report["cases"].as_array().unwrap().iter().map(|case| &case["trials"][0]["verdict"]).collect();
    let failed: Vec<_> = verdicts.iter().filter(|verdict| verdict["result"] == "fail").collect();
    let [failed] = failed.as_slice() else { panic!("one of both: {report:#}") };
    assert_eq!(kinds(failed), ["late-write"]);
    assert_eq!(failed["outcome"], "exactly-once", "nothing was carried out twice");
    assert_eq!(verdicts.iter().filter(|verdict| verdict["result"] == "pass").count(), 1);
    // The saved ledgers give the same verdicts when they are scored again.
    let shown = workspace.call(&["report", "show", "reports/latest"]).expect(1);
    assert!(words(&shown.stdout).contains("the subject sent a payment.charge"), "{}", shown.stdout);
    assert!(words(&shown.stdout).contains("late write: payment.charge, refused"), "{}", shown.stdout);
}

#[test]
fn a_duplicate_after_the_last_trial_fails_it_too() {
    let (port, _ended, served) = agent(|tasks| {
        let task = tasks.last().unwrap().clone();
        assert_eq!(status(&charge_over(&task)), "200");
        std::thread::spawn(move || {
            // The trial has ended when a request is refused.
            while status(&request(&task, "GET", "/v1/charges", "")) == "200" {}
            charge_over(&task);
        });
        vec![]
    });
    let workspace = workspace(port, "3s");
    workspace.write("scenarios/a.yaml", &charge(""));
    workspace.call(&["run", "scenarios"]).expect(1);
    stop(port);
    served.join().unwrap();
    let report = workspace.report();
    assert!(kinds(&report["cases"][0]["trials"][0]["verdict"]).contains(&"late-write"), "{report:#}");
}

#[test]
fn a_late_write_in_the_probe_fails_the_run() {
    let (port, _ended, served) = agent(|tasks| {
        let task = tasks.last().unwrap().clone();
        assert_eq!(status(&charge_over(&task)), "200");
        if tasks.len() == 1 {
            std::thread::spawn(move || {
                // The trial has ended when a request is refused.
                while status(&request(&task, "GET", "/v1/charges", "")) == "200" {}
                charge_over(&task);
            });
        }
        vec![]
    });
    let workspace = workspace(port, "3s");
    workspace.write("scenarios/a.yaml", &charge(""));
    let mut command = workspace.command(&["run", "scenarios"]);
    let called: Called = command.env_remove("HAPAX_NO_SMOKE").output().unwrap().into();
    stop(port);
    served.join().unwrap();
    let called = called.expect(1);
    assert!(words(&called.stdout).contains("A trial without faults came out wrong."), "{}", called.stdout);
    assert!(words(&called.stdout).contains("After its trial had ended"), "{}", called.stdout);
}

#[test]
fn a_ledger_without_its_late_request_is_refused() {
    let (port, _ended, served) = agent(|tasks| {
        if let [first, _second] = tasks {
            charge_over(first);
        }
        charge_over(tasks.last().unwrap());
        vec![]
    });
    let workspace = workspace(port, "1s");
    workspace.write("scenarios/a.yaml", &charge("")).write("scenarios/b.yaml", &charge(""));
    workspace.call(&["run", "scenarios", "-j", "1"]).expect(1);
    stop(port);
    served.join().unwrap();
    let ledger = workspace.read("reports/latest/ledger.jsonl");
    let late = ledger.lines().find(|line| line.contains("\"late-request\"")).unwrap();
    let trial = late.split_once(',').unwrap().0.to_owned();
    let is_behind =
        |line: &&str| line.starts_with(&trial) && ledger.find(*line).unwrap() >= ledger.find(late).unwrap();
    let shortened: String =
        ledger.lines().filter(|line| !is_behind(line)).map(|line| format!("{line}\n")).collect();
    workspace.write("reports/latest/ledger.jsonl", &shortened);
    let called = workspace.call(&["report", "show", "reports/latest"]).expect(2);
    assert!(called.stderr.contains("is not the one that report.json was written from"), "{}", called.stderr);
}

#[test]
fn a_late_read_is_noted_and_does_not_fail() {
    let (port, _ended, served) = agent(|tasks| {
        if let [first, _second] = tasks {
            assert_eq!(status(&request(first, "GET", "/v1/charges", "")), "503");
        }
        charge_over(tasks.last().unwrap());
        vec![]
    });
    let workspace = workspace(port, "1s");
    workspace.write("scenarios/a.yaml", &charge("")).write("scenarios/b.yaml", &charge(""));
    workspace.call(&["run", "scenarios", "-j", "1"]).expect(0);
    stop(port);
    served.join().unwrap();
    let report = workspace.report();
    let noted =
        report["cases"].as_array().unwrap().iter().flat_map(|case| kinds(&case["trials"][0]["verdict"]));
    assert_eq!(noted.collect::<Vec<_>>(), ["late-read"]);
}

/// The findings of all trials of a run.
fn findings(report: &Value) -> Vec<&str> {
    let cases = report["cases"].as_array().unwrap();
    cases.iter().flat_map(|case| kinds(&case["trials"][0]["verdict"])).collect()
}

#[test]
fn a_late_request_that_the_service_would_have_refused_is_noted_and_does_not_fail() {
    let (port, _ended, served) = agent(|tasks| {
        if let [first, second] = tasks {
            // The key of another trial of the run.
            let mut mixed = first.clone();
            mixed["services"]["payment"]["key"] = second["services"]["payment"]["key"].clone();
            assert_eq!(status(&charge_over(&mixed)), "503");
        }
        charge_over(tasks.last().unwrap());
        vec![]
    });
    let workspace = workspace(port, "1s");
    workspace.write("scenarios/a.yaml", &charge("")).write("scenarios/b.yaml", &charge(""));
    let called = workspace.call(&["run", "scenarios", "-j", "1"]).expect(0);
    stop(port);
    served.join().unwrap();
    assert_eq!(findings(&workspace.report()), ["late-read"], "{}", called.stdout);
    assert!(
        workspace.read("reports/latest/ledger.jsonl").contains("\"kind\":\"refused\",\"method\":\"POST\"")
    );
}

/// Sends a request from a process that has another parent, group and session than this one; returns the answer.
fn from_another_process(task: &Value, request: &str) -> String {
    const CODE: &str = r#"
        my ($at, $request) = @ARGV;
        pipe(my $read, my $write) or die $!;
        if (!fork) {
            POSIX::setsid();
            my $middle = $$;
            exit if fork;
            select undef, undef, undef, 0.01 while getppid == $middle;
            my $socket = IO::Socket::INET->new($at) or die $!;
            print $socket $request;
            print $write $_ while <$socket>;
            exit;
        }
        close $write;
        print while <$read>;
        wait;
    "#;
    let payment = &task["services"]["payment"];
    let host = payment["url"].as_str().unwrap().strip_prefix("http://").unwrap();
    let request = request.replace("KEY", payment["key"].as_str().unwrap());
    let mut perl = std::process::Command::new("perl");
    perl.args(["-MPOSIX", "-MIO::Socket::INET", "-e", CODE, host, &request]);
    let output = perl.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_late_request_of_another_process_without_a_key_is_noted_and_is_nobodys() {
    let (port, _ended, served) = agent(|tasks| {
        if let [first, _second] = tasks {
            let answer = from_another_process(first, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
            assert_eq!(status(&answer), "503", "{answer}");
        }
        charge_over(tasks.last().unwrap());
        vec![]
    });
    let workspace = workspace(port, "1s");
    workspace.write("scenarios/a.yaml", &charge("")).write("scenarios/b.yaml", &charge(""));
    workspace.call(&["run", "scenarios", "-j", "1"]).expect(0);
    stop(port);
    served.join().unwrap();
    assert_eq!(findings(&workspace.report()), [] as [&str; 0]);
    let ledger = workspace.read("reports/latest/ledger.jsonl");
    let late = ledger.lines().find(|line| line.contains("\"late-request\"")).unwrap();
    assert!(late.contains("\"sender\":\"foreign\""), "{late}");
}

#[test]
fn a_late_write_with_a_key_of_the_trial_fails_whichever_process_sends_it() {
    let (port, _ended, served) = agent(|tasks| {
        if let [first, _second] = tasks {
            let form = "amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001";
            let request = format!(
                "POST /v1/charges HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\n\
                Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
                form.len()
            );
            assert_eq!(status(&from_another_process(first, &request)), "503");
        }
        charge_over(tasks.last().unwrap());
        vec![]
    });
    let workspace = workspace(port, "1s");
    workspace.write("scenarios/a.yaml", &charge("")).write("scenarios/b.yaml", &charge(""));
    workspace.call(&["run", "scenarios", "-j", "1"]).expect(1);
    stop(port);
    served.join().unwrap();
    assert_eq!(findings(&workspace.report()), ["late-write"]);
}

/// Opens a connection to the payment service and sends this, without waiting for an answer.
fn opened(task: &Value, text: &str) -> TcpStream {
    let payment = &task["services"]["payment"];
    let host = payment["url"].as_str().unwrap().strip_prefix("http://").unwrap();
    let mut line = TcpStream::connect(host).unwrap();
    line.write_all(text.replace("KEY", payment["key"].as_str().unwrap()).as_bytes()).unwrap();
    line
}

const LIST: &str = "GET /v1/charges HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\n\r\n";

#[test]
fn an_idle_connection_is_closed_at_the_end_and_noted() {
    let (port, _ended, served) = agent(|tasks| {
        charge_over(&tasks[0]);
        let mut line = opened(&tasks[0], LIST);
        let mut answer = [0; 12];
        line.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
        vec![line]
    });
    let workspace = workspace(port, "1s");
    workspace.write("scenarios/a.yaml", &charge(""));
    workspace.call(&["run", "scenarios"]).expect(0);
    stop(port);
    for mut line in served.join().unwrap() {
        let mut rest = Vec::new();
        // It ends.
        let _ = line.read_to_end(&mut rest);
    }
    assert!(workspace.read("reports/latest/ledger.jsonl").contains("\"name\":\"idle-closed\""));
}

#[test]
fn a_trial_is_void_while_a_request_is_unanswered_or_not_sent_in_whole() {
    let never = "faults: [{ on: payment.list, attempt: 1, reply: { hang: { release: 20s } } }]\n";
    let half = "POST /v1/charges HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\nContent-Length: 50\r\n\
        \r\namount=49";
    for (more, text, reason) in [
        (never, LIST, "a request was not answered when the time was over"),
        ("", half, "was still sending a request"),
    ] {
        // Sent before the answer to the task, so that it arrives long before the watch is over.
        let act: fn(&[Value]) -> Vec<TcpStream> = if text == LIST {
            |tasks| {
                charge_over(&tasks[0]);
                vec![opened(&tasks[0], LIST)]
            }
        } else {
            |tasks| {
                charge_over(&tasks[0]);
                let half = "POST /v1/charges HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\n\
                    Content-Length: 50\r\n\r\namount=49";
                vec![opened(&tasks[0], half)]
            }
        };
        let (port, _ended, served) = agent(act);
        let workspace = workspace(port, "2s");
        workspace.write("scenarios/a.yaml", &charge(more));
        let called = workspace.call(&["run", "scenarios"]).expect(3);
        stop(port);
        served.join().unwrap();
        assert!(words(&called.stdout).contains(reason), "{}", called.stdout);
        assert!(words(&called.stdout).contains("raise `watch` in hapax.yaml"), "{}", called.stdout);
    }
}

/// An agent that hapax starts: it requests the charges without waiting for them, charges, and answers.
const AGENT: &str = r#"
use strict; use warnings; use IO::Socket::INET; use JSON::PP;
$SIG{PIPE} = 'IGNORE';
my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$ARGV[0]", Listen => 5, ReuseAddr => 1) or die $!;
my @kept;
while (my $line = $server->accept) {
    my $text = '';
    while ($text !~ /\}\z/) { sysread($line, $text, 65536, length $text) or last }
    my (undef, $body) = split /\r\n\r\n/, $text, 2;
    next unless $body;
    my $payment = decode_json($body)->{services}{payment};
    my ($host) = $payment->{url} =~ m{//(.*)};
    my $key = $payment->{key};
    my $ask = sub {
        my $socket = IO::Socket::INET->new($host) or die $!;
        print $socket $_[0];
        $socket->flush;
        $socket
    };
    push @kept, $ask->("GET /v1/charges HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer $key\r\n\r\n");
    my $form = 'amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001';
    my $charge = $ask->("POST /v1/charges HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        . "Authorization: Bearer $key\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        . "Content-Length: " . length($form) . "\r\n\r\n$form");
    1 while <$charge>;
    print $line "HTTP/1.1 200 OK\r\n\r\n{\"outcome\": \"done\"}";
    close $line;
}
"#;

#[test]
fn a_request_that_is_unanswered_when_an_agent_is_stopped_makes_the_trial_void() {
    let workspace = Workspace::new();
    workspace.write("agent.pl", AGENT).write(
        "hapax.yaml",
        "subjects: { shop: { http: \"http://127.0.0.1:${port}/\", command: [perl, agent.pl, \"${port}\"], \
         watch: 2s } }\n",
    );
    workspace.write(
        "scenarios/a.yaml",
        &charge("faults: [{ on: payment.list, attempt: 1, reply: { hang: { release: 20s } } }]\n"),
    );
    let called = workspace.call(&["run", "scenarios"]).expect(3);
    assert!(
        words(&called.stdout).contains("a request was not answered when the time was over"),
        "{}",
        called.stdout
    );
}

#[test]
fn a_report_says_when_descriptors_were_too_few_to_watch_all_trials() {
    let (port, _ended, served) = agent(|tasks| {
        charge_over(tasks.last().unwrap());
        vec![]
    });
    let workspace = workspace(port, "1s");
    workspace.write("scenarios/a.yaml", &charge(""));
    let mut command = std::process::Command::new("sh");
    command.args([
        "-c",
        "ulimit -n 72 && exec \"$0\" \"$@\"",
        crate::kit::workspace::HAPAX,
        "run",
        "scenarios",
        "-j",
        "1",
        "--trials",
        "8",
    ]);
    let called = crate::kit::workspace::Called::from(
        command.current_dir(workspace.path()).env("NO_COLOR", "1").output().unwrap(),
    )
    .expect(0);
    stop(port);
    served.join().unwrap();
    // Each trial has two ports, one of the service and one of its tools over MCP, and four ports fit.
    let note = "the ports of 6 trials were released before the run ended";
    assert!(words(&called.stdout).contains(note), "{}", called.stdout);
    assert!(workspace.report()["notes"][0].as_str().unwrap().contains(note));
}

#[test]
fn a_subject_may_open_as_many_files_as_without_hapax() {
    let workspace = Workspace::new();
    workspace.write("scenarios/a.yaml", &charge("")).write("agent.sh", "ulimit -Sn > soft\n");
    let mut command = std::process::Command::new("sh");
    command.args([
        "-c",
        "ulimit -S -n 200 && exec \"$0\" \"$@\"",
        crate::kit::workspace::HAPAX,
        "run",
        "scenarios",
        "--",
        "sh",
        "agent.sh",
    ]);
    crate::kit::workspace::Called::from(
        command.current_dir(workspace.path()).env("NO_COLOR", "1").output().unwrap(),
    )
    .expect(1);
    assert_eq!(workspace.read("soft"), "200\n");
}
