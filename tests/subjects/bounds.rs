//! Whatever a subject does, it is bounded, and nothing of it is left.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use hapax::scenario::ClaimedOutcome;
use hapax::subject::{ClaimSource, EndReason, InterruptResult};

use crate::kit::subject::{NOBODY, Rig, hapax, program, shell, until};

#[tokio::test]
async fn a_daemon_that_left_its_session_is_gone_with_the_rest() {
    let rig = Rig::new();
    // Forked twice, in a session of its own, deaf to SIGTERM and SIGHUP, without a pipe to us.
    let script = r#"
        (setsid sh -c 'trap "" TERM HUP INT; echo $$ > "$HAPAX_STATE_DIR/daemon"; while :; do sleep 1; done' </dev/null >/dev/null 2>&1 &)
        until [ -s "$HAPAX_STATE_DIR/daemon" ]; do sleep 0.01; done
        exit 0"#;
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert_eq!(ended.reason, EndReason::Exited(0));
    assert!(ended.left_running > 0 && rig.file("daemon").exists());
    assert_eq!(rig.left(), NOBODY);
}

/// A process that has its work done by its child and ends, again and again, each in a session of its own:
/// whoever looks at the list of processes may find none of them.
const RELAY: &str = r#"use POSIX (); exit 0 if fork(); for (1 .. 1_000_000) { POSIX::setsid(); my $child = fork(); last if !defined $child; exit 0 if $child }"#;

#[tokio::test]
async fn a_process_that_forks_and_ends_in_a_loop_was_left_behind() {
    for _ in 0..3 {
        let starts = (0..6).map(|_| async {
            let rig = Rig::new();
            let ended = program(&["perl", "-e", RELAY]).start(rig.start()).await.ended().await;
            assert_eq!(rig.left(), NOBODY);
            (ended.reason, ended.left_running > 0)
        });
        let ended = futures_util::future::join_all(starts).await;
        assert!(ended.iter().all(|ended| *ended == (EndReason::Exited(0), true)), "{ended:?}");
    }
}

#[tokio::test]
async fn what_forks_and_ends_in_a_loop_cannot_be_said_to_stand_still() {
    let rig = Rig::new();
    // The subject itself stays; what it has started cannot be stopped.
    let script = format!("perl -e '{RELAY}'; echo > \"$HAPAX_STATE_DIR/ready\"; sleep 1000");
    let running = shell(&script).start(rig.start()).await;
    rig.written("ready").await;
    let handle = running.handle();
    match handle.freeze().await {
        // The whole relay was caught between two of its runners.
        InterruptResult::Applied => {}
        InterruptResult::Missed(why) => assert!(why.contains("could be stopped"), "{why}"),
    }
    assert_eq!(handle.kill().await, InterruptResult::Applied);
    assert_eq!(rig.left(), NOBODY);
}

#[tokio::test]
async fn what_ends_by_itself_soon_after_the_subject_was_not_left_behind() {
    let rig = Rig::new();
    // It ends because the one that started it has.
    let script =
        r#"sh -c 'while kill -0 "$0" 2>/dev/null; do :; done; echo > "$HAPAX_STATE_DIR/after"' $$ & exit 0"#;
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.left_running), (EndReason::Exited(0), 0));
    assert!(rig.file("after").exists());
}

#[tokio::test]
async fn a_stopped_child_and_a_pipe_that_stays_open_hold_nothing_up() {
    let rig = Rig::new();
    let script = r#"
        sh -c 'echo $$ > "$HAPAX_STATE_DIR/child"; kill -STOP $$; sleep 1000' &
        until [ -s "$HAPAX_STATE_DIR/child" ]; do sleep 0.01; done
        echo said"#;
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.output.stdout.as_str()), (EndReason::Exited(0), "said\n"));
    assert_eq!(rig.left(), NOBODY);
}

#[tokio::test]
async fn a_subject_that_closes_its_pipes_is_waited_for() {
    let rig = Rig::new();
    let script = r#"exec >&- 2>&- <&-; sleep 0.2; echo '{"outcome": "done"}' > "$HAPAX_RESULT"; exit 7"#;
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.claim.outcome), (EndReason::Exited(7), Some(ClaimedOutcome::Done)));
}

#[tokio::test]
async fn a_subject_that_writes_for_ever_is_ended_when_its_time_is_up() {
    let mut rig = Rig::new();
    (rig.limits.time, rig.limits.kept) = (Duration::from_millis(300), 1000);
    let ended = shell("yes & yes >&2").start(rig.start()).await.ended().await;
    assert_eq!(ended.reason, EndReason::TimeUp);
    assert!(ended.output.cut > 0);
    assert_eq!(rig.left(), NOBODY);
}

#[tokio::test]
async fn a_claim_that_was_made_before_the_time_was_up_counts_wherever_it_stands() {
    let written = r#"echo '{"outcome": "done"}' > "$HAPAX_RESULT"; exec sleep 1000"#;
    let printed = r#"echo '{"outcome": "done"}'; exec sleep 1000"#;
    let matched = "echo order placed; exec sleep 1000";
    let patterns = ClaimSource::Patterns(vec![("order placed".to_owned(), ClaimedOutcome::Done)]);
    for (script, claim) in
        [(written, ClaimSource::default()), (printed, ClaimSource::default()), (matched, patterns)]
    {
        let mut rig = Rig::new();
        rig.limits.time = Duration::from_secs(5);
        let mut subject = shell(script);
        subject.settings.claim = claim;
        let ended = subject.start(rig.start()).await.ended().await;
        assert_eq!(
            (&ended.reason, ended.claim.outcome),
            (&EndReason::TimeUp, Some(ClaimedOutcome::Done)),
            "{script}: {ended:?}"
        );
        assert!(ended.claimed_after.is_some_and(|at| at < rig.limits.time), "{script}: {ended:?}");
    }
}

#[tokio::test]
async fn what_a_subject_says_when_it_is_told_to_stop_is_no_claim() {
    let mut rig = Rig::new();
    rig.limits.time = Duration::from_millis(300);
    // It waits a moment, so that the file is written after the time was up on every clock.
    let script = r#"trap 'sleep 0.5; echo "{\"outcome\": \"done\"}" | tee "$HAPAX_RESULT"; exit 0' TERM; while :; do sleep 0.01; done"#;
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.claim.outcome, ended.claimed_after), (EndReason::TimeUp, None, None));
}

#[tokio::test]
async fn what_a_start_cost_is_known() {
    let rig = Rig::new();
    let script = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'";
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert!(ended.cpu.is_some_and(|cpu| cpu > Duration::ZERO), "{ended:?}");
}

#[tokio::test]
async fn a_subject_deaf_to_sigterm_is_killed_when_its_grace_is_over() {
    let mut rig = Rig::new();
    rig.limits.time = Duration::from_millis(100);
    // The loop starts no other process: a child between fork and exec would still have the trap, and say it too.
    let mut subject = shell(r#"trap 'echo asked' TERM; while :; do :; done"#);
    subject.settings.grace = Duration::from_millis(300);
    let ended = subject.start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.output.stdout.as_str()), (EndReason::TimeUp, "asked\n"));
    assert_eq!(rig.left(), NOBODY);
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
    assert_eq!(rig.left(), NOBODY);
}

#[tokio::test]
async fn a_spree_of_daemons_each_in_a_session_of_its_own_is_ended() {
    let mut rig = Rig::new();
    rig.limits.processes = 30;
    let script = "while :; do setsid sh -c 'trap \"\" TERM HUP; sleep 1000; sleep 1000' & done";
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert!(matches!(ended.reason, EndReason::OverLimit(_)), "{:?}", ended.reason);
    assert_eq!(rig.left(), NOBODY);
}

#[tokio::test]
async fn a_file_without_end_is_the_end_of_the_subject() {
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
async fn a_subject_that_kills_its_supervisor_is_unstartable_and_gone() {
    let rig = Rig::new();
    let script = r#"
        setsid sh -c 'echo $$ > "$HAPAX_STATE_DIR/child"; exec sleep 1000' &
        until [ -s "$HAPAX_STATE_DIR/child" ]; do sleep 0.01; done
        kill -KILL $PPID; sleep 1000"#;
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert!(
        matches!(&ended.reason, EndReason::Unstartable(why) if why.contains("the supervisor was killed")),
        "{:?}",
        ended.reason
    );
    assert!(rig.file("child").exists());
    assert_eq!(rig.left(), NOBODY);
}

#[tokio::test]
async fn a_start_that_is_dropped_leaves_nothing() {
    let rig = Rig::new();
    let script = r#"trap "" TERM; setsid sh -c 'echo $$ > "$HAPAX_STATE_DIR/child"; sleep 1000' & wait"#;
    let running = shell(script).start(rig.start()).await;
    rig.written("child").await;
    assert_ne!(rig.left(), NOBODY);
    // Someone may still hold a handle.
    let handle = running.handle();
    drop(running);
    until("nothing is left", || rig.left().is_empty()).await;
    handle.kill().await;
}

/// Hapax dies while it waits for a blow to land: the supervisor has nobody to answer to, and must not leave
/// the rest alone.
#[tokio::test]
async fn when_hapax_is_gone_everything_is() {
    let rig = Rig::new();
    let script = r#"trap "" TERM; echo > "$HAPAX_STATE_DIR/ready"; while :; do sleep 0.01; done"#;
    let seconds = |secs: u64| serde_json::json!({ "secs": secs, "nanos": 0 });
    let order = serde_json::json!({
        "program": ["sh", "-c", script],
        "directory": null,
        "env": [["PATH", "/usr/bin:/bin"], ["HAPAX_STATE_DIR", rig.start().state_dir]],
        "cancel": "int",
        "limits": { "time": seconds(1000), "grace": seconds(1000), "kept": 1000, "processes": 100, "file_size": 1000 },
    });
    let mut supervisor = Command::new(hapax())
        .arg("supervise")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut orders = supervisor.stdin.take().unwrap();
    writeln!(orders, "{order}").unwrap();
    rig.written("ready").await;
    drop(supervisor.stdout.take());
    writeln!(orders, "\"stop\"").unwrap();
    drop(orders);
    supervisor.wait().unwrap();
    assert_eq!(rig.left(), NOBODY);
}
