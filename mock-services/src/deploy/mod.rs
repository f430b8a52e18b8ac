//! The deploy service: GitHub's deployments API, and a plain one with versions, locks and roll-outs, over one
//! state. It knows nothing of faults, keys or clocks; the engine around it does.

mod body;
mod deployment;
mod description;
mod facts;
mod github;
mod options;
mod plain;
mod state;
#[cfg(test)]
mod tests;

use crate::catalog::short_ref;
use crate::service::{
    Accepted, After, Afterwards, Answer, Context, Decision, EffectFacts, Operation, Recognized, Refusal,
    Request, Service,
};

pub(crate) use description::description;
pub use options::{DeployOptions, EnvironmentOptions, LockEnd, Rollout};
use state::{Change, Lock};

/// A deploy service.
#[derive(Debug)]
pub struct Deploy {
    options: DeployOptions,
    operations: Vec<Operation>,
}

/// A request to the deploy service that was understood.
#[derive(Debug)]
pub struct Call(Api);

#[derive(Debug)]
enum Api {
    Github(github::Call),
    Plain(plain::Call),
}

/// One change of what the deploy service remembers.
#[derive(Debug, Clone)]
pub struct Effect(Change);

/// The name of the API that has this path; `None` where none has it.
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
        if github::is_addressed(request) {
            github::recognize(request).map(|known| wrapped(known, Api::Github))
        } else {
            plain::recognize(request).map(|known| wrapped(known, Api::Plain))
        }
    }

    fn at_start(&self) -> (Vec<Effect>, Afterwards<Effect>) {
        let (mut there, mut afterwards) = (Vec::new(), Vec::new());
        for options in &self.options.environments {
            let environment = options.name.clone();
            there.push(Effect(Change::Known {
                environment: environment.clone(),
                version: options.version.clone(),
            }));
            if let Some((holder, end)) = &options.locked_by {
                let lock = Lock {
                    holder: holder.clone(),
                    caller: None,
                    since: None,
                    expires: None,
                    patience: patience(*end),
                };
                there.push(Effect(Change::Locked { environment: environment.clone(), lock }));
                if let LockEnd::After(after) = end {
                    afterwards
                        .push((*after, Effect(Change::Unlocked { environment, holder: holder.clone() })));
                }
            }
        }
        (there, afterwards)
    }

    fn decide(&self, state: &Self::State, call: &Call, context: &Context) -> Decision<Effect> {
        let decision = match &call.0 {
            Api::Github(call) => github::decide(state, call, context),
            Api::Plain(call) => plain::decide(&self.options, state, call, context),
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
        facts::described(&effect.0)
    }

    fn left_behind(&self, state: &Self::State, effect: &Effect) -> Option<EffectFacts> {
        facts::left_behind(state, &effect.0)
    }

    fn failure(&self, status: u16, request: &Request, context: &Context) -> Answer {
        if github::is_addressed(request) {
            github::failure(status, request, context)
        } else {
            plain::failure(status)
        }
    }

    fn no_endpoint(&self, request: &Request, _context: &Context) -> Option<Answer> {
        if github::is_addressed(request) { github::nowhere(request) } else { plain::nowhere(request) }
    }

    fn unauthorized(&self, request: &Request, _context: &Context) -> Answer {
        if github::is_addressed(request) { github::unauthorized(request) } else { plain::unauthorized() }
    }

    fn add_standard_headers(&self, answer: &mut Answer, request: &Request, context: &Context) {
        if github::is_addressed(request) {
            github::add_standard_headers(answer, request, context)
        } else {
            plain::add_standard_headers(answer, context)
        }
    }

    fn key_prefix(&self) -> &'static str {
        "ghp_"
    }
}

fn wrapped<Inner>(known: Recognized<Inner>, api: impl FnOnce(Inner) -> Api) -> Recognized<Call> {
    Recognized { operation: known.operation, fields: known.fields, call: Call(api(known.call)) }
}

/// What a caller is told to wait for a lock of which only the kind of its end is known.
fn patience(end: LockEnd) -> u64 {
    match end {
        LockEnd::After(After::Requests(_)) => 1,
        LockEnd::After(After::Time(time)) => time.as_secs() + u64::from(time.subsec_nanos() > 0),
        LockEnd::After(After::Settled) | LockEnd::Never => plain::PATIENCE,
    }
}
