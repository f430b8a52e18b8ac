//! The events of the services that run, sent to receivers of the user: each once when it happens, and again, in another
//! order or with a wrong signature when the user asks for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Uri};
use jiff::Timestamp;
use mock_services::MockServices;
use mock_services::sender::{EventSender, SentCopy};
use mock_services::service::ServiceEvent;
use serde::Serialize;

use super::ServeError;
use crate::domain::{CopyAnswerEvent, CopyReason, CopySignature, SentCopyEvent, SubjectEvent};
use crate::outbound;

/// How long a receiver has for its answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of events that are listed, and can be sent again.
const MAX_EVENTS: usize = 1000;

/// Sends the events of services.
pub(super) struct Outbox {
    services: Arc<MockServices>,
    routes: Vec<Route>,
    signers: Vec<Signer>,
    state: Mutex<OutboxState>,
    /// Held while new events are taken from the services, so that a reset does not come in between.
    taking: tokio::sync::Mutex<()>,
}

/// Where the events of a service go.
struct Route {
    service: String,
    url: Uri,
}

/// A sender of a service, with its secret and a wrong one.
pub(super) struct Signer {
    service: String,
    sender: EventSender,
    right: String,
    wrong: String,
}

#[derive(Default)]
struct OutboxState {
    /// How many events of each route are known.
    known: Vec<usize>,
    /// Whether new events wait until somebody sends them.
    is_held: bool,
    /// The number of events since the start or the last reset.
    count: u32,
    events: Vec<ListedEvent>,
}

/// An event with its copies, as the admin API shows it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ListedEvent {
    number: u32,
    service: String,
    pub(super) id: String,
    #[serde(rename = "type")]
    kind: String,
    copies: Vec<ListedCopy>,
    #[serde(skip)]
    event: ServiceEvent,
    #[serde(skip)]
    route: usize,
}

/// What became of a copy.
#[derive(Debug, Clone, Default, Serialize)]
struct ListedCopy {
    /// Whether its signature was wrong on purpose.
    forged: bool,
    /// The status of the answer; `None` while there is none.
    status: Option<u16>,
    /// Why there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Where events go: `--send-to [SERVICE=]URL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendTo {
    /// The service; all that send events if it is `None`.
    pub service: Option<String>,
    /// The URL of the receiver.
    pub url: Uri,
}

impl SendTo {
    /// Whether the events of this service go there.
    fn is_for(&self, service: &str) -> bool {
        self.service.as_ref().is_none_or(|wanted| wanted == service)
    }
}

impl std::str::FromStr for SendTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_service = |name: &str| !name.is_empty() && !name.contains([':', '/']);
        let (service, url) = match text.split_once('=').filter(|(name, _)| is_service(name)) {
            Some((service, url)) => (Some(service.to_owned()), url),
            None => (None, text),
        };
        let uri: Option<Uri> = url.parse().ok();
        let is_http = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some();
        match uri.filter(is_http) {
            Some(url) => Ok(SendTo { service, url }),
            None => Err(format!(
                "`{}` is not an http or https URL: write http://127.0.0.1:3000/hooks",
                yaml_reader::shown(url)
            )),
        }
    }
}

impl Signer {
    pub(super) fn new(service: &str, sender: EventSender, seed: u64) -> Self {
        let [right, wrong] = [seed, !seed].map(|seed| sender.secret_of(seed));
        Signer { service: service.to_owned(), sender, right, wrong }
    }
}

/// The variables with which receivers verify the events.
pub(super) fn secrets(signers: &[Signer]) -> Vec<(String, String)> {
    let signing = signers.iter().filter(|signer| !signer.sender.secret_variable.is_empty());
    let variable = |signer: &Signer| {
        (signer.sender.secret_variable.to_owned(), (signer.sender.shown_secret)(&signer.right))
    };
    let mut secrets: Vec<(String, String)> = signing.map(variable).collect();
    secrets.sort();
    secrets.dedup();
    secrets
}

/// Checks that each receiver can get something, and returns the senders whose events go to one.
pub(super) fn wanted_signers(
    wanted: &[SendTo],
    signers: Vec<Signer>,
    started: &[&str],
) -> Result<Vec<Signer>, ServeError> {
    for service in wanted.iter().filter_map(|to| to.service.as_ref()) {
        if !signers.iter().any(|signer| signer.service == *service) {
            let mut senders: Vec<String> = signers.iter().map(|signer| signer.service.clone()).collect();
            senders.dedup();
            let is_started = started.contains(&service.as_str());
            return Err(ServeError::SendsNothing { service: service.clone(), is_started, senders });
        }
    }
    if !wanted.is_empty() && signers.is_empty() {
        return Err(ServeError::NothingSends);
    }
    let is_wanted = |signer: &Signer| wanted.iter().any(|to| to.is_for(&signer.service));
    Ok(signers.into_iter().filter(is_wanted).collect())
}

impl Outbox {
    pub(super) fn new(services: Arc<MockServices>, wanted: &[SendTo], signers: Vec<Signer>) -> Self {
        let mut names: Vec<&str> = signers.iter().map(|signer| signer.service.as_str()).collect();
        names.dedup();
        let mut routes = Vec::new();
        for to in wanted {
            let meant = names.iter().filter(|service| to.is_for(service));
            routes.extend(meant.map(|service| Route { service: (*service).to_owned(), url: to.url.clone() }));
        }
        let state = OutboxState { known: vec![0; routes.len()], ..OutboxState::default() };
        let (state, taking) = (Mutex::new(state), tokio::sync::Mutex::default());
        Outbox { services, routes, signers, state, taking }
    }

    /// Whether there is a receiver.
    pub(super) fn has_receiver(&self) -> bool {
        !self.routes.is_empty()
    }

    /// Sends every new event, until it is dropped.
    pub(super) async fn run(self: Arc<Self>) {
        let mut ledger = self.services.ledger().reader();
        loop {
            ledger.grown().await;
            for number in self.take_new().await {
                // The answer to one event can wait for the next.
                tokio::spawn(Arc::clone(&self).send(vec![(number, false)], CopyReason::First));
            }
        }
    }

    /// Lists new events; returns those to send.
    async fn take_new(&self) -> Vec<u32> {
        let _taking = self.taking.lock().await;
        let mut numbers = Vec::new();
        for (index, route) in self.routes.iter().enumerate() {
            let events = self.services.events(&route.service).await;
            let mut state = self.state();
            let known = std::mem::replace(&mut state.known[index], events.len());
            for event in events.into_iter().skip(known) {
                state.count += 1;
                let (number, is_held) = (state.count, state.is_held);
                let (id, kind) = (event.id.clone(), event.kind.clone());
                let service = route.service.clone();
                let listed =
                    ListedEvent { number, service, id, kind, copies: Vec::new(), event, route: index };
                state.events.push(listed);
                if state.events.len() > MAX_EVENTS {
                    state.events.remove(0);
                }
                if !is_held {
                    numbers.push(number);
                }
            }
        }
        numbers
    }

    /// Forgets all events while the services begin anew.
    pub(super) async fn during_reset(&self, reset: impl Future<Output = ()>) {
        let _taking = self.taking.lock().await;
        reset.await;
        let mut state = self.state();
        state.known.fill(0);
        state.count = 0;
        state.events.clear();
    }

    /// Whether new events wait until somebody sends them.
    pub(super) fn hold(&self, is_held: bool) {
        self.state().is_held = is_held;
    }

    /// The events, oldest first, and whether new ones are held.
    pub(super) fn listed(&self) -> (Vec<ListedEvent>, bool) {
        let state = self.state();
        (state.events.clone(), state.is_held)
    }

    /// Sends these events by hand, one after another: the id of each, and whether its signature is wrong.
    pub(super) fn send_by_hand(self: &Arc<Self>, wanted: &[(String, bool)]) -> Result<(), String> {
        let numbers = {
            let state = self.state();
            let number = |(id, forged): &(String, bool)| {
                let meant = state.events.iter().filter(|event| event.id == *id);
                let copies: Vec<(u32, bool)> = meant.map(|event| (event.number, *forged)).collect();
                if copies.is_empty() { Err(id.clone()) } else { Ok(copies) }
            };
            wanted.iter().map(number).collect::<Result<Vec<_>, _>>()?
        };
        tokio::spawn(Arc::clone(self).send(numbers.into_iter().flatten().collect(), CopyReason::ByHand));
        Ok(())
    }

    /// Sends copies of events, one after another.
    async fn send(self: Arc<Self>, copies: Vec<(u32, bool)>, reason: CopyReason) {
        for (number, forged) in copies {
            self.send_one(number, forged, reason).await;
        }
    }

    async fn send_one(&self, number: u32, forged: bool, reason: CopyReason) {
        let Some((listed, copy)) = self.begin(number, forged) else { return };
        let (event, route) = (&listed.event, &self.routes[listed.route]);
        let signs = |signer: &&Signer| signer.service == route.service && signer.sender.name == event.sender;
        let Some(Signer { sender, right, wrong, .. }) = self.signers.iter().find(signs) else { return };
        let secret = if forged { wrong } else { right };
        let (at, earlier) = (Timestamp::now().as_second(), copy - 1);
        let signed = SentCopy { event, secret, at, earlier, again: None };
        let headers = sender.all_headers(&signed);
        self.note(&SubjectEvent::Delivered(SentCopyEvent {
            start: 1,
            event: number,
            copy,
            copies: copy,
            from: sender.name.to_owned(),
            id: event.id.clone(),
            kind: event.kind.clone(),
            reason: if copy == 1 { CopyReason::First } else { reason },
            signature: if forged { CopySignature::Wrong } else { CopySignature::Right },
            shortened: 0,
        }));
        let answer = post(&route.url, &headers, &event.body).await;
        let status = answer.as_ref().map_or(0, |status| *status);
        self.note(&SubjectEvent::CopyAnswered(CopyAnswerEvent { event: number, copy, status, seen: true }));
        if let Some(listed) = self.state().events.iter_mut().find(|listed| listed.number == number)
            && let Some(copy) = listed.copies.get_mut(copy as usize - 1)
        {
            match answer {
                Ok(status) => copy.status = Some(status),
                Err(error) => copy.error = Some(error),
            }
        }
    }

    /// Lists a new copy of an event; returns the event and the number of the copy.
    fn begin(&self, number: u32, forged: bool) -> Option<(ListedEvent, u32)> {
        let mut state = self.state();
        let listed = state.events.iter_mut().find(|listed| listed.number == number)?;
        listed.copies.push(ListedCopy { forged, ..ListedCopy::default() });
        Some((listed.clone(), u32::try_from(listed.copies.len()).unwrap_or(u32::MAX)))
    }

    fn note(&self, event: &SubjectEvent) {
        self.services.ledger().append(event.to_ledger(None));
    }

    fn state(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The status of the answer of a receiver, or why there is none.
async fn post(url: &Uri, headers: &[(String, String)], body: &str) -> Result<u16, String> {
    let host = url.authority().map_or("", |authority| authority.as_str());
    let mut request = Request::post(url.clone()).header("Host", host);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(Bytes::from(body.to_owned()))).map_err(|error| error.to_string())?;
    match tokio::time::timeout(TIMEOUT, outbound::send(request)).await {
        Ok(Ok(response)) => Ok(response.status().as_u16()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer in {} s", TIMEOUT.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_a_url_for_all_or_for_one_service() {
        let read = |text: &str| text.parse::<SendTo>();
        let all = read("http://127.0.0.1:3000/hooks?a=b").unwrap();
        assert_eq!((all.service, all.url.path()), (None, "/hooks"));
        assert_eq!(read("payment=http://[::1]:3000/").unwrap().service.as_deref(), Some("payment"));
        for wrong in ["", "payment=", "localhost:3000", "ftp://a/", "payment=/hooks", "http://"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
