//! A token: a card that can be used once.

use serde::{Serialize, Serializer};

use super::{CardSource, Null, Object};

/// A token for a card.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    /// Its id.
    pub(crate) id: String,
    /// The card.
    pub(crate) card: CardSource,
    /// The creation time.
    pub(crate) created: i64,
    /// Whether it was used.
    pub(crate) used: bool,
}

impl Object for Token {
    const KIND: &'static str = "token";
    const URL: &'static str = "/v1/tokens";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }
}

impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct TokenJson<'a> {
            id: &'a str,
            object: &'static str,
            card: &'a CardSource,
            client_ip: Null,
            created: i64,
            livemode: bool,
            r#type: &'static str,
            used: bool,
        }
        let Token { id, card, created, used } = self;
        TokenJson {
            id,
            object: "token",
            card,
            client_ip: (),
            created: *created,
            livemode: false,
            r#type: "card",
            used: *used,
        }
        .serialize(serializer)
    }
}
