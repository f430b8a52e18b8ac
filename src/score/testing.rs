//! Ledgers for tests, told step by step.

use mock_services::fault::{CommitKind, ReplyKind};
use mock_services::ledger::{CommitTiming, Entry, Event, LEDGER_FORMAT, Received, RefusedRequest};
use mock_services::service::{Fields, TaskShare};

use crate::domain::{
    ClaimEvent, ClaimedOutcome, CopyReason, CopySignature, EndEvent, InterruptEvent, InterruptKind,
    SentCopyEvent, StartEnd, StartEvent, SubjectEvent, Transport,
};
use crate::scenario::{Intent, OperationTerm, Planned, Terms};

/// A ledger that is being told.
#[derive(Debug, Clone, Default)]
pub(crate) struct LedgerScript {
    pub(crate) entries: Vec<Entry>,
    attempts: u64,
    now: u64,
    caller: u32,
    /// The share of the task of the attempts that follow.
    pub(crate) share: TaskShare,
    /// The path of the requests that follow.
    pub(crate) path: String,
}

/// What a caller sees, in the words of the ledger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Sees {
    Ok,
    Status(u16),
    Cut(ReplyKind),
}

impl LedgerScript {
    pub(crate) fn new() -> Self {
        let mut script = LedgerScript { caller: 1, path: "/".to_owned(), ..LedgerScript::default() };
        script.add(Event::Opened { format: LEDGER_FORMAT, seed: 1, plan: None });
        script
    }

    pub(crate) fn add(&mut self, event: Event) -> u64 {
        let n = self.entries.len() as u64 + 1;
        self.now += 1_000;
        self.entries.push(Entry { n, at: self.now, wall: 0, event });
        n
    }

    pub(crate) fn wait(&mut self, milliseconds: u64) -> &mut Self {
        self.now += milliseconds * 1_000;
        self
    }

    /// What follows is done by this caller.
    pub(crate) fn by(&mut self, caller: u32) -> &mut Self {
        self.caller = caller;
        self
    }

    /// An attempt comes in.
    pub(crate) fn received(&mut self, operation: &str, key: Option<&str>, fields: &Fields) -> u64 {
        self.received_from(operation, key, fields, Fields::new())
    }

    pub(crate) fn received_from(
        &mut self,
        operation: &str,
        key: Option<&str>,
        fields: &Fields,
        client: Fields,
    ) -> u64 {
        self.attempts += 1;
        let attempt = self.attempts;
        self.add(Event::Received(Box::new(Received {
            attempt,
            operation: operation.to_owned().into(),
            method: "POST".into(),
            path: self.path.as_str().into(),
            fields: fields.clone(),
            key: key.map(|key| key.to_owned().into()),
            replay: false,
            share: self.share,
            caller: self.caller,
            connection: attempt,
            repeats: None,
            declared_answer: None,
            client,
            message: None,
        })));
        attempt
    }

    pub(crate) fn fault(&mut self, attempt: u64, fault: usize, commit: CommitKind, reply: ReplyKind) {
        self.add(Event::Fault { attempt, fault, commit, reply, status: None, drawn: None });
    }

    pub(crate) fn committed(
        &mut self,
        attempt: u64,
        effect: &str,
        fields: &Fields,
        timing: CommitTiming,
    ) -> u64 {
        let id = fields.get("charge").map_or_else(|| format!("id_{attempt}"), ToString::to_string);
        self.add(Event::Committed {
            attempt,
            effect: effect.to_owned().into(),
            id: id.into(),
            fields: fields.clone(),
            timing,
        })
    }

    /// A fault keeps an effect from being committed.
    pub(crate) fn withheld(&mut self, attempt: u64, effect: &str, fields: &Fields) -> u64 {
        let (effect, id, fields) = (effect.to_owned().into(), format!("id_{attempt}").into(), fields.clone());
        self.add(Event::Withheld { attempt, effect, id, fields })
    }

    pub(crate) fn replied(&mut self, attempt: u64, sees: Sees) -> u64 {
        let (reply, status) = match sees {
            Sees::Ok => (ReplyKind::Ok, Some(200)),
            Sees::Status(status) => (ReplyKind::Status, Some(status)),
            Sees::Cut(reply) => (reply, None),
        };
        let whole = status.is_some();
        self.add(Event::Replied {
            attempt,
            reply,
            status,
            bytes: u64::from(whole) * 100,
            whole,
            replay: false,
            retry_after: None,
            silence: None,
            message: None,
        })
    }

    /// A write that commits at once. A charge gets an id.
    pub(crate) fn write(&mut self, effect: &str, key: Option<&str>, fields: &Fields, sees: Sees) -> u64 {
        let attempt = self.received(effect, key, fields);
        let mut done = fields.clone();
        if effect == "payment.charge" {
            done.set("charge", format!("ch_{attempt}"));
        }
        self.committed(attempt, effect, &done, CommitTiming::Now);
        self.replied(attempt, sees);
        attempt
    }

    /// A write that commits nothing.
    pub(crate) fn write_without_commit(
        &mut self,
        operation: &str,
        key: Option<&str>,
        fields: &Fields,
        sees: Sees,
    ) -> u64 {
        let attempt = self.received(operation, key, fields);
        self.replied(attempt, sees);
        attempt
    }

    pub(crate) fn charge(&mut self, key: Option<&str>, order: &str, amount: i64, sees: Sees) -> u64 {
        self.write("payment.charge", key, &charge(order, amount), sees)
    }

    /// Money goes back.
    pub(crate) fn refund(&mut self, of: u64, amount: i64) -> u64 {
        let fields =
            Fields::new().with("charge", format!("ch_{of}")).with("amount", amount).with("currency", "usd");
        self.write("payment.refund", None, &fields, Sees::Ok)
    }

    pub(crate) fn read(&mut self, operation: &str) -> u64 {
        let attempt = self.received(operation, None, &Fields::new());
        self.replied(attempt, Sees::Ok);
        attempt
    }

    /// A request with this key is refused.
    pub(crate) fn refused(&mut self, operation: &str, key: &str) -> u64 {
        self.add(Event::Refused(Box::new(RefusedRequest {
            service: "payment".into(),
            operation: Some(operation.to_owned().into()),
            method: "POST".into(),
            path: "/".into(),
            status: 409,
            caller: self.caller,
            connection: 99,
            key: Some(key.to_owned().into()),
            reason: None,
            unsupported: None,
            undecided: None,
            declared_answer: None,
            message: None,
            answer: None,
        })))
    }

    pub(crate) fn event(&mut self, event: &SubjectEvent) -> u64 {
        self.add(event.to_ledger(Some(self.caller)))
    }

    pub(crate) fn started(&mut self, start: u32) -> u64 {
        self.started_turn(start, 0)
    }

    pub(crate) fn started_turn(&mut self, start: u32, turn: u32) -> u64 {
        let (trial, name) = (String::new(), String::new());
        self.event(&SubjectEvent::Started(StartEvent { start, trial, name, turn }))
    }

    pub(crate) fn ended(&mut self, start: u32, end: StartEnd) -> u64 {
        let event = EndEvent { start, end, left_running: 0, claimed_before_limit: None };
        self.event(&SubjectEvent::Ended(event))
    }

    /// An interrupt takes effect at the first attempt.
    pub(crate) fn interrupted(&mut self, action: InterruptKind) -> u64 {
        self.event(&SubjectEvent::Interrupted(InterruptEvent { interrupt: 0, action, attempt: 1 }))
    }

    pub(crate) fn escaped(&mut self, host: &str) -> u64 {
        self.event(&SubjectEvent::Escaped { host: host.to_owned(), port: 443, transport: Transport::Tcp })
    }

    pub(crate) fn claims(&mut self, start: u32, outcome: ClaimedOutcome) -> u64 {
        self.claim(start, Some(outcome), "")
    }

    pub(crate) fn claim(&mut self, start: u32, outcome: Option<ClaimedOutcome>, message: &str) -> u64 {
        let (message, origin, problem) = (message.to_owned(), None, None);
        self.event(&SubjectEvent::Claimed(ClaimEvent { start, outcome, message, origin, problem }))
    }

    /// The closed ledger.
    pub(crate) fn end(mut self) -> Vec<Entry> {
        let count = self.entries.len() as u64;
        self.add(Event::End { count });
        self.entries
    }
}

/// A request of the client with this user agent.
pub(crate) fn request(agent: &str) -> Received {
    Received {
        attempt: 1,
        operation: "payment.charge".into(),
        method: "POST".into(),
        path: "/".into(),
        fields: Fields::new(),
        key: None,
        replay: false,
        share: TaskShare::Full,
        caller: 1,
        connection: 1,
        repeats: None,
        declared_answer: None,
        client: Fields::new().with("user-agent", agent),
        message: None,
    }
}

/// A copy of an event of Stripe.
pub(crate) fn sent_copy(copy: u32, copies: u32, reason: CopyReason) -> SentCopyEvent {
    let [from, id, kind] = ["Stripe", "evt_1", "charge.succeeded"].map(str::to_owned);
    let signature = CopySignature::Right;
    SentCopyEvent { start: copy, event: 1, copy, copies, from, id, kind, reason, signature, shortened: 0 }
}

/// The fields of a charge in dollars.
pub(crate) fn charge(order: &str, amount: i64) -> Fields {
    Fields::new().with("amount", amount).with("currency", "usd").with("order", order)
}

/// A charge that is due.
pub(crate) fn due(order: &str, amount: i64, times: u32) -> Intent {
    Intent {
        effect: "payment.charge".to_owned(),
        selector: Fields::new().with("order", order),
        expected: Fields::new().with("amount", amount),
        defaults: Fields::new(),
        times,
        at_least: None,
        approval: false,
        stands: false,
    }
}

/// Terms of these intents, with the operations that tests use.
pub(crate) fn terms(intents: impl IntoIterator<Item = Intent>) -> Terms {
    let operation = |name: &str, write, identity: &[&str]| OperationTerm {
        name: name.to_owned(),
        write,
        identity: identity.iter().map(|name| (*name).to_owned()).collect(),
        natural: Vec::new(),
        cost: false,
    };
    Terms {
        intents: intents.into_iter().collect(),
        callers: 1,
        operations: vec![
            operation("payment.charge", true, &["order", "customer", "amount", "currency"]),
            operation("payment.refund", true, &["charge", "amount", "order"]),
            operation("payment.list", false, &[]),
            operation("payment.customers", false, &[]),
            operation("email.send", true, &["to", "subject"]),
            operation("email.list", false, &[]),
            operation("records.put", true, &["key", "value"]),
            operation("records.increment", true, &["counter", "by"]),
            operation("records.get", false, &[]),
        ],
        ..Terms::default()
    }
}

/// A fault or an interrupt that was planned.
pub(crate) fn planned(text: &str, operation: &str) -> Planned {
    Planned { text: text.to_owned(), operation: operation.to_owned(), optional: false, fault: None }
}
