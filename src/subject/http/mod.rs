//! An agent that takes its task over HTTP and answers with its claim. Where hapax starts it, it runs under a
//! supervisor as any command does, and blows strike it; where it runs already, hapax can do no more than
//! close its side of the connection.

mod client;

use std::pin::pin;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

pub(in crate::subject) use self::client::Target;
use self::client::ask;
use super::listener::{self, Owner};
use super::port::{self, FreePort};
use super::running::{Handle, Landing, Ordered, Running};
use super::supervisor::SupervisorOrder;
use super::{Ended, How, Settings, Start, Template, claim, supervised};
use crate::domain::CapturedOutput;

/// How often it is tried whether the agent listens by now.
const TRY_AGAIN: Duration = Duration::from_millis(20);
/// How long an agent that closed the connection has to end, before it counts as one that goes on.
const FALLING: Duration = Duration::from_secs(1);

/// How long an answer is read that an agent gave before it ended.
const IN_SOCKET: Duration = Duration::from_millis(500);

/// Hands the task to the agent at that URL, which the command starts where there is one.
pub(super) fn start(url: &str, command: Option<Vec<String>>, settings: Settings, start: Start) -> Running {
    let port = match (url.contains(port::PLACEHOLDER) && command.is_some()).then(FreePort::choose).transpose()
    {
        Ok(port) => port,
        Err(why) => return Running::unstartable(&start, format!("cannot start the agent: {why}")),
    };
    let url = port.as_ref().map_or_else(|| url.to_owned(), |port| port::filled(url, port.number()));
    match (Target::parse(&url), command) {
        (Err(why), _) => Running::unstartable(&start, format!("cannot reach {url}: {why}")),
        (Ok(target), Some(command)) => {
            let (command, settings) = told_port(command, settings, target.port());
            Running::new(&start.clone(), |ordered| async move {
                let ended = with_command(target, command, settings, start, ordered).await;
                // Nobody else gets the port before everything of this start is gone.
                drop(port);
                ended
            })
        }
        (Ok(target), None) => {
            Running::new(&start.clone(), |ordered| already_running(target, settings.watch, start, ordered))
        }
    }
}

/// What starts an agent, with the port at which it is to listen.
fn told_port(command: Vec<String>, mut settings: Settings, port: u16) -> (Vec<String>, Settings) {
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
    settings: Settings,
    start: Start,
    mut ordered: UnboundedReceiver<Ordered>,
) -> Ended {
    if target.connect().await.is_ok() {
        let why = "something else listens there already; stop it, write `${port}` for the port in `http`, so that each start gets one of \
                   its own (as you must when a case has several callers), or leave `command` out if it is the agent";
        return unstartable(&start, format!("cannot start the agent at {}: {why}", target.authority));
    }
    let (body, watch, hide) = (body(&start), settings.watch, start.hide.clone());
    let before_stop = start.before_stop.clone();
    let whose = (start.caller, start.start);
    let (running, supervisor) = supervised::with_supervisor(command, settings, start);
    let handle = running.handle();
    let mut end = pin!(running.ended());
    let asking = async {
        let line = listening(&target).await;
        if let Some(other) = answers_instead(&line, supervisor) {
            return Err(Stranger(other));
        }
        Ok(ask(&target, line, body, None).await)
    };
    let mut asking = pin!(asking);
    let asked = async {
        tokio::select! {
            answered = &mut asking => Ok(answered),
            // An agent that ends by itself can have answered before: then the answer is in the socket
            // already.
            ended = &mut end => match timeout(IN_SOCKET, &mut asking).await {
                Ok(Ok(Ok(answer))) if matches!(ended.how, How::Exited(_)) => Err((ended, Some(answer))),
                _ => Err((ended, None)),
            },
        }
    };
    let answered = match passing_on(asked, &handle, &mut ordered).await {
        Ok(Ok(answered)) => answered,
        Ok(Err(Stranger(other))) => {
            passing_on(async { tokio::join!(handle.kill(), end) }, &handle, &mut ordered).await;
            let why = format!(
                "{other} listens at {}, and hapax did not start it; end it, or write `${{port}}` for the port in `http` and start the agent at \
                 HAPAX_PORT",
                target.authority
            );
            return Ended::unstartable(whose.0, whose.1, format!("cannot reach the agent: {why}"));
        }
        Err((ended, Some((status, body)))) => {
            return Ended { how: How::Answered(status), claim: claim::in_answer(&body, &hide), ..ended };
        }
        // What it printed is no answer.
        Err((ended, None)) if ended.how == How::TimeUp => {
            return Ended { claim: super::ClaimHeard::default(), reported: None, ..ended };
        }
        // How it ended says why there is no answer.
        Err((ended, None)) => return ended,
    };
    // What it does in the background counts, too. Without an answer it may have been struck: then it closes
    // its connections before it ends.
    let stays = timeout(if answered.is_ok() { watch } else { FALLING }, &mut end);
    let mut ended = match passing_on(stays, &handle, &mut ordered).await {
        Ok(ended) if answered.is_err() => return ended,
        Ok(ended) => ended,
        Err(_) => {
            if let Some(before_stop) = before_stop.filter(|_| answered.is_ok()) {
                before_stop.call();
            }
            passing_on(async { tokio::join!(handle.stop(), end).1 }, &handle, &mut ordered).await
        }
    };
    match answered {
        Ok((status, body)) => {
            (ended.how, ended.claim) = (How::Answered(status), claim::in_answer(&body, &hide))
        }
        Err(why) => (ended.how, ended.claim) = (How::NoAnswer(why.clone()), claim::without_answer(&why)),
    }
    ended
}

/// Somebody else who listens where the agent should.
struct Stranger(String);

/// Who takes the connection instead of the agent that was started, where it is known to be somebody else.
fn answers_instead(line: &TcpStream, supervisor: Option<u32>) -> Option<String> {
    match listener::owner(line.peer_addr().ok()?, supervisor?) {
        Owner::Other(other) => Some(other),
        Owner::Started | Owner::Unknown => None,
    }
}

/// Passes blows on to the agent until something is done.
async fn passing_on<T>(
    until: impl Future<Output = T>,
    agent: &Handle,
    ordered: &mut UnboundedReceiver<Ordered>,
) -> T {
    let mut until = pin!(until);
    loop {
        tokio::select! {
            done = &mut until => return done,
            Some(order) = ordered.recv() => agent.pass_on(order),
        }
    }
}

async fn already_running(
    target: Target,
    watch: Duration,
    start: Start,
    mut ordered: UnboundedReceiver<Ordered>,
) -> Ended {
    let at = &target.authority;
    let line = match timeout(start.limits.time, target.connect()).await {
        Ok(Ok(line)) => line,
        Ok(Err(error)) => {
            let why = format!(
                "cannot reach the agent at {at}: {error}; start it first, or say in hapax.yaml what starts it (`command`)"
            );
            return unstartable(&start, why);
        }
        Err(_) => return end(&start, How::TimeUp),
    };
    let (cancel, cancelled) = oneshot::channel();
    let mut cancel = Some(cancel);
    let body = body(&start);
    let mut asking = pin!(async {
        let answered = timeout(start.limits.time, ask(&target, line, body, Some(cancelled))).await;
        if matches!(answered, Ok(Ok(_))) {
            // What it does in the background counts, too.
            sleep(watch).await;
        }
        answered
    });
    loop {
        tokio::select! {
            answered = &mut asking => return match answered {
                Ok(Ok((status, body))) => Ended { claim: claim::in_answer(&body, &start.hide), ..end(&start, How::Answered(status)) },
                Ok(Err(why)) => Ended { claim: claim::without_answer(&why), ..end(&start, How::NoAnswer(why)) },
                Err(_) => end(&start, How::TimeUp),
            },
            Some(Ordered { blow, landed }) = ordered.recv() => {
                match blow {
                    SupervisorOrder::Cancel => drop(cancel.take()),
                    // Nothing can be stopped here, so that the `cancel` that follows comes behind the reply,
                    // and may come late.
                    SupervisorOrder::Hold => {}
                    SupervisorOrder::TimeUp => return end(&start, How::TimeUp),
                    SupervisorOrder::Kill | SupervisorOrder::Stop | SupervisorOrder::Freeze | SupervisorOrder::Thaw => {
                        let why = "it was not started by hapax, which cannot interrupt it; say in hapax.yaml what starts it (`command`)";
                        return unstartable(&start, format!("the agent at {at}: {why}"));
                    }
                }
                let _ = landed.send(Landing::Landed);
            }
        }
    }
}

/// A connection, as soon as the agent takes one.
async fn listening(target: &Target) -> TcpStream {
    loop {
        match target.connect().await {
            Ok(line) => return line,
            Err(_) => sleep(TRY_AGAIN).await,
        }
    }
}

/// What the agent is told.
pub(super) fn body(start: &Start) -> String {
    let services: serde_json::Map<String, Value> = start
        .services
        .iter()
        .map(|service| {
            let mut about = json!({ "url": service.url, "key": service.key });
            if let Some(smtp) = &service.smtp {
                about["smtp"] = json!(smtp.url);
                if let Some(url) = &smtp.tls_url {
                    about["smtps"] = json!(url);
                }
                if let Some(trust) = &smtp.trust {
                    about["ca_file"] = json!(trust.ca);
                }
            }
            (service.name.clone(), about)
        })
        .collect();
    let steps: Value = serde_json::from_str(&start.steps).unwrap_or_default();
    json!({ "task": start.task, "steps": steps, "services": services, "trial": start.trial, "caller": start.name }).to_string()
}

fn unstartable(start: &Start, why: String) -> Ended {
    Ended::unstartable(start.caller, start.start, why)
}

fn end(start: &Start, how: How) -> Ended {
    let output = CapturedOutput { caller: start.caller, start: start.start, ..CapturedOutput::default() };
    Ended { how, claim: super::ClaimHeard::default(), output, left: 0, cpu: None, reported: None }
}
