//! Agents over HTTP that hapax starts: each start has a port of its own, and nobody else answers for it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::net::TcpListener;
use std::process::Command;

use crate::kit::workspace::{Workspace, charge, verdict};

/// Takes one task at the port that it is told, charges, and answers with its process id.
const AGENT: &str = r#"use strict;
use IO::Socket::INET;
my $port = $ARGV[0] || $ENV{HAPAX_PORT};
my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $port, Listen => 5, ReuseAddr => 1) or die "$port: $!";
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
print $payment "POST /v1/charges HTTP/1.1\r\nHost: $host\r\nAuthorization: Bearer $key\r\nConnection: close\r\n";
print $payment "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: " . length($form) . "\r\n\r\n$form";
my $answer = join "", <$payment>;
my $claim = "{\"outcome\": \"done\", \"message\": \"process $$\"}";
print $line "HTTP/1.1 200 OK\r\nContent-Length: " . length($claim) . "\r\n\r\n$claim";
"#;

fn workspace(port: &str, command: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("agent.pl", AGENT);
    workspace.write("scenarios/plain.yaml", &format!("{}  claim: [done]\n", charge("")));
    workspace.write(
        "hapax.yaml",
        &format!("subjects: {{ shop: {{ http: \"http://127.0.0.1:{port}/task\", command: {command}, watch: 50ms }} }}\n"),
    );
    workspace
}

/// What the agent said in each trial of the only case.
fn said(workspace: &Workspace) -> BTreeSet<String> {
    let report = workspace.report();
    let trials = report["cases"][0]["trials"].as_array().unwrap();
    trials.iter().map(|trial| trial["verdict"]["claims"][0]["message"].as_str().unwrap().to_owned()).collect()
}

/// A port at which nobody listens.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn each_start_has_a_port_of_its_own_and_answers_for_itself() {
    for command in ["[perl, agent.pl, \"${port}\"]", "perl agent.pl"] {
        let workspace = workspace("${port}", command);
        workspace.call(&["run", "scenarios/plain.yaml", "--trials", "8"]).expect(0);
        assert_eq!(said(&workspace).len(), 8, "eight trials, eight processes");
    }
}

#[test]
fn several_callers_can_be_started_at_ports_of_their_own() {
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
fn trials_at_a_port_that_is_written_down_run_one_at_a_time() {
    let port = free_port().to_string();
    let workspace = workspace(&port, &format!("[perl, agent.pl, \"{port}\"]"));
    workspace.call(&["run", "scenarios/plain.yaml", "--trials", "4"]).expect(0);
    assert_eq!(said(&workspace).len(), 4, "four trials, four processes");
}

#[cfg(target_os = "linux")]
#[test]
fn somebody_else_who_answers_at_the_port_proves_nothing() {
    let port = free_port();
    let workspace = workspace(&port.to_string(), "[sh, -c, \": > started; exec sleep 60\"]");
    // Both ends of it are opened together: the stranger comes when the agent has been started.
    let started = workspace.path().join("started");
    assert!(Command::new("mkfifo").arg(&started).status().unwrap().success());
    let stranger = std::thread::spawn(move || {
        drop(File::open(started).unwrap());
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let (mut line, _) = listener.accept().unwrap();
        let mut heard = Vec::new();
        let _ = line.read_to_end(&mut heard);
        heard
    });
    let called = workspace.call(&["run", "scenarios/plain.yaml"]);
    assert_eq!(stranger.join().unwrap(), b"", "it is told nothing");
    let message = called.stdout + &called.stderr;
    assert_ne!(called.status, 0, "{message}");
    let flat = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains(&format!("process {}", std::process::id())) && flat.contains("hapax did not start it"),
        "{message}"
    );
}

#[test]
fn an_agent_that_runs_already_gets_no_port() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    workspace.write("hapax.yaml", "subjects: { shop: { http: \"http://127.0.0.1:${port}/task\" } }\n");
    let message = workspace.call(&["run", "scenarios/plain.yaml"]).expect(2).stderr;
    assert!(message.contains("hapax chooses a port only for an agent that it starts"), "{message}");
}
