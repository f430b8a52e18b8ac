//! The list of replies. Each is a module with everything about it: how it is written, read and checked, how
//! it is sent, what it is called, and its samples for tests. To add one, add a module and its line in the
//! list.

mod delay;
mod drip;
mod drop;
mod garble;
mod hang;
mod ok;
mod other;
mod oversize;
mod reset;
mod session_lost;
mod stale;
mod status;
mod truncate;

use std::time::Duration;

#[cfg(test)]
use proptest::prelude::{BoxedStrategy, Just, Strategy, prop_oneof};
use yaml_reader::shape::{Rule, Shape, object, required};
use yaml_reader::{Node, NodeKind, Reader, listed};

use serde_json::{Value, json};

use super::reply::{PlainWord, ReplyBehavior, ReplyContent, ReplyFacts, ReplyValue, SentReply};
use super::write::{map, text};
use crate::service::CutPlace;
use crate::word_enum;
pub use delay::Delay;
pub use drip::Drip;
pub use hang::{Hang, SilenceEnd};
pub use other::OtherObject;
pub use oversize::Oversize;
pub use session_lost::SESSION_HEADER;
pub use stale::Lag;
pub use status::StatusReply;
pub use truncate::Truncation;

/// Defines [`Reply`] and [`ReplyKind`]. A reply without a value is a unit struct of its module.
macro_rules! replies {
    ($($(#[$about:meta])* $module:ident::$variant:ident $(($value:ty))? => $word:literal,)+) => {
        /// What the caller sees.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Reply {
            $($(#[$about])* $variant $(($value))?,)+
        }

        word_enum! {
            /// What the caller sees, without the details that [`Reply`] has.
            pub enum ReplyKind {
                $($(#[$about])* $variant => $word,)+
            }
        }

        impl Reply {
            /// Its kind, without details.
            #[must_use]
            pub const fn kind(&self) -> ReplyKind {
                match self {
                    $(Reply::$variant { .. } => ReplyKind::$variant,)+
                }
            }

            /// What it does.
            pub(crate) fn behavior(&self) -> &dyn ReplyBehavior {
                match self {
                    $(replies!(@pattern value $variant $($value)?) =>
                        replies!(@behavior value $module $variant $($value)?),)+
                }
            }
        }

        impl ReplyKind {
            /// What is known of it.
            #[must_use]
            pub const fn facts(self) -> &'static ReplyFacts {
                match self {
                    $(ReplyKind::$variant => &$module::FACTS,)+
                }
            }
        }

        $($(impl From<$value> for Reply {
            fn from(value: $value) -> Self {
                Reply::$variant(value)
            }
        })?)+

        /// Any value of any reply.
        #[cfg(test)]
        pub(super) fn any_reply() -> impl Strategy<Value = Reply> {
            proptest::strategy::Union::new([$(replies!(@strategy $module $variant $($value)?)),+])
        }
    };
    (@pattern $name:ident $variant:ident) => { Reply::$variant };
    (@pattern $name:ident $variant:ident $value:ty) => { Reply::$variant($name) };
    (@behavior $name:ident $module:ident $variant:ident) => { &$module::$variant };
    (@behavior $name:ident $module:ident $variant:ident $value:ty) => { $name };
    (@strategy $module:ident $variant:ident) => { Just(Reply::$variant).boxed() };
    (@strategy $module:ident $variant:ident $value:ty) => { $module::strategy() };
}

replies! {
    /// The true answer.
    ok::Ok => "ok",
    /// The true answer, late.
    delay::Delay(Delay) => "delay",
    /// The connection is closed and no byte is sent.
    drop::Drop => "drop",
    /// The connection is reset.
    reset::Reset => "reset",
    /// No byte is sent, and the connection stays open.
    hang::Hang(Hang) => "hang",
    /// A part of the answer, then the connection is closed.
    truncate::Truncate(Truncation) => "truncate",
    /// The right status and headers, and a body that does not parse.
    garble::Garble => "garble",
    /// The true answer, its body sent slowly.
    drip::Drip(Drip) => "drip",
    /// A status other than the true one.
    status::Status(StatusReply) => "status",
    /// The true answer to a read, from an older state.
    stale::Stale(Lag) => "stale",
    /// The server no longer knows the session of the caller.
    session_lost::SessionLost => "session-lost",
    /// An answer to a read that is about another object.
    other::Other(OtherObject) => "other",
    /// The true answer, its body padded to a size.
    oversize::Oversize(Oversize) => "oversize",
}

impl Reply {
    /// How long it takes at most, if the fault says that.
    #[must_use]
    pub fn takes(&self) -> Option<Duration> {
        self.behavior().takes()
    }

    /// Whether the service is silent until the caller leaves.
    #[must_use]
    pub fn waits_for_caller(&self) -> bool {
        self.behavior().silence() == Some(SilenceEnd::Limit)
    }

    /// The status that it has instead of the true one.
    #[must_use]
    pub fn forced_status(&self) -> Option<u16> {
        self.behavior().status().map(|reply| reply.status)
    }

    /// Whether the caller gets the true answer.
    pub(crate) fn is_true(&self) -> bool {
        self.kind().facts().content == ReplyContent::Complete && self.forced_status().is_none()
    }

    /// Whether an answer with this body becomes another one. Faults do not count attempts whose answers they cannot
    /// change.
    #[must_use]
    pub fn can_change(&self, body: &[u8]) -> bool {
        self.behavior().can_change(body)
    }

    /// The place at which the body is cut, if the service has to find it.
    #[must_use]
    pub fn cut_place(&self) -> Option<CutPlace> {
        self.behavior().cut_place()
    }

    /// What the service does, after its name: `closes the connection`, `replies 503`.
    #[must_use]
    pub fn service_words(&self) -> String {
        let sent = SentReply { status: self.forced_status(), whole: true };
        match ((self.kind().facts().words)(sent), sent.status) {
            (Some(words), _) => words.service.to_owned(),
            (None, Some(status)) => format!("replies {status}"),
            (None, None) => "replies".to_owned(),
        }
    }

    /// As YAML has it.
    pub(super) fn node(&self) -> Node {
        let kind = self.kind();
        let is_whole_map = kind.facts().value.as_ref().is_some_and(|value| value.is_whole_map);
        match self.behavior().value() {
            None => text(kind.as_str()),
            Some(value) if is_whole_map => value,
            Some(value) => map([(kind.as_str(), value)]),
        }
    }

    /// Reads a reply. What is malformed is reported.
    pub(super) fn read(reader: &Reader, node: &Node) -> Option<Reply> {
        let word = match &node.kind {
            NodeKind::Map(_) => return read_map(reader, node),
            NodeKind::Integer(number) => {
                let help = format!("write {{status: {number}}}");
                reader.report_with_help(node.span, "a status is not a reply by itself", help);
                return None;
            }
            NodeKind::Text(word) => word.parse::<ReplyKind>().ok(),
            _ => None,
        };
        if let Some(kind) = word
            && let PlainWord::NeedsValue(example) = kind.facts().plain
        {
            let help = format!("write {example}");
            reader.report_with_help(node.span, format!("`{kind}` needs a value"), help);
            return None;
        }
        reader.one_of(node, &plain_words().collect::<Vec<_>>())
    }
}

impl ReplyKind {
    /// How every reply can be written: the plain words, and then the forms with a value.
    #[must_use]
    pub fn forms() -> Vec<&'static str> {
        let words = plain_words().map(|(word, _)| word);
        words.chain(ReplyKind::ALL.into_iter().flat_map(|kind| kind.facts().help).copied()).collect()
    }
}

/// The words that are a whole reply.
fn plain_words() -> impl Iterator<Item = (&'static str, Reply)> {
    ReplyKind::ALL.into_iter().filter_map(|kind| match kind.facts().plain {
        PlainWord::Means(reply) => Some((kind.as_str(), reply())),
        PlainWord::NeedsValue(_) => None,
    })
}

/// Reads a reply with a value.
fn read_map(reader: &Reader, node: &Node) -> Option<Reply> {
    let values = |is_whole_map: bool| {
        let value = |kind: ReplyKind| Some((kind.as_str(), kind.facts().value.as_ref()?));
        ReplyKind::ALL
            .into_iter()
            .filter_map(value)
            .filter(move |(_, value)| value.is_whole_map == is_whole_map)
    };
    if let Some((_, value)) = values(true).find(|(word, _)| node.get(word).is_some()) {
        return (value.read)(reader, node);
    }
    let mut map = reader.map(node, "`reply`")?;
    let place = map.place();
    let given: Vec<_> =
        values(false).filter_map(|(word, value)| Some((word, value, map.optional(word)?))).collect();
    for (word, _) in values(true) {
        // Not there, but a key that a reply can have.
        let _ = map.optional(word);
    }
    let before = reader.count();
    map.finish();
    match given.as_slice() {
        [] if reader.count() == before => {
            let help = "for example `drop`, {delay: 800ms} or {status: 503}";
            reader.report_with_help(place, "`reply` is empty", help);
            None
        }
        [] => None,
        [(_, value, node)] => (value.read)(reader, node),
        several => {
            let names = listed(several.iter().map(|(word, ..)| *word)).replace(" or ", " and ");
            reader.report(place, format!("a reply is one thing, and this is several: {names}"));
            None
        }
    }
}

/// The JSON Schema of a reply in a scenario.
pub(super) fn reply_schema() -> Value {
    let values = ReplyKind::ALL.into_iter().filter_map(|kind| {
        let ReplyValue { shape, is_whole_map, .. } = kind.facts().value.as_ref()?;
        Some(match shape {
            Shape::Map(fields, rule) if *is_whole_map => object(fields, *rule, true),
            shape => object(&[required(kind.as_str(), *shape)], Rule::None, true),
        })
    });
    let words = Shape::Words(|| plain_words().map(|(word, _)| word).collect());
    json!({ "anyOf": std::iter::once(words.schema(true)).chain(values).collect::<Vec<_>>() })
}

/// Any duration.
#[cfg(test)]
pub(super) fn any_time() -> BoxedStrategy<Duration> {
    prop_oneof![(0u64..600).prop_map(Duration::from_secs), (0u64..1 << 50).prop_map(Duration::from_nanos)]
        .boxed()
}
