//! The battery from start to end: connects, lists the tools, calls each without faults, asks the questions of
//! each that writes, and reads the cards.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use jiff::Timestamp;
use mock_services::yaml::Problems;

use super::asked_cases::{AskedCases, AskedTrial};
use super::card::CardRemark;
use super::cases::{CaseMaker, TrialSetup, default_services};
use super::control::ControlServer;
use super::judge::ToolFacts;
use super::observed::ObservedTrial;
use super::prepare::PreparedServer;
use super::questions::McpQuestion;
use super::run_cases::{CaseRunError, CaseRunner};
use super::tools_file::ToolsFile;
use crate::certify::{
    BatteryResult, CallersHeld, ControlCheck, FileDigest, ProbeTrial, QuestionStatus, SubjectKindTested,
    TestedSubject, file_digest, question_results,
};
use crate::mcp::client::{DriverStep, HEADERS_VARIABLE, Handshake, ListedTool, ListedTools};
use crate::run::{ConcurrencyLimiter, RunEvent};
use crate::scratch::Scratch;
use crate::subject::{Settings, Subject, Template};

/// How a server is tested.
#[derive(Debug, Clone)]
pub struct McpOptions {
    /// The command as the user gave it.
    pub command: Vec<String>,
    /// The server, ready to start; without a program it already runs.
    pub server: PreparedServer,
    /// Its URL, where it serves streamable HTTP.
    pub url: Option<String>,
    /// The questions to ask.
    pub questions: Vec<McpQuestion>,
    /// What the user says about its tools.
    pub tools: ToolsFile,
    /// The number of trials of each question; those that fail in several ways share them.
    pub trials: u32,
    /// The largest number of callers at once.
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

impl McpOptions {
    /// Whether the server already runs, so that hapax does not have its backend.
    pub(super) fn is_running(&self) -> bool {
        self.server.program.is_empty()
    }
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
    let mut report = run_battery(options, limiter, stop.clone(), on).await?;
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
    let command = vec![hapax, "control-server".to_owned(), control.as_str().to_owned()];
    let folder = options.folder.join(format!("control-{control}"));
    std::fs::create_dir_all(&folder)?;
    let control_options = McpOptions {
        server: PreparedServer { program: command.clone(), ..PreparedServer::default() },
        command,
        url: None,
        questions: control.known().map(|(question, _)| question).to_vec(),
        tools: ToolsFile::default(),
        trials: 1,
        with_controls: false,
        folder,
        ..options.clone()
    };
    let report = run_battery(&control_options, limiter, stop, on).await?;
    let results = question_results(&report.battery.trials, 0.0, 0.95);
    let check = |(question, expected): (McpQuestion, QuestionStatus)| {
        let found = results.iter().find(|result| result.question == question.as_str());
        ControlCheck {
            control: format!("control-server {control}"),
            question: question.as_str().to_owned(),
            expected: expected.as_str().to_owned(),
            found: found.map_or("not-asked", |found| found.result.as_str()).to_owned(),
        }
    };
    Ok(control.known().map(check).to_vec())
}

async fn run_battery<F: Future<Output = ()>>(
    options: &McpOptions,
    limiter: &ConcurrencyLimiter,
    stop: Shared<F>,
    on: &mut (dyn FnMut(RunEvent<'_>) + Send),
) -> Result<McpReport, McpError> {
    let lists = Scratch::new()?;
    let services =
        if options.tools.services.is_empty() { default_services() } else { options.tools.services.clone() };
    let mut battery = Battery {
        options,
        maker: CaseMaker {
            services,
            handshake: Handshake::Initialize,
            timeout: options.timeout,
            list_folder: lists.path().to_owned(),
            // A server that already runs remembers earlier runs.
            run: if options.is_running() { Timestamp::now().to_string() } else { String::new() },
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
    let mut program = vec![hapax.to_string_lossy().into_owned(), "call-tools".to_owned()];
    if let Some(url) = &options.url {
        program.extend(["--url".to_owned(), url.clone()]);
    }
    program.push("--".to_owned());
    program.extend(options.server.program.iter().cloned());
    let env = options.tools.env.iter().chain(&options.server.env).map(|(name, value)| {
        let template =
            Template::parse(value).map_err(|error| McpError::Server(format!("env {name}: {error}")))?;
        Ok((name.clone(), template))
    });
    let mut settings = options.settings.clone();
    settings.env.extend(env.collect::<Result<Vec<_>, McpError>>()?);
    if !options.tools.headers.is_empty() {
        let headers = serde_json::to_string(&options.tools.headers).unwrap_or_default();
        settings.env.push((HEADERS_VARIABLE.to_owned(), Template::literal(headers)));
    }
    Ok(Subject { name: options.command.join(" "), settings, ..Subject::command(program) })
}

/// A battery that is running.
pub(super) struct Battery<'a, F: Future<Output = ()>> {
    pub(super) options: &'a McpOptions,
    pub(super) maker: CaseMaker,
    pub(super) runner: CaseRunner<'a, F>,
    pub(super) problems: Vec<String>,
    pub(super) noise: Option<CardRemark>,
    pub(super) not_tested: Vec<String>,
}

impl<F: Future<Output = ()>> Battery<'_, F> {
    async fn run(&mut self, on: &mut (dyn FnMut(RunEvent<'_>) + Send)) -> Result<McpReport, McpError> {
        let (listed, first) = self.list(on).await?;
        let tools = self.known(listed);
        let called = self.call_without_faults(&tools, first.lists.first(), on).await?;
        let mut cases = AskedCases::default();
        let asked = self.ask(&tools, &called.facts, &mut cases, on).await?;
        let callers = match self.options.with_controls {
            true => self.ramp(&tools, &called.facts, &mut cases, on).await?,
            false => None,
        };
        cases.save(&self.options.folder)?;
        let mut remarks: Vec<CardRemark> = self.noise.take().into_iter().collect();
        for (index, (tool, facts)) in tools.iter().zip(&called.facts).enumerate() {
            let Some(facts) = facts else { continue };
            let of_tool: Vec<&AskedTrial> = asked.iter().filter(|trial| trial.tool == index).collect();
            let verify = self.options.tools.tool(&tool.card.name).verify;
            remarks.extend(tool.card_remarks(facts, &of_tool, &called.reads, verify));
        }
        Ok(self.report(
            &called.facts,
            called.reads,
            self.probe_trials(&tools, &called.facts, &asked),
            callers,
            remarks,
            &first,
        ))
    }

    fn report(
        &mut self,
        facts: &[Option<ToolFacts>],
        reads: Vec<String>,
        trials: Vec<ProbeTrial>,
        callers: Option<CallersHeld>,
        remarks: Vec<CardRemark>,
        first: &ObservedTrial,
    ) -> McpReport {
        let (protocol, server) = first.identity.clone().unwrap_or_default();
        let findings =
            self.problems.iter().cloned().chain(remarks.iter().map(CardRemark::sentence)).collect();
        let battery = BatteryResult {
            subject: self.tested(&server, first.lists.first()),
            trials,
            controls: Vec::new(),
            callers,
            tested_with: self.options.tools.files.clone(),
            score: None,
            findings,
            not_tested: std::mem::take(&mut self.not_tested),
            evidence: std::mem::take(&mut self.runner.ledgers),
            interrupted: self.runner.interrupted,
        };
        McpReport {
            battery,
            remarks,
            writes: facts.iter().flatten().map(|facts| facts.name.clone()).collect(),
            reads,
            protocol,
            answers: self.options.tools.answers.clone(),
            problems: std::mem::take(&mut self.problems),
        }
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

    /// What was tested. A server that already runs is known by the list of its tools.
    fn tested(&self, server: &str, list: Option<&String>) -> TestedSubject {
        let prepared = &self.options.server;
        let mut digests: Vec<FileDigest> = prepared.digests.clone();
        for word in &self.options.command {
            let path = Path::new(word);
            if let Some(sha256) = path.is_file().then(|| file_digest(path).ok()).flatten() {
                digests.push(FileDigest { name: word.clone(), sha256 });
            }
        }
        if let (true, Some(list)) = (self.options.is_running(), list) {
            digests.push(FileDigest { name: "the list of its tools".to_owned(), sha256: list.clone() });
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

/// The list that the driver wrote.
fn read_list(folder: &Path) -> io::Result<Vec<ListedTool>> {
    let is_list = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let mut files = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(is_list);
    let path = files.next().ok_or_else(|| io::Error::other("the server's tools were not written"))?;
    let list: ListedTools = serde_json::from_slice(&std::fs::read(path)?)?;
    Ok(list.tools)
}
