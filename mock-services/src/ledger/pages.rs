//! The entries of a ledger in memory: how one is added, and how they are read again.

use super::decode::Decoder;
use super::entry::Event;
use super::record::{self, CLIENT, Parts, SHAPE, Times, read_counted};
use super::redact::Redactor;
use super::shape::{Shape, template};
use super::store::{Position, Store};
use crate::clock::Clock;
use crate::service::Fields;

/// How many clients' headers are kept for later attempts to refer to. Nobody but a subject that means harm
/// has more.
const MOST_CLIENTS: usize = 32;
/// The same for shapes: services have few operations, but a subject can make up names of fields.
const MOST_SHAPES: usize = 64;

/// All entries so far.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// Which ledger of its handle it is: a reader of an earlier one begins anew.
    pub(super) edition: u64,
    store: Store,
    pub(super) count: u64,
    /// The times of the entry before.
    last: (u64, u64),
    /// No entry is earlier.
    earliest: u64,
    /// When the time of day was taken.
    wall_taken: Option<u64>,
    closed: bool,
    pub(super) redactor: Redactor,
    /// The headers by which attempts told their client, and the number under which they are kept.
    clients: Vec<(Vec<u8>, usize)>,
    /// How many have been kept so far.
    kept_clients: usize,
    /// What the shapes depend on, and the number under which each is kept.
    shapes: Vec<(Vec<u8>, usize)>,
    /// How many have been kept so far.
    kept_shapes: usize,
}

impl Pages {
    /// Forgets all entries; what is hidden stays hidden.
    pub(super) fn reset(&mut self) {
        let (edition, redactor) = (self.edition + 1, std::mem::take(&mut self.redactor));
        *self = Pages { edition, redactor, earliest: self.last.0, ..Pages::default() };
    }

    /// Hides something more from now on.
    pub(super) fn hide(&mut self, how: impl FnOnce(&mut Redactor)) {
        how(&mut self.redactor);
        // What was kept of clients and shapes may hold it.
        self.clients.clear();
        self.shapes.clear();
    }

    /// Adds an event behind the closing entry, and another closing entry behind it.
    pub(super) fn add_late(&mut self, clock: &Clock, event: &Event<'_>) {
        let was_closed = std::mem::replace(&mut self.closed, false);
        let mut late = Parts::default();
        late.take(event);
        self.add(clock, &[late]);
        if was_closed {
            self.close(clock);
        }
    }

    /// Adds the closing entry, behind which nothing comes any more but what [`Pages::add_late`] adds.
    pub(super) fn close(&mut self, clock: &Clock) {
        let mut end = Parts::default();
        end.take(&Event::End { count: self.count });
        self.add(clock, &[end]);
        self.closed = true;
    }

    /// Adds events that happened together.
    pub(super) fn add(&mut self, clock: &Clock, events: &[Parts]) {
        if self.closed || events.is_empty() {
            return;
        }
        let now = self.now(clock);
        for parts in events {
            self.count += 1;
            let times = Times::since(self.last, now);
            self.last = now;
            match self.shape_and_client(parts) {
                Some((shape, client)) => parts.write(self.store.tail(), times, shape, client),
                None => {
                    let json = self.redacted_json(parts);
                    record::write_json(self.store.tail(), times, &json);
                }
            }
        }
    }

    /// The JSON of an event, without what is hidden.
    fn redacted_json(&mut self, parts: &Parts) -> Vec<u8> {
        let mut json = Vec::new();
        match parts.shape().and_then(|depends_on| template(depends_on, |_| {})) {
            Some(template) => {
                json.push(b'{');
                // Holes and what goes into them were made by the same event.
                let _ = Shape::of(&template).fill(&mut parts.body(), &client_json(parts.client()), &mut json);
            }
            None => json.extend_from_slice(parts.body()),
        }
        if parts.foreign {
            self.redactor.redact(&mut json);
        }
        json
    }

    /// The numbers under which the shape of an event and the headers that tell its client are kept; 0 where
    /// it has none. `None` where it must be kept as JSON.
    fn shape_and_client(&mut self, parts: &Parts) -> Option<(usize, usize)> {
        let depends_on = parts.shape()?;
        if parts.foreign && self.redactor.may_hide(parts.texts()) {
            return None;
        }
        let shape = match self.shapes.iter().find(|(kept, _)| kept == depends_on) {
            Some((_, number)) => *number,
            None => self.keep_shape(depends_on, parts.foreign)?,
        };
        let client = match self.clients.iter().find(|(kept, _)| kept == parts.client()) {
            Some((_, number)) => *number,
            None if parts.client().is_empty() => 0,
            None => self.keep_client(parts.client())?,
        };
        Some((shape, client))
    }

    /// Taken under the lock and never lower than the entry before, so that order and time agree.
    fn now(&mut self, clock: &Clock) -> (u64, u64) {
        const MILLISECOND: u64 = 1_000;
        let at = u64::try_from(clock.elapsed().as_micros())
            .unwrap_or(u64::MAX)
            .max(self.last.0)
            .max(self.earliest);
        match self.wall_taken {
            // No longer ago than it is told exactly.
            Some(taken) if at - taken < MILLISECOND => (at, self.last.1),
            _ => {
                self.wall_taken = Some(at);
                // Before 1970 no clock is worth its name.
                (at, u64::try_from(clock.wall().as_millisecond()).unwrap_or_default())
            }
        }
    }

    /// `None` where there are too many, or something in it may have to be hidden.
    fn keep_shape(&mut self, depends_on: &[u8], foreign: bool) -> Option<usize> {
        if self.shapes.len() >= MOST_SHAPES {
            return None;
        }
        let mut hides = false;
        let template = template(depends_on, |name| hides |= self.redactor.hides(name))?;
        // Names can also stand behind an escaped quote or, as that of a parameter, before an equals sign; and
        // anything can be escaped in percent.
        let may_name = hides || memchr::memchr3(b'\\', b'=', b'%', &template).is_some();
        if foreign && (may_name || self.redactor.may_hide([&template[..]])) {
            return None;
        }
        record::write_kept(self.store.tail(), SHAPE, &template);
        self.kept_shapes += 1;
        self.shapes.push((depends_on.to_vec(), self.kept_shapes));
        Some(self.kept_shapes)
    }

    /// `None` where there are too many.
    fn keep_client(&mut self, headers: &[u8]) -> Option<usize> {
        if self.clients.len() >= MOST_CLIENTS {
            return None;
        }
        // Within an entry, where the names of its members are not taken for what a caller said.
        let mut json = [b"{\"client\":", &client_json(headers)[..], b"}"].concat();
        self.redactor.redact(&mut json);
        let json = json.strip_prefix(b"{\"client\":").and_then(|json| json.strip_suffix(b"}"))?;
        record::write_kept(self.store.tail(), CLIENT, json);
        self.kept_clients += 1;
        self.clients.push((headers.to_vec(), self.kept_clients));
        Some(self.kept_clients)
    }
}

/// The headers that tell a client, as JSON; empty where there are none.
fn client_json(mut headers: &[u8]) -> Vec<u8> {
    let mut fields = Fields::new();
    while let (Some(name), Some(value)) = (read_counted(&mut headers), read_counted(&mut headers)) {
        fields.set(String::from_utf8_lossy(name), &*String::from_utf8_lossy(value));
    }
    // Plain data written into memory cannot fail.
    if fields.is_empty() { Vec::new() } else { serde_json::to_vec(&fields).unwrap_or_default() }
}

/// Reads the entries in their order, each once.
#[derive(Debug, Default)]
pub(super) struct Reading {
    position: Position,
    decoder: Decoder,
    /// Records that were taken.
    fresh: Vec<u8>,
    /// How far they have been written.
    written: usize,
}

impl Reading {
    /// Copies what has come since the last time.
    pub(super) fn take(&mut self, pages: &Pages) {
        self.fresh.drain(..self.written);
        self.written = 0;
        self.position = pages.store.read(self.position, |bytes| self.fresh.extend_from_slice(bytes));
    }

    /// Writes what was taken, entry by entry, until `out` holds `enough`; gives back whether there is more.
    /// `begin` writes what stands before each entry, which is JSON without its opening brace.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, enough: usize, begin: impl Fn(&mut Vec<u8>)) -> bool {
        let mut rest = &self.fresh[self.written..];
        while out.len() < enough && !rest.is_empty() {
            let start = out.len();
            begin(out);
            if self.decoder.write_next(&mut rest, out).is_none() {
                // What this ledger wrote it can read; were it not so, nothing behind it could be.
                out.truncate(start);
                rest = &[];
                break;
            }
            out.push(b'\n');
        }
        self.written = self.fresh.len() - rest.len();
        !rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::*;
    use crate::ledger::entry::{CommitTiming, Entry, Received};
    use crate::service::Value;

    const SECRET: &str = "hunter2secret";
    /// Longer than keys and card numbers are.
    const LONG_SECRET: &str = "hunter2secret and all that a long one may hold besides";

    fn lines(pages: &Pages) -> Vec<String> {
        let (mut reading, mut out) = (Reading::default(), Vec::new());
        reading.take(pages);
        assert!(!reading.write(&mut out, usize::MAX, |out| out.push(b'{')));
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    fn add(pages: &mut Pages, event: &Event<'_>) {
        let mut parts = Parts::default();
        parts.take(event);
        pages.add(&Clock::default(), &[parts]);
    }

    fn received(key: &str, fields: Fields, client: Fields) -> Event<'static> {
        Event::Received(Received {
            attempt: 52,
            operation: "payment.charge".into(),
            method: "POST".into(),
            path: "/v1/charges".into(),
            fields: Cow::Owned(fields),
            key: Some(key.to_owned().into()),
            replay: false,
            caller: 1,
            connection: 1,
            repeats: None,
            client: Cow::Owned(client),
        })
    }

    /// Texts in which something may have to be hidden, also across what they are made of.
    fn text() -> impl Strategy<Value = String> {
        let pieces = [
            "4242424242424242",
            "4242 4242-4242",
            "4242",
            "-",
            " ",
            ".",
            "_",
            "\u{a0}",
            "\n",
            "\u{1}",
            "%20",
            "%",
            "5555555555554444",
            "re_AbCd1234_AbCdEfGhIjKlMnOpQrStUvWx",
            "metadata.password",
            "7",
            "x",
            "é",
            "\"",
            "=",
            SECRET,
            LONG_SECRET,
            "hunter2",
            "sk_live_0123456789abcdefgh",
            "api_key",
            "Authorization",
            "order",
        ];
        proptest::collection::vec(prop::sample::select(pieces.to_vec()), 0..4)
            .prop_map(|pieces| pieces.concat())
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            text().prop_map(Value::from),
            prop::sample::select(vec![4_242_424_242_424_242, 4242, -52]).prop_map(Value::Number),
            proptest::collection::vec(text(), 0..3).prop_map(Value::List),
            any::<bool>().prop_map(Value::Bool),
        ]
    }

    fn events() -> impl Strategy<Value = [Event<'static>; 2]> {
        let names = proptest::collection::vec((text(), value()), 0..4);
        (text(), text(), names).prop_map(|(key, id, names)| {
            let fields =
                names.into_iter().fold(Fields::new(), |fields, (name, value)| fields.with(name, value));
            let committed = Event::Committed {
                attempt: 4,
                effect: "payment.charge".into(),
                id: id.into(),
                fields: Cow::Owned(fields.clone()),
                timing: CommitTiming::Now,
            };
            [received(&key, fields, Fields::new()), committed]
        })
    }

    proptest! {
        // Few of them, of many events each: what is looked for takes a while to be made.
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn what_is_taken_apart_hides_what_its_json_would(
            events in proptest::collection::vec(events(), 100),
            secret in prop::sample::select(vec!["hunter2", SECRET, LONG_SECRET]),
        ) {
            let (mut pages, mut redactor, mut expected) = (Pages::default(), Redactor::default(), Vec::new());
            pages.hide(|redactor| redactor.hide_value(secret));
            redactor.hide_value(secret);
            for event in events.iter().flatten() {
                add(&mut pages, event);
                let mut json = serde_json::to_vec(event).unwrap();
                redactor.redact(&mut json);
                expected.push(String::from_utf8(json).unwrap());
            }
            let lines = lines(&pages);
            prop_assert_eq!((lines.len(), pages.count), (expected.len(), expected.len() as u64));
            for (line, json) in lines.iter().zip(&expected) {
                prop_assert!(line.ends_with(&json[1..]), "{line}\n{json}");
            }
        }
    }

    #[test]
    fn what_tells_a_client_is_kept_once_and_hidden_as_soon_as_it_must_be() {
        let client = Fields::new().with("user-agent", "agent \"hunter2secret\"");
        let event = received("k", Fields::new(), client);
        let mut pages = Pages::default();
        add(&mut pages, &event);
        add(&mut pages, &event);
        assert_eq!(pages.kept_clients, 1);
        add(&mut pages, &received("k", Fields::new(), Fields::new().with("x-retry-count", 1)));
        assert!(lines(&pages)[2].ends_with(r#""client":{"x-retry-count":1}}"#));
        pages.hide(|redactor| redactor.hide_value(SECRET));
        add(&mut pages, &event);
        let told = |line: &String| match serde_json::from_str::<Entry>(line).unwrap().event {
            Event::Received(received) => {
                received.client.get("user-agent").map(ToString::to_string).unwrap_or_default()
            }
            _ => String::new(),
        };
        let expected = ["agent \"hunter2secret\"", "agent \"hunter2secret\"", "", "agent \"[redacted 1]\""];
        assert_eq!(lines(&pages).iter().map(told).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_shape_is_kept_once_and_anew_when_something_more_is_hidden() {
        let event = received("k", Fields::new().with("order", "ord_1"), Fields::new());
        let mut pages = Pages::default();
        add(&mut pages, &event);
        add(&mut pages, &event);
        assert_eq!(pages.kept_shapes, 1);
        pages.hide(|redactor| redactor.hide_name("order"));
        add(&mut pages, &event);
        let lines = lines(&pages);
        assert!(
            lines[1].contains(r#""order":"ord_1""#) && lines[2].contains(r#""order":"[redacted 1]""#),
            "{lines:?}"
        );
    }

    #[test]
    fn a_hidden_name_is_seen_also_behind_a_quote_and_before_an_equals_sign() {
        let fields = Fields::new().with("\"api_key", "secret one").with("x?api_key=secret-two&y", "1");
        let mut pages = Pages::default();
        add(&mut pages, &received("k", fields.clone(), Fields::new()));
        add(&mut pages, &received("k", fields, Fields::new()));
        let lines = lines(&pages);
        assert!(lines.iter().all(|line| line.contains("redacted") && !line.contains("secret")), "{lines:?}");
    }

    #[test]
    fn a_name_that_holds_the_bytes_of_two_is_not_taken_for_them() {
        let two = received("k", Fields::new().with("a", "1").with("b", "2"), Fields::new());
        let one = received("k", Fields::new().with("a\u{2}\u{1}b", "1"), Fields::new());
        let mut pages = Pages::default();
        let (mut parts, mut shapes) = (Parts::default(), Vec::new());
        for event in [&two, &one, &two] {
            add(&mut pages, event);
            parts.take(event);
            shapes.push(parts.shape().unwrap().to_vec());
        }
        assert!(shapes[0] != shapes[1] && shapes[0] == shapes[2]);
        let told = |line: &String| serde_json::from_str::<Entry>(line).unwrap().event;
        assert_eq!(lines(&pages).iter().map(told).collect::<Vec<_>>(), [two.clone(), one, two]);
    }

    #[test]
    fn names_without_end_do_not_fill_the_table() {
        let mut pages = Pages::default();
        for number in 0..100 {
            add(&mut pages, &received("k", Fields::new().with(format!("name {number}"), "1"), Fields::new()));
        }
        assert_eq!(pages.kept_shapes, MOST_SHAPES);
        assert!(lines(&pages)[99].contains(r#""fields":{"name 99":"1"}"#));
    }

    #[test]
    fn a_caller_that_names_itself_anew_each_time_does_not_fill_the_table() {
        let mut pages = Pages::default();
        for number in 0..100 {
            add(
                &mut pages,
                &received("k", Fields::new(), Fields::new().with("user-agent", format!("agent {number}"))),
            );
        }
        assert_eq!(pages.kept_clients, MOST_CLIENTS);
        assert!(lines(&pages)[99].contains(r#""client":{"user-agent":"agent 99"}"#));
    }
}
