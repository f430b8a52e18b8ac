//! A smoke trial that the subject failed, as plain data.

use mock_services::ledger::Entry;

use crate::ExitStatus;
use crate::score::Verdict;

/// A smoke trial that the subject failed.
#[derive(Debug)]
pub struct SmokeFailure {
    /// What went wrong.
    pub problem: SmokeProblem,
    /// The subject's name.
    pub subject: String,
    /// How the subject is named on the command line.
    pub command: String,
    /// The id of the case.
    pub case: String,
    /// The task that was given.
    pub task: String,
    /// The services of the case.
    pub services: Vec<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// Its ledger.
    pub entries: Vec<Entry>,
    /// What each start wrote to its standard error.
    pub stderr: Vec<String>,
    /// Whether the subject gets its task in variables alone, and not as an argument or as its standard input.
    pub has_task_in_variables_alone: bool,
    /// What to do about a problem that its output names, if the recipe of a published program knows it.
    pub recipe_help: Option<String>,
    /// Its recipe.
    pub recipe: Option<SmokeRecipe>,
    /// A variable that these name, that is set for hapax, and that the subject was not given.
    pub unpassed: Option<String>,
}

/// The recipe of a subject, as far as it can be the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmokeRecipe {
    /// Its name.
    pub name: String,
    /// It in a sentence, with its file if it is local.
    pub named: String,
    /// The version of the program that it is made for.
    pub version: String,
    /// How to install that.
    pub install: String,
    /// What it starts, if it is a file of the project and no copy of the shipped one.
    pub local_starts: Option<String>,
}

/// What went wrong in a smoke trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmokeProblem {
    /// The subject could not be started: why.
    CannotStart(String),
    /// The command that is run before each trial failed: why.
    Unprepared(String),
    /// It ended with an error, and made no claim: how it ended.
    Crashed(String),
    /// It stopped before it did anything, whatever it was asked, and nobody said that it does what it was asked: how.
    CouldNotStart(String),
    /// It sent no request to a service: how it ended.
    ReachedNoService(String),
    /// The effects or the claim are not right.
    CameOutWrong,
    /// An entry of its ledger cannot be read: which one, and why.
    Unreadable(String),
}

impl SmokeProblem {
    /// The exit status of a run that stops here.
    #[must_use]
    pub const fn exit_status(&self) -> ExitStatus {
        match self {
            SmokeProblem::CannotStart(_) | SmokeProblem::Unprepared(_) => ExitStatus::Usage,
            SmokeProblem::Crashed(_) | SmokeProblem::ReachedNoService(_) | SmokeProblem::CameOutWrong => {
                ExitStatus::Failed
            }
            SmokeProblem::CouldNotStart(_) | SmokeProblem::Unreadable(_) => ExitStatus::Unproven,
        }
    }
}
