//! The options of the model service: the task, the character, and what a scenario scripts.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::cassette::Cassette;
use crate::description::PlannedTask;
use crate::service::Fields;
use crate::word_enum;

/// The task of a scenario and how the model works on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelOptions {
    /// The tasks of the scenario.
    pub tasks: Vec<PlannedTask>,
    /// How the model behaves.
    pub character: Character,
    /// The tools that the scenario names for operations.
    pub tools: Vec<(String, String)>,
    /// The turns of a script. If there are any, the model follows them instead of the task.
    pub script: Vec<ScriptedTurn>,
    /// The fields of steps that a second generation for the same request has instead, by operation.
    pub second_generation: Vec<(String, Fields)>,
    /// The most attempts at one step.
    pub attempts: u32,
    /// The models that exist; any model if there are none.
    pub models: Vec<String>,
    /// What is billed of an answer that the caller did not get completely.
    pub billing: TokenBilling,
    /// How full the model says that its context is.
    pub context: ContextFill,
    /// The recorded answers. If there are any, the model gives them instead of its own.
    pub replay: Option<ReplayedFile>,
}

impl Default for ModelOptions {
    fn default() -> Self {
        ModelOptions {
            tasks: Vec::new(),
            character: Character::Careful,
            tools: Vec::new(),
            script: Vec::new(),
            second_generation: Vec::new(),
            attempts: 4,
            models: Vec::new(),
            billing: TokenBilling::Generated,
            context: ContextFill::Counted,
            replay: None,
        }
    }
}

/// A cassette, and the file that it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayedFile {
    /// The file, as the scenario names it.
    pub file: String,
    /// The SHA-256 of its content.
    pub sha256: String,
    /// Its answers.
    #[serde(skip)]
    pub cassette: Arc<Cassette>,
}

word_enum! {
    /// What is billed of an answer that the caller did not get completely.
    pub enum TokenBilling {
        /// All that was generated.
        Generated => "generated",
        /// What was delivered.
        Delivered => "delivered",
    }
}

word_enum! {
    /// How full the model says that its context is, by the tokens that it reports for a request.
    pub enum ContextFill {
        /// As full as it is.
        Counted => "counted",
        /// Full from the first result of a tool until the program goes on from a summary.
        Full => "full",
    }
}

word_enum! {
    /// How the model behaves.
    pub enum Character {
        /// After an error it makes the same call again.
        Eager => "eager",
        /// After an error it makes the call again with other words in free text and a new idempotency key.
        Rewording => "rewording",
        /// It knows only the calls and results that the request shows, and makes a call again if they are
        /// missing.
        Forgetful => "forgetful",
        /// It makes each call twice in one turn.
        Doubling => "doubling",
        /// It makes the calls of all steps in one turn.
        Fanning => "fanning",
        /// Its last answer is empty, until it is asked again.
        Silent => "silent",
        /// After an error it reads before it repeats a call.
        Verifying => "verifying",
        /// It sends the same idempotency key for every attempt at a step, and reads before it repeats a call
        /// that takes no key.
        Careful => "careful",
        /// It says that everything is done, whatever the tools answered.
        Overclaiming => "overclaiming",
        /// After an error it stops.
        GivingUp => "giving-up",
    }
}

/// One turn of a script.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ScriptedTurn {
    /// The text.
    pub say: String,
    /// The tool calls: name and arguments.
    pub calls: Vec<(String, Value)>,
}
