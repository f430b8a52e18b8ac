//! The deploy service: GitHub's deployments API, and a plain API with versions, locks and rollouts, over one
//! state. It knows nothing about faults, idempotency keys or clocks; the engine handles those.

mod body;
mod deployment;
mod description;
mod facts;
mod github;
mod options;
mod plain;
mod reference;
mod sender;
mod state;
#[cfg(test)]
mod tests;
mod tools;

use crate::description::short_ref;
use crate::service::{
    Accepted, After, Afterwards, Answer, Context, Decision, EffectFacts, Operation, Recognized, Refusal,
    Request, Service, ServiceEvent,
};

pub(crate) use description::description;
pub use options::{DeployOptions, EnvironmentOptions, LockEnd, Rollout};
use state::{DeployChange, Lock};

/// A deploy service.
#[derive(Debug)]
pub struct Deploy {
    options: DeployOptions,
    operations: Vec<Operation>,
}

/// A request that the deploy service understood.
#[derive(Debug)]
pub struct Call(DeployCall);

#[derive(Debug)]
enum DeployCall {
    Github(github::GithubCall),
    Plain(plain::PlainCall),
}

/// One change of the deploy service's state.
#[derive(Debug, Clone)]
pub struct Effect(DeployChange);

/// The name of the API that has this path; `None` when neither has it.
pub(crate) fn api_name(path: &str) -> Option<&'static str> {
    github::is_path(path).map(|is_github| if is_github { "github" } else { "plain" })
}

impl Deploy {
    /// A deploy service with these options.
    #[must_use]
    pub fn new(options: DeployOptions) -> Self {
        Deploy { options, operations: facts::operations() }
    }
}

impl Default for Deploy {
    fn default() -> Self {
        Deploy::new(DeployOptions::default())
    }
}

impl Service for Deploy {
    type State = state::State;
    type Effect = Effect;
    type Call = Call;

    fn name(&self) -> &str {
        "deploy"
    }

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn recognize(&self, request: &Request, _context: &Context) -> Result<Recognized<Call>, Answer> {
        if github::is_for_github(request) {
            github::recognize(request).map(|known| wrap_call(known, DeployCall::Github))
        } else {
            plain::recognize(request).map(|known| wrap_call(known, DeployCall::Plain))
        }
    }

    fn at_start(&self) -> (Vec<Effect>, Afterwards<Effect>) {
        let (mut there, mut afterwards) = (Vec::new(), Vec::new());
        for options in &self.options.environments {
            let environment = options.name.clone();
            there.push(Effect(DeployChange::Known {
                environment: environment.clone(),
                version: options.version.clone(),
            }));
            if let Some((holder, end)) = &options.locked_by {
                let lock = Lock {
                    holder: holder.clone(),
                    caller: None,
                    since: None,
                    expires: None,
                    retry_after: retry_after(*end),
                };
                there.push(Effect(DeployChange::Locked { environment: environment.clone(), lock }));
                if let LockEnd::After(after) = end {
                    afterwards.push((
                        *after,
                        Effect(DeployChange::Unlocked { environment, holder: holder.clone() }),
                    ));
                }
            }
        }
        (there, afterwards)
    }

    fn decide(&self, state: &Self::State, call: &Call, context: &Context) -> Decision<Effect> {
        let decision = match &call.0 {
            DeployCall::Github(call) => github::decide(state, call, context),
            DeployCall::Plain(call) => plain::decide(&self.options, state, call, context),
        };
        match decision {
            Decision::Refuse(Refusal { answer, traces, begun }) => {
                Decision::Refuse(Refusal { answer, traces: traces.into_iter().map(Effect).collect(), begun })
            }
            Decision::Accept(accepted) => Decision::Accept(Accepted {
                operation: accepted.operation,
                effects: accepted.effects.into_iter().map(Effect).collect(),
                afterwards: accepted
                    .afterwards
                    .into_iter()
                    .map(|(after, change)| (after, Effect(change)))
                    .collect(),
                answer: accepted.answer,
            }),
        }
    }

    fn apply(&self, state: &mut Self::State, effect: &Effect) {
        state.commit(&effect.0);
    }

    fn describe(&self, effect: &Effect) -> Option<EffectFacts> {
        facts::facts_of(&effect.0)
    }

    fn left_behind(&self, state: &Self::State, effect: &Effect) -> Option<EffectFacts> {
        facts::left_behind(state, &effect.0)
    }

    fn events(&self, state: &Self::State) -> Vec<ServiceEvent> {
        sender::events(state)
    }

    fn failure(&self, status: u16, request: &Request, context: &Context) -> Answer {
        if github::is_for_github(request) {
            github::failure(status, request, context)
        } else {
            plain::failure(status)
        }
    }

    fn no_endpoint(&self, request: &Request, _context: &Context) -> Option<Answer> {
        if github::is_for_github(request) {
            github::unknown_path(request)
        } else {
            plain::unknown_path(request)
        }
    }

    fn unauthorized(&self, request: &Request, _context: &Context) -> Answer {
        if github::is_for_github(request) { github::unauthorized(request) } else { plain::unauthorized() }
    }

    fn add_standard_headers(&self, answer: &mut Answer, request: &Request, context: &Context) {
        if github::is_for_github(request) {
            github::add_standard_headers(answer, request, context)
        } else {
            plain::add_standard_headers(answer, context)
        }
    }

    fn key_prefix(&self) -> &'static str {
        "ghp_"
    }
}

fn wrap_call<Inner>(known: Recognized<Inner>, api: impl FnOnce(Inner) -> DeployCall) -> Recognized<Call> {
    Recognized { operation: known.operation, fields: known.fields, call: Call(api(known.call)) }
}

/// The `Retry-After` for a lock, from the way it ends.
fn retry_after(end: LockEnd) -> u64 {
    match end {
        LockEnd::After(After::Requests(_)) => 1,
        LockEnd::After(After::Time(time)) => time.as_secs() + u64::from(time.subsec_nanos() > 0),
        LockEnd::After(After::Settled) | LockEnd::Never => plain::DEFAULT_RETRY_AFTER,
    }
}
