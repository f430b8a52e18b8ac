//! A language model behind the APIs of OpenAI, Anthropic and Google: scripted, and the same for the same seed. It
//! calls the tools that a request offers to work on the task of the scenario. A generation is an effect: it
//! is billed. The service knows nothing about faults, idempotency keys or clocks; the engine handles those.

mod api;
mod arguments;
mod carried_task;
mod cassette;
mod conversation;
mod cut;
mod description;
mod finding_tools;
mod labels;
mod next_turn;
mod options;
mod progress;
mod route;
mod shell;
mod shown;
mod side_job;
mod state;
mod stored;
mod structured;
mod stuck;
#[cfg(test)]
mod tests;
mod text;
mod tool_choice;
mod transcript;

use std::borrow::Cow;

use crate::service::{
    Answer, Context, CutPlace, Decision, EffectFacts, Operation, Recognized, Request, Service, TaskShare,
};
pub use cassette::{Cassette, CassetteError, RecordedAnswer};
use conversation::{ModelApi, Question};
pub(crate) use description::description;
pub use options::{Character, ContextFill, ModelOptions, ReplayedFile, ScriptedTurn, TokenBilling};
use route::{ModelRequest, RecordedRequest};
use state::{GeneratedTurn, ModelState};
use stuck::Stuck;
use text::Understood;
use yaml_reader::shown;

/// A language model.
#[derive(Debug, Default)]
pub struct Model {
    options: ModelOptions,
}

/// A request that the model service understood.
#[derive(Debug)]
pub struct Call(ModelRequest);

/// One generation.
#[derive(Debug, Clone)]
pub struct Effect(GeneratedTurn);

/// What was generated.
#[derive(Debug, Clone, Default)]
pub struct State(ModelState);

impl Model {
    /// A model with these options.
    #[must_use]
    pub fn new(options: ModelOptions) -> Self {
        Model { options }
    }

    /// Generates the next turn. The error is the refusal.
    fn generate(
        &self,
        state: &ModelState,
        question: &Question,
        conversation: &str,
        context: &Context,
    ) -> Result<Decision<Effect>, Answer> {
        let api = question.api;
        let mut question = state.stored.whole(question)?;
        question.is_full = self.options.context == ContextFill::Full
            && side_job::can_be_summarized(&question, &self.options.tasks);
        let of_thread = stored::thread_conversation(&question);
        let conversation = of_thread.as_deref().unwrap_or(conversation);
        if let Some(problem) = question.unpaired_call() {
            return Err(api::invalid(api, &problem));
        }
        let before = state.generations_of(conversation);
        let refusal = |stuck: Stuck| api::invalid(api, &stuck.message).undecided(&stuck.message);
        let understood = match text::understand(&question) {
            Err(stuck) if self.options.script.is_empty() => return Err(refusal(stuck)),
            understood => understood.unwrap_or_else(|_| Understood::as_it_is(&question)),
        };
        let mut next =
            next_turn::next_turn(&self.options, &understood.question, before, context).map_err(refusal)?;
        next.generation = understood.expressible(next.generation);
        let written = understood.written(&next.generation).stopped(&question.stop);
        let answer = api::answer(&question, &written, context);
        let mut turn = GeneratedTurn::new(&question, conversation, before, &next, &written, context);
        turn.share = carried_task::task_share(&self.options.tasks, &understood.question);
        if self.options.billing == TokenBilling::Delivered {
            turn.bill_by_delivery(answer.body.len());
        }
        Ok(Decision::accept(answer, vec![Effect(turn)]))
    }
}

impl Model {
    /// The recorded turn. The error is the refusal.
    fn replay(
        &self,
        state: &ModelState,
        question: &Question,
        conversation: &str,
        recorded: &RecordedRequest,
        context: &Context,
    ) -> Result<Decision<Effect>, Answer> {
        let Some(replay) = &self.options.replay else { return Ok(Decision::read(Answer::empty(404))) };
        let before = state.generations_of(conversation);
        let found = replay.cassette.find(&recorded.path, &recorded.body, before).map_err(|nearest| {
            let why = format!(
                "the cassette {} has no answer to this request: {nearest}. Fix: record the conversation again \
                 with `hapax record`",
                shown(&replay.file)
            );
            api::invalid(question.api, &why).undecided(&why)
        })?;
        let answer = Answer::bare(found.status, found.body).with_header("Content-Type", found.content_type);
        if found.status >= 400 {
            return Err(answer);
        }
        let mut turn = GeneratedTurn::replayed(question, conversation, before, found.line, context);
        if question.previous.is_none() {
            let understood = text::understand(question).unwrap_or_else(|_| Understood::as_it_is(question));
            turn.share = carried_task::task_share(&self.options.tasks, &understood.question);
        }
        Ok(Decision::accept(answer, vec![Effect(turn)]))
    }
}

impl Service for Model {
    type State = State;
    type Effect = Effect;
    type Call = Call;

    fn name(&self) -> &str {
        "model"
    }

    fn operations(&self) -> &[Operation] {
        route::operations()
    }

    fn recognize(&self, request: &Request, _context: &Context) -> Result<Recognized<Call>, Answer> {
        let (operation, fields, call) = route::route(request, &self.options)?;
        Ok(Recognized { operation, fields, call: Call(call) })
    }

    fn decide(&self, state: &State, call: &Call, context: &Context) -> Decision<Effect> {
        match &call.0 {
            ModelRequest::Models(api) => Decision::read(route::models(*api, &self.options)),
            ModelRequest::Model(api, name) => Decision::read(route::model(*api, name)),
            ModelRequest::CountTokens(question) => Decision::read(route::token_count(question)),
            ModelRequest::Telemetry => Decision::read(Answer::empty(204)),
            ModelRequest::Replay(question, conversation, recorded) => self
                .replay(&state.0, question, conversation, recorded, context)
                .unwrap_or_else(Decision::refuse),
            ModelRequest::Generate(question, conversation) => {
                self.generate(&state.0, question, conversation, context).unwrap_or_else(Decision::refuse)
            }
        }
    }

    fn apply(&self, state: &mut State, effect: &Effect) {
        state.0.apply(&effect.0);
    }

    fn describe(&self, effect: &Effect) -> Option<EffectFacts> {
        Some(effect.0.facts())
    }

    fn task_share(&self, effect: &Effect) -> TaskShare {
        effect.0.share
    }

    fn failure(&self, status: u16, request: &Request, _context: &Context) -> Answer {
        let (message, code) = match status {
            429 => ("Rate limit reached.", Some("rate_limit_exceeded")),
            529 => ("Overloaded", None),
            _ => ("The server had an error while processing your request.", None),
        };
        api::error(route::api_of(request), status, message, code)
    }

    fn no_endpoint(&self, request: &Request, _context: &Context) -> Option<Answer> {
        route::no_endpoint(request)
    }

    fn unauthorized(&self, request: &Request, _context: &Context) -> Answer {
        let api = route::api_of(request);
        let (status, message) = match api {
            ModelApi::Messages => (401, "invalid x-api-key"),
            ModelApi::Chat | ModelApi::Responses => (401, "Incorrect API key provided."),
            ModelApi::Gemini => (400, "API key not valid. Please pass a valid API key."),
        };
        api::error(api, status, message, Some("invalid_api_key"))
    }

    fn credential<'r>(&self, request: &'r Request) -> Option<Cow<'r, str>> {
        let google = || request.header_value("x-goog-api-key").map(Cow::Borrowed);
        request.credential().or_else(google).or_else(|| request.query_value("key").map(Cow::Owned))
    }

    fn add_standard_headers(&self, answer: &mut Answer, request: &Request, context: &Context) {
        match route::api_of(request) {
            ModelApi::Messages => answer.set_header("request-id", context.ids.alphanumeric("req_01", 22)),
            ModelApi::Chat | ModelApi::Responses => {
                answer.set_header("x-request-id", context.ids.uuid("request"));
                answer.set_header("openai-processing-ms", "1");
            }
            ModelApi::Gemini => answer.set_header("x-gemini-service-tier", "standard"),
        }
    }

    fn cut(&self, answer: &Answer, place: CutPlace) -> Option<usize> {
        cut::position(&answer.clone().written().body, place)
    }

    fn key_prefix(&self) -> &'static str {
        "sk-"
    }
}
