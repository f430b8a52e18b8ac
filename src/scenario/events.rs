//! What a scenario lets happen, and the events that a sender brings to the subject. Plain data.

use std::time::Duration;

use mock_services::sender::{EventSender, JOB_SCHEDULER, QUEUE, SLACK, Schedule};
use mock_services::service::Fields;
use mock_services::word_enum;
use serde::{Serialize, Serializer};

use super::Step;
use crate::domain::CopySignature;

/// An event that a sender brings to the subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedEvent {
    /// What it is about.
    pub source: EventSource,
    /// What the subject must do about it, for the controls.
    pub steps: Vec<Step>,
    /// The copies that are sent.
    pub copies: Vec<PlannedCopy>,
    /// The schedule by which more copies follow until one is answered with a 2xx.
    #[serde(serialize_with = "schedule")]
    pub schedule: Option<Schedule>,
    /// To how many workers each copy comes at once.
    pub workers: u32,
    /// The time within which all copies are sent, without waiting for answers.
    pub spread: Option<Duration>,
    /// Whether the events that it is about come in the reverse order.
    pub reversed: bool,
    /// Whether it comes before the reply to the call that caused it.
    pub before_reply: bool,
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum EventSource {
    /// Effects of a service.
    Effect {
        /// The full name of the effect.
        effect: String,
        /// The fields that select the effects.
        selector: Fields,
        /// Whether the subject itself causes them, so that it gets the task first.
        by_subject: bool,
    },
    /// Something outside of the services of the trial.
    Given {
        /// Who sends it.
        sender: GivenSender,
        /// The body, as JSON.
        body: String,
    },
    /// The task itself: a client sends it again.
    Task,
}

word_enum! {
    /// A sender whose events have a body that the scenario gives.
    pub enum GivenSender {
        /// Slack's Events API.
        Slack => "slack",
        /// A queue with a visibility timeout: exit status 0, or a 2xx, acknowledges a message.
        Queue => "queue",
        /// A schedule that starts a job.
        Schedule => "schedule",
    }
}

impl GivenSender {
    /// How it sends.
    #[must_use]
    pub const fn event_sender(self) -> EventSender {
        match self {
            GivenSender::Slack => SLACK,
            GivenSender::Queue => QUEUE,
            GivenSender::Schedule => JOB_SCHEDULER,
        }
    }
}

/// One copy of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PlannedCopy {
    /// Whether it arrives.
    pub arrival: Arrival,
    /// Whether the sender gets the answer.
    pub answer: AnswerFate,
    /// What is wrong with its signature.
    pub signature: CopySignature,
    /// Whether somebody sends it by hand.
    pub by_hand: bool,
    /// How long after the copy before it is sent.
    pub after: Duration,
}

impl PlannedCopy {
    /// A copy that arrives and is answered.
    pub const PLAIN: PlannedCopy = PlannedCopy {
        arrival: Arrival::Now,
        answer: AnswerFate::Seen,
        signature: CopySignature::Right,
        by_hand: false,
        after: Duration::ZERO,
    };
}

word_enum! {
    /// Whether a copy arrives.
    pub enum Arrival {
        /// It does.
        Now => "now",
        /// It is lost.
        Never => "never",
        /// It arrives twice, one after the other.
        Twice => "twice",
        /// It arrives after everything else that is sent.
        Later => "later",
    }
}

word_enum! {
    /// Whether the sender gets the answer to a copy.
    pub enum AnswerFate {
        /// It does.
        Seen => "ok",
        /// The answer is lost.
        Lost => "drop",
        /// The time of the sender is over while the copy is handled.
        Late => "late",
    }
}

impl PlannedEvent {
    /// How many copies are handled at the same time, at most.
    #[must_use]
    pub fn at_once(&self) -> u32 {
        let groups = self.groups();
        let largest =
            groups.iter().map(|group| group.iter().filter(|copy| self.copies[**copy].arrives()).count());
        u32::try_from(largest.max().unwrap_or(1)).unwrap_or(u32::MAX).saturating_mul(self.workers).max(1)
    }

    /// The indexes of the copies, grouped by what is handled at the same time.
    #[must_use]
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut joins = false;
        for (index, copy) in self.copies.iter().enumerate().filter(|(_, copy)| copy.arrival != Arrival::Later)
        {
            match groups.last_mut().filter(|_| joins || self.spread.is_some()) {
                Some(group) => group.push(index),
                None => groups.push(vec![index]),
            }
            joins = copy.answer == AnswerFate::Late;
        }
        groups
    }

    /// Whether the subject itself causes what the event is about.
    #[must_use]
    pub const fn is_by_subject(&self) -> bool {
        matches!(self.source, EventSource::Effect { by_subject: true, .. })
    }
}

impl PlannedCopy {
    /// Whether it arrives at all.
    #[must_use]
    pub fn arrives(&self) -> bool {
        self.arrival != Arrival::Never
    }
}

#[expect(clippy::ref_option, reason = "serde passes a reference")]
fn schedule<S: Serializer>(schedule: &Option<Schedule>, serializer: S) -> Result<S::Ok, S::Error> {
    schedule.map(Schedule::as_str).serialize(serializer)
}
