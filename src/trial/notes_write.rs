//! Writes into the ledger what happens to the subject, in the words of [`notes`](super::notes).

use std::borrow::Cow;

use mock_services::OpenConnections;
use mock_services::ledger::{Event, Ledger};
use mock_services::service::Fields;

use super::notes;
use super::overtime::Overtime;
use crate::domain::{ClaimOrigin, HostTreatment, InterruptAction};
use crate::subject::{Ended, Escape, Hide, How, Passed, Start};

#[derive(Debug, Clone)]
pub(super) struct Notes {
    ledger: Ledger,
}

impl Notes {
    pub(super) fn new(ledger: Ledger) -> Self {
        Notes { ledger }
    }

    /// What hides secrets in what a subject says.
    pub(super) fn hide(&self) -> Hide {
        Hide::with(&self.ledger)
    }

    pub(super) fn started(&self, given: &Start, turn: u32) {
        let turn = Some(i64::from(turn)).filter(|turn| *turn > 0);
        let fields = Fields::new().with("start", i64::from(given.start));
        let fields = fields
            .with("trial", given.trial.as_str())
            .with("name", given.name.as_str())
            .with_some("turn", turn);
        self.note(notes::STARTED, given.caller, fields);
    }

    pub(super) fn unstartable(&self, caller: u32, start: u32, why: &str) {
        self.note(
            notes::UNSTARTABLE,
            caller,
            Fields::new().with("start", i64::from(start)).with("error", self.ledger.redacted(why)),
        );
    }

    pub(super) fn unprepared(&self, why: &str) {
        let fields = Fields::new().with("error", self.ledger.redacted(why));
        self.ledger.append(&Event::Noted {
            name: Cow::Borrowed(notes::UNPREPARED),
            caller: None,
            fields: Cow::Owned(fields),
        });
    }

    pub(super) fn struck(&self, caller: u32, interrupt: usize, blow: InterruptAction, attempt: u64) {
        self.note(notes::STRUCK, caller, about(interrupt, blow, attempt));
    }

    pub(super) fn missed(
        &self,
        caller: u32,
        interrupt: usize,
        blow: InterruptAction,
        attempt: u64,
        why: &str,
    ) {
        self.note(notes::MISSED, caller, about(interrupt, blow, attempt).with("why", why));
    }

    pub(super) fn escaped(&self, caller: u32, escape: &Escape) {
        let fields = Fields::new().with("host", escape.host.as_str()).with("port", i64::from(escape.port));
        self.note(notes::ESCAPED, caller, fields);
    }

    pub(super) fn proxied(&self, caller: u32, escape: &Escape, service: &str) {
        let fields = Fields::new().with("host", escape.host.as_str()).with("port", i64::from(escape.port));
        self.note(notes::PROXIED, caller, fields.with("service", service));
    }

    /// The requests to a host that is allowed or ignored.
    pub(super) fn passed(&self, caller: u32, passed: &Passed) {
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let name = if passed.treatment == HostTreatment::Allowed { notes::ALLOWED } else { notes::IGNORED };
        let fields = Fields::new().with("host", passed.host.as_str()).with("port", i64::from(passed.port));
        let failed = Some(passed.failed).filter(|failed| *failed > 0).map(count);
        self.note(name, caller, fields.with("requests", count(passed.requests)).with_some("failed", failed));
    }

    /// The connections of a caller that were cut off.
    pub(super) fn cut_off(&self, caller: u32, open: OpenConnections) {
        let OpenConnections { idle, sending, unanswered } = open;
        for (name, field, count) in [
            (notes::UNANSWERED, "requests", unanswered),
            (notes::STILL_SENDING, "connections", sending),
            (notes::IDLE_CLOSED, "connections", idle),
        ] {
            if count > 0 {
                self.note(name, caller, Fields::new().with(field, i64::try_from(count).unwrap_or(i64::MAX)));
            }
        }
    }

    /// How a start ended, and what it said.
    pub(super) fn ended(&self, caller: u32, start: u32, ended: &Ended, overtime: &Overtime) {
        let of_start = || Fields::new().with("start", i64::from(start));
        let (how, status) = match &ended.how {
            How::Exited(status) => ("exited", Some(i64::from(*status))),
            How::Signalled(signal) => ("signalled", Some(i64::from(*signal))),
            How::Answered(status) => ("answered", Some(i64::from(*status))),
            How::NoAnswer(_) => ("no-answer", None),
            How::TimeUp => ("time-up", None),
            How::OverLimit(what) => {
                self.note(notes::OVER_LIMIT, caller, Fields::new().with("what", self.ledger.redacted(what)));
                ("over-limit", None)
            }
            How::Unstartable(why) => return self.unstartable(caller, start, why),
        };
        let left =
            Some(ended.left).filter(|left| *left > 0).map(|left| i64::try_from(left).unwrap_or(i64::MAX));
        let mut fields = of_start().with("how", how).with_some("status", status).with_some("left", left);
        if let Some(reported) = ended.reported {
            let millis = |time: std::time::Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
            let under_way = i64::try_from(overtime.requests()).unwrap_or(i64::MAX);
            fields = fields
                .with("reported", millis(reported))
                .with("limit", millis(overtime.limit))
                .with("under-way", under_way);
        }
        self.note(notes::ENDED, caller, fields);
        let claim = &ended.claim;
        let fields = of_start()
            .with("outcome", claim.said.map_or("missing", |said| said.word()))
            .with("message", claim.message.as_str())
            .with_some("from", claim.from.map(ClaimOrigin::word))
            .with_some("problem", claim.problem.as_deref());
        self.note(notes::CLAIMED, caller, fields);
    }

    fn note(&self, name: &'static str, caller: u32, fields: Fields) {
        self.ledger.append(&Event::Noted {
            name: Cow::Borrowed(name),
            caller: Some(caller),
            fields: Cow::Owned(fields),
        });
    }
}

/// What is said of an interrupt, whatever became of it.
fn about(interrupt: usize, blow: InterruptAction, attempt: u64) -> Fields {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    Fields::new()
        .with("interrupt", number(interrupt as u64))
        .with("do", blow.kind().word())
        .with("attempt", number(attempt))
}
