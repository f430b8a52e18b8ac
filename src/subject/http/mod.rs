//! An agent that receives its task over HTTP and whose response has its claim. If hapax starts it, it runs under a
//! supervisor like any command and can be interrupted; if it runs already, hapax can only close its side of
//! the connection.

mod claim;
mod client;
mod events;
mod exchange;
mod poll;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use self::claim::in_answer;
use self::client::AgentAnswer;
pub(in crate::subject) use self::client::Target;
use self::exchange::AgentRequest;
pub use self::exchange::HttpExchange;
pub(in crate::subject) use self::exchange::{
    AnswerClaim, BodyTemplate, ExchangeFormat, HttpMethod, RequestTemplate, StatusRange,
};
use self::poll::{Connector, NoAnswer, ask, ask_for_status};
use super::claim::without_answer;
use super::listener::{self, Owner};
use super::port::{self, FreePort};
use super::running::{Handle, InterruptRequest, InterruptResult, Running};
use super::start::AcceptedAt;
use super::supervisor::SupervisorOrder;
use super::{EndReason, EndedStart, HttpDelivery, Settings, Start, Template, supervised};
use crate::domain::CapturedOutput;

/// The interval for connecting until the agent listens.
const CONNECT_INTERVAL: Duration = Duration::from_millis(20);
/// How long to wait for an agent to exit that closed the connection without an answer.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Why there is no claim of a restarted agent that accepted its task without the URL of a status.
const NO_STATUS: &str = "it was restarted after it had accepted its task, and had named no status to ask \
                         for; answer 202 with a `Location`";

/// How long to wait for the answer of an agent that has exited.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// Sends the task to the agent at that URL; the command starts it, if there is one.
pub(super) fn start(
    url: &str,
    command: Option<Vec<String>>,
    exchange: HttpExchange,
    settings: Settings,
    start: Start,
) -> Running {
    let port = match (url.contains(port::PLACEHOLDER) && command.is_some()).then(FreePort::choose).transpose()
    {
        Ok(port) => port,
        Err(why) => return Running::unstartable(&start, format!("cannot start the agent: {why}")),
    };
    let url = port.as_ref().map_or_else(|| url.to_owned(), |port| port::filled(url, port.number()));
    match (Target::parse(&url), command) {
        (Err(why), _) => Running::unstartable(&start, format!("cannot reach {url}: {why}")),
        (Ok(target), Some(command)) => {
            let (command, settings) = with_port(command, settings, target.port());
            Running::new(&start.clone(), |requests| async move {
                let ended = with_command(target, command, exchange, settings, start, requests).await;
                // No other start gets the port before all processes of this one have ended.
                drop(port);
                ended
            })
        }
        (Ok(target), None) => Running::new(&start.clone(), |requests| {
            already_running(target, exchange, settings.watch, start, requests)
        }),
    }
}

/// The command and the settings with the port at which the agent must listen.
fn with_port(command: Vec<String>, mut settings: Settings, port: u16) -> (Vec<String>, Settings) {
    settings.env =
        settings.env.into_iter().map(|(name, template)| (name, template.with_port(port))).collect();
    if let Ok(number) = Template::parse(&port.to_string()) {
        settings.env.push(("HAPAX_PORT".to_owned(), number));
    }
    (command.iter().map(|word| port::filled(word, port)).collect(), settings)
}

async fn with_command(
    target: Target,
    command: Vec<String>,
    exchange: HttpExchange,
    settings: Settings,
    start: Start,
    mut requests: UnboundedReceiver<InterruptRequest>,
) -> EndedStart {
    let gateway = start.sealed.as_ref().map(|sealed| Arc::clone(&sealed.gateway));
    let is_sealed = gateway.is_some();
    if !is_sealed && target.connect().await.is_ok() {
        let why = "another process listens there already; stop it, or write `${port}` for the port in \
                   `http`, so that each start gets its own port (required where a case has several callers), \
                   or remove `command` if that process is the agent";
        return unstartable(&start, format!("cannot start the agent at {}: {why}", target.authority));
    }
    let request = exchange.request(&target.path, &start);
    let events_path = settings.receives.as_ref().and_then(|receives| receives.path.clone());
    let events_path = events_path.unwrap_or_else(|| target.path.clone());
    let deliveries = start.deliveries.as_ref().and_then(|queue| Some((queue.take()?, queue.listens_within)));
    let (watch, hide) = (settings.watch, start.hide.clone());
    let agent = Connector { target, gateway };
    let at = &agent.target.authority;
    let before_stop = start.before_stop.clone();
    let (task, has_no_task) = (start.accepted.clone(), start.has_no_task());
    let caller_and_start = (start.caller, start.start);
    let (running, supervisor) = supervised::with_supervisor(command, settings, start);
    let handle = running.handle();
    let mut end = pin!(running.ended());
    let is_listening = AtomicBool::new(false);
    let asking = async {
        let within = deliveries.as_ref().map_or(Duration::MAX, |(_, within)| *within);
        let Ok(line) = timeout(within, connect_when_listening(&agent)).await else {
            return Err(Unusable(not_listening(at)));
        };
        is_listening.store(true, Ordering::Relaxed);
        // Nobody else is in the network of a sealed agent.
        if !is_sealed && let Some(other) = other_listener(&line, supervisor) {
            return Err(Unusable(format!(
                "{other} listens at {at}, and hapax did not start it; stop it, or write `${{port}}` for the port \
                 in `http` and let the agent listen at HAPAX_PORT"
            )));
        }
        if let Some((deliveries, _)) = deliveries {
            drop(line);
            return Ok(Ok(deliver(&agent, deliveries, &request, &events_path).await));
        }
        let answered = match task.get().filter(|_| has_no_task) {
            None => ask(&agent, line, &request, None, &AtomicBool::new(false), &task).await,
            Some(AcceptedAt::Status(path)) => ask_for_status(&agent, &request, path).await,
            Some(AcceptedAt::Watched) => {
                sleep(watch).await;
                Err(NoAnswer::Broken(NO_STATUS.to_owned()))
            }
        };
        match answered {
            Ok(answer) => Ok(Ok(answer)),
            Err(NoAnswer::Broken(why)) => Ok(Err(why)),
            Err(NoAnswer::Elsewhere(why)) => Err(Unusable(why)),
        }
    };
    let mut asking = pin!(asking);
    let asked = async {
        tokio::select! {
            answered = &mut asking => Ok(answered),
            // An agent that exits can have answered before: then the answer is in the socket already.
            ended = &mut end => match timeout(ANSWER_TIMEOUT, &mut asking).await {
                Ok(Ok(Ok(answer))) if matches!(ended.reason, EndReason::Exited(_)) => {
                    Err((ended, Some(answer)))
                }
                _ => Err((ended, None)),
            },
        }
    };
    let answered = match pass_interrupts_on(asked, &handle, &mut requests).await {
        Ok(Ok(answered)) => answered,
        Ok(Err(Unusable(why))) => {
            pass_interrupts_on(async { tokio::join!(handle.kill(), end) }, &handle, &mut requests).await;
            return EndedStart::unstartable(
                caller_and_start.0,
                caller_and_start.1,
                format!("cannot reach the agent: {why}"),
            );
        }
        Err((ended, Some(answer))) => {
            return EndedStart {
                reason: EndReason::Answered(answer.status),
                claim: in_answer(&exchange, &answer, &hide),
                ..ended
            };
        }
        Err((ended, None)) if ended.reason == EndReason::TimeUp && !is_listening.load(Ordering::Relaxed) => {
            return EndedStart {
                reason: EndReason::Unstartable(not_listening(at)),
                claim: super::ReceivedClaim::default(),
                claimed_after: None,
                ..ended
            };
        }
        // Its output is not an answer.
        Err((ended, None)) if ended.reason == EndReason::TimeUp => {
            return EndedStart { claim: super::ReceivedClaim::default(), claimed_after: None, ..ended };
        }
        // The reason of its end shows why there is no answer.
        Err((ended, None)) => return ended,
    };
    // What it does in the background counts, too. An agent without an answer may have been interrupted: it
    // closes its connections before it exits.
    let stays = timeout(if answered.is_ok() { watch } else { EXIT_TIMEOUT }, &mut end);
    let mut ended = match pass_interrupts_on(stays, &handle, &mut requests).await {
        Ok(ended) if answered.is_err() => return ended,
        Ok(ended) => ended,
        Err(_) => {
            if let Some(before_stop) = before_stop.filter(|_| answered.is_ok()) {
                before_stop.call();
            }
            pass_interrupts_on(async { tokio::join!(handle.finish(), end).1 }, &handle, &mut requests).await
        }
    };
    match answered {
        Ok(answer) => {
            (ended.reason, ended.claim) =
                (EndReason::Answered(answer.status), in_answer(&exchange, &answer, &hide))
        }
        Err(why) => (ended.reason, ended.claim) = (EndReason::NoAnswer(why.clone()), without_answer(&why)),
    }
    ended
}

/// Sends what comes while the agent runs, each without waiting for the others. Ends when nothing more comes.
async fn deliver(
    agent: &Connector,
    mut deliveries: UnboundedReceiver<HttpDelivery>,
    task: &AgentRequest,
    events_path: &str,
) -> AgentAnswer {
    let one = async |HttpDelivery { event, reached, answer }| {
        let of_event = event.map(|event| AgentRequest::with_event(events_path.to_owned(), &event));
        let request = of_event.as_ref().unwrap_or(task);
        let Ok(line) = agent.connect().await else { return };
        reached();
        if let Ok(answered) = client::send(&agent.target, line, request, None).await {
            // The sender may not wait for the answer any more.
            let _ = answer.send(answered.status);
        }
    };
    let mut open = FuturesUnordered::new();
    loop {
        tokio::select! {
            next = deliveries.recv() => match next {
                Some(delivery) => open.push(one(delivery)),
                None => break,
            },
            Some(()) = open.next() => {}
        }
    }
    while open.next().await.is_some() {}
    AgentAnswer { status: 200, location: None, content: client::AnswerContent::Body(String::new()) }
}

fn not_listening(at: &str) -> String {
    format!(
        "the agent did not listen at {at} within its time limit; let it listen at HAPAX_PORT, or at the port of \
         `http`, or increase `timeout`"
    )
}

/// Why an agent that was started cannot be asked: another process listens at its address, for example.
struct Unusable(String);

/// The process that accepts the connection, if it is known not to be the agent that was started.
fn other_listener(line: &TcpStream, supervisor: Option<u32>) -> Option<String> {
    match listener::owner(line.peer_addr().ok()?, supervisor?) {
        Owner::Other(other) => Some(other),
        Owner::Started | Owner::Unknown => None,
    }
}

/// Passes interrupts on to the agent until `until` is done.
async fn pass_interrupts_on<T>(
    until: impl Future<Output = T>,
    agent: &Handle,
    requests: &mut UnboundedReceiver<InterruptRequest>,
) -> T {
    let mut until = pin!(until);
    loop {
        tokio::select! {
            done = &mut until => return done,
            Some(request) = requests.recv() => agent.pass_on(request),
        }
    }
}

async fn already_running(
    target: Target,
    exchange: HttpExchange,
    watch: Duration,
    start: Start,
    mut requests: UnboundedReceiver<InterruptRequest>,
) -> EndedStart {
    let request = exchange.request(&target.path, &start);
    let agent = Connector { target, gateway: None };
    let at = &agent.target.authority;
    let line = match timeout(start.limits.time, agent.connect()).await {
        Ok(Ok(line)) => line,
        Ok(Err(error)) => {
            let why = format!(
                "cannot reach the agent at {at}: {error}; start it first, or set `command` in hapax.yaml to \
                 the command that starts it"
            );
            return unstartable(&start, why);
        }
        Err(_) => return end(&start, EndReason::TimeUp),
    };
    let (cancel, canceled) = oneshot::channel();
    let mut cancel = Some(cancel);
    let is_accepted = AtomicBool::new(false);
    let mut asking = pin!(async {
        let asking = ask(&agent, line, &request, Some(canceled), &is_accepted, &start.accepted);
        let answered = timeout(start.limits.time, asking).await;
        if matches!(answered, Ok(Ok(_))) {
            // What it does in the background counts, too.
            sleep(watch).await;
        }
        answered
    });
    loop {
        tokio::select! {
            answered = &mut asking => return match answered {
                Ok(Ok(answer)) => {
                    let claim = in_answer(&exchange, &answer, &start.hide);
                    EndedStart { claim, ..end(&start, EndReason::Answered(answer.status)) }
                }
                Ok(Err(NoAnswer::Broken(why))) => {
                    let claim = without_answer(&why);
                    EndedStart { claim, ..end(&start, EndReason::NoAnswer(why)) }
                }
                Ok(Err(NoAnswer::Elsewhere(why))) => {
                    unstartable(&start, format!("cannot reach the agent: {why}"))
                }
                Err(_) => end(&start, EndReason::TimeUp),
            },
            Some(InterruptRequest { order, result }) = requests.recv() => {
                match order {
                    SupervisorOrder::Cancel if is_accepted.load(Ordering::Relaxed) => {
                        let why = "the agent had accepted the task with 202, and there is no connection to close";
                        let _ = result.send(InterruptResult::Missed(why.to_owned()));
                        continue;
                    }
                    SupervisorOrder::Cancel => drop(cancel.take()),
                    // This agent cannot be stopped, so the `cancel` that follows is sent after the reply and
                    // may come late.
                    SupervisorOrder::Hold => {}
                    SupervisorOrder::TimeUp => return end(&start, EndReason::TimeUp),
                    SupervisorOrder::Kill
                    | SupervisorOrder::Stop
                    | SupervisorOrder::Finish
                    | SupervisorOrder::Freeze
                    | SupervisorOrder::Thaw => {
                        let why = "hapax did not start it and cannot interrupt it; set `command` in \
                                   hapax.yaml to the command that starts it";
                        return unstartable(&start, format!("the agent at {at}: {why}"));
                    }
                }
                let _ = result.send(InterruptResult::Applied);
            }
        }
    }
}

/// Connects as soon as the agent listens.
async fn connect_when_listening(agent: &Connector) -> TcpStream {
    loop {
        match agent.connect().await {
            Ok(line) => return line,
            Err(_) => sleep(CONNECT_INTERVAL).await,
        }
    }
}

/// The body of a request that has no template.
#[cfg(test)]
pub(super) fn body(start: &Start) -> String {
    exchange::plain_body(start)
}

fn unstartable(start: &Start, why: String) -> EndedStart {
    EndedStart::unstartable(start.caller, start.start, why)
}

fn end(start: &Start, reason: EndReason) -> EndedStart {
    let output = CapturedOutput { caller: start.caller, start: start.start, ..CapturedOutput::default() };
    EndedStart {
        reason,
        claim: super::ReceivedClaim::default(),
        output,
        left_running: 0,
        cpu: None,
        claimed_after: None,
    }
}
