//! Certifies an MCP server: which tools write, and whether a write can be repeated, cancelled, interrupted and
//! called by many at once without a second effect. Effects are counted in the ledgers of the services that stand in
//! for the server's backend. docs/mcp-servers.md has the rules.

mod arguments;
mod cases;
mod descriptions;
mod judge;
mod observed;
mod patience;
mod scenarios;
mod startup;
mod tools;
mod tools_file;
mod variables;

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use jiff::Timestamp;

use super::evidence::{FileDigest, command_files, sha256};
use super::runs::{CONFIRMED, RUN_NAMES, Runs, silencing, spread};
use super::statement::{CertifiedFinding, ControlCheck, SubjectKindTested, Tested, TestedSubject};
use super::trials::{AskedLevel, CaseVerdict, Conclusion, TrialRecord};
use super::{CertifyError, CertifyEvent, OnEvent};
use crate::domain::Promise;
use crate::mcp::client::{DriverStep, HEADERS_VARIABLE, Handshake, ListedTool, ListedTools};
use crate::run::{ConcurrencyLimiter, RunOptions};
use crate::scenario::{Case, is_named};
use crate::scratch::Scratch;
use crate::subject::control::ControlServer;
use crate::subject::{InstalledPackage, PreparedCommand, Settings, Subject, Template};
use cases::{ServerCase, matched_answers, observed_in, save_outputs};
use judge::{BackendFault, ToolFacts};
use observed::ObservedTrial;
use patience::{Patience, slowest};
use scenarios::{CaseMaker, ScenarioSetup, default_services};
use startup::{StartupWrite, startup_writes, without_startup};
use tools::ServerTool;

pub(super) use cases::{RUN_NAMES_1, ServerCases};
pub(crate) use patience::ServerTimeout;
pub(crate) use scenarios::ServerScenario;
pub(crate) use tools_file::ToolsFile;

/// How a server is tested.
#[derive(Debug, Clone)]
pub(crate) struct McpOptions {
    /// The command as the user gave it, or the URL of a server that already runs.
    pub(crate) command: Vec<String>,
    /// The same without a network; without a program the server already runs.
    pub(crate) server: PreparedCommand,
    /// Its URL, if it serves streamable HTTP.
    pub(crate) url: Option<String>,
    /// Parts of ids; without any, all cases are run.
    pub(crate) filters: Vec<String>,
    /// What the user says about its tools.
    pub(crate) tools: ToolsFile,
    /// The number of trials of each scenario, at least.
    pub(crate) trials: u32,
    /// The largest number of callers at once.
    pub(crate) callers: u32,
    /// How long the server can take for its start, and for each request.
    pub(crate) timeout: ServerTimeout,
    pub(crate) seed: u64,
    /// Whether it is sealed, which variables it gets, and which hosts it can reach.
    pub(crate) settings: Settings,
    /// Whether more callers and the controls are run as well, without which there is no certificate.
    pub(crate) for_certificate: bool,
    /// The folder for the ledgers.
    pub(crate) folder: PathBuf,
}

impl McpOptions {
    /// Whether the server already runs, so that hapax does not have its backend.
    fn is_running(&self) -> bool {
        self.server.program.is_empty()
    }

    fn selects(&self, case: &Case) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|word| is_named(case, word))
    }
}

/// Tests a server, until `stop` completes.
pub(crate) async fn certify_server(
    options: &McpOptions,
    limiter: &ConcurrencyLimiter,
    stop: impl Future<Output = ()>,
    on: &mut OnEvent<'_>,
) -> Result<Tested, CertifyError> {
    let stop = stop.shared();
    let mut tested = test_server(options, limiter, stop.clone(), on).await?;
    if options.for_certificate && !tested.interrupted && !tested.trials.is_empty() {
        on(CertifyEvent::Phase("controls"));
        for control in ControlServer::ALL {
            tested.controls.extend(control_checks(control, options, limiter, stop.clone(), on).await?);
        }
    }
    Ok(tested)
}

/// The verdicts of a control, which are known.
async fn control_checks<F: Future<Output = ()>>(
    control: ControlServer,
    options: &McpOptions,
    limiter: &ConcurrencyLimiter,
    stop: Shared<F>,
    on: &mut OnEvent<'_>,
) -> Result<Vec<ControlCheck>, CertifyError> {
    let with_retries = match control {
        ControlServer::Keyed => CaseVerdict::Pass,
        ControlServer::Keyless => CaseVerdict::Fail,
    };
    let known = [
        (ServerScenario::LostConnection, with_retries),
        (ServerScenario::KilledAfterEffect, with_retries),
        (ServerScenario::LostReply, with_retries),
        (ServerScenario::LostRequest, CaseVerdict::Pass),
    ];
    let hapax = std::env::current_exe()?.to_string_lossy().into_owned();
    let command = vec![hapax, "control-server".to_owned(), control.as_str().to_owned()];
    let folder = options.folder.join("controls").join(control.as_str());
    std::fs::create_dir_all(&folder)?;
    let control_options = McpOptions {
        server: PreparedCommand { program: command.clone(), package: None },
        command,
        url: None,
        filters: known.map(|(scenario, _)| format!("/{scenario}")).to_vec(),
        tools: ToolsFile::default(),
        trials: 1,
        for_certificate: false,
        folder,
        ..options.clone()
    };
    let on = &mut |event: CertifyEvent<'_>| match event {
        CertifyEvent::Phase(_) => {}
        event => on(event),
    };
    let tested = test_server(&control_options, limiter, stop, on).await?;
    let conclusion = Conclusion::new(&tested.trials, AskedLevel { level: 0.0, confidence: 0.95 });
    let check = |(scenario, expected): (ServerScenario, CaseVerdict)| {
        let case = format!("{}/{scenario}", ControlServer::TOOL);
        ControlCheck {
            control: format!("control-server {control}"),
            expected: expected.as_str().to_owned(),
            found: conclusion.verdict_of(&case).as_str().to_owned(),
            case,
        }
    };
    Ok(known.map(check).to_vec())
}

async fn test_server<F: Future<Output = ()>>(
    options: &McpOptions,
    limiter: &ConcurrencyLimiter,
    stop: Shared<F>,
    on: &mut OnEvent<'_>,
) -> Result<Tested, CertifyError> {
    let lists = Scratch::new()?;
    let services =
        if options.tools.services.is_empty() { default_services() } else { options.tools.services.clone() };
    let mut test = ServerTest {
        options,
        maker: CaseMaker {
            services,
            handshake: Handshake::Initialize,
            timeout: options.timeout.first(),
            patience: Patience::default(),
            list_folder: lists.path().to_owned(),
            // A server that already runs remembers earlier runs.
            run: if options.is_running() { Timestamp::now().to_string() } else { String::new() },
            startup: Vec::new(),
        },
        runs: Runs {
            subject: subject(options)?,
            options: RunOptions { seed: options.seed, claims_optional: true, ..RunOptions::default() },
            folder: &options.folder,
            limiter,
            stop,
            save: save_outputs,
            resumes: false,
            interrupted: false,
        },
        slowest_start: Duration::ZERO,
        findings: Vec::new(),
        not_tested: Vec::new(),
    };
    test.run(on).await
}

/// The driver as a subject.
fn subject(options: &McpOptions) -> Result<Subject, CertifyError> {
    let hapax = std::env::current_exe()?;
    let mut program = vec![hapax.to_string_lossy().into_owned(), "call-tools".to_owned()];
    if let Some(url) = &options.url {
        program.extend(["--url".to_owned(), url.clone()]);
    }
    program.push("--".to_owned());
    program.extend(options.server.program.iter().cloned());
    let mut settings = options.settings.clone();
    for (name, value) in &options.tools.env {
        let template =
            Template::parse(value).map_err(|error| CertifyError::Server(format!("env {name}: {error}")))?;
        settings.env.push((name.clone(), template));
    }
    if !options.tools.headers.is_empty() {
        let headers = serde_json::to_string(&options.tools.headers).unwrap_or_default();
        settings.env.push((HEADERS_VARIABLE.to_owned(), Template::literal(headers)));
    }
    Ok(Subject { name: options.command.join(" "), settings, ..Subject::command(program) })
}

/// A test that is running.
struct ServerTest<'a, F: Future<Output = ()>> {
    options: &'a McpOptions,
    maker: CaseMaker,
    runs: Runs<'a, F>,
    /// How long the slowest start took so far.
    slowest_start: Duration,
    findings: Vec<CertifiedFinding>,
    not_tested: Vec<String>,
}

impl<F: Future<Output = ()>> ServerTest<'_, F> {
    async fn run(&mut self, on: &mut OnEvent<'_>) -> Result<Tested, CertifyError> {
        on(CertifyEvent::Phase("smoke trials: every tool once without faults"));
        let (listed, first) = self.list(on).await?;
        let all = listed.len();
        let mut tools = self.known_tools(listed);
        let are_all_known = tools.len() == all;
        let reads = self.call_without_faults(&mut tools, first.lists.first(), on).await?;
        let planned = self.plan(&tools)?;
        planned.server.save(&self.options.folder)?;
        let judge = |folder: &Path, callers| planned.server.judge_run(folder, callers);
        let (mut trials, mut callers) = (Vec::new(), None);
        if !planned.cases.is_empty() && !self.runs.interrupted {
            on(CertifyEvent::Phase("trials"));
            let cases = spread(planned.cases.clone(), self.options.trials);
            let confirmed = if self.options.for_certificate { CONFIRMED } else { 1 };
            trials = self.runs.test(cases, confirmed, &judge, on).await?;
        }
        if self.options.for_certificate && !trials.is_empty() && !self.runs.interrupted {
            on(CertifyEvent::Phase("more callers"));
            let (options, maker) = (self.options, self.maker.clone());
            let scenario = ServerScenario::CallersAtOnce;
            let cases = |count| cases_of_callers(options, &maker, &tools, count);
            callers = self.runs.more_callers(scenario.as_str(), options.callers, cases, &judge, on).await?;
        }
        let mut seen = Vec::new();
        for name in [RUN_NAMES.cases, RUN_NAMES.second_try] {
            let folder = self.options.folder.join(name);
            if folder.is_dir() {
                seen.extend(observed_in(&folder)?);
            }
        }
        for (tool, facts) in writes(&tools) {
            let of_tool = seen.iter().filter_map(|(id, _, seen)| {
                let case = planned.server.0.get(id)?;
                (case.tool.name == facts.name).then(|| (case, without_startup(seen, &case.startup)))
            });
            let of_tool: Vec<(&ServerCase, ObservedTrial)> = of_tool.collect();
            let of_tool: Vec<(&ServerCase, &ObservedTrial)> =
                of_tool.iter().map(|(case, seen)| (*case, seen)).collect();
            let verify = self.options.tools.tool(&facts.name).verify;
            self.findings.extend(descriptions::findings(
                tool,
                facts,
                &of_tool,
                (&reads, are_all_known),
                verify,
            ));
        }
        let services = planned.cases.first().map(|case| case.services.as_slice()).unwrap_or_default();
        let silencing = silencing(&self.options.settings, services);
        let notes = self.notes(&trials, &reads, &first)?;
        let (_, server) = first.identity.clone().unwrap_or_default();
        Ok(Tested {
            subject: self.tested(&server, first.lists.first()),
            sealed: Some(self.options.settings.sealed),
            trials: in_order(planned, trials),
            silencing,
            promise: Promise::default(),
            controls: Vec::new(),
            callers,
            scenarios: Vec::new(),
            golden_set: None,
            files: self.options.tools.files.clone(),
            score: None,
            unlisted_writes: Vec::new(),
            findings: std::mem::take(&mut self.findings),
            not_tested: std::mem::take(&mut self.not_tested),
            notes,
            interrupted: self.runs.interrupted,
        })
    }

    /// The cases of all tools that write, and the scenarios that are skipped.
    fn plan(&self, tools: &[ServerTool]) -> Result<PlannedCases, CertifyError> {
        let (mut planned, mut scenarios) = (PlannedCases::default(), Vec::new());
        for (tool, facts) in writes(tools) {
            for kind in ServerScenario::ALL {
                let scenario = format!("{}/{kind}", tool.id);
                match tool.called(facts, self.options.url.is_some(), self.maker.patience).setup(kind) {
                    Err(why) if self.options.filters.is_empty() => {
                        planned.order.push(scenario.clone());
                        planned.skipped.push(TrialRecord::skipped(&scenario, why));
                    }
                    Err(_) => {}
                    Ok(setup) => {
                        let cases = self.maker.cases(&scenario, &setup).map_err(CertifyError::Services)?;
                        for case in cases.into_iter().filter(|case| self.options.selects(case)) {
                            let (scenario, tool) = (scenario.clone(), facts.clone());
                            let fault = case.faults.first().map(BackendFault::new);
                            let startup = self.maker.startup.clone();
                            let judged = ServerCase { scenario, kind, tool, fault, startup };
                            planned.server.0.insert(case.id.clone(), judged);
                            planned.order.push(case.id.clone());
                            planned.cases.push(case);
                        }
                    }
                }
                scenarios.push(scenario);
            }
        }
        if planned.order.is_empty() && !scenarios.is_empty() {
            let (words, scenarios) = (self.options.filters.join("`, `"), scenarios.join(", "));
            let why = format!("no case matches `{words}`; the scenarios are {scenarios}");
            return Err(CertifyError::Server(why));
        }
        Ok(planned)
    }

    /// Runs one case with one trial for each name, with these steps and without faults.
    async fn run_steps(
        &mut self,
        run: &str,
        steps: Vec<(String, Vec<DriverStep>)>,
        on: &mut OnEvent<'_>,
    ) -> Result<Vec<(String, ObservedTrial)>, CertifyError> {
        let mut names = Vec::new();
        let mut cases = Vec::new();
        for (name, steps) in steps {
            let scenario = format!("{run}/{name}");
            let made = self.maker.cases(&scenario, &ScenarioSetup::of_steps(steps));
            cases.extend(made.map_err(CertifyError::Services)?.into_iter().map(|case| (case, 1)));
            names.push((scenario, name));
        }
        if cases.is_empty() || self.runs.interrupted {
            return Ok(Vec::new());
        }
        self.runs.run(run, cases, on).await?;
        let observed = observed_in(&self.options.folder.join(run))?;
        self.wait_as_long_as(observed.iter().map(|(_, _, seen)| seen));
        let observed = observed.into_iter();
        let named = observed.filter_map(|(id, _, seen)| {
            let (_, name) = names.iter().find(|(scenario, _)| *scenario == id)?;
            Some((name.clone(), seen))
        });
        Ok(named.collect())
    }

    /// Lets later trials wait for as long as these needed.
    fn wait_as_long_as<'a>(&mut self, trials: impl IntoIterator<Item = &'a ObservedTrial>) {
        let (start, call) = slowest(trials);
        self.slowest_start = self.slowest_start.max(start);
        let slowest_call = self.maker.patience.slowest_call.max(call);
        self.maker.patience = Patience { slowest_call };
        self.maker.timeout = self.options.timeout.after(self.slowest_start.max(slowest_call));
    }

    /// Connects and lists the tools: with `initialize`, or else without.
    async fn list(&mut self, on: &mut OnEvent<'_>) -> Result<(Vec<ListedTool>, ObservedTrial), CertifyError> {
        let mut reasons = Vec::new();
        for (name, handshake) in [("list", Handshake::Initialize), ("list-2026-07-28", Handshake::Discover)] {
            self.maker.handshake = handshake;
            // What a server writes at its start can come after its answer.
            let steps = vec![(
                "tools".to_owned(),
                vec![DriverStep::List, DriverStep::Watch { time: self.maker.patience.watch() }],
            )];
            let Some((_, seen)) = self.run_steps(name, steps, on).await?.pop() else {
                return Err(CertifyError::Server("stopped before its tools were listed".to_owned()));
            };
            if let Some(why) = &seen.unstartable {
                return Err(CertifyError::Server(why.clone()));
            }
            if let Some(host) = seen.forwards_to() {
                return Err(CertifyError::Server(format!(
                    "it is a bridge: it forwards MCP messages to the server at {host}; test that server (--mcp-url)"
                )));
            }
            let Some(why) = &seen.not_connected else {
                self.maker.startup = startup_writes(&seen);
                return Ok((read_list(&self.maker.list_folder)?, seen));
            };
            reasons.push(why.clone());
            // Another handshake does not help a program that does not start.
            if seen.identity.is_some() || why.starts_with("cannot start") {
                break;
            }
        }
        Err(self.unusable(reasons.swap_remove(0)))
    }

    /// Why the server cannot be tested, with the variables that it reads if it needs a credential.
    fn unusable(&self, why: String) -> CertifyError {
        if !variables::needs_credential(&why) {
            return CertifyError::Server(why);
        }
        let names = variables::read_by(&self.options.server.program);
        let names: Vec<String> = names.into_iter().filter(|name| !self.options.tools.sets(name)).collect();
        CertifyError::Server(match names.as_slice() {
            [] => why,
            names => format!(
                "{why}; set what it needs in a tools file (--tools, `env`), any value does. It reads the variables {}",
                names.join(", ")
            ),
        })
    }

    /// What was tested. A server that already runs is known by the list of its tools.
    fn tested(&self, server: &str, list: Option<&String>) -> TestedSubject {
        let PreparedCommand { program, package } = &self.options.server;
        let mut digests: Vec<FileDigest> = package.iter().map(package_digest).collect();
        digests.extend(command_files(program, None).unwrap_or_default());
        if let (true, Some(list)) = (self.options.is_running(), list) {
            digests.push(FileDigest { name: "the list of its tools".to_owned(), sha256: list.clone() });
        }
        let command = self.options.command.clone();
        let said = server.rsplit_once(' ').map(|(_, version)| version.to_owned());
        let said = said.filter(|version| !version.is_empty());
        TestedSubject {
            kind: SubjectKindTested::McpServer,
            name: package.as_ref().map_or_else(|| command.join(" "), |package| package.name.clone()),
            command,
            version: package.as_ref().map(|package| package.version.clone()).or(said),
            digests,
            local_recipe: None,
        }
    }

    fn notes(
        &self,
        trials: &[TrialRecord],
        reads: &[String],
        first: &ObservedTrial,
    ) -> io::Result<Vec<String>> {
        let twice = format!("/{}", ServerScenario::SameCallTwice);
        let informs =
            |trial: &&TrialRecord| trial.verdict == CaseVerdict::Pass && trial.scenario.ends_with(&twice);
        let mut notes: Vec<String> =
            trials.iter().filter(informs).map(|trial| trial.message.clone()).collect();
        notes.dedup();
        if !reads.is_empty() {
            notes.push(format!("only read: {}", reads.join(", ")));
        }
        let answers = &self.options.tools.answers;
        if !answers.is_empty() {
            let matched = matched_answers(&self.options.folder)?;
            notes.extend(answers.iter().enumerate().map(|(n, answer)| answer.note(matched.contains(&n))));
        }
        notes.extend(self.maker.startup.iter().map(StartupWrite::note));
        notes.extend(bridge(&self.options.command));
        if let Some((protocol, server)) = &first.identity {
            notes.push(format!("it calls itself {server}, and speaks MCP {protocol}"));
        }
        Ok(notes)
    }
}

/// The cases of a certification.
#[derive(Default)]
struct PlannedCases {
    cases: Vec<Case>,
    server: ServerCases,
    skipped: Vec<TrialRecord>,
    /// The ids of all of them, in the order of the tools and their scenarios.
    order: Vec<String>,
}

/// The trials in the order of their cases, with those that stand for skipped scenarios.
fn in_order(planned: PlannedCases, trials: Vec<TrialRecord>) -> Vec<TrialRecord> {
    let mut all: Vec<TrialRecord> = planned.skipped.into_iter().chain(trials).collect();
    all.sort_by_key(|trial| planned.order.iter().position(|id| *id == trial.case));
    all
}

/// The tools that write.
fn writes(tools: &[ServerTool]) -> impl Iterator<Item = (&ServerTool, &ToolFacts)> {
    tools.iter().filter_map(|tool| Some((tool, tool.facts.as_ref()?)))
}

/// The cases with this many callers.
fn cases_of_callers(
    options: &McpOptions,
    maker: &CaseMaker,
    tools: &[ServerTool],
    count: u32,
) -> Result<Vec<Case>, CertifyError> {
    let kind = ServerScenario::CallersAtOnce;
    let mut cases = Vec::new();
    for (tool, facts) in writes(tools) {
        let called = tool.called(facts, options.url.is_some(), maker.patience);
        let called = scenarios::CalledTool { callers: count, ..called };
        if let Ok(setup) = called.setup(kind) {
            let made = maker.cases(&format!("{}/{kind}", tool.id), &setup);
            cases.extend(made.map_err(CertifyError::Services)?);
        }
    }
    Ok(cases)
}

fn package_digest(package: &InstalledPackage) -> FileDigest {
    let InstalledPackage { name, version, dependencies: (what, list) } = package;
    let name = format!("{name}@{version} with its dependencies ({what})");
    FileDigest { name, sha256: sha256(list) }
}

/// The note that a command is only a bridge to a server elsewhere.
fn bridge(command: &[String]) -> Option<String> {
    const BRIDGES: [&str; 5] = ["mcp-remote", "mcp-proxy", "supergateway", "mcp-bridge", "mcp-server-proxy"];
    let name = |word: &str| {
        let last = word.rsplit('/').next().unwrap_or(word);
        last.split('@').next().unwrap_or(last).to_owned()
    };
    let bridge = command.iter().map(|word| name(word)).find(|name| BRIDGES.contains(&name.as_str()))?;
    let remote = command.iter().find(|word| word.starts_with("http://") || word.starts_with("https://"))?;
    Some(format!(
        "`{bridge}` is a bridge to the server at {remote}: what was tested is the bridge, and that server was not \
         reached; test it with --mcp-url"
    ))
}

/// The list that the driver wrote.
fn read_list(folder: &Path) -> io::Result<Vec<ListedTool>> {
    let is_list = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let mut files = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(is_list);
    let path = files.next().ok_or_else(|| io::Error::other("the server's tools were not written"))?;
    let list: ListedTools = serde_json::from_slice(&std::fs::read(path)?)?;
    Ok(list.tools)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_to_a_remote_server_is_recognized() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let note = bridge(&words("npx -y mcp-remote@0.1.29 https://mcp.example.com/sse")).unwrap();
        assert!(note.starts_with("`mcp-remote` is a bridge to the server at https://mcp.example.com/sse"));
        assert!(bridge(&words("npx -y @acme/mcp-server --url https://api.example.com")).is_none());
        assert!(bridge(&words("npx -y mcp-remote")).is_none());
    }
}
