//! One caller: its starts, one after another, until nothing is left to do.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mock_services::{MockServices, OpenConnections};

use super::directories::TrialDirectories;
use super::event_log::EventLog;
use super::interleaving::Interleaver;
use super::interrupts::Interrupter;
use super::mcp::McpEndpoint;
use super::overlap::OverlapWatcher;
use super::person::{Answers, Person};
use super::{OpaqueNames, Setup, routes};
use crate::domain::{CapturedOutput, ClaimedBeforeLimit, ClaimedOutcome, SubjectEvent};
use crate::scenario::{Case, Then, Work, has_tools};
use crate::subject::{
    AcceptedTask, BeforeStop, CallerRate, ClaimSource, EndReason, EndedStart, Limits, MailAddress, Recorder,
    SealedStart, SealedWorld, ServiceAddress, Start, Subject, SupervisorId,
};

/// The maximum number of starts of a caller.
const MAX_STARTS: u32 = 100;

/// How long to wait for the connections of a start that has ended.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The time limit of a start, and how many requests it had in flight when that was reached.
#[derive(Debug, Clone)]
pub(super) struct TimeLimit {
    limit: Duration,
    /// The turns for which it does not run.
    rate: Option<CallerRate>,
    requests: Arc<AtomicUsize>,
}

impl TimeLimit {
    pub(super) fn new(limit: Duration, rate: Option<CallerRate>) -> Self {
        TimeLimit { limit, rate, requests: Arc::default() }
    }

    /// The limit is reached, and the caller has these connections.
    pub(super) fn limit_reached(&self, open: OpenConnections) {
        self.requests.store(open.sending + open.unanswered, Ordering::SeqCst);
    }

    /// The times of a start that made its claim this long after its start.
    pub(super) fn claimed(&self, claimed_after: Duration) -> ClaimedBeforeLimit {
        let requests_in_flight = self.requests.load(Ordering::SeqCst) as u64;
        let waited = self.rate.as_ref().map_or(Duration::ZERO, CallerRate::waited);
        ClaimedBeforeLimit { claimed_after, stopped_after: self.limit + waited, requests_in_flight }
    }

    /// Whether a start was still at work when it was stopped: it had made no claim, or had just made it, or
    /// had requests in flight.
    pub(super) fn was_at_work(&self, claimed_after: Option<Duration>) -> bool {
        claimed_after.is_none_or(|claimed_after| !self.claimed(claimed_after).is_final())
    }
}

/// Counts the callers of trials that have no process yet, and will use a core soon.
#[derive(Debug, Clone, Default)]
pub struct StartingCallers(Arc<AtomicUsize>);

impl StartingCallers {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    pub(super) fn add(&self) -> StartingCaller {
        self.0.fetch_add(1, Ordering::SeqCst);
        StartingCaller(self.clone())
    }
}

/// A caller that has no process yet.
pub(super) struct StartingCaller(StartingCallers);

impl Drop for StartingCaller {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// One start that has ended.
pub(super) struct OneStart {
    pub(super) ended: EndedStart,
    /// What follows an interrupt of it.
    pub(super) then: Option<Then>,
    pub(super) time_limit: TimeLimit,
}

pub(super) struct Caller<'a> {
    pub(super) number: u32,
    pub(super) case: &'a Case,
    pub(super) subject: &'a Subject,
    pub(super) setup: &'a Setup,
    pub(super) services: &'a Arc<MockServices>,
    pub(super) interrupter: &'a Interrupter,
    pub(super) overlap: Option<&'a OverlapWatcher>,
    pub(super) interleaver: Option<&'a Interleaver>,
    pub(super) person: &'a Person<'a>,
    pub(super) log: &'a EventLog,
    pub(super) recorder: &'a Recorder,
    pub(super) endpoint: Option<&'a McpEndpoint>,
    pub(super) directories: &'a TrialDirectories,
    pub(super) supervisor: SupervisorId,
    pub(super) accepted: AcceptedTask,
    /// The variables with the secrets of the senders of events.
    pub(super) webhook_secrets: &'a [(String, String)],
}

impl Caller<'_> {
    /// Runs all its starts; returns the output of each start, and the CPU time of all of them if it is known.
    pub(super) async fn run(self, starting: StartingCaller) -> (Vec<CapturedOutput>, Option<Duration>) {
        let (mut outputs, mut cpu) = (Vec::new(), Some(Duration::ZERO));
        let works = std::iter::once(self.first_work()).chain(self.case.turns.iter().cloned());
        let mut to_do: VecDeque<(u32, Work)> = (0..).zip(works).collect();
        let (mut start, mut starting, mut resumes) = (0, Some(starting), false);
        if let Some(overlap) = self.overlap {
            // It may have no process for a while.
            starting = starting.filter(|_| !overlap.is_second(self.number));
            if !overlap.may_start(self.number).await {
                to_do.clear();
            }
        }
        let mut answers: Option<Answers> = None;
        if self.person.is_resumer(self.number) {
            // It may have no process for a while.
            starting = None;
            answers = self.person.resumption().await;
            if answers.is_none() {
                to_do.clear();
            }
        }
        while let Some((turn, work)) = to_do.pop_front() {
            start += 1;
            if let Some(answers) = &answers {
                self.person.answered(self.number, start, answers);
            }
            let given = Start {
                resumes: std::mem::take(&mut resumes),
                answers: answers.as_ref().map(Answers::list),
                ..self.start(start, &work)
            };
            let OneStart { ended, then, time_limit } = self.one_start(given, turn, starting.take()).await;
            cpu = cpu.zip(ended.cpu).map(|(so_far, more)| so_far + more);
            outputs.push(CapturedOutput { caller: self.number, start, ..ended.output });
            let is_over = match &ended.reason {
                EndReason::TimeUp => time_limit.was_at_work(ended.claimed_after),
                reason => matches!(reason, EndReason::Unstartable(_) | EndReason::OverLimit(_)),
            } || start >= MAX_STARTS;
            if ended.claim.outcome == Some(ClaimedOutcome::Waiting) {
                self.person.asked(self.number, start, &ended.claim.questions);
            }
            let next = self.person.next(self.number).filter(|_| !is_over);
            match then {
                _ if is_over => to_do.clear(),
                Some(Then::Restart { work: Some(other), .. })
                    if other.is_none() && !self.subject.had_accepted(&self.accepted) =>
                {
                    self.log.write(self.number, &SubjectEvent::NotAccepted { start });
                    to_do.clear();
                }
                Some(Then::Restart { work: other, after, empty_state, next_day }) => {
                    // A lease of the interrupted start may have to expire first.
                    tokio::time::sleep(after).await;
                    resumes = true;
                    // What the person has said meanwhile comes instead of what the interrupted start got.
                    answers = next.or(answers);
                    let emptied =
                        if empty_state { self.directories.empty_machine(self.number) } else { Ok(()) };
                    if next_day {
                        self.directories.begin_next_day(self.number);
                    }
                    match emptied {
                        Ok(()) => to_do.push_front((turn, other.unwrap_or(work))),
                        Err(error) => {
                            let why = format!("its machine cannot be emptied: {error}");
                            self.log.unstartable(self.number, start + 1, &why);
                            to_do.clear();
                        }
                    }
                }
                Some(Then::End) => to_do.clear(),
                None => {
                    answers = next;
                    if let Some(answers) = &answers {
                        to_do.push_front((turn, work));
                        tokio::time::sleep(answers.after).await;
                        if self.person.resume_others(answers) {
                            self.services.close_barrier();
                        }
                    }
                }
            }
        }
        self.person.caller_ended(self.number);
        if let Some(overlap) = self.overlap {
            overlap.ended(self.number);
        }
        if let Some(interleaver) = self.interleaver {
            interleaver.ended(self.number);
        }
        self.services.caller_ended(self.number);
        (outputs, cpu)
    }

    /// Runs one start to its end.
    pub(super) async fn one_start(
        &self,
        given: Start,
        turn: u32,
        starting: Option<StartingCaller>,
    ) -> OneStart {
        let rate = self.recorder.rate().cloned();
        rate.iter().for_each(CallerRate::begin);
        let time_limit = TimeLimit::new(given.limits.time, rate);
        let start = given.start;
        let given = Start { before_time_up: Some(self.before_time_up(&time_limit)), ..given };
        let before = self.log.length();
        self.log.started(&given, turn);
        tracing::debug!(case = self.case.id, caller = self.number, start, "subject started");
        let running = self.subject.start(given).await;
        drop(starting);
        self.interrupter.started(self.number, running.handle());
        if let Some(overlap) = self.overlap {
            overlap.started(self.number, running.handle());
        }
        let mut ended = running.ended().await;
        self.supervisor.set(None);
        let then = self.interrupter.ended(self.number).await;
        if !self.subject.outlives_its_trial() {
            self.recorder.drain().await;
            // Its connections close by themselves; waiting for them makes the order of the ledger the
            // same in every run.
            let _ = tokio::time::timeout(DISCONNECT_TIMEOUT, self.client_left()).await;
        }
        if let (ClaimSource::Service(service), None, EndReason::Exited(0) | EndReason::TimeUp) =
            (&self.subject.settings.claim, ended.claim.origin, &ended.reason)
            && let Some((claim, after)) = self.log.claim_of_service(service, self.number, before)
        {
            ended.claim = claim;
            ended.claimed_after = Some(after).filter(|_| ended.reason == EndReason::TimeUp);
        }
        self.log.ended(self.number, start, &ended, &time_limit);
        let cpu_ms = ended.cpu.map(|cpu| cpu.as_millis());
        tracing::debug!(
            case = self.case.id,
            caller = self.number,
            start,
            reason = ended.reason.as_str(),
            cpu_ms,
            "subject ended"
        );
        OneStart { ended, then, time_limit }
    }

    /// Waits until its connections are closed: first those to the tools, which have some to the services.
    async fn client_left(&self) {
        if let Some(endpoint) = self.endpoint {
            endpoint.client_left().await;
        }
        self.services.caller_left(self.number).await;
    }

    pub(super) fn first_work(&self) -> Work {
        let own = usize::try_from(self.number).ok().and_then(|number| self.case.each.get(number - 1));
        own.unwrap_or(&self.case.work).clone()
    }

    pub(super) fn start(&self, start: u32, work: &Work) -> Start {
        let addresses = self.services.names().filter_map(|name| {
            let key = self.services.key(name)?;
            let (plain, tls) = (
                self.services.smtp_address(name, self.number),
                self.services.smtps_address(name, self.number),
            );
            Some(ServiceAddress {
                name: name.to_owned(),
                url: self.services.url(name, self.number)?,
                smtp: plain.map(|plain| MailAddress::new(plain, tls, key, self.directories.trust.clone())),
                key: key.to_owned(),
            })
        });
        Start {
            trial: OpaqueNames::new(self.setup.seed).trial(),
            name: OpaqueNames::new(self.setup.seed).caller(self.number),
            caller: self.number,
            start,
            resumes: false,
            task: work.task.clone(),
            // Plain data written into memory cannot fail.
            steps: serde_json::to_string(&work.steps).unwrap_or_default(),
            answers: None,
            event: None,
            deliveries: None,
            webhook_secrets: self.webhook_secrets.to_vec(),
            services: addresses.filter(|service| self.is_given_address(&service.name)).collect(),
            mcp: self.endpoint.map(McpEndpoint::url),
            state_dir: self.directories.state(self.state_owner()),
            shared_dir: self.directories.shared(),
            machine: self.directories.machine(self.state_owner()),
            first_process: OpaqueNames::new(self.setup.seed).first_process(
                self.case.callers,
                self.number,
                start,
            ),
            result: self.directories.claim(self.number, start),
            proxy: self.recorder.url(),
            limits: self.limits(),
            client_timeout: self.setup.client_timeout,
            before_stop: Some(self.before_stop()),
            rate: self.recorder.rate().cloned(),
            before_time_up: None,
            hide: self.log.hide(),
            intercepted: self.directories.trust.clone().filter(|_| self.subject.settings.intercept),
            sealed: self.setup.sealed.clone().map(|world| self.sealed(world)),
            supervisor: self.supervisor.clone(),
            accepted: self.accepted.clone(),
        }
    }

    /// The caller whose state directory this one uses. All workers that receive events have one database.
    fn state_owner(&self) -> u32 {
        if self.case.receives_events() { 1 } else { self.person.state_of(self.number) }
    }

    /// The limits of each start. The time for which a caller is frozen is not its own.
    pub(super) fn limits(&self) -> Limits {
        let Limits { time, .. } = self.setup.limits;
        let time = if self.overlap.is_some() { time.saturating_mul(2) } else { time };
        let time = if self.interleaver.is_some() { time.saturating_mul(self.case.callers) } else { time };
        Limits { time, ..self.setup.limits }
    }

    /// Whether the subject gets the address of a service. Over MCP it gets tools instead, but not of a
    /// service that has none, such as a language model.
    fn is_given_address(&self, service: &str) -> bool {
        !(self.subject.settings.via_mcp || self.case.requires_mcp()) || !has_tools(self.case, service)
    }

    fn sealed(&self, world: Arc<SealedWorld>) -> SealedStart {
        let routes = routes(self.case, self.subject, self.services, self.number, self.endpoint);
        SealedStart::new(world, routes, self.recorder.handle())
    }

    /// Counts the open requests of a start at its time limit.
    fn before_time_up(&self, time_limit: &TimeLimit) -> BeforeStop {
        let (services, time_limit, caller) = (Arc::downgrade(self.services), time_limit.clone(), self.number);
        BeforeStop::new(move || {
            if let Some(services) = services.upgrade() {
                time_limit.limit_reached(services.connections(caller));
            }
        })
    }

    /// Records the open requests of an agent before it is stopped.
    fn before_stop(&self) -> BeforeStop {
        let (services, log, caller) = (Arc::downgrade(self.services), self.log.clone(), self.number);
        BeforeStop::new(move || {
            if let Some(services) = services.upgrade() {
                // Its idle connections close by themselves when it is stopped.
                log.cut_off(caller, OpenConnections { idle: 0, ..services.connections(caller) });
            }
        })
    }
}
