//! What a request wants to pay with: a token, a payment method, or a card's number. Numbers end here; only the card is passed on.

use super::cards::{Card, Decline};
use super::errors::{Problem, Refused, no_such};
use super::options::is_id;
use super::params::Params;
use crate::service::Ids;

/// What is paid with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instrument {
    /// Its id; `None` where Stripe makes a new one.
    id: Option<String>,
    /// Which card it is.
    pub(crate) card: Card,
}

impl Instrument {
    /// One that has an id already.
    pub(crate) fn known(id: String, card: Card) -> Self {
        Instrument { id: Some(id), card }
    }

    /// Its id, made with this prefix where it has none.
    pub(crate) fn id(&self, ids: &Ids, prefix: &str) -> String {
        self.id.clone().unwrap_or_else(|| ids.alphanumeric(prefix, 23))
    }

    /// The same, of one that is not needed any more.
    pub(crate) fn into_id(self, ids: &Ids, prefix: &str) -> String {
        self.id.unwrap_or_else(|| ids.alphanumeric(prefix, 23))
    }

    /// What a charge or a customer names as `source` (or, as of old, as `card`).
    pub(crate) fn of_source(params: &Params<'_>) -> Result<Option<Self>, Refused> {
        for name in ["source", "card"] {
            if let Some(id) = params.raw(name) {
                return token(id, name).map(Some);
            }
            if params.has(name) {
                return number(inside(params, name, "number"), name).map(Some);
            }
        }
        Ok(None)
    }

    /// What an intent names as its payment method.
    pub(crate) fn of_method(params: &Params<'_>) -> Result<Option<Self>, Refused> {
        if let Some(id) = params.text("payment_method")? {
            return method(id, "payment_method").map(Some);
        }
        if params.has("payment_method_data") {
            let nested = |wanted: &str| {
                params
                    .inside("payment_method_data")
                    .find(|(first, rest, _)| *first == "card" && *rest == wanted)
                    .map(|found| found.2)
            };
            return match (nested("[token]"), nested("[number]")) {
                (Some(id), _) => token(id, "payment_method_data[card][token]").map(Some),
                (None, Some(digits)) => number(Some(digits), "payment_method_data[card]").map(Some),
                (None, None) => Ok(Some(Instrument { id: None, card: Card::VISA })),
            };
        }
        if params.text("confirmation_token")?.is_some() {
            return Ok(Some(Instrument { id: None, card: Card::VISA }));
        }
        match params.raw("source") {
            Some(id) => token(id, "source").map(Some),
            None => Ok(None),
        }
    }
}

/// A payment method by its id; the names of Stripe's test cards stand for a new one each time.
pub(crate) fn method(id: &str, param: &'static str) -> Result<Instrument, Refused> {
    if is_id("pm_card_", id) {
        return Ok(Instrument { id: None, card: Card::named(id) });
    }
    if ["pm_", "card_", "src_"].iter().any(|prefix| is_id(prefix, id)) {
        return Ok(Instrument::known(id.to_owned(), Card::named(id)));
    }
    Err(no_such("PaymentMethod", id, param))
}

fn token(id: &str, param: &'static str) -> Result<Instrument, Refused> {
    if is_id("tok_", id) || is_id("pm_card_", id) {
        return Ok(Instrument { id: None, card: Card::named(id) });
    }
    if ["card_", "src_", "pm_"].iter().any(|prefix| is_id(prefix, id)) {
        return Ok(Instrument::known(id.to_owned(), Card::VISA));
    }
    Err(no_such("token", id, param))
}

fn number(digits: Option<&str>, param: &str) -> Result<Instrument, Refused> {
    let name = format!("{param}[number]");
    let Some(digits) = digits else {
        return Err(Box::new(Problem::invalid(format!("Missing required param: {name}.")).code("parameter_missing").param(name)));
    };
    match Card::numbered(digits) {
        Some(card) => Ok(Instrument { id: None, card }),
        None => Err(Box::new(
            Problem::new(402, "card_error", "Your card number is incorrect.").code("incorrect_number").param("number"),
        )),
    }
}

fn inside<'p>(params: &'p Params<'_>, root: &'p str, wanted: &str) -> Option<&'p str> {
    params.inside(root).find(|(first, rest, _)| *first == wanted && rest.is_empty()).map(|(_, _, value)| value)
}

/// What Stripe says when the bank declines.
pub(crate) fn declined(decline: Decline) -> Problem {
    let (code, decline_code, message) = decline.words();
    let problem = Problem::new(402, "card_error", message).code(code).decline_code(decline_code).begun();
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
        assert_eq!(source("card[number]=4000000000009995").unwrap().unwrap().card.decline, Some(Decline::InsufficientFunds));
        assert_eq!(source("amount=1").unwrap(), None);
        for body in ["source=visa", "source=", "source[object]=card", "source[number]=42", "source=tok_%3Cb%3E"] {
            assert!(source(body).is_err(), "{body}");
        }
    }

    #[test]
    fn a_payment_method_is_an_id_or_its_data() {
        let ids = Ids::new(1, "payment", 1, 1, 0);
        assert_eq!(of_method("payment_method=pm_1").unwrap().unwrap().id(&ids, "pm_1"), "pm_1");
        assert_ne!(of_method("payment_method=pm_card_visa").unwrap().unwrap().id(&ids, "pm_1"), "pm_card_visa");
        let data = "payment_method_data[type]=card&payment_method_data[card]";
        assert_eq!(of_method(&format!("{data}[number]=4000000000000069")).unwrap().unwrap().card.decline, Some(Decline::Expired));
        assert_eq!(
            of_method(&format!("{data}[token]=tok_chargeDeclined")).unwrap().unwrap().card.decline,
            Some(Decline::Generic)
        );
        assert!(of_method("payment_method=visa").is_err());
        assert_eq!(of_method("amount=1").unwrap(), None);
    }
}
