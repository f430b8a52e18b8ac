//! Cards: which token, payment method or number is which card, and how its bank responds. No number leaves
//! this file and `test_cards.rs`.

use super::test_cards::{COUNTRIES, DECLINED, PAYING};

/// A card as objects show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Card {
    /// The network in lowercase.
    pub(crate) brand: &'static str,
    /// The last four digits.
    pub(crate) last4: [u8; 4],
    /// Why its bank declines, if it does.
    pub(crate) decline: Option<Decline>,
}

impl Card {
    /// Its network and its last digits, if it pays and is not the card that every customer has at first.
    pub(crate) fn unusual_name(&self) -> Option<String> {
        let is_usual = *self == Card::VISA || self.decline.is_some();
        (!is_usual).then(|| format!("{} {}", self.brand, String::from_utf8_lossy(&self.last4)))
    }
}

/// Why a bank declines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decline {
    /// Without a reason.
    Generic,
    /// Insufficient funds.
    InsufficientFunds,
    /// The card was lost.
    Lost,
    /// The card was stolen.
    Stolen,
    /// The card expired.
    Expired,
    /// The security code is wrong.
    Cvc,
    /// The bank could not be reached.
    Processing,
    /// Too many charges, or too high an amount.
    Velocity,
    /// Stripe blocks it as fraud without asking the bank.
    Fraudulent,
    /// The card requires authentication.
    Authentication,
}

impl Decline {
    /// The error's code, its decline code, and its message.
    pub(crate) fn words(self) -> (&'static str, Option<&'static str>, &'static str) {
        match self {
            Decline::Generic => ("card_declined", Some("generic_decline"), "Your card was declined."),
            Decline::InsufficientFunds => {
                ("card_declined", Some("insufficient_funds"), "Your card has insufficient funds.")
            }
            Decline::Lost => ("card_declined", Some("lost_card"), "Your card was declined."),
            Decline::Stolen => ("card_declined", Some("stolen_card"), "Your card was declined."),
            Decline::Expired => ("expired_card", None, "Your card has expired."),
            Decline::Cvc => ("incorrect_cvc", None, "Your card's security code is incorrect."),
            Decline::Processing => (
                "processing_error",
                None,
                "An error occurred while processing your card. Try again in a little bit.",
            ),
            Decline::Velocity => (
                "card_declined",
                Some("card_velocity_exceeded"),
                "Your card was declined for making repeated attempts too frequently or exceeding its amount \
                 limit.",
            ),
            Decline::Fraudulent => ("card_declined", Some("fraudulent"), "Your card was declined."),
            Decline::Authentication => (
                "authentication_required",
                Some("authentication_required"),
                "Your card was declined. This transaction requires authentication.",
            ),
        }
    }

    /// The parameter that the error names.
    pub(crate) fn param(self) -> Option<&'static str> {
        match self {
            Decline::Expired => Some("exp_month"),
            Decline::Cvc => Some("cvc"),
            _ => None,
        }
    }
}

impl Card {
    /// The default card of a customer.
    pub(crate) const VISA: Card = Card { brand: "visa", last4: *b"4242", decline: None };

    /// The test card of a token or a payment method: `tok_visa`, `pm_card_chargeDeclined`; `None` for an
    /// unknown name.
    pub(crate) fn named(id: &str) -> Option<Card> {
        let name = ["pm_card_", "tok_"].iter().find_map(|prefix| id.strip_prefix(prefix))?;
        let plain = name.strip_prefix("visa_").unwrap_or(name);
        let refused = DECLINED.iter().find(|(other, ..)| other.eq_ignore_ascii_case(plain));
        let (_, number, decline) =
            refused.or_else(|| PAYING.iter().chain(COUNTRIES).find(|(other, ..)| *other == name))?;
        Some(Card { brand: brand(number), last4: last4(number), decline: *decline })
    }

    /// The card with a number; `None` when the number is invalid.
    pub(crate) fn numbered(number: &str) -> Option<Card> {
        let digits: String = number.chars().filter(|digit| !matches!(digit, ' ' | '-')).collect();
        if !(12..=19).contains(&digits.len())
            || !digits.bytes().all(|byte| byte.is_ascii_digit())
            || !luhn(&digits)
        {
            return None;
        }
        let decline =
            DECLINED.iter().find(|(_, other, _)| *other == digits).and_then(|(.., decline)| *decline);
        Some(Card { brand: brand(&digits), last4: last4(&digits), decline })
    }

    /// Why the card cannot be saved: it declines, and not only when it is charged.
    pub(crate) fn save_decline(&self) -> Option<Decline> {
        self.decline.filter(|decline| *decline != Decline::Authentication && self.last4 != *b"0341")
    }

    /// The last four digits as text.
    pub(crate) fn last4(&self) -> &str {
        std::str::from_utf8(&self.last4).unwrap_or("4242")
    }
}

fn brand(digits: &str) -> &'static str {
    match digits.as_bytes() {
        [b'4', ..] => "visa",
        [b'5', ..] | [b'2', ..] => "mastercard",
        [b'3', b'4' | b'7', ..] => "amex",
        [b'3', b'5', ..] => "jcb",
        [b'3', ..] => "diners",
        [b'6', b'2', ..] => "unionpay",
        [b'6', ..] => "discover",
        _ => "unknown",
    }
}

fn last4(digits: &str) -> [u8; 4] {
    digits.as_bytes().last_chunk().copied().unwrap_or(*b"4242")
}

fn luhn(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, byte)| match (u32::from(byte - b'0'), place % 2) {
            (digit, 0) => digit,
            (digit, _) => digit * 2 / 10 + digit * 2 % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_payment_methods_and_numbers_have_the_same_decline() {
        for (name, number, decline) in DECLINED {
            for id in [
                format!("tok_{name}"),
                format!("tok_visa_{name}"),
                format!("pm_card_{name}"),
                format!("pm_card_visa_{name}"),
            ] {
                assert_eq!(Card::named(&id).unwrap().decline, *decline, "{id}");
            }
            assert_eq!(Card::numbered(number).unwrap().decline, *decline, "{number}");
        }
        assert_eq!(Card::named("pm_card_chargedeclined").unwrap().decline, Some(Decline::Generic));
    }

    #[test]
    fn the_cards_that_pay_are_those_in_the_documentation() {
        for (name, number, _) in PAYING.iter().chain(COUNTRIES) {
            for id in [format!("tok_{name}"), format!("pm_card_{name}")] {
                let card = Card::named(&id).unwrap();
                assert_eq!((card.decline, Some(card)), (None, Card::numbered(number)), "{id}");
            }
        }
        assert_eq!(Card::named("tok_mastercard").unwrap().brand, "mastercard");
        assert_eq!(Card::numbered("4242 4242 4242 4242"), Some(Card::VISA));
    }

    #[test]
    fn a_misspelled_name_is_not_a_card() {
        for id in [
            "tok_nonsense",
            "tok_chargeDeclind",
            "pm_card_nonsense",
            "pm_card_visa_nonsense",
            "pm_card_",
            "pm_1Kx",
            "visa",
            "",
        ] {
            assert_eq!(Card::named(id), None, "{id}");
        }
    }

    #[test]
    fn an_invalid_card_number_is_not_a_card() {
        for number in ["", "4242", "4242424242424241", "४२४२४२४२४२४२४२४२", "424242424242424242424242"]
        {
            assert_eq!(Card::numbered(number), None, "{number}");
        }
    }
}
