//! The payment instrument of a request: a token, a payment method, or a card number. Numbers are dropped
//! here; only the card is passed on.

use jiff::Timestamp;

use super::cards::{Card, Decline};
use super::effects::PaymentChange;
use super::errors::{PaymentError, Refused, no_such};
use super::expiry::CardData;
use super::options::is_id;
use super::params::Params;
use super::state::PaymentState;
use crate::service::Ids;

/// A payment instrument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instrument {
    /// Its id; `None` when Stripe creates a new one.
    id: Option<String>,
    /// The card.
    pub(crate) card: Card,
    /// The card data that came with a number.
    written: CardData,
    /// The token of the card.
    token: Option<String>,
}

impl Instrument {
    /// An instrument with an id.
    pub(crate) fn known(id: String, card: Card) -> Self {
        Instrument { id: Some(id), ..Instrument::new(card) }
    }

    fn new(card: Card) -> Self {
        Instrument { id: None, card, written: CardData::default(), token: None }
    }

    /// The instrument in this state and at this time: an id stands for the card it was created for, and a
    /// card can have expired.
    pub(crate) fn looked_up(&self, state: &PaymentState, now: Timestamp) -> Result<Self, Refused> {
        self.written.check(now)?;
        if let Some(token) = self.token.as_deref().and_then(|token| state.tokens.get(token)) {
            if token.used {
                let message = format!("You cannot use a Stripe token more than once: {}.", token.id);
                return Err(Box::new(PaymentError::invalid(message).code("token_already_used")));
            }
            return Ok(Instrument { card: token.card.card, ..self.clone() });
        }
        let known = self.id.as_deref().and_then(|id| state.card(id));
        Ok(Instrument { card: known.unwrap_or(self.card), ..self.clone() })
    }

    /// The use of its token, when this service created it.
    pub(crate) fn token_used(&self, state: &PaymentState) -> Option<PaymentChange> {
        let token = self.token.as_deref().and_then(|token| state.tokens.get(token))?;
        Some(PaymentChange::TokenUsed(token.id.clone()))
    }

    /// Its id, created with this prefix when it has none.
    pub(crate) fn id(&self, ids: &Ids, prefix: &str) -> String {
        self.id.clone().unwrap_or_else(|| ids.alphanumeric(prefix, 23))
    }

    /// Its id, like `id`, without cloning.
    pub(crate) fn into_id(self, ids: &Ids, prefix: &str) -> String {
        self.id.unwrap_or_else(|| ids.alphanumeric(prefix, 23))
    }

    /// The `source` of a charge or a customer (formerly `card`).
    pub(crate) fn of_source(params: &Params<'_>) -> Result<Option<Self>, Refused> {
        for name in ["source", "card"] {
            if let Some(id) = params.raw(name) {
                return token(id, name).map(Some);
            }
            if params.has(name) {
                let nested = |wanted: &str| inside(params, name, wanted);
                return number(nested("number"), CardData::read(nested), name).map(Some);
            }
        }
        Ok(None)
    }

    /// The card of a new payment method or token.
    pub(crate) fn of_card(params: &Params<'_>) -> Result<Option<Self>, Refused> {
        let nested = |wanted: &str| inside(params, "card", wanted);
        match nested("token") {
            Some(id) => token(id, "card[token]").map(Some),
            None if params.has("card") => number(nested("number"), CardData::read(nested), "card").map(Some),
            None => Ok(None),
        }
    }

    /// The payment method of an intent.
    pub(crate) fn of_method(params: &Params<'_>) -> Result<Option<Self>, Refused> {
        if let Some(id) = params.text("payment_method")? {
            return method(id, "payment_method").map(Some);
        }
        if params.has("payment_method_data") {
            let nested = |wanted: &str| {
                let is_wanted = |rest: &str| {
                    rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) == Some(wanted)
                };
                params
                    .inside("payment_method_data")
                    .find(|(first, rest, _)| *first == "card" && is_wanted(rest))
                    .map(|found| found.2)
            };
            return match (nested("token"), nested("number")) {
                (Some(id), _) => token(id, "payment_method_data[card][token]").map(Some),
                (None, Some(digits)) => {
                    number(Some(digits), CardData::read(nested), "payment_method_data[card]").map(Some)
                }
                (None, None) => Ok(Some(Instrument::new(Card::VISA))),
            };
        }
        if params.text("confirmation_token")?.is_some() {
            return Ok(Some(Instrument::new(Card::VISA)));
        }
        match params.raw("source") {
            Some(id) => token(id, "source").map(Some),
            None => Ok(None),
        }
    }
}

/// A payment method by its id; the name of a test card stands for a new one each time.
pub(crate) fn method(id: &str, param: &'static str) -> Result<Instrument, Refused> {
    let named = Some(id).filter(|id| id.starts_with("pm_card_")).and_then(Card::named);
    match named {
        Some(card) => Ok(Instrument::new(card)),
        None if has_stripe_format("pm_", id)
            || has_stripe_format("card_", id)
            || has_stripe_format("src_", id) =>
        {
            Ok(Instrument::known(id.to_owned(), Card::VISA))
        }
        None => {
            let message = format!(
                "No such PaymentMethod: '{id}'; It's possible this PaymentMethod exists on one of your \
                 connected accounts, in which \
                 case you should retry this request on that connected account. Learn more at \
                 https://stripe.com/docs/connect/authentication"
            );
            Err(Box::new(PaymentError::invalid(message).code("resource_missing").param(param)))
        }
    }
}

fn token(id: &str, param: &'static str) -> Result<Instrument, Refused> {
    match Card::named(id) {
        Some(card) => Ok(Instrument::new(card)),
        None if has_stripe_format("tok_", id) => {
            Ok(Instrument { token: Some(id.to_owned()), ..Instrument::new(Card::VISA) })
        }
        None if has_stripe_format("card_", id)
            || has_stripe_format("src_", id)
            || has_stripe_format("pm_", id) =>
        {
            Ok(Instrument::known(id.to_owned(), Card::VISA))
        }
        None => Err(no_such("token", id, param)),
    }
}

/// Whether an id has Stripe's format, with a digit after the prefix. No test card has such a name: a
/// misspelled name must not become a card that pays.
fn has_stripe_format(prefix: &str, id: &str) -> bool {
    is_id(prefix, id) && id.as_bytes().get(prefix.len()).is_some_and(u8::is_ascii_digit)
}

fn number(digits: Option<&str>, written: CardData, param: &str) -> Result<Instrument, Refused> {
    let name = format!("{param}[number]");
    let Some(digits) = digits else {
        return Err(Box::new(
            PaymentError::invalid(format!("Missing required param: {name}."))
                .code("parameter_missing")
                .param(name),
        ));
    };
    match Card::numbered(digits) {
        Some(card) => Ok(Instrument { written, ..Instrument::new(card) }),
        None => Err(Box::new(
            PaymentError::new(402, "card_error", "Your card number is incorrect.")
                .code("incorrect_number")
                .param("number"),
        )),
    }
}

fn inside<'p>(params: &'p Params<'_>, root: &'p str, wanted: &str) -> Option<&'p str> {
    params
        .inside(root)
        .find(|(first, rest, _)| *first == wanted && rest.is_empty())
        .map(|(_, _, value)| value)
}

/// Stripe's error when the bank declines.
pub(crate) fn declined(decline: Decline) -> PaymentError {
    let (code, decline_code, message) = decline.words();
    let problem =
        PaymentError::new(402, "card_error", message).code(code).decline_code(decline_code).executed();
    match decline.param() {
        Some(param) => problem.param(param),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Request;

    fn source(body: &str) -> Result<Option<Instrument>, Refused> {
        let request = Request::new("POST", "/").body(body);
        Instrument::of_source(&Params::read(&request)?)
    }

    fn of_method(body: &str) -> Result<Option<Instrument>, Refused> {
        let request = Request::new("POST", "/").body(body);
        Instrument::of_method(&Params::read(&request)?)
    }

    #[test]
    fn a_source_is_a_token_a_card_or_a_number() {
        assert_eq!(source("source=tok_visa").unwrap().unwrap().card, Card::VISA);
        let declining = source("source[object]=card&source[number]=4000000000000002").unwrap().unwrap();
        assert_eq!(declining.card.decline, Some(Decline::Generic));
        assert_eq!(
            source("card[number]=4000000000009995").unwrap().unwrap().card.decline,
            Some(Decline::InsufficientFunds)
        );
        assert_eq!(source("amount=1").unwrap(), None);
        for body in [
            "source=visa",
            "source=",
            "source[object]=card",
            "source[number]=42",
            "source=tok_%3Cb%3E",
            "source=tok_nonsense",
        ] {
            assert!(source(body).is_err(), "{body}");
        }
    }

    #[test]
    fn a_payment_method_is_an_id_or_its_data() {
        let ids = Ids::new(1, "payment", 1, 1, 0);
        assert_eq!(of_method("payment_method=pm_1").unwrap().unwrap().id(&ids, "pm_1"), "pm_1");
        assert_ne!(
            of_method("payment_method=pm_card_visa").unwrap().unwrap().id(&ids, "pm_1"),
            "pm_card_visa"
        );
        let data = "payment_method_data[type]=card&payment_method_data[card]";
        assert_eq!(
            of_method(&format!("{data}[number]=4000000000000069")).unwrap().unwrap().card.decline,
            Some(Decline::Expired)
        );
        assert_eq!(
            of_method(&format!("{data}[token]=tok_chargeDeclined")).unwrap().unwrap().card.decline,
            Some(Decline::Generic)
        );
        for id in [
            "visa",
            "pm_card_nonsense",
            "pm_cardvisa_chargeDeclined",
            "pm_chargeDeclined",
            "card_chargeDeclined",
            "tok_visa",
        ] {
            assert!(of_method(&format!("payment_method={id}")).is_err(), "{id}");
        }
        assert_eq!(of_method("amount=1").unwrap(), None);
    }
}
