//! What strikes a subject has landed when it says so.

use hapax::scenario::Said;
use hapax::subject::{How, Signal};

use crate::rig::{NOBODY, Rig, shell, state};

#[tokio::test]
async fn a_kill_has_landed_when_everything_is_dead() {
    let rig = Rig::new();
    let script = r#"trap "" TERM; setsid sh -c 'echo $$ > "$HAPAX_STATE_DIR/child"; sleep 1000' & wait; wait"#;
    let running = shell(script).start(rig.start()).await;
    rig.written("child").await;
    let handle = running.handle();
    handle.kill().await;
    assert_eq!(rig.left(), NOBODY);
    assert_eq!(running.ended().await.how, How::Signalled(9));
    // A blow that comes too late does nothing, and returns.
    handle.stop().await;
    handle.kill().await;
}

#[tokio::test]
async fn a_stop_lets_the_subject_finish() {
    let rig = Rig::new();
    let script =
        r#"trap 'echo "{\"outcome\": \"unknown\"}"; exit 5' TERM; echo > "$HAPAX_STATE_DIR/ready"; while :; do sleep 0.01; done"#;
    let running = shell(script).start(rig.start()).await;
    rig.written("ready").await;
    running.handle().stop().await;
    let ended = running.ended().await;
    assert_eq!((ended.how, ended.claim.said), (How::Exited(5), Some(Said::Unknown)));
}

#[tokio::test]
async fn cancel_closes_the_input_and_sends_the_signal_that_the_settings_name() {
    let rig = Rig::new();
    // A shell's `read` fails with 1 at the end of the input, and with more when a signal came in between.
    let script = r#"
        trap 'echo signalled' USR1; echo > "$HAPAX_STATE_DIR/ready"
        read line; while [ $? -gt 1 ]; do read line; done
        echo closed; exit 0"#;
    let mut subject = shell(script);
    subject.settings.cancel = Signal::Usr1;
    let running = subject.start(rig.start()).await;
    rig.written("ready").await;
    running.handle().cancel().await;
    let ended = running.ended().await;
    assert_eq!((ended.how, ended.output.stdout.as_str()), (How::Exited(0), "signalled\nclosed\n"));
}

#[tokio::test]
async fn what_is_frozen_stands_still_until_it_thaws() {
    let rig = Rig::new();
    let script = r#"
        setsid sh -c 'echo $$ > "$HAPAX_STATE_DIR/child"; until [ -e "$HAPAX_STATE_DIR/go" ]; do sleep 0.01; done; echo > "$HAPAX_STATE_DIR/gone"' &
        echo $$ > "$HAPAX_STATE_DIR/main"; wait; exit 4"#;
    let running = shell(script).start(rig.start()).await;
    let (main, child) = (rig.written("main").await, rig.written("child").await);
    let handle = running.handle();
    handle.freeze().await;
    // `T` is stopped; `D` is a shell that waits for what it has just forked, and that is stopped.
    for pid in [main, child] {
        assert!(matches!(state(&pid), 'T' | 'D'), "{pid} is in {}", state(&pid));
    }
    std::fs::write(rig.file("go"), "").unwrap();
    handle.thaw().await;
    assert_eq!(running.ended().await.how, How::Exited(4));
    assert!(rig.file("gone").exists());
}

#[tokio::test]
async fn a_frozen_subject_hears_that_its_time_is_up() {
    let rig = Rig::new();
    let script = r#"trap 'echo heard; exit 0' TERM; echo > "$HAPAX_STATE_DIR/ready"; while :; do sleep 0.01; done"#;
    let running = shell(script).start(rig.start()).await;
    rig.written("ready").await;
    let handle = running.handle();
    handle.freeze().await;
    handle.end_time_up().await;
    assert_eq!(rig.left(), NOBODY);
    let ended = running.ended().await;
    assert_eq!((ended.how, ended.output.stdout.as_str()), (How::TimeUp, "heard\n"));
}
