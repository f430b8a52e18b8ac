//! A control in a case with a language model: the model says which tool to call, the policy of the control
//! executes each call, and the claim is built from the results, never from what the model says.

mod asking;
mod claim;
mod generation_store;
mod model_turn;
mod offer;
mod vendor;

use serde_json::{Value, json};

use super::claim::StepClaim;
use super::environment::Environment;
use super::wire::Wire;
use crate::scenario::{ClaimedOutcome, Step};
pub(super) use asking::AskingStyle;
use asking::ModelReply;
use claim::Executed;
pub(super) use generation_store::GenerationStore;
use model_turn::{ModelTurn, RequestedCall};
use offer::Offer;
use vendor::Vendor;

/// The service.
const MODEL: &str = "model";
/// The largest number of turns of the model in one start.
const MAX_TURNS: u32 = 16;

/// Whether the control has a model to ask.
pub(super) fn has_model(environment: &Environment) -> bool {
    environment.service(MODEL).is_some()
}

/// Lets the model work on the task, and executes its calls with `execute`. Answers in the store are used
/// again and not asked for; each new answer is stored before its calls are executed.
pub(super) fn run(
    environment: &Environment,
    wire: &Wire<'_>,
    style: &AskingStyle,
    store: Option<&GenerationStore>,
    mut execute: impl FnMut(&Step) -> StepClaim,
) -> StepClaim {
    let steps = environment.steps();
    let offer = Offer::new(steps);
    let mut messages = vec![json!({ "role": "user", "content": environment.task() })];
    let mut executed = Executed::default();
    let (mut vendor, mut has_rerun) = (Vendor::OpenAi, false);
    for _ in 0..MAX_TURNS {
        let question = offer.question(vendor, &messages);
        let turn = match next_turn(wire, style, store, vendor, &question) {
            Ok(turn) => turn,
            Err(_) if style.fails_over && vendor == Vendor::OpenAi => {
                vendor = Vendor::Anthropic;
                messages.truncate(1);
                continue;
            }
            Err(claim) => return executed.claim(steps, &claim),
        };
        if turn == ModelTurn::default() && style.reruns_when_empty && !has_rerun {
            has_rerun = true;
            messages.truncate(1);
            continue;
        }
        if turn.calls.is_empty() {
            return executed.claim(steps, &StepClaim::not_done("the model did not ask for it"));
        }
        let mut claims = Vec::new();
        for call in &turn.calls {
            let claim = match offer.step(call) {
                Some(step) => {
                    let claim = execute(&step);
                    executed.add(step, claim.clone());
                    claim
                }
                None => StepClaim::not_done("there is no such tool, or its arguments are invalid"),
            };
            claims.push(claim);
        }
        let has_failed = claims.iter().any(|claim| claim.outcome != ClaimedOutcome::Done);
        let result = |claim: &StepClaim| match claim.outcome {
            ClaimedOutcome::Done if has_failed && style.cancels_siblings => {
                json!({ "error": "canceled: another call of this turn failed" })
            }
            _ => result(claim),
        };
        let results: Vec<(RequestedCall, Value)> =
            turn.calls.iter().cloned().zip(claims.iter().map(result)).collect();
        messages.extend(vendor.messages(&turn, &results));
    }
    executed.claim(steps, &StepClaim::not_done("the model did not come to an end"))
}

/// The next turn of the model: the stored one, or a new one. The error is the claim about a step that the
/// model has not asked for.
fn next_turn(
    wire: &Wire<'_>,
    style: &AskingStyle,
    store: Option<&GenerationStore>,
    vendor: Vendor,
    question: &Value,
) -> Result<ModelTurn, StepClaim> {
    if let Some(turn) = store.and_then(|store| store.find(question)) {
        return Ok(turn);
    }
    match asking::ask(wire, style, vendor, question) {
        ModelReply::Complete(turn) => {
            if let Some(store) = store {
                // Without it, a restart would ask again and could get another answer.
                let stored = store.save(question, &turn);
                stored.map_err(|error| StepClaim::not_done(format!("cannot store the answer: {error}")))?;
            }
            Ok(turn)
        }
        ModelReply::Partial(turn) if style.takes_partial => Ok(turn),
        ModelReply::Partial(_) => Err(StepClaim::not_done("the answer of the model was cut off")),
        ModelReply::Failed { status: Some(status), .. } => {
            Err(StepClaim::not_done(format!("the model answered {status}")))
        }
        ModelReply::Failed { status: None, .. } => Err(StepClaim::not_done("the model gave no answer")),
    }
}

/// The result of a call as the model gets it: the same text for the same outcome, so that a conversation can
/// be repeated.
fn result(claim: &StepClaim) -> Value {
    match claim.outcome {
        ClaimedOutcome::Done => json!({ "ok": true }),
        ClaimedOutcome::NotDone | ClaimedOutcome::Waiting => json!({ "error": claim.message }),
        ClaimedOutcome::Unknown => json!({ "error": format!("unknown outcome: {}", claim.message) }),
    }
}
