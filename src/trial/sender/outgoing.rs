//! Events on their way to a subject, and who signs them.

use jiff::{SignedDuration, Timestamp};
use mock_services::sender::{EventSender, QUEUE, SentAgain, SentCopy};
use mock_services::service::{Fields, ServiceEvent};
use serde_json::Value;

use crate::domain::{CLIENT, CopyReason, CopySignature, SentCopyEvent};
use crate::scenario::{Case, EventSource, GivenSender, ServiceSetup};
use crate::subject::ReceivedEvent;

/// The senders of a case, each with its secret. They are made once for a trial: some secrets are new each time.
pub(in crate::trial) struct Senders {
    seed: u64,
    all: Vec<SignedSender>,
}

#[derive(Debug, Clone)]
struct SignedSender {
    sender: EventSender,
    /// The secret that the subject can verify, and another one.
    secrets: [String; 2],
}

/// An event on its way.
#[derive(Debug, Clone)]
pub(super) struct OutgoingEvent {
    /// Its number in the trial, from 1.
    pub(super) number: u32,
    /// The event and its sender; `None` for the task.
    sent: Option<(ServiceEvent, SignedSender)>,
}

/// How old the time of an old signature is, in seconds. The libraries of senders refuse what is older than five minutes.
const OLD: i64 = 3_600;
/// The time of the first occurrence of a schedule whose body names no time, in seconds since 1970.
const FIRST_OCCURRENCE: i64 = 1_767_225_600;

/// The time of an occurrence, by its place in the scenario: one a day.
fn occurrence(place: usize) -> String {
    let days = i64::try_from(place).unwrap_or_default();
    let first = Timestamp::from_second(FIRST_OCCURRENCE).unwrap_or_default();
    (first + SignedDuration::from_hours(24 * days)).to_string()
}

impl Senders {
    pub(in crate::trial) fn new(case: &Case, seed: u64) -> Self {
        let of_services =
            case.services.iter().filter_map(ServiceSetup::description).flat_map(|service| service.senders);
        let given = case.events.iter().filter_map(|event| match &event.source {
            EventSource::Given { sender, .. } => Some(sender.event_sender()),
            EventSource::Effect { .. } | EventSource::Task => None,
        });
        let mut all: Vec<SignedSender> = Vec::new();
        for sender in of_services.copied().chain(given).filter(|_| case.receives_events()) {
            if !all.iter().any(|known| known.sender.name == sender.name) {
                let secrets = [seed, !seed].map(|seed| sender.secret_of(seed));
                all.push(SignedSender { sender, secrets });
            }
        }
        Senders { seed, all }
    }

    /// The variables with what a receiver gets to verify signatures.
    pub(in crate::trial) fn variables(&self) -> Vec<(String, String)> {
        let signed = self.all.iter().filter(|one| !one.sender.secret_variable.is_empty());
        let variable = |SignedSender { sender, secrets }: &SignedSender| {
            (sender.secret_variable.to_owned(), (sender.shown_secret)(&secrets[0]))
        };
        signed.map(variable).collect()
    }

    /// The secrets themselves.
    pub(in crate::trial) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.all.iter().flat_map(|one| &one.secrets).map(String::as_str).filter(|secret| !secret.is_empty())
    }

    /// An event whose body the scenario gives.
    pub(super) fn given(&self, sender: GivenSender, body: &str, place: usize) -> OutgoingEvent {
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        let text = |pointer: &str| json.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let id = match sender {
            GivenSender::Schedule => text("/scheduled_at").unwrap_or_else(|| occurrence(place)),
            GivenSender::Slack | GivenSender::Queue => ["/event_id", "/id"]
                .into_iter()
                .find_map(text)
                .unwrap_or_else(|| format!("message-{}-{place}", self.seed)),
        };
        let kind = ["/event/type", "/type", "/job"].into_iter().find_map(text);
        let event = ServiceEvent {
            effect: String::new(),
            fields: Fields::new(),
            id,
            kind: kind.unwrap_or_else(|| sender.as_str().to_owned()),
            body: body.to_owned(),
            sender: sender.event_sender().name,
        };
        self.of(event)
    }

    /// An event on its way from its sender.
    pub(super) fn of(&self, event: ServiceEvent) -> OutgoingEvent {
        let sender = self.all.iter().find(|one| one.sender.name == event.sender).cloned();
        let unsigned = || SignedSender { sender: QUEUE, secrets: Default::default() };
        OutgoingEvent { number: 0, sent: Some((event, sender.unwrap_or_else(unsigned))) }
    }
}

impl OutgoingEvent {
    /// The task.
    pub(super) const fn task() -> Self {
        OutgoingEvent { number: 0, sent: None }
    }

    pub(super) fn from(&self) -> &str {
        self.sent.as_ref().map_or(CLIENT, |(event, _)| event.sender)
    }

    pub(super) fn id(&self) -> &str {
        self.sent.as_ref().map_or("task", |(event, _)| &event.id)
    }

    pub(super) fn kind(&self) -> &str {
        self.sent.as_ref().map_or("task", |(event, _)| &event.kind)
    }

    /// What the subject gets, signed as the copy says; `None` for the task.
    pub(super) fn received(&self, copy: &SentCopyEvent) -> Option<ReceivedEvent> {
        let (event, SignedSender { sender, secrets: [right, wrong] }) = self.sent.as_ref()?;
        let again = match copy.reason {
            CopyReason::First => None,
            CopyReason::Refused => Some(SentAgain::Error),
            _ => Some(SentAgain::Timeout),
        };
        let (mut secret, mut at) = (right, Timestamp::now().as_second());
        let mut body = event.body.clone();
        match copy.signature {
            CopySignature::Right => {}
            CopySignature::Wrong => secret = wrong,
            CopySignature::Old => at -= OLD,
            CopySignature::OtherBody => body = changed(&body),
        }
        let signed = SentCopy { event, secret, at, earlier: copy.copy - 1, again };
        Some(ReceivedEvent { headers: sender.all_headers(&signed), body })
    }
}

/// The body of an event with one more member, as somebody on the way can add it: it says the same otherwise.
fn changed(body: &str) -> String {
    let Ok(mut json) = serde_json::from_str::<Value>(body) else { return format!("{body} ") };
    let event = match &mut json {
        Value::Array(events) => events.first_mut(),
        other => Some(other),
    };
    match event.and_then(Value::as_object_mut) {
        Some(members) => _ = members.insert("changed".to_owned(), true.into()),
        None => return format!("{body} "),
    }
    json.to_string()
}

#[cfg(test)]
mod tests {
    use yaml_reader::Source;

    use mock_services::sender::{ReceivedCopy, SLACK};

    use super::*;
    use crate::scenario::read_scenario;

    fn case(more: &str) -> Case {
        let text = format!(
            "{{about: A., task: T., steps: [{{do: email.send, with: {{to: a@example.com, subject: R}}}}], \
             expect: {{effects: [{{effect: email.send, where: {{to: a@example.com}}}}]}}, {more}}}"
        );
        read_scenario(&Source::new("test.yaml", text), "test").unwrap().remove(0)
    }

    fn copy(reason: CopyReason, number: u32) -> SentCopyEvent {
        let [from, id, kind] = [(); 3].map(|()| String::new());
        let (start, event, copies, signature, shortened) = (1, 1, 2, CopySignature::Right, 0);
        SentCopyEvent { start, event, copy: number, copies, from, id, kind, reason, signature, shortened }
    }

    #[test]
    fn a_receiver_gets_what_verifies_the_senders_of_its_case_and_others_get_nothing() {
        let names = |case: &Case| -> Vec<String> {
            Senders::new(case, 7).variables().into_iter().map(|(name, _)| name).collect()
        };
        let slack = case("events: [{from: slack, body: {event_id: Ev1}}]");
        let of_mail = ["RESEND_WEBHOOK_SECRET", "SENDGRID_WEBHOOK_PUBLIC_KEY"];
        assert_eq!(names(&slack), [of_mail.as_slice(), &["SLACK_SIGNING_SECRET"]].concat());
        assert_eq!(names(&case("events: [{from: queue, body: {id: m1}}]")), of_mail, "a queue signs nothing");
        assert!(names(&case("timeout: 5s")).is_empty());
        assert!(names(&case("events: [{of: task, copies: 2}]")).is_empty(), "a client signs nothing");
    }

    #[test]
    fn each_wrong_signature_is_wrong_in_one_way() {
        let senders = Senders::new(&case("events: [{from: slack, body: {event_id: Ev1}}]"), 7);
        let event = senders.given(GivenSender::Slack, r#"{"event_id":"Ev1"}"#, 0);
        assert_eq!((event.id(), event.from()), ("Ev1", "Slack"));
        let variables = senders.variables();
        let (_, secret) = variables.iter().find(|(name, _)| name == SLACK.secret_variable).unwrap();
        // Whether the signature is right, whether its time is, and whether the body is the one of the event.
        let facts = |signature| {
            let sent = SentCopyEvent { signature, ..copy(CopyReason::First, 1) };
            let received = event.received(&sent).unwrap();
            let headers: Vec<(String, String)> =
                received.headers.into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect();
            let body = &received.body;
            let copy = ReceivedCopy { headers: &headers, body, shown_secret: secret };
            let age = Timestamp::now().as_second() - SLACK.signed_at(&copy).unwrap();
            ((SLACK.is_genuine)(&SLACK, &copy), age < OLD, *body == r#"{"event_id":"Ev1"}"#)
        };
        assert_eq!(facts(CopySignature::Right), (true, true, true));
        assert_eq!(facts(CopySignature::Wrong), (false, true, true));
        assert_eq!(facts(CopySignature::Old), (true, false, true));
        assert_eq!(facts(CopySignature::OtherBody), (false, true, false));
    }

    #[test]
    fn a_changed_body_says_the_same_and_is_not_the_same() {
        assert_eq!(changed(r#"{"id":"evt_1"}"#), r#"{"changed":true,"id":"evt_1"}"#);
        assert_eq!(changed("[{\"email\":\"a\"}]\r\n"), r#"[{"changed":true,"email":"a"}]"#);
        assert_eq!((changed("[]"), changed("text")), ("[] ".to_owned(), "text ".to_owned()));
    }

    #[test]
    fn each_occurrence_of_a_schedule_has_its_own_time_and_its_copies_keep_it() {
        let senders = Senders::new(&case("events: [{from: schedule, body: {job: a}}]"), 7);
        let time = |place, copy_number| {
            let event = senders.given(GivenSender::Schedule, r#"{"job":"a"}"#, place);
            let received = event.received(&copy(CopyReason::Again, copy_number)).unwrap();
            let header = "X-CloudScheduler-ScheduleTime";
            let found = received.headers.into_iter().find(|(name, _)| name == header).unwrap().1;
            assert_eq!(found, event.id());
            found
        };
        assert_eq!((time(0, 1), time(1, 1)), (time(0, 2), "2026-01-02T00:00:00Z".to_owned()));
        assert_ne!(time(0, 1), time(1, 1));
        let named = senders.given(GivenSender::Schedule, r#"{"scheduled_at":"2026-11-01T00:00:00Z"}"#, 1);
        assert_eq!(named.id(), "2026-11-01T00:00:00Z");
    }

    #[test]
    fn a_copy_that_is_sent_again_says_so_if_its_sender_does() {
        let senders = Senders::new(&case("events: [{from: slack, body: {event_id: Ev1}}]"), 7);
        let event = senders.given(GivenSender::Slack, r#"{"event_id":"Ev1"}"#, 0);
        let header = |reason, number, name: &str| {
            let received = event.received(&copy(reason, number)).unwrap();
            received.headers.into_iter().find(|(have, _)| have == name).map(|(_, value)| value)
        };
        assert_eq!(header(CopyReason::First, 1, "X-Slack-Retry-Num"), None);
        let reason = |reason| header(reason, 2, "X-Slack-Retry-Reason").unwrap();
        assert_eq!(header(CopyReason::CopyLost, 2, "X-Slack-Retry-Num").unwrap(), "1");
        assert_eq!(reason(CopyReason::Refused), "http_error");
        assert_eq!(reason(CopyReason::Unanswered), "http_timeout");
    }

    #[test]
    fn the_task_is_sent_as_it_is() {
        let task = OutgoingEvent::task();
        assert_eq!((task.from(), task.kind()), ("the client", "task"));
        assert_eq!(task.received(&copy(CopyReason::First, 1)), None);
    }
}
