use super::*;
use crate::certify::tool::file::ToolCommand;

fn file(names: &[&str]) -> ToolFile {
    let command = |name: &&str| ToolCommand {
        name: (*name).to_owned(),
        kind: CommandKind::Mutating,
        run: vec!["tool".to_owned()],
        prepare: Vec::new(),
        key: None,
        dry_run: None,
        state: None,
        other: None,
        fails: None,
        leave_out: Vec::new(),
    };
    ToolFile {
        name: "tool".to_owned(),
        version: None,
        timeout: std::time::Duration::from_secs(1),
        pass: Vec::new(),
        reset: None,
        commands: names.iter().map(command).collect(),
    }
}

fn held(command: &str, questions: &[ToolQuestion]) -> Vec<QuestionResult> {
    let result = |question: &ToolQuestion| QuestionResult {
        tool: command.to_owned(),
        question: question.word().to_owned(),
        trials: 29,
        failures: 0,
        voids: 0,
        second_tries: 0,
        result: QuestionStatus::Held,
        level: 0.9,
        sentence: String::new(),
        evidence: Vec::new(),
    };
    questions.iter().map(result).collect()
}

#[test]
fn a_score_is_given_only_for_what_was_observed_of_every_command() {
    let file = file(&["add", "remove"]);
    let everything = [FOR_TWO, FOR_THREE].concat();
    assert_eq!(score_of(&file, &[]), 0);
    assert_eq!(score_of(&file, &held("add", &everything)), 1);
    assert_eq!(score_of(&file, &held("add", &[ToolQuestion::SameKeyOneEffect])), 1);
    assert_eq!(score_of(&file, &held("add", &[ToolQuestion::EffectReported])), 0);
    let two = [held("add", &FOR_TWO), held("remove", &FOR_TWO)].concat();
    assert_eq!(score_of(&file, &two), 2);
    let three = [held("add", &everything), held("remove", &everything)].concat();
    assert_eq!(score_of(&file, &three), 3);
    for missing in 0..three.len() {
        let mut fewer = three.clone();
        fewer[missing].result = QuestionStatus::NotAsked;
        assert!(score_of(&file, &fewer) < 3, "{:?}", fewer[missing]);
    }
}

#[test]
fn what_is_missing_for_the_next_score_is_named() {
    let remarks = remarks(&file(&["add"]), &held("add", &FOR_TWO), 2);
    assert_eq!(
        remarks,
        ["`add`: not observed for a score of 3: same-key-other-arguments, dry-run, killed-midway, \
         eight-at-once, exit-statuses."]
    );
}
