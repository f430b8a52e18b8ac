//! Senders that sign nothing: a queue and a job scheduler, in the forms in which workers over HTTP get their messages.

use super::{EventSender, Schedule, SentCopy};

/// A queue, as the daemon of a worker passes its messages on: the body is the message. Deleting the message, which is
/// its acknowledgment, is the 2xx.
pub const QUEUE: EventSender = EventSender {
    name: "the queue",
    secret_variable: "",
    secret: |_| String::new(),
    shown_secret: |_| String::new(),
    schedule: Schedule::ByHand,
    time_header: "",
    is_genuine: |_, _| false,
    headers: |copy: &SentCopy<'_>| {
        vec![
            ("X-Aws-Sqsd-Msgid", copy.event.id.clone()),
            ("X-Aws-Sqsd-Receive-Count", (copy.earlier + 1).to_string()),
        ]
    },
};

/// A job scheduler. All copies of one run have the same time.
pub const JOB_SCHEDULER: EventSender = EventSender {
    name: "the schedule",
    headers: |copy: &SentCopy<'_>| {
        vec![
            ("X-CloudScheduler", "true".to_owned()),
            ("X-CloudScheduler-JobName", copy.event.kind.clone()),
            ("X-CloudScheduler-ScheduleTime", copy.event.id.clone()),
        ]
    },
    ..QUEUE
};
