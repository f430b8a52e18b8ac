//! Carries out a plan, and prints a record of each thing that it saw.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hyper::header::{HeaderName, HeaderValue};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::connection::{CallResult, Connection, Headers};
use super::declining::DecliningClient;
use super::plan::{
    CallOutcome, CloseMoment, DriverPlan, DriverRecord, DriverStep, ListedTool, ListedTools, ServerAddress,
    ToolCall, leaves_outcome_open,
};
use super::server_process::ServingProcess;
use super::trial_name::TrialName;

use crate::domain::ARRIVAL_FILE;
use crate::process_env;

/// How much of the text of a result is reported, in characters.
const MAX_TEXT: usize = 1500;
/// The file in the state directory that counts the starts.
const STARTS: &str = "call-tools-starts";

/// How often it looks whether a request has arrived.
const INTERVAL: Duration = Duration::from_millis(10);
/// The variable with the headers of requests over HTTP, as a JSON object.
pub(crate) const HEADERS_VARIABLE: &str = "HAPAX_MCP_HEADERS";

/// Reads the plan from the environment of the trial, and carries it out against the server.
///
/// # Errors
/// When this is not a trial, or its output cannot be written.
pub(crate) async fn drive(address: ServerAddress) -> io::Result<()> {
    let plan = task().and_then(|text| serde_json::from_str::<DriverPlan>(&text).map_err(io::Error::other))?;
    let state = process_env::value("HAPAX_STATE_DIR").map(PathBuf::from).unwrap_or_default();
    let steps = match next_start(&state)? {
        start if start < plan.starts.len() => plan.starts[start].clone(),
        _ => plan.starts.last().cloned().unwrap_or_default(),
    };
    let trial = process_env::text("HAPAX_TRIAL").unwrap_or_default();
    let name = TrialName::new(&trial, &plan.run);
    let headers = headers()?;
    let client = DecliningClient::default();
    let mut driver = Driver { address, plan, state, trial, name, headers, client, started_in_ms: 0 };
    let ServerAddress::Serving { program, url } = &driver.address else { return driver.run(&steps).await };
    let began = Instant::now();
    match ServingProcess::start(program, url, driver.plan.timeout).await {
        Ok(process) => {
            driver.started_in_ms = milliseconds(began);
            let done = driver.run(&steps).await;
            process.end().await;
            done
        }
        Err(why) => print(&DriverRecord::NotConnected { why }),
    }
}

fn task() -> io::Result<String> {
    match process_env::value("HAPAX_TASK_FILE") {
        Some(file) => std::fs::read_to_string(file),
        None => {
            process_env::text("HAPAX_TASK").ok_or_else(|| io::Error::other("environment variable not found"))
        }
    }
}

fn headers() -> io::Result<Headers> {
    let Some(text) = process_env::text(HEADERS_VARIABLE) else { return Ok(Headers::new()) };
    let headers: BTreeMap<String, String> = serde_json::from_str(&text)?;
    let parsed = headers.iter().map(|(name, value)| {
        let name = name.parse::<HeaderName>().map_err(io::Error::other)?;
        Ok((name, value.parse::<HeaderValue>().map_err(io::Error::other)?))
    });
    parsed.collect()
}

/// The number of this start, from 0; the next one is one more.
fn next_start(state: &Path) -> io::Result<usize> {
    let file = state.join(STARTS);
    let start = std::fs::read_to_string(&file).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    std::fs::write(file, (start + 1).to_string())?;
    Ok(start)
}

struct Driver {
    address: ServerAddress,
    plan: DriverPlan,
    /// The directory of this caller.
    state: PathBuf,
    trial: String,
    name: TrialName,
    headers: Headers,
    client: DecliningClient,
    /// How long the start of a server over HTTP took, until it could be reached.
    started_in_ms: u64,
}

/// What a step leaves behind for the next one.
#[derive(Default)]
struct PlanProgress {
    /// `None` before the first step, and if there is no connection any more.
    connection: Option<Connection>,
    /// The last call.
    last: Option<CallResult>,
}

impl Driver {
    async fn run(&self, steps: &[DriverStep]) -> io::Result<()> {
        let mut progress = PlanProgress { connection: self.connect().await?, last: None };
        for step in steps {
            progress = self.step(step, progress).await?;
        }
        let Some(connection) = progress.connection else { return Ok(()) };
        if let Some((lines, first)) = connection.noise() {
            print(&DriverRecord::Noise { lines, first })?;
        }
        connection.close().await;
        Ok(())
    }

    /// Carries out one step; nothing without a connection.
    async fn step(&self, step: &DriverStep, progress: PlanProgress) -> io::Result<PlanProgress> {
        let PlanProgress { connection: Some(mut connection), mut last } = progress else {
            return Ok(progress);
        };
        match step {
            DriverStep::List => {
                if !self.list(&connection).await? {
                    connection.close().await;
                    return Ok(PlanProgress::default());
                }
            }
            DriverStep::Call(call) => last = Some(self.call(&connection, call).await?),
            DriverStep::CallAgainAfterError(call) => {
                let Some(result) = &last else {
                    return Ok(PlanProgress { connection: Some(connection), last });
                };
                if result.outcome.is_result() || leaves_outcome_open(&result.text) {
                    return Ok(PlanProgress { connection: Some(connection), last });
                }
                if result.outcome == CallOutcome::Lost {
                    connection.close().await;
                    let Some(another) = self.connect().await? else { return Ok(PlanProgress::default()) };
                    connection = another;
                }
                last = Some(self.call(&connection, call).await?);
            }
            DriverStep::CallAtOnce { call, callers } => self.call_at_once(call, *callers).await?,
            DriverStep::Count(call) => self.count(&connection, call).await?,
            DriverStep::Watch { time } => tokio::time::sleep(*time).await,
            DriverStep::Cancel { call, wait } => {
                let began = Instant::now();
                match connection.send(call, &self.name).await {
                    Ok(mut pending) => {
                        // A call that has ended cannot be cancelled.
                        let ended = tokio::select! {
                            () = self.arrived() => None,
                            ended = connection.end_of(&mut pending) => Some(ended),
                        };
                        match ended {
                            Some(ended) => self.called(call, ended.outcome, &ended.text, began)?,
                            None => {
                                let _ = pending.cancel(Some("cancelled by the user".to_owned())).await;
                                self.called(call, CallOutcome::NotAwaited, "cancelled", began)?;
                            }
                        }
                    }
                    Err(result) => self.called(call, result.outcome, &result.text, began)?,
                }
                tokio::time::sleep(*wait).await;
                print(&DriverRecord::Alive { answers: connection.is_alive().await })?;
            }
            DriverStep::LoseConnection { call, when } => {
                let began = Instant::now();
                match connection.send(call, &self.name).await {
                    Ok(pending) => {
                        match when {
                            CloseMoment::Arrived => self.arrived().await,
                            CloseMoment::After(time) => tokio::time::sleep(*time).await,
                        }
                        drop(pending);
                        self.called(call, CallOutcome::NotAwaited, "the connection was closed", began)?;
                    }
                    Err(result) => self.called(call, result.outcome, &result.text, began)?,
                }
                connection.close().await;
                return Ok(PlanProgress { connection: self.connect().await?, last });
            }
        }
        Ok(PlanProgress { connection: Some(connection), last })
    }

    /// Waits until hapax says that the request of a call has arrived at the backend, but not longer than for an answer.
    async fn arrived(&self) {
        let file = self.state.join(ARRIVAL_FILE);
        let end = Instant::now() + self.plan.timeout;
        while !file.exists() && Instant::now() < end {
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Opens the sessions, then calls from all of them at once.
    async fn call_at_once(&self, call: &ToolCall, callers: u32) -> io::Result<()> {
        let mut sessions = Vec::new();
        for _ in 0..callers {
            match self.connect().await? {
                Some(session) => sessions.push(session),
                None => break,
            }
        }
        if u32::try_from(sessions.len()).is_ok_and(|open| open == callers) {
            let began = Instant::now();
            let calls = sessions.iter().map(|session| session.call(call, &self.name));
            for result in futures_util::future::join_all(calls).await {
                self.called(call, result.outcome, &result.text, began)?;
            }
        }
        futures_util::future::join_all(sessions.into_iter().map(Connection::close)).await;
        Ok(())
    }

    /// Counts the name of the trial in the result of a read.
    async fn count(&self, connection: &Connection, call: &ToolCall) -> io::Result<()> {
        let result = connection.call(call, &self.name).await;
        print(&match result.outcome.is_result() {
            true => DriverRecord::Counted { count: self.name.count_in(&result.text) },
            false => DriverRecord::NotCounted {
                why: format!("`{}`: {}", call.tool, result.text.chars().take(MAX_TEXT).collect::<String>()),
            },
        })
    }

    async fn connect(&self) -> io::Result<Option<Connection>> {
        let (began_at, began) = (Some(Timestamp::now().as_millisecond()), Instant::now());
        match Connection::open(
            &self.address,
            &self.headers,
            self.plan.handshake,
            self.plan.timeout,
            &self.client,
        )
        .await
        {
            Ok(connection) => {
                let (protocol, server) = connection.identity();
                let took_ms = Some(milliseconds(began) + self.started_in_ms);
                print(&DriverRecord::Connected { protocol, server, began_at, took_ms })?;
                Ok(Some(connection))
            }
            Err(why) => {
                print(&DriverRecord::NotConnected { why })?;
                Ok(None)
            }
        }
    }

    async fn call(&self, connection: &Connection, call: &ToolCall) -> io::Result<CallResult> {
        let began = Instant::now();
        let result = connection.call(call, &self.name).await;
        for what in self.client.take() {
            print(&DriverRecord::Declined { what: what.to_owned() })?;
        }
        self.called(call, result.outcome, &result.text, began)?;
        Ok(result)
    }

    fn called(&self, call: &ToolCall, outcome: CallOutcome, text: &str, began: Instant) -> io::Result<()> {
        let text = text.chars().take(MAX_TEXT).collect();
        let ended_at = Some(Timestamp::now().as_millisecond());
        let took_ms = Some(milliseconds(began));
        print(&DriverRecord::Called { tool: call.tool.clone(), outcome, text, ended_at, took_ms })
    }

    /// Lists the tools; `false` if they could not be listed.
    async fn list(&self, connection: &Connection) -> io::Result<bool> {
        match connection.list().await {
            Ok(tools) => {
                let digest = digest(&tools);
                if let Some(folder) = &self.plan.list_folder {
                    let text = serde_json::to_vec(&ListedTools { tools })?;
                    std::fs::write(folder.join(format!("{}.json", self.trial)), text)?;
                }
                print(&DriverRecord::Listed { digest })?;
                Ok(true)
            }
            Err(why) => {
                print(&DriverRecord::NotListed { why })?;
                Ok(false)
            }
        }
    }
}

/// The time since this moment.
fn milliseconds(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The digest of a list, whatever its order.
fn digest(tools: &[ListedTool]) -> String {
    let mut lines: Vec<String> = tools.iter().filter_map(|tool| serde_json::to_string(tool).ok()).collect();
    lines.sort();
    hex::encode(Sha256::digest(lines.join("\n")))
}

/// Prints a record and flushes it, so that it is not lost if the driver is killed.
fn print(record: &DriverRecord) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, record)?;
    out.write_all(b"\n")?;
    out.flush()
}
