//! The limits of a subject hold, and none of its processes is left running.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use hapax::scenario::ClaimedOutcome;
use hapax::subject::{ClaimSource, EndReason, EndedStart, InterruptResult, Subject};

use crate::kit::subject::{NO_PROCESS, Rig, hapax, program, shell};

#[tokio::test]
async fn a_daemon_in_its_own_session_is_killed_with_the_rest() {
    let rig = Rig::new();
    // Forked twice, in its own session, ignores SIGTERM and SIGHUP, and has no pipe to hapax.
    let script = r#"
        mkfifo "$HAPAX_STATE_DIR/daemon"
        daemon='trap "" TERM HUP INT; echo $$ > "$HAPAX_STATE_DIR/daemon"; while :; do sleep 1; done'
        (setsid sh -c "$daemon" </dev/null >/dev/null 2>&1 &)
        read _ < "$HAPAX_STATE_DIR/daemon"
        exit 0"#;
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert_eq!(ended.reason, EndReason::Exited(0));
    assert!(ended.left_running > 0);
    assert_eq!(rig.left(), NO_PROCESS);
}

/// A process that forks a child and exits, in a loop, each in its own session: a list of processes may show
/// none of them.
const FORK_CHAIN: &str = r#"use POSIX (); exit 0 if fork();
    for (1 .. 1_000_000) { POSIX::setsid(); my $child = fork(); last if !defined $child; exit 0 if $child }"#;

#[tokio::test]
async fn a_process_that_forks_and_exits_in_a_loop_counts_as_left_running() {
    for _ in 0..3 {
        let starts = (0..6).map(|_| async {
            let rig = Rig::new();
            let ended = program(&["perl", "-e", FORK_CHAIN]).start(rig.start()).await.ended().await;
            assert_eq!(rig.left(), NO_PROCESS);
            (ended.reason, ended.left_running > 0)
        });
        let ended = futures_util::future::join_all(starts).await;
        assert!(ended.iter().all(|ended| *ended == (EndReason::Exited(0), true)), "{ended:?}");
    }
}

#[tokio::test]
async fn freezing_a_process_that_forks_and_exits_in_a_loop_may_fail() {
    let rig = Rig::new();
    // The subject itself stays; its children cannot be stopped.
    let script = format!("perl -e '{FORK_CHAIN}'; echo > \"$HAPAX_STATE_DIR/ready\"; sleep 1000");
    let mut ready = rig.pipe("ready");
    let running = shell(&script).start(rig.start()).await;
    ready.line().await;
    let handle = running.handle();
    match handle.freeze().await {
        // The whole chain was caught between two of its processes.
        InterruptResult::Applied => {}
        InterruptResult::Missed(why) => assert!(why.contains("could be stopped"), "{why}"),
    }
    assert_eq!(handle.kill().await, InterruptResult::Applied);
    assert_eq!(rig.left(), NO_PROCESS);
}

#[tokio::test]
async fn a_process_that_ends_soon_after_the_subject_does_not_count_as_left_running() {
    let rig = Rig::new();
    // It ends because its parent has ended.
    let script =
        r#"sh -c 'while kill -0 "$0" 2>/dev/null; do :; done; echo > "$HAPAX_STATE_DIR/after"' $$ & exit 0"#;
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.left_running), (EndReason::Exited(0), 0));
    assert!(rig.file("after").exists());
}

#[tokio::test]
async fn a_stopped_child_and_an_open_pipe_do_not_delay_the_end() {
    let rig = Rig::new();
    let script = r#"
        mkfifo "$HAPAX_STATE_DIR/child"
        sh -c 'echo $$ > "$HAPAX_STATE_DIR/child"; kill -STOP $$; sleep 1000' &
        read _ < "$HAPAX_STATE_DIR/child"
        echo said"#;
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.output.stdout.as_str()), (EndReason::Exited(0), "said\n"));
    assert_eq!(rig.left(), NO_PROCESS);
}

#[tokio::test]
async fn a_subject_that_closes_its_pipes_is_waited_for() {
    let rig = Rig::new();
    let script = r#"exec >&- 2>&- <&-; sleep 0.2; echo '{"outcome": "done"}' > "$HAPAX_RESULT"; exit 7"#;
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.claim.outcome), (EndReason::Exited(7), Some(ClaimedOutcome::Done)));
}

/// Starts a subject, waits until it writes to the pipe `ready`, and ends it as at its time limit.
async fn ended_at_its_limit(rig: &Rig, subject: &Subject) -> EndedStart {
    let mut ready = rig.pipe("ready");
    let running = subject.start(rig.start()).await;
    ready.line().await;
    running.handle().end_time_up().await;
    running.ended().await
}

#[tokio::test]
async fn a_subject_that_writes_without_end_is_ended_at_its_time_limit() {
    let mut rig = Rig::new();
    rig.limits.kept = 1000;
    // More than a pipe holds is read before it is ready.
    let script = r#"yes | head -c 200000; yes & yes >&2 & echo > "$HAPAX_STATE_DIR/ready"; wait"#;
    let ended = ended_at_its_limit(&rig, &shell(script)).await;
    assert_eq!(ended.reason, EndReason::TimeUp);
    assert!(ended.output.cut > 0);
    assert_eq!(rig.left(), NO_PROCESS);
}

#[tokio::test]
async fn a_claim_that_was_made_before_the_time_limit_counts_from_every_source() {
    let wait = r#"echo > "$HAPAX_STATE_DIR/ready"; exec sleep 1000"#;
    let written = r#"echo '{"outcome": "done"}' > "$HAPAX_RESULT""#;
    let printed = r#"echo '{"outcome": "done"}'"#;
    let matched = "echo order placed";
    let patterns = ClaimSource::Patterns(vec![("order placed".to_owned(), ClaimedOutcome::Done)]);
    for (script, claim) in
        [(written, ClaimSource::default()), (printed, ClaimSource::default()), (matched, patterns)]
    {
        let rig = Rig::new();
        let mut subject = shell(&format!("{script}; {wait}"));
        subject.settings.claim = claim;
        let ended = ended_at_its_limit(&rig, &subject).await;
        assert_eq!(
            (&ended.reason, ended.claim.outcome),
            (&EndReason::TimeUp, Some(ClaimedOutcome::Done)),
            "{script}: {ended:?}"
        );
        assert!(ended.claimed_after.is_some_and(|at| at < rig.limits.time), "{script}: {ended:?}");
    }
}

#[tokio::test]
async fn a_result_file_that_seems_older_than_the_start_is_a_claim() {
    let script = r#"echo '{"outcome": "done"}' > "$HAPAX_RESULT"; touch -d '10 seconds ago' "$HAPAX_RESULT"
        echo > "$HAPAX_STATE_DIR/ready"; exec sleep 1000"#;
    let ended = ended_at_its_limit(&Rig::new(), &shell(script)).await;
    assert_eq!(
        (ended.claim.outcome, ended.claimed_after),
        (Some(ClaimedOutcome::Done), Some(Duration::ZERO))
    );
}

#[tokio::test]
async fn output_after_sigterm_at_the_time_limit_is_not_a_claim() {
    let mut rig = Rig::new();
    rig.limits.time = Duration::from_millis(300);
    // It waits a moment, so that the file is written after the time limit on every clock.
    let script = r#"
        trap 'sleep 0.5; echo "{\"outcome\": \"done\"}" | tee "$HAPAX_RESULT"; exit 0' TERM
        while :; do sleep 0.01; done"#;
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.claim.outcome, ended.claimed_after), (EndReason::TimeUp, None, None));
}

#[tokio::test]
async fn the_cpu_time_of_a_start_is_recorded() {
    let rig = Rig::new();
    let script = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sh -c 'i=0; while [ $i -lt 60000 ]; do \
        i=$((i+1)); done'";
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert!(ended.cpu.is_some_and(|cpu| cpu > Duration::ZERO), "{ended:?}");
}

#[tokio::test]
async fn a_subject_that_ignores_sigterm_is_killed_after_the_grace_time() {
    let rig = Rig::new();
    // The loop starts no other process: a child between fork and exec would still have the trap, and print
    // too.
    let mut subject =
        shell(r#"trap 'echo asked' TERM; echo > "$HAPAX_STATE_DIR/ready"; while :; do :; done"#);
    subject.settings.grace = Duration::from_secs(2);
    let ended = ended_at_its_limit(&rig, &subject).await;
    assert_eq!((ended.reason, ended.output.stdout.as_str()), (EndReason::TimeUp, "asked\n"));
    assert_eq!(rig.left(), NO_PROCESS);
}

#[tokio::test]
async fn a_subject_with_too_many_processes_is_ended() {
    let mut rig = Rig::new();
    rig.limits.processes = 20;
    let ended =
        shell("for i in $(seq 40); do sleep 1000 & done; wait").start(rig.start()).await.ended().await;
    assert!(
        matches!(&ended.reason, EndReason::OverLimit(what) if what.ends_with("the maximum is 20")),
        "{:?}",
        ended.reason
    );
    assert_eq!(rig.left(), NO_PROCESS);
}

#[tokio::test]
async fn daemons_in_many_sessions_are_ended_at_the_process_limit() {
    let mut rig = Rig::new();
    rig.limits.processes = 30;
    let script = "while :; do setsid sh -c 'trap \"\" TERM HUP; sleep 1000; sleep 1000' & done";
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert!(matches!(ended.reason, EndReason::OverLimit(_)), "{:?}", ended.reason);
    assert_eq!(rig.left(), NO_PROCESS);
}

#[tokio::test]
async fn a_subject_that_writes_a_file_over_the_limit_is_ended() {
    let mut rig = Rig::new();
    rig.limits.file_size = 100_000;
    let ended = shell(r#"exec head -c 200000 /dev/zero > "$HAPAX_STATE_DIR/large""#)
        .start(rig.start())
        .await
        .ended()
        .await;
    assert!(
        matches!(&ended.reason, EndReason::OverLimit(what) if what.contains("100000")),
        "{:?}",
        ended.reason
    );
}

#[tokio::test]
async fn a_subject_that_kills_its_supervisor_is_unstartable_and_leaves_no_process() {
    let rig = Rig::new();
    let script = r#"
        mkfifo "$HAPAX_STATE_DIR/child"
        setsid sh -c 'echo $$ > "$HAPAX_STATE_DIR/child"; exec sleep 1000' &
        read _ < "$HAPAX_STATE_DIR/child"
        kill -KILL $PPID; sleep 1000"#;
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert!(
        matches!(&ended.reason, EndReason::Unstartable(why) if why.contains("the supervisor was killed")),
        "{:?}",
        ended.reason
    );
    assert_eq!(rig.left(), NO_PROCESS);
}

#[tokio::test]
async fn a_start_that_is_dropped_leaves_no_process() {
    let rig = Rig::new();
    // Each of its processes inherits the pipe.
    let script = r#"
        exec 9> "$HAPAX_STATE_DIR/child"; trap "" TERM
        setsid sh -c 'echo >&9; sleep 1000' & wait"#;
    let mut child = rig.pipe("child");
    let running = shell(script).start(rig.start()).await;
    child.line().await;
    assert_ne!(rig.left(), NO_PROCESS);
    // A handle may still exist.
    let handle = running.handle();
    drop(running);
    child.closed().await;
    assert_eq!(rig.left(), NO_PROCESS);
    handle.kill().await;
}

/// hapax dies while it waits for an interrupt to take effect: the supervisor cannot answer, and must still
/// kill the rest.
#[tokio::test]
async fn when_hapax_dies_every_process_of_the_subject_is_killed() {
    let rig = Rig::new();
    let script = r#"trap "" TERM; echo > "$HAPAX_STATE_DIR/ready"; while :; do sleep 0.01; done"#;
    let seconds = |secs: u64| serde_json::json!({ "secs": secs, "nanos": 0 });
    let order = serde_json::json!({
        "program": ["sh", "-c", script],
        "directory": null,
        "env": [["PATH", "/usr/bin:/bin"], ["HAPAX_STATE_DIR", rig.start().state_dir]],
        "cancel": "int",
        "limits": {
            "time": seconds(1000), "grace": seconds(1000), "kept": 1000, "processes": 100, "file_size": 1000,
        },
    });
    let mut ready = rig.pipe("ready");
    let mut supervisor = Command::new(hapax())
        .arg("supervise")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut orders = supervisor.stdin.take().unwrap();
    writeln!(orders, "{order}").unwrap();
    ready.line().await;
    drop(supervisor.stdout.take());
    writeln!(orders, "\"stop\"").unwrap();
    drop(orders);
    supervisor.wait().unwrap();
    assert_eq!(rig.left(), NO_PROCESS);
}
