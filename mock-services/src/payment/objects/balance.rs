//! The account's balance.

use serde::Serialize;

use super::Charge;

/// The account's balance: everything that was charged and not refunded is pending.
#[derive(Debug, Serialize)]
pub(crate) struct Balance {
    object: &'static str,
    available: Vec<Funds>,
    livemode: bool,
    pending: Vec<Funds>,
}

#[derive(Debug, Serialize)]
struct Funds {
    amount: i64,
    currency: &'static str,
    source_types: SourceTypes,
}

#[derive(Debug, Serialize)]
struct SourceTypes {
    card: i64,
}

fn funds(currency: &'static str, amount: i64) -> Funds {
    Funds { amount, currency, source_types: SourceTypes { card: amount } }
}

impl Balance {
    /// The balance after these charges.
    pub(crate) fn new<'a>(charges: impl Iterator<Item = &'a Charge>) -> Self {
        let mut sums: Vec<(&'static str, i64)> = vec![("usd", 0)];
        for charge in charges.filter(|charge| charge.captured) {
            let kept = charge.refundable();
            match sums.iter_mut().find(|(currency, _)| *currency == charge.currency) {
                Some((_, sum)) => *sum = sum.saturating_add(kept),
                None => sums.push((charge.currency, kept)),
            }
        }
        let available = sums.iter().map(|(currency, _)| funds(currency, 0)).collect();
        let pending = sums.iter().map(|(currency, sum)| funds(currency, *sum)).collect();
        Balance { object: "balance", available, livemode: false, pending }
    }
}
