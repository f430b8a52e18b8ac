//! Approvals: a caller asks a person whether something may be done, and reads the answer. The person is played by
//! whoever starts the service.

mod description;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use yaml_reader::read_duration;

use crate::description::{AnswerPlan, DecisionTime, PlannedDecision, PlannedStep};
use crate::endpoints;
use crate::idempotency::{Idempotency, Profile};
use crate::service::{
    Accepted, After, Afterwards, Answer, Context, Decision, EffectFacts, Fields, Operation, Recognized,
    Request, Service, Value as FieldValue,
};
pub(crate) use description::description;

/// The indexes of the operations in [`Service::operations`].
const REQUEST: usize = 0;
const CANCEL: usize = 1;
const GET: usize = 2;
const LIST: usize = 3;

/// The status of a question without an answer, and of one that was canceled.
const PENDING: &str = "pending";
const CANCELED: &str = "canceled";
/// The decision of a person who did not answer in time. It is shown as `denied`, with this reason.
const EXPIRED: &str = "expired";
/// The longest time for which a read waits.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// What the person answers, if nothing else says it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ApprovalOptions {
    /// The decision; `None` if the person does not answer.
    pub decision: Option<String>,
    /// When; `None` for at once.
    pub after: Option<After>,
}

/// The approval service.
pub struct Approvals {
    operations: Vec<Operation>,
    plan: AnswerPlan,
}

impl fmt::Debug for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approvals").finish_non_exhaustive()
    }
}

impl Approvals {
    /// An approval service whose person always answers the same.
    #[must_use]
    pub fn new(options: ApprovalOptions) -> Self {
        let ApprovalOptions { decision, after } = options;
        let time = after.map_or(DecisionTime::Next, DecisionTime::After);
        let answer = decision.map(|decision| PlannedDecision { decision, time });
        Approvals::with_plan(Arc::new(move |_, _| answer.iter().cloned().collect()))
    }

    /// An approval service whose person answers by this plan.
    #[must_use]
    pub fn with_plan(plan: AnswerPlan) -> Self {
        let operations = vec![
            Operation::write("approval.request", &["operation", "*"], &["operation", "order"]),
            Operation::write("approval.cancel", &["id"], &["id"]),
            Operation::read("approval.get", &["id"]),
            Operation::read("approval.list", &[]),
        ];
        Approvals { operations, plan }
    }
}

/// A request that the service understood.
#[derive(Debug)]
pub enum ApprovalCall {
    /// Ask about this operation with these fields.
    Request(String, Fields),
    /// Withdraw a question.
    Cancel(String),
    /// Read a question, and wait so long for its answer.
    Get(String, Duration),
    /// List all questions.
    List,
}

/// A question and its status.
#[derive(Debug, Clone)]
pub struct ApprovalQuestion {
    id: String,
    caller: u32,
    operation: String,
    fields: Fields,
    status: String,
    /// The answers that have not come yet.
    next: VecDeque<PlannedDecision>,
    /// Whether the first of them comes without anything else that has to happen before.
    is_due: bool,
}

impl ApprovalQuestion {
    fn shown(&self) -> Value {
        let reason = (self.status == EXPIRED).then_some(EXPIRED);
        let status = if reason.is_some() { "denied" } else { self.status.as_str() };
        let mut shown =
            json!({"id": self.id, "operation": self.operation, "fields": self.fields, "status": status});
        if let Some(reason) = reason {
            shown["reason"] = reason.into();
        }
        shown
    }

    fn as_step(&self) -> PlannedStep {
        PlannedStep { operation: self.operation.clone(), fields: self.fields.clone(), nouns: Vec::new() }
    }

    /// The next answer, and when it comes, if nothing else has to happen before.
    fn next_answer(&self) -> Option<(After, ApprovalEffect)> {
        let PlannedDecision { decision, time } = self.next.front()?;
        let after = match time {
            DecisionTime::Next => After::Requests(0),
            DecisionTime::After(after) => *after,
            DecisionTime::Questions(_) => return None,
        };
        Some((after, self.answered(decision)))
    }

    /// The next answer, if it comes with one more question.
    fn answer_with_another_question(&self) -> Option<ApprovalEffect> {
        let PlannedDecision { decision, time } = self.next.front().filter(|_| !self.is_due)?;
        (*time == DecisionTime::Questions(1)).then(|| self.answered(decision))
    }

    /// The next answer, if it comes when the one before has been read.
    fn answer_after_reading(&self) -> Option<(After, ApprovalEffect)> {
        let is_answered = ![PENDING, CANCELED].contains(&self.status.as_str());
        self.next_answer().filter(|_| is_answered && !self.is_due)
    }

    fn answered(&self, decision: &str) -> ApprovalEffect {
        let (id, operation, decision) = (self.id.clone(), self.operation.clone(), decision.to_owned());
        ApprovalEffect::Answered { id, operation, decision }
    }

    fn another_question_came(&mut self) {
        if let Some(PlannedDecision { time: DecisionTime::Questions(left), .. }) = self.next.front_mut() {
            *left = left.saturating_sub(1);
            self.is_due = *left == 0;
        }
    }
}

/// A change of the state.
#[derive(Debug, Clone)]
pub enum ApprovalEffect {
    /// A question was asked.
    Asked(ApprovalQuestion),
    /// The next answer to a question is on its way.
    Due(String),
    /// The person decided.
    Answered {
        /// The id of the question.
        id: String,
        /// The operation that it is about.
        operation: String,
        /// What was decided.
        decision: String,
    },
    /// A question was withdrawn.
    Canceled(String),
}

impl Service for Approvals {
    type State = Vec<ApprovalQuestion>;
    type Effect = ApprovalEffect;
    type Call = ApprovalCall;

    fn name(&self) -> &str {
        "approval"
    }

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn recognize(&self, request: &Request, _context: &Context) -> Result<Recognized<ApprovalCall>, Answer> {
        let segments = request.segments();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match (request.method(), segments.as_slice()) {
            ("POST", ["approvals"]) => {
                let (operation, fields) = question(request)?;
                let recorded = recorded(&operation, &fields);
                let call = ApprovalCall::Request(operation, fields);
                Ok(Recognized { operation: REQUEST, fields: recorded, call })
            }
            ("GET", ["approvals"]) => {
                Ok(Recognized { operation: LIST, fields: Fields::new(), call: ApprovalCall::List })
            }
            ("GET", ["approvals", id]) => {
                let wait = match request.query_value("wait") {
                    Some(text) => read_duration(&text)
                        .filter(|wait| *wait <= MAX_WAIT)
                        .ok_or_else(|| error(400, "wait must be a duration of at most 60s, such as 10s"))?,
                    None => Duration::ZERO,
                };
                let call = ApprovalCall::Get((*id).to_owned(), wait);
                Ok(Recognized { operation: GET, fields: Fields::new().with("id", *id), call })
            }
            ("POST", ["approvals", id, "cancel"]) => {
                let call = ApprovalCall::Cancel((*id).to_owned());
                Ok(Recognized { operation: CANCEL, fields: Fields::new().with("id", *id), call })
            }
            _ => Err(unknown_endpoint(request)),
        }
    }

    fn waits(&self, asked: &Vec<ApprovalQuestion>, call: &ApprovalCall) -> Option<Duration> {
        let ApprovalCall::Get(id, wait) = call else { return None };
        let question = asked.iter().find(|question| question.id == *id)?;
        // Waiting would keep an answer away that comes after requests.
        let needs_requests = matches!(question.next_answer(), Some((After::Requests(_), _)));
        (question.status == PENDING && !needs_requests && !wait.is_zero()).then_some(*wait)
    }

    fn decide(
        &self,
        asked: &Vec<ApprovalQuestion>,
        call: &ApprovalCall,
        context: &Context,
    ) -> Decision<ApprovalEffect> {
        let find = |id: &String| asked.iter().find(|question| question.id == *id);
        match call {
            ApprovalCall::Request(operation, fields) => {
                Decision::Accept(self.asked(asked, operation, fields, context))
            }
            ApprovalCall::Cancel(id) => match find(id) {
                Some(question) if question.status == PENDING => {
                    let canceled = ApprovalQuestion { status: CANCELED.to_owned(), ..question.clone() };
                    let effect = ApprovalEffect::Canceled(id.clone());
                    Decision::accept(Answer::json(200, &canceled.shown()), vec![effect])
                }
                Some(question) => {
                    let message = format!("the approval is {} already", question.status);
                    Decision::refuse(error(409, &message))
                }
                None => Decision::refuse(error(404, "there is no such approval")),
            },
            ApprovalCall::Get(id, _) => match find(id) {
                Some(question) => read(&[question], &question.shown()),
                None => Decision::refuse(error(404, "there is no such approval")),
            },
            ApprovalCall::List => {
                let all: Vec<Value> = asked.iter().map(ApprovalQuestion::shown).collect();
                read(&asked.iter().collect::<Vec<_>>(), &json!({ "approvals": all }))
            }
        }
    }

    fn apply(&self, asked: &mut Vec<ApprovalQuestion>, effect: &ApprovalEffect) {
        match effect {
            ApprovalEffect::Asked(question) => {
                let own = asked.iter_mut().filter(|earlier| earlier.caller == question.caller);
                own.for_each(ApprovalQuestion::another_question_came);
                asked.push(question.clone());
            }
            ApprovalEffect::Due(id) => {
                if let Some(question) = asked.iter_mut().find(|question| question.id == *id) {
                    question.is_due = true;
                }
            }
            ApprovalEffect::Answered { id, decision, .. } => {
                let is_open =
                    |question: &&mut ApprovalQuestion| question.id == *id && question.status != CANCELED;
                if let Some(question) = asked.iter_mut().find(is_open) {
                    question.status.clone_from(decision);
                    question.next.pop_front();
                    question.is_due = false;
                }
            }
            ApprovalEffect::Canceled(id) => {
                if let Some(question) = asked.iter_mut().find(|question| question.id == *id) {
                    question.status = CANCELED.to_owned();
                }
            }
        }
    }

    fn describe(&self, effect: &ApprovalEffect) -> Option<EffectFacts> {
        let (name, id, fields) = match effect {
            ApprovalEffect::Asked(question) => {
                ("approval.request", &question.id, recorded(&question.operation, &question.fields))
            }
            ApprovalEffect::Due(_) => return None,
            ApprovalEffect::Answered { id, operation, decision } => {
                let fields = Fields::new().with("operation", operation.as_str());
                ("approval.answer", id, fields.with("decision", decision.as_str()))
            }
            ApprovalEffect::Canceled(id) => ("approval.cancel", id, Fields::new()),
        };
        Some(EffectFacts { effect: name.into(), id: id.clone(), fields })
    }

    /// Asking is never the task itself, so a fault applies to every question.
    fn asked_effects(&self, _effect: &ApprovalEffect) -> Vec<EffectFacts> {
        Vec::new()
    }

    fn failure(&self, status: u16, _request: &Request, _context: &Context) -> Answer {
        error(status, "the service failed")
    }

    fn no_endpoint(&self, request: &Request, _context: &Context) -> Option<Answer> {
        let segments = request.segments();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let is_known =
            matches!(segments.as_slice(), ["approvals"] | ["approvals", _] | ["approvals", _, "cancel"]);
        (!is_known).then(|| unknown_endpoint(request))
    }

    fn unauthorized(&self, _request: &Request, _context: &Context) -> Answer {
        error(401, "the API key is missing or wrong")
    }

    fn add_standard_headers(&self, answer: &mut Answer, _request: &Request, context: &Context) {
        answer.set_header("X-Request-Id", context.ids.uuid("request"));
    }

    fn key_prefix(&self) -> &'static str {
        "ap_"
    }

    fn idempotency(&self) -> Idempotency {
        Idempotency::new(Profile::Stripe)
    }
}

impl Approvals {
    /// A new question, with the answers that follow it.
    fn asked(
        &self,
        asked: &[ApprovalQuestion],
        operation: &str,
        fields: &Fields,
        context: &Context,
    ) -> Accepted<ApprovalEffect> {
        let caller = context.ids.caller();
        let own = || asked.iter().filter(|earlier| earlier.caller == caller);
        let mut question = ApprovalQuestion {
            id: context.ids.alphanumeric("apr_", 16),
            caller,
            operation: operation.to_owned(),
            fields: fields.clone(),
            status: PENDING.to_owned(),
            next: VecDeque::new(),
            is_due: false,
        };
        let before: Vec<PlannedStep> = own().map(ApprovalQuestion::as_step).collect();
        question.next = (self.plan)(&question.as_step(), &before).into();
        let first = question.next_answer();
        question.is_due = first.is_some();
        let of_others = own().filter_map(ApprovalQuestion::answer_with_another_question);
        let afterwards = of_others.map(|answer| (After::Requests(0), answer)).chain(first).collect();
        let answer = Answer::json(201, &question.shown());
        Accepted { operation: None, effects: vec![ApprovalEffect::Asked(question)], afterwards, answer }
    }
}

/// A read of these questions. The person may change an answer that has been read.
fn read(questions: &[&ApprovalQuestion], shown: &Value) -> Decision<ApprovalEffect> {
    let (mut effects, mut afterwards): (Vec<ApprovalEffect>, Afterwards<ApprovalEffect>) = Default::default();
    for question in questions {
        if let Some(next) = question.answer_after_reading() {
            effects.push(ApprovalEffect::Due(question.id.clone()));
            afterwards.push(next);
        }
    }
    Decision::Accept(Accepted { operation: None, effects, afterwards, answer: Answer::json(200, shown) })
}

fn unknown_endpoint(request: &Request) -> Answer {
    let (method, path) = (request.method(), request.path());
    error(404, &endpoints::no_such_endpoint("approval", "an API of its own", method, path))
}

fn question(request: &Request) -> Result<(String, Fields), Answer> {
    let body: Value = serde_json::from_slice(request.bytes())
        .map_err(|_| error(400, "the body must be JSON: {\"operation\": \"...\", \"fields\": {...}}"))?;
    let operation = body["operation"].as_str().filter(|operation| !operation.is_empty());
    let operation = operation
        .ok_or_else(|| error(422, "operation is required: the full name of what shall be approved"))?
        .to_owned();
    let given = match &body["fields"] {
        Value::Object(members) => members.clone(),
        Value::Null => serde_json::Map::new(),
        _ => return Err(error(422, "fields must be an object: {\"order\": \"...\"}")),
    };
    let mut fields = Fields::new();
    for (name, value) in given {
        let plain = serde_json::from_value::<FieldValue>(value.clone());
        match (value, plain) {
            (Value::Null, _) => {}
            (_, Ok(plain)) => fields.set(name, plain),
            // What is not a plain value is the text of its JSON.
            (other, Err(_)) => fields.set(name, other.to_string()),
        }
    }
    Ok((operation, fields))
}

/// The fields that faults and the ledger can name.
fn recorded(operation: &str, fields: &Fields) -> Fields {
    let mut recorded = Fields::new().with("operation", operation);
    for (name, value) in fields.iter().filter(|(name, _)| *name != "operation") {
        recorded.set(name, value.clone());
    }
    recorded
}

fn error(status: u16, message: &str) -> Answer {
    Answer::json(status, &json!({ "error": message }))
}
