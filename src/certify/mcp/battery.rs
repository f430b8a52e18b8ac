//! The battery from start to end: connects, lists the tools, calls each without faults, asks the questions of
//! each that writes, and reads the cards.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use mock_services::yaml::Problems;

use super::arguments::CallArguments;
use super::card::{CardRemark, SeenOfTool, remarks};
use super::cases::{CaseMaker, TrialSetup, default_services};
use super::control::ControlServer;
use super::judge::{ToolFacts, judge, says_try_again};
use super::observed::ObservedTrial;
use super::prepare::PreparedServer;
use super::questions::{AskedTool, McpQuestion};
use super::run_cases::{CaseRunError, CaseRunner};
use super::text::short;
use super::tools_file::ToolsFile;
use crate::certify::{
    BatteryResult, ControlCheck, FileDigest, ProbeOutcome, ProbeTrial, QuestionStatus, SubjectKindTested,
    TestedSubject, file_digest, question_results,
};
use crate::mcp::client::{CallOutcome, DriverStep, Handshake, ListedTool, ListedTools, ToolCall};
use crate::run::{ConcurrencyLimiter, RunEvent};
use crate::scratch::Scratch;
use crate::subject::{Settings, Subject, Template};

/// The maximum number of operations of one tool that are made to fail.
const MAX_OPERATIONS: usize = 3;

/// How a server is tested.
#[derive(Debug, Clone)]
pub struct McpOptions {
    /// The command as the user gave it.
    pub command: Vec<String>,
    /// The server, ready to start.
    pub server: PreparedServer,
    /// What the user says about its tools.
    pub tools: ToolsFile,
    /// The number of trials of each question; those that fail in several ways share them.
    pub trials: u32,
    /// The number of callers at once.
    pub callers: u32,
    /// How long the server can take for each request.
    pub timeout: Duration,
    /// The seed.
    pub seed: u64,
    /// Whether it is sealed, which variables it gets, and which hosts it can reach.
    pub settings: Settings,
    /// Whether the controls run with it, without which there is no certificate.
    pub with_controls: bool,
    /// The folder for the ledgers.
    pub folder: PathBuf,
}

/// What the battery found.
#[derive(Debug, Clone, PartialEq)]
pub struct McpReport {
    /// The result, for a certificate.
    pub battery: BatteryResult,
    /// The remarks about the cards.
    pub remarks: Vec<CardRemark>,
    /// The tools that write.
    pub writes: Vec<String>,
    /// The tools that only read.
    pub reads: Vec<String>,
    /// The protocol version.
    pub protocol: String,
    /// The answers of the backend that the user declares, a line each.
    pub answers: Vec<String>,
    /// What makes the server unusable as it is, beside its answers to the questions.
    pub problems: Vec<String>,
}

/// Why a server was not tested.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The server cannot be used.
    #[error("the MCP server cannot be tested: {0}")]
    Server(String),
    /// What the user says about services is wrong.
    #[error("the services of the tools file or the answers have problems:\n{}", .0.render(false).trim_end())]
    Services(Problems),
    /// The trials could not be run.
    #[error(transparent)]
    Run(#[from] CaseRunError),
    /// A file could not be written or read.
    #[error("{0}")]
    Files(#[from] io::Error),
}

/// A tool and how it is called.
struct KnownTool {
    card: ListedTool,
    call: CallArguments,
}

/// A trial of a question, with what it showed.
struct AskedTrial {
    tool: usize,
    question: McpQuestion,
    number: u32,
    second_try: bool,
    seen: ObservedTrial,
    outcome: ProbeOutcome,
    sentence: String,
}

/// Tests a server, until `stop` completes.
///
/// # Errors
/// When the server cannot be used at all, or files cannot be written.
pub async fn certify_mcp(
    options: &McpOptions,
    limiter: &ConcurrencyLimiter,
    stop: impl Future<Output = ()>,
    on: &mut (dyn FnMut(RunEvent<'_>) + Send),
) -> Result<McpReport, McpError> {
    let stop = stop.shared();
    let mut report = run_battery(options, &McpQuestion::EVERY, limiter, stop.clone(), on).await?;
    if options.with_controls && !report.battery.interrupted && !report.writes.is_empty() {
        for control in ControlServer::BOTH {
            let checks = control_checks(control, options, limiter, stop.clone(), on).await?;
            report.battery.controls.extend(checks);
        }
    }
    Ok(report)
}

/// The results of a control, which are known.
async fn control_checks<F: Future<Output = ()>>(
    control: ControlServer,
    options: &McpOptions,
    limiter: &ConcurrencyLimiter,
    stop: Shared<F>,
    on: &mut (dyn FnMut(RunEvent<'_>) + Send),
) -> Result<Vec<ControlCheck>, McpError> {
    let hapax = std::env::current_exe()?.to_string_lossy().into_owned();
    let command = vec![hapax, "control-server".to_owned(), control.word().to_owned()];
    let folder = options.folder.join(format!("control-{control}"));
    std::fs::create_dir_all(&folder)?;
    let control_options = McpOptions {
        server: PreparedServer { program: command.clone(), ..PreparedServer::default() },
        command,
        tools: ToolsFile::default(),
        trials: 1,
        folder,
        ..options.clone()
    };
    let questions = control.known().map(|(question, _)| question);
    let report = run_battery(&control_options, &questions, limiter, stop, on).await?;
    let results = question_results(&report.battery.trials, 0.0, 0.95);
    let check = |(question, expected): (McpQuestion, QuestionStatus)| {
        let found = results.iter().find(|result| result.question == question.word());
        ControlCheck {
            control: format!("control-server {control}"),
            question: question.word().to_owned(),
            expected: expected.word().to_owned(),
            found: found.map_or("not-asked", |found| found.result.word()).to_owned(),
        }
    };
    Ok(control.known().map(check).to_vec())
}

async fn run_battery<F: Future<Output = ()>>(
    options: &McpOptions,
    questions: &[McpQuestion],
    limiter: &ConcurrencyLimiter,
    stop: Shared<F>,
    on: &mut (dyn FnMut(RunEvent<'_>) + Send),
) -> Result<McpReport, McpError> {
    let lists = Scratch::new()?;
    let services =
        if options.tools.services.is_empty() { default_services() } else { options.tools.services.clone() };
    let mut battery = Battery {
        options,
        questions,
        maker: CaseMaker {
            services,
            handshake: Handshake::Initialize,
            timeout: options.timeout,
            list_folder: lists.path().to_owned(),
        },
        runner: CaseRunner {
            subject: subject(options)?,
            folder: &options.folder,
            limiter,
            seed: options.seed,
            stop,
            ledgers: Vec::new(),
            interrupted: false,
        },
        problems: Vec::new(),
        noise: None,
        not_tested: Vec::new(),
    };
    battery.run(on).await
}

/// The driver as a subject.
fn subject(options: &McpOptions) -> Result<Subject, McpError> {
    let hapax = std::env::current_exe()?;
    let mut program = vec![hapax.to_string_lossy().into_owned(), "call-tools".to_owned(), "--".to_owned()];
    program.extend(options.server.program.iter().cloned());
    let env = options.tools.env.iter().chain(&options.server.env).map(|(name, value)| {
        let template =
            Template::parse(value).map_err(|error| McpError::Server(format!("env {name}: {error}")))?;
        Ok((name.clone(), template))
    });
    let mut settings = options.settings.clone();
    settings.env.extend(env.collect::<Result<Vec<_>, McpError>>()?);
    Ok(Subject { name: options.command.join(" "), settings, ..Subject::command(program) })
}

struct Battery<'a, F: Future<Output = ()>> {
    options: &'a McpOptions,
    questions: &'a [McpQuestion],
    maker: CaseMaker,
    runner: CaseRunner<'a, F>,
    problems: Vec<String>,
    noise: Option<CardRemark>,
    not_tested: Vec<String>,
}

impl<F: Future<Output = ()>> Battery<'_, F> {
    async fn run(&mut self, on: &mut (dyn FnMut(RunEvent<'_>) + Send)) -> Result<McpReport, McpError> {
        let (listed, first) = self.list(on).await?;
        let tools = self.known(listed);
        let calls = self.call_each(&tools, first.lists.first(), on).await?;
        let facts: Vec<Option<(ToolFacts, Vec<String>)>> =
            tools.iter().zip(&calls).map(|(tool, seen)| self.facts(tool, seen.as_ref()?)).collect();
        let is_read = |seen: &Option<ObservedTrial>| {
            seen.as_ref().is_some_and(|seen| seen.last_is_ok() && seen.writes.is_empty())
        };
        let reads: Vec<String> = tools
            .iter()
            .zip(&calls)
            .filter(|(_, seen)| is_read(seen))
            .map(|(tool, _)| tool.card.name.clone())
            .collect();
        let asked = self.ask(&tools, &facts, on).await?;
        let mut remarks: Vec<CardRemark> = self.noise.take().into_iter().collect();
        for (index, (tool, facts)) in tools.iter().zip(&facts).enumerate() {
            let Some((facts, _)) = facts else { continue };
            let of_tool: Vec<&AskedTrial> = asked.iter().filter(|trial| trial.tool == index).collect();
            remarks.extend(self.card_remarks(tool, facts, &of_tool, &reads));
        }
        let writes = facts.iter().flatten().map(|(facts, _)| facts.name.clone()).collect();
        let (protocol, server) = first.identity.clone().unwrap_or_default();
        let trials = self.probe_trials(&tools, &facts, &asked);
        let findings =
            self.problems.iter().cloned().chain(remarks.iter().map(CardRemark::sentence)).collect();
        let battery = BatteryResult {
            subject: self.tested(&server),
            trials,
            controls: Vec::new(),
            callers: None,
            tested_with: self.options.tools.files.clone(),
            score: None,
            findings,
            not_tested: std::mem::take(&mut self.not_tested),
            evidence: std::mem::take(&mut self.runner.ledgers),
            interrupted: self.runner.interrupted,
        };
        Ok(McpReport {
            battery,
            remarks,
            writes,
            reads,
            protocol,
            answers: self.options.tools.answers.clone(),
            problems: std::mem::take(&mut self.problems),
        })
    }

    /// Connects and lists the tools: with `initialize`, or else without.
    async fn list(
        &mut self,
        on: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<(Vec<ListedTool>, ObservedTrial), McpError> {
        let mut reasons = Vec::new();
        for (name, handshake) in [("list", Handshake::Initialize), ("list-2026-07-28", Handshake::Discover)] {
            self.maker.handshake = handshake;
            let setup = TrialSetup::new(McpQuestion::SameCallTwice, vec![vec![DriverStep::List]]);
            let case = self.maker.case(name, &setup).map_err(McpError::Services)?;
            let results = self.runner.run(name, vec![(case, 1)], on).await?;
            let seen = results.into_iter().flat_map(|case| case.trials).map(|(_, seen)| seen).next();
            let Some(seen) = seen else {
                return Err(McpError::Server("stopped before its tools were listed".to_owned()));
            };
            if let Some(why) = &seen.unstartable {
                return Err(McpError::Server(why.clone()));
            }
            let Some(why) = &seen.not_connected else {
                let tools = read_list(&self.maker.list_folder)?;
                return Ok((tools, seen));
            };
            reasons.push(why.clone());
            if seen.identity.is_some() || !self.options.server.can_be_asked_again(why) {
                break;
            }
        }
        Err(McpError::Server(reasons.swap_remove(0)))
    }

    /// The tools that are not left out.
    fn known(&mut self, listed: Vec<ListedTool>) -> Vec<KnownTool> {
        let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
        for name in self.options.tools.tools.keys().filter(|name| !names.contains(&name.as_str())) {
            self.not_tested
                .push(format!("`{name}`: the tools file names it, and the server does not list it"));
        }
        let mut known = Vec::new();
        let mut left_out = Vec::new();
        for card in listed {
            let settings = self.options.tools.tool(&card.name);
            if settings.skip {
                left_out.push(card.name);
                continue;
            }
            known.push(KnownTool { call: CallArguments::of(&card, &settings), card });
        }
        if !left_out.is_empty() {
            self.not_tested.push(format!("left out by the tools file: {}", left_out.join(", ")));
        }
        known
    }

    /// Calls each tool once without faults. A tool that could not be called is listed, with the reason.
    async fn call_each(
        &mut self,
        tools: &[KnownTool],
        list: Option<&String>,
        on: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<Vec<Option<ObservedTrial>>, McpError> {
        let (mut cases, mut ids) = (Vec::new(), BTreeMap::new());
        for (index, tool) in tools.iter().enumerate() {
            let call = ToolCall { tool: tool.card.name.clone(), arguments: tool.call.with_key(1) };
            let steps = vec![DriverStep::List, DriverStep::Call(call), DriverStep::List];
            let setup = TrialSetup::new(McpQuestion::SameCallTwice, vec![steps]);
            let case = self
                .maker
                .case(&format!("{index}-{}", tool.card.name), &setup)
                .map_err(McpError::Services)?;
            ids.insert(case.id.clone(), index);
            cases.push((case, 1));
        }
        let mut calls: Vec<Option<ObservedTrial>> = tools.iter().map(|_| None).collect();
        if cases.is_empty() {
            return Ok(calls);
        }
        let results = self.runner.run("calls", cases, on).await?;
        for case in results {
            let Some(index) = ids.get(&case.id) else { continue };
            let Some((_, seen)) = case.trials.into_iter().next() else { continue };
            let name = &tools[*index].card.name;
            if seen.lists.iter().any(|digest| Some(digest) != list) {
                self.problems.push(format!(
                    "the server changes its list of tools: it is another one when `{name}` is called"
                ));
            }
            if let Some((lines, first)) = &seen.noise {
                self.noise = Some(CardRemark {
                    tool: "the server".to_owned(),
                    field: "standard output".to_owned(),
                    problem: format!(
                        "{lines} lines are not MCP messages, the first is `{}`",
                        short(first, 80)
                    ),
                    better: "write logs to standard error".to_owned(),
                });
            }
            if let Some(why) = not_callable(&seen) {
                self.not_tested.push(format!("`{name}` could not be called without faults: {why}"));
            }
            calls[*index] = Some(seen);
        }
        self.problems.sort();
        self.problems.dedup();
        Ok(calls)
    }

    /// What is known of a tool that writes and can be called, and the operations of its effects.
    fn facts(&self, tool: &KnownTool, seen: &ObservedTrial) -> Option<(ToolFacts, Vec<String>)> {
        if seen.effects.is_empty() || not_callable(seen).is_some() {
            return None;
        }
        let mut operations = seen.effect_operations();
        operations.truncate(MAX_OPERATIONS);
        let facts = ToolFacts {
            name: tool.card.name.clone(),
            effects: seen.effects.len(),
            effect: seen.effects.first().map(|(effect, _)| effect.clone())?,
            idempotent_hint: tool.card.hint("idempotentHint") == Some(true),
            keyed: tool.call.key.is_some(),
            callers: usize::try_from(self.options.callers).unwrap_or(usize::MAX),
        };
        Some((facts, operations))
    }

    /// Asks all questions of all tools that write. A trial that is void is tried a second time.
    async fn ask(
        &mut self,
        tools: &[KnownTool],
        facts: &[Option<(ToolFacts, Vec<String>)>],
        on: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<Vec<AskedTrial>, McpError> {
        let (mut cases, mut setups) = (Vec::new(), BTreeMap::new());
        for (index, (tool, facts)) in tools.iter().zip(facts).enumerate() {
            let Some((_, operations)) = facts else { continue };
            let asked = self.asked(tool, operations);
            for &question in self.questions {
                let of_question = asked.trials(question).unwrap_or_default();
                let ways = u32::try_from(of_question.len()).unwrap_or(u32::MAX).max(1);
                let each = self.options.trials.div_ceil(ways);
                for (place, setup) in of_question.into_iter().enumerate() {
                    let name = format!("{index}-{}-{question}-{place}", tool.card.name);
                    let case = self.maker.case(&name, &setup).map_err(McpError::Services)?;
                    setups.insert(case.id.clone(), (index, place, setup));
                    cases.push((case, each));
                }
            }
        }
        if cases.is_empty() || self.runner.interrupted {
            return Ok(Vec::new());
        }
        let again: BTreeMap<String, _> =
            cases.iter().map(|(case, _)| (case.id.clone(), case.clone())).collect();
        let results = self.runner.run("questions", cases, on).await?;
        let mut asked = Vec::new();
        let mut voids: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for case in results {
            for (number, seen) in case.trials {
                let Some(trial) = self.judged(&setups, facts, &case.id, number, seen, false) else {
                    continue;
                };
                if trial.outcome == ProbeOutcome::Void {
                    voids.entry(case.id.clone()).or_default().push(number);
                }
                asked.push(trial);
            }
        }
        if !voids.is_empty() && !self.runner.interrupted {
            let count = |numbers: &Vec<u32>| u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            let tried =
                voids.iter().filter_map(|(id, numbers)| Some((again.get(id)?.clone(), count(numbers))));
            let results = self.runner.run("second-tries", tried.collect(), on).await?;
            for case in results {
                let numbers = voids.get(&case.id).cloned().unwrap_or_default();
                for (number, (_, seen)) in numbers.into_iter().zip(case.trials) {
                    asked.extend(self.judged(&setups, facts, &case.id, number, seen, true));
                }
            }
        }
        asked.sort_by_key(|trial| (trial.tool, trial.question as usize, trial.number, trial.second_try));
        Ok(asked)
    }

    fn asked<'t>(&self, tool: &'t KnownTool, operations: &'t [String]) -> AskedTool<'t> {
        AskedTool { name: &tool.card.name, call: &tool.call, operations, callers: self.options.callers }
    }

    fn judged(
        &self,
        setups: &BTreeMap<String, (usize, usize, TrialSetup)>,
        facts: &[Option<(ToolFacts, Vec<String>)>],
        id: &str,
        number: u32,
        seen: ObservedTrial,
        second_try: bool,
    ) -> Option<AskedTrial> {
        let (tool, place, setup) = setups.get(id)?;
        let (facts, _) = facts.get(*tool)?.as_ref()?;
        let judgment = judge(facts, setup, &seen);
        let place = u32::try_from(*place).unwrap_or(u32::MAX);
        Some(AskedTrial {
            tool: *tool,
            question: setup.question,
            number: place.saturating_mul(self.options.trials).saturating_add(number),
            second_try,
            seen,
            outcome: judgment.outcome,
            sentence: judgment.sentence,
        })
    }

    /// The trials for the certificate, with a line for each question that was not asked.
    fn probe_trials(
        &self,
        tools: &[KnownTool],
        facts: &[Option<(ToolFacts, Vec<String>)>],
        asked: &[AskedTrial],
    ) -> Vec<ProbeTrial> {
        let mut trials = Vec::new();
        for (index, (tool, facts)) in tools.iter().zip(facts).enumerate() {
            let Some((facts, operations)) = facts else { continue };
            for &question in self.questions {
                let of = |sentence: String| ProbeTrial {
                    tool: facts.name.clone(),
                    question: question.word().to_owned(),
                    trial: 1,
                    second_try: false,
                    outcome: ProbeOutcome::NotAsked,
                    sentence,
                    evidence: Vec::new(),
                };
                if let Err(why) = self.asked(tool, operations).trials(question) {
                    trials.push(of(why.to_owned()));
                }
                let mine = asked.iter().filter(|trial| trial.tool == index && trial.question == question);
                trials.extend(mine.map(|trial| ProbeTrial {
                    trial: trial.number,
                    second_try: trial.second_try,
                    outcome: trial.outcome,
                    evidence: trial.seen.evidence(),
                    ..of(trial.sentence.clone())
                }));
            }
        }
        trials
    }

    fn card_remarks(
        &self,
        tool: &KnownTool,
        facts: &ToolFacts,
        asked: &[&AskedTrial],
        reads: &[String],
    ) -> Vec<CardRemark> {
        let of = |question: McpQuestion| asked.iter().filter(move |trial| trial.question == question);
        let repeating = if facts.keyed { McpQuestion::OneKeyTwice } else { McpQuestion::SameCallTwice };
        let has_more = |trial: &&&AskedTrial| trial.seen.effects.len() > facts.effects;
        let repeats = of(repeating).any(|trial| has_more(&trial));
        let after_effect = of(McpQuestion::ReplyLost).chain(of(McpQuestion::ErrorAfterEffect));
        let asked_to_try_again = after_effect
            .filter(|trial| !facts.keyed && !trial.seen.effects.is_empty())
            .filter_map(|trial| trial.seen.calls.first())
            .find(|call| call.outcome != CallOutcome::Ok && says_try_again(&call.text))
            .map(|call| short(&call.text, 80));
        let is_false = |trial: &&&AskedTrial| {
            trial.outcome == ProbeOutcome::Failed
                && trial.seen.effects.len() < facts.effects
                && trial.seen.last_is_ok()
        };
        let false_success = asked.iter().any(|trial| is_false(&trial));
        let calls = asked.iter().flat_map(|trial| &trial.seen.calls);
        let error_in_text = calls
            .filter(|call| call.outcome == CallOutcome::ErrorInText)
            .map(|call| short(&call.text, 80))
            .next();
        let named = self.options.tools.tool(&tool.card.name).verify;
        let verifying_tool =
            named.or_else(|| reads.iter().find(|read| is_about(read, &tool.card.name, reads)).cloned());
        let seen = SeenOfTool {
            writes: true,
            repeats,
            key_is_ignored: facts.keyed && repeats,
            asked_to_try_again,
            error_in_text,
            false_success,
            verifying_tool,
            has_reads: !reads.is_empty(),
        };
        remarks(&tool.card, tool.call.key.as_ref(), &seen)
    }

    fn tested(&self, server: &str) -> TestedSubject {
        let prepared = &self.options.server;
        let mut digests: Vec<FileDigest> = prepared.digests.clone();
        for word in &self.options.command {
            let path = Path::new(word);
            if let Some(sha256) = path.is_file().then(|| file_digest(path).ok()).flatten() {
                digests.push(FileDigest { name: word.clone(), sha256 });
            }
        }
        let said =
            server.rsplit_once(' ').map(|(_, version)| version.to_owned()).filter(|said| !said.is_empty());
        TestedSubject {
            kind: SubjectKindTested::McpServer,
            name: prepared.package.clone().unwrap_or_else(|| self.options.command.join(" ")),
            command: self.options.command.clone(),
            version: prepared.version.clone().or(said),
            digests,
        }
    }
}

/// Why a call without faults shows nothing; `None` if it succeeded.
fn not_callable(seen: &ObservedTrial) -> Option<String> {
    let unusable = seen.unstartable.as_ref().or(seen.not_connected.as_ref()).map(|why| short(why, 300));
    let Some(call) = seen.calls.first() else {
        return Some(unusable.unwrap_or_else(|| "no call was made".to_owned()));
    };
    if call.outcome == CallOutcome::Ok {
        return unusable;
    }
    let mut why = short(&call.text, 200);
    if !seen.declined.is_empty() {
        why += &format!("; it asked for {}, which hapax declines", seen.declined.join(" and "));
    }
    if !seen.escaped.is_empty() {
        why += &format!(
            "; it wants to reach {}, and no service of the trial answers for it",
            seen.escaped.join(", ")
        );
    }
    if !seen.untrusted.is_empty() {
        why += &format!("; it does not accept the certificate for {}", seen.untrusted.join(", "));
    }
    if let Some(what) = seen.unsupported.first() {
        why += &format!("; hapax does not have {what} yet");
    }
    if !seen.effects.is_empty() {
        why += "; a write reached the backend, so it may need another answer: see --answers";
    }
    Some(why)
}

/// Whether the names of two tools share a word that is not a verb, and that does not stand in the name of every read.
fn is_about(read: &str, write: &str, reads: &[String]) -> bool {
    const VERBS: [&str; 14] = [
        "get", "list", "read", "search", "find", "fetch", "create", "send", "add", "update", "delete",
        "post", "api", "retrieve",
    ];
    let words = |name: &str| -> Vec<String> {
        let plain = name.to_lowercase();
        let words = plain
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .map(|word| word.trim_end_matches('s'));
        words.filter(|word| word.len() > 2 && !VERBS.contains(word)).map(str::to_owned).collect()
    };
    let is_common = |word: &String| reads.len() > 1 && reads.iter().all(|read| words(read).contains(word));
    let write = words(write);
    words(read).iter().any(|word| write.contains(word) && !is_common(word))
}

/// The list that the driver wrote.
fn read_list(folder: &Path) -> io::Result<Vec<ListedTool>> {
    let is_list = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let mut files = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(is_list);
    let path = files.next().ok_or_else(|| io::Error::other("the server's tools were not written"))?;
    let list: ListedTools = serde_json::from_slice(&std::fs::read(path)?)?;
    Ok(list.tools)
}
