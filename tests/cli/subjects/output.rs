//! What a subject gets, and how its output and its claim are read.

use hapax::scenario::ClaimedOutcome;
use hapax::subject::{ClaimSource, EndReason};

use crate::kit::subject::{Rig, program, shell};

#[tokio::test]
async fn the_exit_status_and_the_output_of_a_program_are_recorded() {
    let rig = Rig::new();
    let ended = shell("echo out; echo err >&2; exit 3").start(rig.start()).await.ended().await;
    assert_eq!(ended.reason, EndReason::Exited(3));
    assert_eq!(
        (ended.output.stdout.as_str(), ended.output.stderr.as_str(), ended.output.cut),
        ("out\n", "err\n", 0)
    );
    assert_eq!((ended.claim.outcome, ended.claim.problem), (None, None));
}

#[tokio::test]
async fn a_program_that_cannot_be_started_says_why_and_what_to_do() {
    let rig = Rig::new();
    std::fs::write(rig.file("agent.py"), "print('hello')\n").unwrap();
    let path = rig.file("agent.py");
    let mut message = String::new();
    for words in [vec!["no-such-program"], vec!["./no-such-file"], vec![path.to_str().unwrap()], vec![]] {
        let ended = program(&words).start(rig.start()).await.ended().await;
        let EndReason::Unstartable(why) = ended.reason else { panic!("{words:?}: {:?}", ended.reason) };
        message += &why.replace(path.to_str().unwrap(), "agent.py");
        message.push('\n');
    }
    let mut subject = shell("true");
    subject.settings.directory = Some("/no/such/directory".into());
    let EndReason::Unstartable(why) = subject.start(rig.start()).await.ended().await.reason else {
        panic!("it started")
    };
    message += &why;
    insta::assert_snapshot!(message);
}

#[tokio::test]
async fn without_the_hapax_binary_nothing_starts() {
    let rig = Rig::new();
    let mut subject = shell("true");
    subject.settings.hapax = Some("/no/such/hapax".into());
    let ended = subject.start(rig.start()).await.ended().await;
    assert!(
        matches!(&ended.reason, EndReason::Unstartable(why) if why.contains("/no/such/hapax")),
        "{:?}",
        ended.reason
    );
}

#[tokio::test]
async fn the_environment_has_only_the_listed_variables() {
    let rig = Rig::new();
    let ended = shell("env | cut -d= -f1 | sort").start(rig.start()).await.ended().await;
    let mut names: Vec<&str> = ended.output.stdout.lines().collect();
    // Variables that the shell sets, and those that depend on the machine.
    let here =
        ["PWD", "SHLVL", "_", "OLDPWD", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "TERM"];
    names.retain(|name| !here.contains(name) && !name.starts_with("LC_"));
    insta::assert_snapshot!(names.join("\n"));
}

#[tokio::test]
async fn the_claim_in_the_result_file_wins_over_the_last_line() {
    let rig = Rig::new();
    let script =
        r#"echo '{"outcome": "unknown", "message": "file"}' > "$HAPAX_RESULT"; echo '{"outcome": "done"}'"#;
    let claim = shell(script).start(rig.start()).await.ended().await.claim;
    assert_eq!(
        (claim.outcome, claim.message.as_str(), claim.origin),
        (Some(ClaimedOutcome::Unknown), "file", Some(hapax::domain::ClaimOrigin::ResultFile))
    );
}

#[tokio::test]
async fn the_claim_is_the_last_line() {
    let rig = Rig::new();
    let claim =
        shell(r#"echo hello; echo '{"outcome": "not-done"}'"#).start(rig.start()).await.ended().await.claim;
    assert_eq!(
        (claim.outcome, claim.origin),
        (Some(ClaimedOutcome::NotDone), Some(hapax::domain::ClaimOrigin::LastLine))
    );
}

#[tokio::test]
async fn a_pipe_in_place_of_the_result_file_does_not_block_hapax() {
    let rig = Rig::new();
    let claim = shell(r#"mkfifo "$HAPAX_RESULT""#).start(rig.start()).await.ended().await.claim;
    assert_eq!(claim.outcome, None);
    assert!(claim.problem.is_some_and(|problem| problem.contains("not a regular file")));
}

#[tokio::test]
async fn the_exit_status_can_be_the_claim() {
    let rig = Rig::new();
    let mut subject = shell("exit 3");
    subject.settings.claim =
        ClaimSource::ExitStatus(vec![(0, ClaimedOutcome::Done), (3, ClaimedOutcome::Unknown)]);
    assert_eq!(subject.start(rig.start()).await.ended().await.claim.outcome, Some(ClaimedOutcome::Unknown));
}

#[tokio::test]
async fn the_middle_of_a_long_output_is_cut_out() {
    let mut rig = Rig::new();
    rig.limits.kept = 1000;
    let script = r#"echo first; head -c 5000000 /dev/zero | tr '\0' x; echo; echo '{"outcome": "done"}'"#;
    let ended = shell(script).start(rig.start()).await.ended().await;
    assert_eq!((ended.reason, ended.claim.outcome), (EndReason::Exited(0), Some(ClaimedOutcome::Done)));
    assert!(ended.output.stdout.starts_with("first\n") && ended.output.stdout.len() < 1100);
    assert_eq!(
        ended.output.cut,
        "first\n".len() as u64 + 5_000_001 + "{\"outcome\": \"done\"}\n".len() as u64 - 1000
    );
}

#[tokio::test]
async fn a_task_that_is_too_long_for_a_variable_is_in_a_file() {
    let rig = Rig::new();
    let mut start = rig.start();
    start.task = "x".repeat(300_000);
    let ended =
        shell(r#"wc -c < "$HAPAX_TASK_FILE"; echo "${HAPAX_TASK-unset}""#).start(start).await.ended().await;
    assert_eq!(ended.output.stdout.split_whitespace().collect::<Vec<_>>(), ["300000", "unset"]);
}
