//! Stripe's test cards: which token, payment method or number is which card, and how the bank answers. No number leaves this file.

/// A card as objects show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Card {
    /// The network in lower case.
    pub(crate) brand: &'static str,
    /// The last four digits.
    pub(crate) last4: [u8; 4],
    /// Why its bank declines, if it does.
    pub(crate) decline: Option<Decline>,
}

/// Why a bank declines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decline {
    /// For no reason given.
    Generic,
    /// There is not enough money.
    InsufficientFunds,
    /// The card was lost.
    Lost,
    /// The card was stolen.
    Stolen,
    /// The card has expired.
    Expired,
    /// The security code is wrong.
    Cvc,
    /// The bank could not be asked.
    Processing,
}

impl Decline {
    /// The error's code, its decline code, and the sentence that is shown.
    pub(crate) fn words(self) -> (&'static str, Option<&'static str>, &'static str) {
        match self {
            Decline::Generic => ("card_declined", Some("generic_decline"), "Your card was declined."),
            Decline::InsufficientFunds => ("card_declined", Some("insufficient_funds"), "Your card has insufficient funds."),
            Decline::Lost => ("card_declined", Some("lost_card"), "Your card was declined."),
            Decline::Stolen => ("card_declined", Some("stolen_card"), "Your card was declined."),
            Decline::Expired => ("expired_card", None, "Your card has expired."),
            Decline::Cvc => ("incorrect_cvc", None, "Your card's security code is incorrect."),
            Decline::Processing => {
                ("processing_error", None, "An error occurred while processing your card. Try again in a little bit.")
            }
        }
    }

    /// The parameter that the error blames.
    pub(crate) fn param(self) -> Option<&'static str> {
        match self {
            Decline::Expired => Some("exp_month"),
            Decline::Cvc => Some("cvc"),
            _ => None,
        }
    }
}

const DECLINING: &[(&str, &str, Decline)] = &[
    ("chargeDeclined", "4000000000000002", Decline::Generic),
    ("chargeDeclinedInsufficientFunds", "4000000000009995", Decline::InsufficientFunds),
    ("chargeDeclinedLostCard", "4000000000009987", Decline::Lost),
    ("chargeDeclinedStolenCard", "4000000000009979", Decline::Stolen),
    ("chargeDeclinedExpiredCard", "4000000000000069", Decline::Expired),
    ("chargeDeclinedIncorrectCvc", "4000000000000127", Decline::Cvc),
    ("chargeDeclinedProcessingError", "4000000000000119", Decline::Processing),
    // A card that can be saved and declines when it is charged.
    ("chargeCustomerFail", "4000000000000341", Decline::Generic),
    ("radarBlock", "4100000000000019", Decline::Generic),
];

const BRANDS: &[(&str, &str, &[u8; 4])] = &[
    ("mastercard", "mastercard", b"4444"),
    ("amex", "amex", b"8431"),
    ("discover", "discover", b"9424"),
    ("diners", "diners", b"0004"),
    ("jcb", "jcb", b"0505"),
    ("unionpay", "unionpay", b"0005"),
    ("visa_debit", "visa", b"5556"),
];

impl Card {
    /// The card that a customer has who was not given another.
    pub(crate) const VISA: Card = Card { brand: "visa", last4: *b"4242", decline: None };

    /// The card behind a token or a payment method: `tok_visa`, `pm_card_chargeDeclined`, or any other id.
    pub(crate) fn named(id: &str) -> Card {
        let name = ["pm_card_", "tok_"].iter().find_map(|prefix| id.strip_prefix(prefix)).unwrap_or_default();
        let plain = name.strip_prefix("visa_").unwrap_or(name);
        let same = |have: &str| have.eq_ignore_ascii_case(plain);
        if let Some((_, number, decline)) = DECLINING.iter().find(|(have, ..)| same(have)) {
            return Card { brand: "visa", last4: last4(number), decline: Some(*decline) };
        }
        match BRANDS.iter().find(|(have, ..)| *have == name) {
            Some((_, brand, last4)) => Card { brand, last4: **last4, decline: None },
            None => Card::VISA,
        }
    }

    /// The card with a number; `None` where it is not one.
    pub(crate) fn numbered(number: &str) -> Option<Card> {
        let digits: String = number.chars().filter(|digit| !matches!(digit, ' ' | '-')).collect();
        if !(12..=19).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) || !luhn(&digits) {
            return None;
        }
        let decline = DECLINING.iter().find(|(_, have, _)| *have == digits).map(|(.., decline)| *decline);
        let brand = match digits.as_bytes() {
            [b'4', ..] => "visa",
            [b'5', ..] | [b'2', ..] => "mastercard",
            [b'3', b'4' | b'7', ..] => "amex",
            [b'3', b'5', ..] => "jcb",
            [b'3', ..] => "diners",
            [b'6', b'2', ..] => "unionpay",
            [b'6', ..] => "discover",
            _ => "unknown",
        };
        Some(Card { brand, last4: last4(&digits), decline })
    }

    /// Why it cannot even be saved: a card that declines, unless it is the one that does so only when it is charged.
    pub(crate) fn unsavable(&self) -> Option<Decline> {
        self.decline.filter(|_| self.last4 != *b"0341")
    }

    /// The last four digits as text.
    pub(crate) fn last4(&self) -> &str {
        std::str::from_utf8(&self.last4).unwrap_or("4242")
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
    fn tokens_payment_methods_and_numbers_lead_to_the_same_decline() {
        for (name, number, decline) in DECLINING {
            for id in [format!("tok_{name}"), format!("pm_card_{name}"), format!("pm_card_visa_{name}")] {
                assert_eq!(Card::named(&id).decline, Some(*decline), "{id}");
            }
            assert_eq!(Card::numbered(number).unwrap().decline, Some(*decline), "{number}");
        }
    }

    #[test]
    fn other_cards_are_good() {
        for id in ["tok_visa", "pm_card_visa", "pm_card_mastercard", "pm_1Kx", "card_1", ""] {
            assert_eq!(Card::named(id).decline, None, "{id}");
        }
        assert_eq!(Card::named("tok_mastercard").brand, "mastercard");
        assert_eq!(Card::numbered("4242 4242 4242 4242"), Some(Card::VISA));
    }

    #[test]
    fn what_is_no_card_number_is_none() {
        for number in ["", "4242", "4242424242424241", "४२४२४२४२४२४२४२४२", "424242424242424242424242"]
        {
            assert_eq!(Card::numbered(number), None, "{number}");
        }
    }
}
