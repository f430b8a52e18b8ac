//! Agents over HTTP that hapax starts: each start has its own port, and answers of other processes do not
//! count.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::net::TcpListener;

use crate::kit::workspace::{Workspace, charge, free_port, verdict};

/// Takes one task at its port, charges, and answers with its process id.
const AGENT: &str = r#"use strict;
use IO::Socket::INET;
my $port = $ARGV[0] || $ENV{HAPAX_PORT};
my %address = (LocalAddr => "127.0.0.1", LocalPort => $port);
my $server = IO::Socket::INET->new(%address, Listen => 5, ReuseAddr => 1) or die "$port: $!";
my $line = $server->accept;
my $length = 0;
while (my $header = <$line>) {
    $length = $1 if $header =~ /^content-length: (\d+)/i;
    last if $header eq "\r\n";
}
read($line, my $body, $length);
my ($key) = $body =~ /"payment":\{[^}]*"key":"([^"]+)"/;
my ($host) = $body =~ /"payment":\{[^}]*"url":"http:..([^"]+)"/;
my $form = "amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001";
my $payment = IO::Socket::INET->new($host) or die $!;
print $payment "POST /v1/charges HTTP/1.1\r\nHost: $host\r\nAuthorization: Bearer $key\r\n"
    . "Connection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    . "Content-Length: " . length($form) . "\r\n\r\n$form";
my $answer = join "", <$payment>;
my $claim = "{\"outcome\": \"done\", \"message\": \"process $$\"}";
print $line "HTTP/1.1 200 OK\r\nContent-Length: " . length($claim) . "\r\n\r\n$claim";
"#;

fn workspace(port: &str, command: &str) -> Workspace {
    watched(port, command, ", watch: 1s")
}

fn watched(port: &str, command: &str, watch: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("agent.pl", AGENT);
    workspace.write("scenarios/plain.yaml", &format!("{}  claim: [done]\n", charge("")));
    workspace.write(
        "hapax.yaml",
        &format!(
            "subjects: {{ shop: {{ http: \"http://127.0.0.1:{port}/task\", command: {command}{watch} }} }}\n"
        ),
    );
    workspace
}

#[test]
fn a_second_charge_long_after_the_response_fails() {
    let again = "close $line;\nsleep 1;\nselect(undef, undef, undef, 0.5);\n";
    let charge = &AGENT[AGENT.find("my $payment").unwrap()..AGENT.find("my $claim").unwrap()];
    let charge = charge.replace("my $payment", "our $second").replace("$payment", "$second");
    for (then, result) in [("", "fail"), ("exit if fork;\n", "void")] {
        // The trial ends when the agent does.
        let workspace = watched("${port}", "perl agent.pl", ", watch: 60s");
        let charge = charge.replace("my $answer", "our $other");
        workspace.write("agent.pl", &format!("{AGENT}{then}{again}{charge}"));
        workspace.call(&["run", "scenarios/plain.yaml"]);
        let report = workspace.report();
        assert_eq!(verdict(&report, "plain")["result"], result, "{then}");
    }
}

#[test]
fn a_watch_of_less_than_a_second_is_refused() {
    let workspace = watched("${port}", "perl agent.pl", ", watch: 0s");
    let message = workspace.call(&["run", "scenarios/plain.yaml"]).expect(2).stderr;
    assert!(message.contains("`watch` is shorter than a second"), "{message}");
}

/// The messages of the agent's claims in the trials of the only case.
fn messages(workspace: &Workspace) -> BTreeSet<String> {
    let report = workspace.report();
    let trials = report["cases"][0]["trials"].as_array().unwrap();
    trials.iter().map(|trial| trial["verdict"]["claims"][0]["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_start_has_its_own_port() {
    for command in ["[perl, agent.pl, \"${port}\"]", "perl agent.pl"] {
        let workspace = workspace("${port}", command);
        workspace.call(&["run", "scenarios/plain.yaml", "--trials", "8"]).expect(0);
        assert_eq!(messages(&workspace).len(), 8, "eight trials, eight processes");
    }
}

#[test]
fn several_callers_can_be_started_at_their_own_ports() {
    let workspace = workspace("${port}", "perl agent.pl");
    workspace.write("scenarios/plain.yaml", &format!("callers: 3\n{}", charge("")));
    workspace.call(&["run", "scenarios/plain.yaml"]).expect(1);
    let report = workspace.report();
    let verdict = verdict(&report, "plain");
    assert_eq!(
        (&verdict["outcome"], verdict["barrier"]["met"].as_array().unwrap().len()),
        (&"duplicated".into(), 3),
        "{verdict:#}"
    );
}

#[test]
fn trials_at_a_fixed_port_run_one_at_a_time() {
    let port = free_port().to_string();
    let workspace = workspace(&port, &format!("[perl, agent.pl, \"{port}\"]"));
    workspace.call(&["run", "scenarios/plain.yaml", "--trials", "4"]).expect(0);
    assert_eq!(messages(&workspace).len(), 4, "four trials, four processes");
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_from_another_process_at_the_port_makes_the_trial_void() {
    let port = free_port();
    let workspace = workspace(&port.to_string(), "[sh, -c, \": > started; exec sleep 60\"]");
    // Opening one end waits for the other, so the other process listens when the agent has been started.
    let started = workspace.pipe("started");
    let stranger = std::thread::spawn(move || {
        drop(File::open(started).unwrap());
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let (mut line, _) = listener.accept().unwrap();
        let mut received = Vec::new();
        let _ = line.read_to_end(&mut received);
        received
    });
    let called = workspace.call(&["run", "scenarios/plain.yaml"]);
    assert_eq!(stranger.join().unwrap(), b"", "it gets no task");
    let message = called.stdout + &called.stderr;
    assert_ne!(called.status, 0, "{message}");
    let flat = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains(&format!("process {}", std::process::id())) && flat.contains("hapax did not start it"),
        "{message}"
    );
}

#[test]
fn a_running_agent_gets_no_port() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    workspace.write("hapax.yaml", "subjects: { shop: { http: \"http://127.0.0.1:${port}/task\" } }\n");
    let message = workspace.call(&["run", "scenarios/plain.yaml"]).expect(2).stderr;
    assert!(message.contains("hapax chooses a port only for an agent that it starts"), "{message}");
}
