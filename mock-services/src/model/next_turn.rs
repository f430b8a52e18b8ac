//! What the model generates next: it works through the steps of the task as its character does. Everything
//! that it knows is in the request, as for a real model.

use serde_json::{Value, json};

use super::arguments::{MappedArguments, map_arguments, telling_values};
use super::conversation::{Calling, Generation, ModelApi, OfferedTool, Question, ToolCall, Turn};
use super::finding_tools::{way_to_read, way_to_tool};
use super::options::{Character, ModelOptions};
use super::progress::{FailedStep, StepCalls, StepState, state_of};
use super::shell::{self, Shell};
use super::side_job::{Reported, SideJob, reported, sentence};
use super::structured::{StructuredContent, structured};
use super::stuck::Stuck;
use super::tool_choice::{ChosenTool, NoTool, choose, is_read, is_same_word, words};
use super::transcript;
use crate::description::{PlannedStep, PlannedTask};
use crate::service::{Context, Fields};

/// What the model generates, and what the ledger notes of it.
#[derive(Debug)]
pub(super) struct NextTurn {
    pub(super) generation: Generation,
    /// The tools that were chosen: operation, tool, reason.
    pub(super) choices: Vec<(String, String, String)>,
    /// What the last message says about the task; `None` while the model works on it.
    pub(super) claim: Option<&'static str>,
    /// Whether it calls a service in a shell, because no tool fits.
    pub(super) is_shell: bool,
}

/// What the model does about one step.
enum Action {
    /// Goes on with the next step.
    Next(StepEnd),
    /// Makes these calls.
    Calls(Vec<(String, Value)>),
}

/// How a step ended, as far as the model knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepEnd {
    Done,
    /// A read shows that nothing was made.
    NotDone,
    Unknown,
}

/// The next turn of the model. `repetition` is how often the same request was answered before.
pub(super) fn next_turn(
    options: &ModelOptions,
    question: &Question,
    repetition: u64,
    context: &Context,
) -> Result<NextTurn, Stuck> {
    if !options.script.is_empty() {
        return Ok(scripted(options, question, context));
    }
    let (question, has_lines) = &shell::read_lines(question, &options.tasks);
    if let Some(job) = SideJob::of(question, &options.tasks) {
        let text = match (job, task_of(options, question)) {
            (SideJob::Summary, Ok(task)) => summary(task, &transcript::with_calls(question)),
            _ => "OK.".to_owned(),
        };
        return end(question, &[], text, None, context);
    }
    if question.tools.is_empty() {
        return end(question, &[], "OK.".to_owned(), None, context);
    }
    let task = task_of(options, question)?;
    let working = Working { options, task, repetition, context };
    let shell = || Shell::offered(question, task, |step| working.choose(step, question).is_ok());
    let through = |shell: &Shell<'_>| {
        let next = working.next(&shell.question(question)?)?;
        Ok(shell.written(next, question))
    };
    if *has_lines && let Some(shell) = shell() {
        return through(&shell);
    }
    match (working.next(question), shell()) {
        (Err(stuck), Some(shell)) if stuck.lacks_tool => through(&shell),
        (next, _) => next,
    }
}

/// The model at a task.
#[derive(Clone, Copy)]
struct Working<'a> {
    options: &'a ModelOptions,
    task: &'a PlannedTask,
    repetition: u64,
    context: &'a Context,
}

impl<'a> Working<'a> {
    fn choose<'q>(&self, step: &PlannedStep, question: &'q Question) -> Result<ChosenTool<'q>, NoTool> {
        let mut tools = self.options.tools.iter();
        let named = tools.find(|(operation, _)| *operation == step.operation);
        choose(step, &question.tools, named.map(|(_, tool)| tool.as_str()))
    }

    fn next(self, question: &Question) -> Result<NextTurn, Stuck> {
        let Working { options, task, repetition, context } = self;
        if let Calling::Named(wanted) = &question.calling {
            let is_wanted = |step: &PlannedStep| {
                self.choose(step, question).is_ok_and(|chosen| chosen.tool.name == *wanted)
            };
            if !task.steps.iter().any(is_wanted) {
                return end(question, &[], "OK.".to_owned(), None, context);
            }
        }
        let mut choices: Vec<(String, String, String)> = Vec::new();
        let mut ends: Vec<(&PlannedStep, StepEnd)> = Vec::new();
        let mut together: Vec<(String, Value)> = Vec::new();
        for (place, step) in task.steps.iter().enumerate() {
            let equal_before = task.steps[..place].iter().filter(|before| *before == step).count();
            let found = self.choose(step, question);
            if !found.as_ref().is_ok_and(|tool| tool.reason.is_certain()) {
                let gone = state_without_tool(question, step, equal_before);
                if found.is_err() && gone == StepState::Done {
                    ends.push((step, StepEnd::Done));
                    continue;
                }
                let way = way_to_tool(question, step, found.is_err()).map(|call| vec![call]);
                if let Some(calls) = way.filter(|calls| question.calling.allows(calls)) {
                    choices.push((
                        step.operation.clone(),
                        calls[0].0.clone(),
                        "it can bring a tool".to_owned(),
                    ));
                    let generation =
                        Generation { calls: with_ids(calls, question, context), ..Generation::default() };
                    return Ok(NextTurn { generation, choices, claim: None, is_shell: false });
                }
                if found.is_err() && gone != StepState::NotCalled {
                    // The tool is gone, and with it every way to know more.
                    let claims_all = options.character == Character::Overclaiming;
                    ends.push((step, if claims_all { StepEnd::Done } else { StepEnd::Unknown }));
                    continue;
                }
            }
            let tool = found.map_err(|no_tool| Stuck::at_step(step, question, &no_tool))?;
            let choice = (step.operation.clone(), tool.tool.name.clone(), tool.reason.to_string());
            if !choices.contains(&choice) {
                choices.push(choice);
            }
            let steps = task.steps.len();
            let current =
                CurrentStep { options, question, step, steps, tool: &tool, equal_before, repetition };
            match current.action() {
                Action::Next(end) => ends.push((step, end)),
                Action::Calls(calls) if !question.calling.allows(&calls) => {
                    ends.push((step, StepEnd::Unknown))
                }
                Action::Calls(calls) => {
                    together.extend(calls);
                    if options.character != Character::Fanning {
                        break;
                    }
                }
            }
        }
        if !together.is_empty() {
            let generation =
                Generation { calls: with_ids(together, question, context), ..Generation::default() };
            return Ok(NextTurn { generation, choices, claim: None, is_shell: false });
        }
        let is_silent = options.character == Character::Silent && repetition == 0 && !ends.is_empty();
        if is_silent && question.calling.allows_text() {
            let generation = Generation::default();
            return Ok(NextTurn { generation, choices, claim: None, is_shell: false });
        }
        let (text, claim) = conclusion(options.character, &ends);
        let claim = (!ends.is_empty()).then_some(claim);
        let tools: Vec<String> = choices.iter().map(|(_, tool, _)| tool.clone()).collect();
        let next = end(question, &tools, text, claim, context)?;
        Ok(NextTurn { choices, ..next })
    }
}

/// The last turn: a text, a structured value, or a call of the tool that takes the result.
fn end(
    question: &Question,
    used: &[String],
    text: String,
    claim: Option<&'static str>,
    context: &Context,
) -> Result<NextTurn, Stuck> {
    let content = StructuredContent { text: &text, is_done: claim.is_none_or(|claim| claim == "done") };
    let tool = match &question.calling {
        Calling::Allowed | Calling::Forbidden => None,
        Calling::Named(name) => question.tools.iter().find(|tool| tool.name == *name),
        Calling::Required => {
            let is_output = |name: &str| {
                let words = words(name);
                ["final", "result", "output", "answer", "finish", "respond", "submit", "done"]
                    .iter()
                    .any(|wanted| words.iter().any(|word| word == wanted))
            };
            let mut unused =
                question.tools.iter().filter(|tool| !used.contains(&tool.name) && is_output(&tool.name));
            Some(unused.next().ok_or_else(|| Stuck::no_output_tool(question))?)
        }
    };
    let generation = match (tool, &question.schema) {
        (Some(tool), _) => {
            let arguments = structured(&tool.schema, content).ok_or_else(|| Stuck::at_schema(&tool.name))?;
            let calls = with_ids(vec![(tool.name.clone(), arguments)], question, context);
            Generation { calls, ..Generation::default() }
        }
        (None, Some(schema)) => {
            let value = structured(schema, content).ok_or_else(|| Stuck::at_schema("the output"))?;
            Generation::text(value.to_string())
        }
        (None, None) => Generation::text(text),
    };
    Ok(NextTurn { generation, choices: Vec::new(), claim, is_shell: false })
}

/// How far a step is, by calls of tools that the request need not offer.
fn state_without_tool<'a>(question: &'a Question, step: &PlannedStep, equal_before: usize) -> StepState<'a> {
    let reported = reported(question, step, equal_before);
    if reported == Some(Reported::Done) {
        return StepState::Done;
    }
    let reported = reported.map_or(0, Reported::times);
    state_of(question, &StepCalls { step, tool: None, reported, equal_before })
}

/// A summary with which another conversation goes on.
fn summary(task: &PlannedTask, question: &Question) -> String {
    let steps = task.steps.iter().enumerate().map(|(place, step)| {
        let equal_before = task.steps[..place].iter().filter(|before| *before == step).count();
        let how = match state_without_tool(question, step, equal_before) {
            StepState::Done => Reported::Done,
            StepState::NotCalled => Reported::NotTried,
            StepState::Failed(failed) => Reported::Tried(failed.attempts),
        };
        sentence(step, how)
    });
    let steps: Vec<String> = steps.collect();
    format!("The user asked: {}\n{}", task.text.trim(), steps.join("\n"))
}

/// The task that a request is about: the only one, or the one that the latest message quotes.
fn task_of<'a>(options: &'a ModelOptions, question: &Question) -> Result<&'a PlannedTask, Stuck> {
    static NO_TASK: PlannedTask =
        PlannedTask { text: String::new(), steps: Vec::new(), requests: Vec::new() };
    if let [] | [_] = options.tasks[..] {
        return Ok(options.tasks.first().unwrap_or(&NO_TASK));
    }
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for turn in question.turns.iter().rev() {
        let text = match turn {
            Turn::System(text) | Turn::User(text) => one_line(text),
            Turn::Assistant(_) | Turn::ToolResult(_) => continue,
        };
        let quoted = options.tasks.iter().filter(|task| text.contains(&one_line(&task.text)));
        if let Some(task) = quoted.max_by_key(|task| task.text.len()) {
            return Ok(task);
        }
    }
    let first = &options.tasks[0];
    let is_same = options.tasks.iter().all(|task| task.steps == first.steps);
    if is_same { Ok(first) } else { Err(Stuck::no_task(&options.tasks)) }
}

/// The model at one step.
struct CurrentStep<'a> {
    options: &'a ModelOptions,
    question: &'a Question,
    step: &'a PlannedStep,
    /// The number of steps of the task.
    steps: usize,
    tool: &'a ChosenTool<'a>,
    equal_before: usize,
    repetition: u64,
}

impl CurrentStep<'_> {
    fn action(&self) -> Action {
        let character = self.options.character;
        let arguments = [Some(self.tool.arguments.clone()), self.second_arguments()];
        // A forgetful model knows only calls and results.
        let reported = reported(self.question, self.step, self.equal_before);
        let reported = reported.filter(|_| character != Character::Forgetful);
        if reported == Some(Reported::Done) {
            return Action::Next(StepEnd::Done);
        }
        let calls = StepCalls {
            step: self.step,
            tool: Some((&self.tool.tool.name, arguments.into_iter().flatten().collect())),
            reported: reported.map_or(0, Reported::times),
            equal_before: self.equal_before,
        };
        match state_of(self.question, &calls) {
            StepState::Done => Action::Next(StepEnd::Done),
            StepState::NotCalled if character != Character::Forgetful && self.is_reported_as_done() => {
                Action::Next(StepEnd::Done)
            }
            StepState::NotCalled => {
                let call = self.call(1);
                match character {
                    Character::Doubling => Action::Calls(vec![call.clone(), call]),
                    _ => Action::Calls(vec![call]),
                }
            }
            StepState::Failed(failed) => self.after_failure(character, &failed),
        }
    }

    fn after_failure(&self, character: Character, failed: &FailedStep<'_>) -> Action {
        let is_last = failed.attempts >= self.options.attempts;
        match character {
            Character::Overclaiming => Action::Next(StepEnd::Done),
            Character::GivingUp => Action::Next(StepEnd::Unknown),
            Character::Eager
            | Character::Forgetful
            | Character::Doubling
            | Character::Fanning
            | Character::Silent
            | Character::Rewording
                if is_last =>
            {
                Action::Next(StepEnd::Unknown)
            }
            Character::Eager
            | Character::Forgetful
            | Character::Doubling
            | Character::Fanning
            | Character::Silent => {
                let again = failed.last.map(|last| (last.name.clone(), last.arguments.clone()));
                Action::Calls(vec![again.unwrap_or_else(|| self.call(1))])
            }
            Character::Rewording => Action::Calls(vec![self.call(failed.attempts + 1)]),
            Character::Careful if self.tool.arguments.key.is_some() && !is_last => {
                Action::Calls(vec![self.call(failed.attempts + 1)])
            }
            Character::Verifying | Character::Careful => match (failed.is_absent, self.read()) {
                (Some(true), _) if is_last => Action::Next(StepEnd::NotDone),
                (Some(true), _) => Action::Calls(vec![self.call(failed.attempts + 1)]),
                (_, Some(read)) if !self.has_read_often() => Action::Calls(vec![read]),
                (_, None) => match way_to_read(self.question, self.step) {
                    Some(search) => Action::Calls(vec![search]),
                    None => Action::Next(StepEnd::Unknown),
                },
                _ => Action::Next(StepEnd::Unknown),
            },
        }
    }

    /// Whether a text of the conversation reports that the step is done: the summary of an earlier
    /// conversation.
    fn is_reported_as_done(&self) -> bool {
        const DONE: [&str; 7] = ["done", "completed", "succeeded", "success", "already", "sent", "finished"];
        let values = telling_values(&self.step.fields);
        let (_, verb) = self.step.operation.split_once('.').unwrap_or_default();
        self.question.turns.iter().any(|turn| {
            let text = match turn {
                Turn::System(text) => text,
                Turn::Assistant(generation) => &generation.text,
                Turn::User(_) | Turn::ToolResult(_) => return false,
            };
            let words = words(text);
            let has = |wanted: &str| words.iter().any(|word| word.starts_with(wanted));
            has(verb)
                && DONE.iter().any(|done| words.iter().any(|word| word == done))
                && !words.iter().any(|word| word == "not")
                && values.iter().any(|value| text.contains(value.as_str()))
        })
    }

    /// A read that shows whether the step is done: of the tools that read, one with the verb of the operation in its
    /// name, or else one with a noun, or else one that takes a value of the step; of these, one that lists before one
    /// that needs the id of what was made.
    fn read(&self) -> Option<(String, Value)> {
        let (service, verb) = self.step.operation.split_once('.').unwrap_or_default();
        let nouns: Vec<&str> =
            [service].into_iter().chain(self.step.nouns.iter().map(String::as_str)).collect();
        const LISTS: [&str; 4] = ["list", "search", "find", "history"];
        let rank = |name: &str| {
            let words = words(name);
            let has = |wanted: &str| words.iter().any(|word| is_same_word(word, wanted));
            (has(verb), nouns.iter().any(|noun| has(noun)), LISTS.iter().any(|list| has(list)))
        };
        let reads = self.question.tools.iter().filter(|tool| is_read(&tool.name));
        let covered = reads.filter_map(|tool| Some((tool, map_arguments(self.step, tool).ok()?)));
        let is_about_it = |(tool, arguments): &(&OfferedTool, MappedArguments)| {
            let (has_verb, has_noun, _) = rank(&tool.name);
            has_verb || has_noun || arguments.has_own_value()
        };
        // Of equal ones, `max_by_key` takes the last.
        let about: Vec<_> = covered.filter(is_about_it).collect();
        let (tool, arguments) = about.into_iter().rev().max_by_key(|(tool, _)| rank(&tool.name))?;
        Some((tool.name.clone(), Value::Object(arguments.values)))
    }

    fn has_read_often(&self) -> bool {
        let reads = self.question.calls().filter(|call| is_read(&call.name)).count();
        reads >= self.options.attempts as usize * self.steps
    }

    /// The call for the step: attempt `attempt`, from 1.
    fn call(&self, attempt: u32) -> (String, Value) {
        let arguments = &self.tool.arguments;
        let mut values = arguments.values.clone();
        if self.repetition > 0
            && let Some(second) = self.second_arguments()
        {
            values = second.values;
        }
        let is_rewording = self.options.character == Character::Rewording;
        let wording = if is_rewording { attempt } else { 1 };
        if let Some(key) = &arguments.key {
            values.insert(key.clone(), json!(idempotency_key(self.step, self.equal_before, wording)));
        }
        let optional = arguments.optional_text.iter().filter(|_| is_rewording);
        for name in arguments.free_text.iter().chain(optional) {
            values.insert(name.clone(), json!(free_text(self.step, wording)));
        }
        (self.tool.tool.name.clone(), Value::Object(values))
    }

    /// The arguments that a second generation for the same request has instead; `None` if it has the same.
    fn second_arguments(&self) -> Option<MappedArguments> {
        let mut others = self.options.second_generation.iter();
        let (_, fields) = others.find(|(operation, _)| *operation == self.step.operation)?;
        let mut changed: Fields = self.step.fields.clone();
        fields.iter().for_each(|(name, value)| changed.set(name.to_owned(), value.clone()));
        let step = PlannedStep { fields: changed, ..self.step.clone() };
        map_arguments(&step, self.tool.tool).ok()
    }
}

fn with_ids(calls: Vec<(String, Value)>, question: &Question, context: &Context) -> Vec<ToolCall> {
    let id = |index: usize| {
        let name = format!("call{index}");
        match question.api {
            ModelApi::Messages => format!("toolu_01{}", context.ids.hex(&name, 22)),
            ModelApi::Chat | ModelApi::Responses => format!("call_{}", context.ids.hex(&name, 24)),
            ModelApi::Gemini => context.ids.hex(&name, 8),
        }
    };
    let form = |name: &str| {
        let tool = question.tools.iter().find(|tool| tool.name == name);
        tool.map(|tool| tool.form.clone()).unwrap_or_default()
    };
    let calls = calls.into_iter().enumerate();
    let calls = calls.map(|(index, (name, arguments))| {
        let form = form(&name);
        ToolCall { id: id(index), name, arguments, form }
    });
    calls.collect()
}

/// The key of a step: the same for each attempt with the same wording.
fn idempotency_key(step: &PlannedStep, equal_before: usize, wording: u32) -> String {
    let values: Vec<String> = step.fields.iter().map(|(_, value)| value.to_string()).collect();
    let all = format!("{}-{}", step.operation.replace('.', "-"), values.join("-"));
    let mut key: String =
        all.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).take(200).collect();
    if equal_before > 0 {
        key.push_str(&format!("-step-{}", equal_before + 1));
    }
    if wording > 1 {
        key.push_str(&format!("-retry-{wording}"));
    }
    key
}

fn free_text(step: &PlannedStep, wording: u32) -> String {
    let verb = step.operation.split_once('.').map_or("", |(_, verb)| verb);
    match wording {
        1 => format!("requested: {verb}"),
        2 => format!("as the user asked, {verb}"),
        _ => format!("{verb} for the user, attempt {wording}"),
    }
}

fn conclusion(character: Character, ends: &[(&PlannedStep, StepEnd)]) -> (String, &'static str) {
    if character == Character::Overclaiming || ends.iter().all(|(_, end)| *end == StepEnd::Done) {
        let what: Vec<&str> = ends.iter().map(|(step, _)| step.operation.as_str()).collect();
        let text = if what.is_empty() { "OK.".to_owned() } else { format!("Done: {}.", what.join(", ")) };
        return (text, "done");
    }
    let text = ends.iter().map(|(step, end)| {
        let end = match end {
            StepEnd::Done => "done",
            StepEnd::NotDone => "not done",
            StepEnd::Unknown => "I do not know whether it was done",
        };
        format!("{}: {end}.", step.operation)
    });
    let text = text.collect::<Vec<_>>().join(" ");
    let is_nothing_done = ends.iter().all(|(_, end)| *end == StepEnd::NotDone);
    (text, if is_nothing_done { "not-done" } else { "unknown" })
}

/// The next turn of a script: the number of the model's earlier turns says which. After the last one the
/// model only says `OK.`.
fn scripted(options: &ModelOptions, question: &Question, context: &Context) -> NextTurn {
    let turns = question.turns.windows(2).filter(|pair| starts_turn(&pair[0], &pair[1])).count();
    let is_first = question.turns.first().is_some_and(|turn| matches!(turn, Turn::Assistant(_)));
    let turn = options.script.get(turns + usize::from(is_first)).cloned().unwrap_or_default();
    let text = if turn.say.is_empty() && turn.calls.is_empty() { "OK.".to_owned() } else { turn.say };
    let generation = Generation { calls: with_ids(turn.calls, question, context), ..Generation::text(text) };
    NextTurn { generation, choices: Vec::new(), claim: None, is_shell: false }
}

/// Whether a turn of the model starts with `next`. OpenAI's responses have an item of its own for each call.
fn starts_turn(before: &Turn, next: &Turn) -> bool {
    matches!(next, Turn::Assistant(_)) && !matches!(before, Turn::Assistant(_))
}

#[cfg(test)]
#[path = "next_turn_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "programs_tests.rs"]
mod programs_tests;
