//! Builds a ledger entry by entry.

use mock_services::fault::{CommitKind, ReplyKind};
use mock_services::ledger::{CommitTiming, Entry, Event, LEDGER_FORMAT, Received, SavedLedger};
use mock_services::service::Fields;

use crate::domain::{ClaimEvent, ClaimOrigin, ClaimedOutcome, EndEvent, StartEnd, StartEvent, SubjectEvent};

/// Builds a ledger entry by entry.
#[derive(Default)]
pub struct LedgerBuilder {
    pub entries: Vec<Entry>,
    at: u64,
    attempts: u64,
}

impl LedgerBuilder {
    pub fn new() -> Self {
        let mut book = LedgerBuilder::default();
        book.add(0, Event::Opened { format: LEDGER_FORMAT, seed: 7, plan: None });
        book
    }

    /// Adds an entry some milliseconds later, and returns its number.
    pub fn add(&mut self, later: u64, event: Event) -> u64 {
        self.at += later * 1_000;
        let n = self.entries.len() as u64 + 1;
        self.entries.push(Entry {
            n,
            at: self.at,
            wall: 1_800_000_000_000 + (self.at / 1_000) as i64,
            event,
        });
        n
    }

    pub fn event(&mut self, later: u64, caller: u32, event: &SubjectEvent) -> u64 {
        self.add(later, event.to_ledger(Some(caller)))
    }

    pub fn started(&mut self, later: u64, caller: u32, start: u32) -> u64 {
        let (trial, name) = (String::new(), String::new());
        self.event(later, caller, &SubjectEvent::Started(StartEvent { start, trial, name, turn: 0 }))
    }

    pub fn ended(&mut self, later: u64, caller: u32, end: StartEnd) -> u64 {
        let event = EndEvent { start: 1, end, left_running: 0, claimed_before_limit: None };
        self.event(later, caller, &SubjectEvent::Ended(event))
    }

    pub fn claimed(&mut self, caller: u32, outcome: ClaimedOutcome, message: &str) -> u64 {
        let claim = ClaimEvent {
            start: 1,
            outcome: Some(outcome),
            message: message.to_owned(),
            origin: Some(ClaimOrigin::LastLine),
            problem: None,
        };
        let n = self.event(3, caller, &SubjectEvent::Claimed(claim));
        self.ended(1, caller, StartEnd::Exited(0));
        n
    }

    /// Adds a received attempt; returns its number, and that of its entry.
    pub fn received(
        &mut self,
        later: u64,
        caller: u32,
        operation: &str,
        key: Option<&str>,
        fields: Fields,
    ) -> (u64, u64) {
        self.attempts += 1;
        let received = Received {
            attempt: self.attempts,
            operation: operation.into(),
            method: if operation.ends_with("list") { "GET" } else { "POST" }.into(),
            path: "/v1/charges".into(),
            fields,
            key: key.map(Into::into),
            replay: false,
            share: mock_services::service::TaskShare::Full,
            caller,
            connection: self.attempts,
            repeats: None,
            declared_answer: None,
            client: Fields::new(),
            message: Some(
                "POST /v1/charges\nauthorization: [redacted 1]\n\namount=4999&currency=usd".to_owned(),
            ),
        };
        (self.attempts, self.add(later, Event::Received(Box::new(received))))
    }

    pub fn fault(&mut self, attempt: u64, commit: CommitKind, reply: ReplyKind) -> u64 {
        self.add(0, Event::Fault { attempt, fault: 0, commit, reply, status: None, drawn: None })
    }

    /// Adds the fault of a status that is answered after the commit.
    pub fn status_fault(&mut self, attempt: u64, status: u16) -> u64 {
        let (commit, reply) = (CommitKind::Now, ReplyKind::Status);
        self.add(0, Event::Fault { attempt, fault: 0, commit, reply, status: Some(status), drawn: None })
    }

    pub fn committed(&mut self, attempt: u64, effect: &str, id: &str, fields: Fields) -> u64 {
        let (effect, id) = (effect.into(), id.into());
        self.add(1, Event::Committed { attempt, effect, id, fields, timing: CommitTiming::Now })
    }

    pub fn replied(&mut self, attempt: u64, reply: ReplyKind, status: Option<u16>) -> u64 {
        let (whole, bytes) = (status.is_some(), if status.is_some() { 812 } else { 0 });
        self.add(
            1,
            Event::Replied {
                attempt,
                reply,
                status,
                bytes,
                whole,
                replay: false,
                retry_after: None,
                silence: None,
                message: Some(
                    "HTTP 200\nContent-Type: application/json\n\n{\"object\":\"charge\",\"amount\":4999}"
                        .to_owned(),
                ),
            },
        )
    }

    pub fn closed(mut self) -> SavedLedger {
        let count = self.entries.len() as u64;
        self.add(1, Event::End { count });
        SavedLedger { entries: self.entries, torn: None, seal: String::new() }
    }
}
