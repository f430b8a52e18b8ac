use super::*;
use crate::certify::mcp::judge::EffectSource;
use crate::certify::mcp::observed::SeenCall;
use crate::mcp::client::CallOutcome;

fn asked() -> AskedCases {
    let facts = ToolFacts {
        name: "send".to_owned(),
        effects: 1,
        effect: "email.send".to_owned(),
        idempotent_hint: false,
        keyed: true,
        callers: 2,
        source: EffectSource::Backend(vec!["email.send".to_owned()]),
    };
    let setup = TrialSetup::new(McpQuestion::CallersAtOnce, Vec::new());
    let case = AskedCase { tool: 0, place: 0, facts, setup };
    let of_run = CasesOfRun::from([("mcp/send".to_owned(), case)]);
    AskedCases { trials: 1, questions: of_run.clone(), callers: BTreeMap::from([(2, of_run)]) }
}

fn observed(effects: usize, trials: u32) -> Vec<ObservedCase> {
    let call = SeenCall { outcome: CallOutcome::Ok, text: "sent".to_owned(), ended_at: None };
    let seen = ObservedTrial {
        calls: vec![call; 2],
        effects: vec![("email.send".to_owned(), "email.send".to_owned()); effects],
        ..ObservedTrial::default()
    };
    vec![ObservedCase {
        id: "mcp/send".to_owned(),
        trials: (1..=trials).map(|number| (number, seen.clone())).collect(),
    }]
}

#[test]
fn a_number_of_callers_holds_only_if_every_trial_was_made_and_holds() {
    let asked = asked();
    assert!(asked.callers_hold(2, &observed(1, TRIALS_EACH)));
    assert!(!asked.callers_hold(2, &observed(2, TRIALS_EACH)));
    assert!(!asked.callers_hold(2, &observed(1, TRIALS_EACH - 1)));
    assert!(!asked.callers_hold(2, &[]));
    assert!(!asked.callers_hold(4, &observed(1, TRIALS_EACH)));
}

#[test]
fn a_second_try_stands_for_a_void_trial_and_not_for_a_failure() {
    let asked = asked();
    let judged = asked.judge(&observed(2, 1), &observed(1, 1));
    assert_eq!(judged.iter().map(|trial| trial.outcome).collect::<Vec<_>>(), [ProbeOutcome::Failed]);
    let mut void = observed(1, 1);
    void[0].trials[0].1.not_connected = Some("gone".to_owned());
    assert_eq!(asked.voids(&void), BTreeMap::from([("mcp/send".to_owned(), 1)]));
    let judged = asked.judge(&void, &observed(1, 1));
    let shown: Vec<_> = judged.iter().map(|trial| (trial.outcome, trial.second_try)).collect();
    assert_eq!(shown, [(ProbeOutcome::Void, false), (ProbeOutcome::Held, true)]);
}
