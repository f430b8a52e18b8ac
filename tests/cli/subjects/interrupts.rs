//! An interrupt has taken effect when its call returns.

use hapax::scenario::ClaimedOutcome;
use hapax::subject::{EndReason, InterruptResult, Signal, StandardInput};

use crate::kit::subject::{NO_PROCESS, Rig, program, shell, state};

#[tokio::test]
async fn a_kill_has_taken_effect_when_every_process_is_dead() {
    let rig = Rig::new();
    let script =
        r#"trap "" TERM; setsid sh -c 'echo $$ > "$HAPAX_STATE_DIR/child"; sleep 1000' & wait; wait"#;
    let mut child = rig.pipe("child");
    let running = shell(script).start(rig.start()).await;
    child.line().await;
    let handle = running.handle();
    handle.kill().await;
    assert_eq!(rig.left(), NO_PROCESS);
    assert_eq!(running.ended().await.reason, EndReason::Signaled(9));
    // An interrupt that comes too late does nothing, and says so.
    for missed in [handle.stop().await, handle.kill().await, handle.hold().await] {
        assert!(
            matches!(&missed, InterruptResult::Missed(why) if why.contains("ended by itself")),
            "{missed:?}"
        );
    }
}

#[tokio::test]
async fn a_kill_that_finds_only_left_over_processes_has_missed() {
    let rig = Rig::new();
    let script = r#"(setsid sleep 1000 &) ; exit 3"#;
    let running = shell(script).start(rig.start()).await;
    let handle = running.handle();
    let ended = tokio::spawn(running.ended());
    let missed = handle.kill().await;
    // The subject may have been killed before it had ended.
    let ended = ended.await.unwrap();
    assert_eq!(
        ended.reason == EndReason::Exited(3),
        matches!(missed, InterruptResult::Missed(_)),
        "{missed:?} {ended:?}"
    );
}

#[tokio::test]
async fn a_held_subject_is_interrupted_before_it_takes_another_step() {
    // Two threads that write as fast as they can, among more threads than can run at once. Each says through
    // a pipe that it has begun.
    let script = r#"use threads; my $dir = $ENV{HAPAX_STATE_DIR};
        sub append { open(my $file, ">>", shift); syswrite($file, "$$\n"); close($file) }
        sub run {
            my $name = shift;
            append("$dir/$name"); append("$dir/$name-began"); append("$dir/$name") while 1;
        }
        threads->create(sub { 1 while 1 }) for 1 .. 20; threads->create(\&run, "one"); run("two")"#;
    for interrupt in ["kill", "stop", "cancel"] {
        let rig = Rig::new();
        let (mut one, mut two) = (rig.pipe("one-began"), rig.pipe("two-began"));
        let running = program(&["perl", "-e", script]).start(rig.start()).await;
        one.line().await;
        let pid = two.line().await;
        let handle = running.handle();
        assert_eq!(handle.hold().await, InterruptResult::Applied);
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
        let states: Vec<char> =
            threads.map(|thread| state(&format!("{pid}/task/{}", thread.file_name().display()))).collect();
        assert!(states.len() == 22 && states.iter().all(|state| matches!(state, 'T' | 'D')), "{states:?}");
        let lengths = || ["one", "two"].map(|name| std::fs::metadata(rig.file(name)).unwrap().len());
        let before = lengths();
        let result = match interrupt {
            "kill" => handle.kill().await,
            "stop" => handle.stop().await,
            _ => handle.cancel().await,
        };
        assert_eq!(result, InterruptResult::Applied, "{interrupt}");
        running.ended().await;
        if interrupt == "kill" {
            assert_eq!(lengths(), before, "no thread took another step");
        }
    }
}

#[tokio::test]
async fn a_stop_lets_the_subject_finish() {
    let rig = Rig::new();
    let script = r#"
        trap 'echo "{\"outcome\": \"unknown\"}"; exit 5' TERM
        echo > "$HAPAX_STATE_DIR/ready"; while :; do sleep 0.01; done"#;
    let mut ready = rig.pipe("ready");
    let running = shell(script).start(rig.start()).await;
    ready.line().await;
    running.handle().stop().await;
    let ended = running.ended().await;
    assert_eq!((ended.reason, ended.claim.outcome), (EndReason::Exited(5), Some(ClaimedOutcome::Unknown)));
}

#[tokio::test]
async fn cancel_sends_the_configured_signal_and_does_not_close_the_input() {
    let rig = Rig::new();
    // The open input never ends and has no data: only the signal ends this loop.
    let script = r#"
        trap 'echo signalled; exit 0' USR1; echo > "$HAPAX_STATE_DIR/ready"
        read line; while [ $? -gt 1 ]; do read line; done
        echo closed; exit 1"#;
    let mut subject = shell(script);
    (subject.settings.cancel, subject.settings.input) = (Signal::Usr1, StandardInput::Open);
    let mut ready = rig.pipe("ready");
    let running = subject.start(rig.start()).await;
    ready.line().await;
    running.handle().cancel().await;
    let ended = running.ended().await;
    assert_eq!((ended.reason, ended.output.stdout.as_str()), (EndReason::Exited(0), "signalled\n"));
}

#[tokio::test]
async fn cancel_sends_sigint_by_default() {
    let rig = Rig::new();
    let script = r#"
        trap 'echo interrupted; exit 0' INT
        echo > "$HAPAX_STATE_DIR/ready"; while :; do sleep 0.01; done"#;
    let mut ready = rig.pipe("ready");
    let running = shell(script).start(rig.start()).await;
    ready.line().await;
    running.handle().cancel().await;
    assert_eq!(running.ended().await.output.stdout, "interrupted\n");
}

#[tokio::test]
async fn standard_input_is_closed_unless_the_settings_keep_it_open() {
    let script = r#"read -t 0.2 line; if [ $? = 1 ]; then echo closed; else echo open; fi"#;
    for (input, expected) in [(StandardInput::Closed, "closed\n"), (StandardInput::Open, "open\n")] {
        let rig = Rig::new();
        let mut subject = program(&["bash", "-c", script]);
        subject.settings.input = input;
        assert_eq!(subject.start(rig.start()).await.ended().await.output.stdout, expected);
    }
}

#[tokio::test]
async fn a_frozen_subject_does_not_run_until_it_is_thawed() {
    let rig = Rig::new();
    let script = r#"
        setsid sh -c '
            echo $$ > "$HAPAX_STATE_DIR/child"
            until [ -e "$HAPAX_STATE_DIR/go" ]; do sleep 0.01; done
            echo > "$HAPAX_STATE_DIR/gone"' &
        echo $$ > "$HAPAX_STATE_DIR/main"; wait; exit 4"#;
    let (mut main, mut child) = (rig.pipe("main"), rig.pipe("child"));
    let running = shell(script).start(rig.start()).await;
    let (main, child) = (main.line().await, child.line().await);
    let handle = running.handle();
    handle.freeze().await;
    // `T` is stopped; `D` is a shell that waits for a child that has just been forked and is stopped.
    for pid in [main, child] {
        assert!(matches!(state(&pid), 'T' | 'D'), "{pid} is in {}", state(&pid));
    }
    std::fs::write(rig.file("go"), "").unwrap();
    handle.thaw().await;
    assert_eq!(running.ended().await.reason, EndReason::Exited(4));
    assert!(rig.file("gone").exists());
}

#[tokio::test]
async fn a_frozen_subject_gets_sigterm_at_its_time_limit() {
    let rig = Rig::new();
    let script =
        r#"trap 'echo heard; exit 0' TERM; echo > "$HAPAX_STATE_DIR/ready"; while :; do sleep 0.01; done"#;
    let mut ready = rig.pipe("ready");
    let running = shell(script).start(rig.start()).await;
    ready.line().await;
    let handle = running.handle();
    handle.freeze().await;
    handle.end_time_up().await;
    assert_eq!(rig.left(), NO_PROCESS);
    let ended = running.ended().await;
    assert_eq!((ended.reason, ended.output.stdout.as_str()), (EndReason::TimeUp, "heard\n"));
}
