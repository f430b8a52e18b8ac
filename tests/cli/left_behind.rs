//! What an agent over HTTP that hapax started leaves behind when hapax stops it.

use crate::kit::workspace::{Workspace, charge};

/// Charges for its task and answers. `WORKER` runs when the task has come.
const AGENT: &str = r#"
use strict; use warnings; use IO::Socket::INET; use JSON::PP; use POSIX ();
my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$ARGV[0]", Listen => 5, ReuseAddr => 1) or die $!;
while (my $line = $server->accept) {
    my $text = '';
    while ($text !~ /\}\z/) { sysread($line, $text, 65536, length $text) or last }
    my (undef, $body) = split /\r\n\r\n/, $text, 2;
    next unless $body;
    my $payment = decode_json($body)->{services}{payment};
    my ($host) = $payment->{url} =~ m{//(.*)};
    my $form = 'amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001';
    my $charge = IO::Socket::INET->new($host) or die $!;
    print $charge "POST /v1/charges HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        . "Authorization: Bearer $payment->{key}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        . "Content-Length: " . length($form) . "\r\n\r\n$form";
    $charge->flush;
    1 while <$charge>;
    WORKER
    print $line "HTTP/1.1 200 OK\r\n\r\n{\"outcome\": \"done\"}";
    close $line;
}
"#;

fn run(worker: &str, status: i32) -> String {
    let workspace = Workspace::new();
    workspace.write("agent.pl", &AGENT.replace("WORKER", worker)).write("scenarios/a.yaml", &charge(""));
    workspace.write(
        "hapax.yaml",
        "subjects: { shop: { http: \"http://127.0.0.1:${port}/\", command: [perl, agent.pl, \"${port}\"], \
         watch: 1s } }\n",
    );
    workspace.call(&["run", "scenarios"]).expect(status).stdout
}

#[test]
fn a_process_that_a_stopped_agent_leaves_behind_makes_the_trial_void() {
    for worker in [
        // In a session of its own.
        "if (!fork) { POSIX::setsid(); close $server; close $line; sleep 600; exit }",
        // Without its parent.
        "if (!fork) { if (!fork) { close $server; close $line; sleep 600; exit } exit } wait;",
        // Both.
        "if (!fork) { POSIX::setsid(); if (!fork) { close $server; close $line; sleep 600; exit } exit } wait;",
    ] {
        let said = run(worker, 3);
        assert!(said.contains("1 void"), "{worker}: {said}");
    }
}

#[test]
fn the_processes_of_the_agent_itself_are_stopped_with_it() {
    for worker in [
        "",
        // A worker that ends with its parent's group, and one that does not end by a signal.
        "if (!fork) { close $line; sleep 600; exit }",
        "if (!fork) { $SIG{TERM} = 'IGNORE'; close $line; sleep 600; exit }",
        // One that has left, and ends by itself.
        "if (!fork) { POSIX::setsid(); close $line; exit } wait;",
    ] {
        run(worker, 0);
    }
}
