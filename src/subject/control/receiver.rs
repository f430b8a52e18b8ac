//! The controls as receivers of events. Each has a guard against copies, and does the steps as its policy does them. The
//! exit status is the answer to the sender.

use std::fs::{self, File};
use std::path::PathBuf;

use jiff::Timestamp;
use mock_services::catalog;
use mock_services::sender::{DECLARED, EventSender, ReceivedCopy, SLACK};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::approvals::Approvals;
use super::environment::Environment;
use super::wire::Wire;
use super::{policies, tools};
use crate::domain::ControlName;
use crate::scenario::{ClaimedOutcome, Step};

/// Headers with the id of an event, which is otherwise in its body.
const ID_HEADERS: [&str; 4] =
    ["svix-id", "x-github-delivery", "x-aws-sqsd-msgid", "x-cloudscheduler-scheduletime"];
/// Where a body has the id of its event.
const ID_POINTERS: [&str; 3] = ["/id", "/event_id", "/0/sg_event_id"];
/// How much older or newer than now a signature can be, in seconds, as in the libraries of senders.
const TOLERANCE: u64 = 300;
/// Headers that say that an event was sent before.
const RETRY_HEADERS: [&str; 1] = ["x-slack-retry-num"];

/// An event as a control reads it.
#[derive(Debug)]
pub(super) struct ControlEvent {
    headers: Vec<(String, String)>,
    body: String,
    json: Value,
}

/// How a control guards against copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// It does not.
    None,
    /// It marks the event, then acts. The mark is looked for before.
    MarkBefore,
    /// It acts, then marks the event.
    MarkAfter,
    /// It takes the event for itself, in one step, by the id of the event.
    EventId,
    /// The same, by the id of the object.
    Object,
    /// The same by the id of the event, and it ignores everything that says that it was sent before.
    DropsRetries,
    /// It verifies the signature, and acts on the intent instead of on the event.
    Inbox,
}

impl Guard {
    const fn of(control: ControlName) -> Self {
        match control {
            ControlName::MarkBefore => Guard::MarkBefore,
            ControlName::MarkAfter => Guard::MarkAfter,
            ControlName::ByEventId => Guard::EventId,
            ControlName::ByObject => Guard::Object,
            ControlName::DropsRetries => Guard::DropsRetries,
            ControlName::Careful => Guard::Inbox,
            _ => Guard::None,
        }
    }
}

impl ControlEvent {
    /// Reads the file of an event.
    pub(super) fn read(text: &str) -> Option<Self> {
        let file: Value = serde_json::from_str(text).ok()?;
        let body = file.get("body")?.as_str()?.to_owned();
        let headers = file.get("headers")?.as_object()?.iter();
        let headers = headers.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Some(ControlEvent { headers: headers.collect(), json: serde_json::from_str(&body).ok()?, body })
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    fn text(&self, pointer: &str) -> Option<String> {
        match self.json.pointer(pointer)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    fn id(&self) -> String {
        let of_header = ID_HEADERS.iter().find_map(|name| self.header(name).map(str::to_owned));
        let of_body = || ID_POINTERS.iter().find_map(|pointer| self.text(pointer));
        of_header.or_else(of_body).unwrap_or_default()
    }

    fn object(&self) -> String {
        tools::EVENT_OBJECTS.iter().find_map(|pointer| self.text(pointer)).unwrap_or_else(|| self.id())
    }

    /// Whether it is signed by the sender that its headers name. What has no signature comes from a queue or a
    /// scheduler.
    fn is_genuine(&self, environment: &Environment) -> bool {
        let is_signed = self.headers.iter().any(|(name, _)| name.contains("signature"));
        let senders = catalog::services().iter().flat_map(|service| service.senders);
        let now = Timestamp::now().as_second();
        let is_own = |sender: &EventSender| {
            environment.secret(sender.secret_variable).is_some_and(|shown_secret| {
                let copy = ReceivedCopy { headers: &self.headers, body: &self.body, shown_secret };
                let is_fresh = |at: i64| now.abs_diff(at) <= TOLERANCE;
                (sender.is_genuine)(sender, &copy) && sender.signed_at(&copy).is_none_or(is_fresh)
            })
        };
        !is_signed || senders.chain(&[SLACK, DECLARED]).any(is_own)
    }
}

/// Handles an event.
///
/// # Errors
/// Why it is not handled, for the sender.
pub(super) fn handle(
    control: ControlName,
    environment: &Environment,
    event: &ControlEvent,
) -> Result<(), String> {
    let guard = Guard::of(control);
    let seen = Marks { folder: environment.state_dir() };
    let (event_mark, object_mark) = (mark(&event.id()), mark(&format!("object {}", event.object())));
    let is_retry = RETRY_HEADERS.iter().any(|name| event.header(name).is_some());
    let act = |steps: &[Step]| act(control, environment, steps);
    match guard {
        Guard::None => act(environment.steps()),
        Guard::MarkBefore if seen.has(&event_mark) => Ok(()),
        Guard::MarkBefore => {
            seen.take(&event_mark);
            act(environment.steps())
        }
        Guard::MarkAfter if seen.has(&event_mark) => Ok(()),
        Guard::MarkAfter => {
            act(environment.steps())?;
            seen.take(&event_mark);
            Ok(())
        }
        Guard::DropsRetries if is_retry => Ok(()),
        Guard::EventId | Guard::DropsRetries => once(&seen, &event_mark, || act(environment.steps())),
        Guard::Object => once(&seen, &object_mark, || act(environment.steps())),
        Guard::Inbox if !event.is_genuine(environment) => Err("its signature is wrong".to_owned()),
        Guard::Inbox => {
            // An old state must not replace a new one; everything else is due whatever happened since.
            let is_stale = tools::is_stale_event(&Wire::new(environment), &event.json);
            let sets_state = |step: &Step| catalog::store_change(&step.operation).is_some();
            let steps = environment.steps().iter().filter(|step| !(is_stale && sets_state(step)));
            act(&steps.cloned().collect::<Vec<_>>())
        }
    }
}

/// Acts only where this is the first to take the mark; gives it back after a failure.
fn once(seen: &Marks, mark: &str, act: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    if !seen.take(mark) {
        return Ok(());
    }
    let done = act();
    if done.is_err() {
        seen.give_back(mark);
    }
    done
}

fn act(control: ControlName, environment: &Environment, steps: &[Step]) -> Result<(), String> {
    let environment = environment.with_steps(steps);
    let approvals = Approvals::new(&environment, control);
    if steps.is_empty() {
        return Ok(());
    }
    let claim = policies::policy(control)(&environment, &approvals);
    match claim.outcome {
        ClaimedOutcome::Done => Ok(()),
        ClaimedOutcome::NotDone | ClaimedOutcome::Unknown | ClaimedOutcome::Waiting => Err(claim.message),
    }
}

/// The name of the file that says that something was seen.
fn mark(of: &str) -> String {
    format!("{}.seen", hex::encode(&Sha256::digest(of.as_bytes())[..12]))
}

struct Marks {
    folder: Option<PathBuf>,
}

impl Marks {
    fn path(&self, mark: &str) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(mark))
    }

    fn has(&self, mark: &str) -> bool {
        self.path(mark).is_some_and(|path| path.exists())
    }

    /// Sets a mark; whether it was not there.
    fn take(&self, mark: &str) -> bool {
        self.path(mark).is_none_or(|path| File::create_new(path).is_ok())
    }

    fn give_back(&self, mark: &str) {
        let _ = self.path(mark).map(fs::remove_file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(headers: &[(&str, &str)], body: &str) -> ControlEvent {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        ControlEvent { headers, json: serde_json::from_str(body).unwrap(), body: body.to_owned() }
    }

    #[test]
    fn the_ids_of_an_event_and_of_its_object_are_found_for_each_sender() {
        let stripe = event(&[], r#"{"id": "evt_1", "data": {"object": {"id": "ch_1"}}}"#);
        assert_eq!((stripe.id(), stripe.object()), ("evt_1".to_owned(), "ch_1".to_owned()));
        let resend = event(&[("svix-id", "msg_1")], r#"{"data": {"email_id": "re_1"}}"#);
        assert_eq!((resend.id(), resend.object()), ("msg_1".to_owned(), "re_1".to_owned()));
        let github = event(&[("x-github-delivery", "d-1")], r#"{"deployment": {"id": 7}}"#);
        assert_eq!((github.id(), github.object()), ("d-1".to_owned(), "7".to_owned()));
        let sendgrid = event(&[], r#"[{"sg_event_id": "a", "sg_message_id": "b.recvd-1.0"}]"#);
        assert_eq!((sendgrid.id(), sendgrid.object()), ("a".to_owned(), "b.recvd-1.0".to_owned()));
        let slack = event(&[], r#"{"event_id": "Ev1"}"#);
        assert_eq!((slack.id(), slack.object()), ("Ev1".to_owned(), "Ev1".to_owned()));
    }

    #[test]
    fn a_mark_is_taken_once_and_can_be_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let marks = Marks { folder: Some(folder.path().to_owned()) };
        assert!(!marks.has("a") && marks.take("a") && marks.has("a") && !marks.take("a"));
        assert_eq!(once(&marks, "b", || Err("no".to_owned())), Err("no".to_owned()));
        assert_eq!(once(&marks, "b", || Ok(())), Ok(()));
        assert_eq!(once(&marks, "b", || Err("never called".to_owned())), Ok(()));
    }
}
