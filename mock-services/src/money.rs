//! Amounts of money. APIs count them in the smallest unit of a currency, people in the largest.

use yaml_reader::shown;

/// The number of decimals of a currency, by its code in lower case.
fn decimals(currency: &str) -> u32 {
    match currency {
        "bif" | "clp" | "djf" | "gnf" | "jpy" | "kmf" | "krw" | "mga" | "pyg" | "rwf" | "ugx" | "vnd"
        | "vuv" | "xaf" | "xof" | "xpf" => 0,
        "bhd" | "jod" | "kwd" | "omr" | "tnd" => 3,
        _ => 2,
    }
}

/// An amount in the smallest unit of a currency, whose code is in lower case, as a number: `49.99`.
pub(crate) fn decimal_amount(amount: i64, currency: &str) -> String {
    let (sign, units) = (if amount < 0 { "-" } else { "" }, amount.unsigned_abs());
    match decimals(currency) {
        0 => format!("{sign}{units}"),
        digits => {
            let scale = 10_u64.pow(digits);
            format!("{sign}{}.{:0width$}", units / scale, units % scale, width = digits as usize)
        }
    }
}

/// An amount in the smallest unit of a currency as money: `$49.99`, `5000 JPY`.
#[must_use]
pub fn money(amount: i64, currency: &str) -> String {
    let currency = currency.to_ascii_lowercase();
    let number = decimal_amount(amount, &currency);
    let (minus, number) = number.strip_prefix('-').map_or(("", number.as_str()), |number| ("-", number));
    match currency.as_str() {
        "usd" => format!("{minus}${number}"),
        "eur" => format!("{minus}€{number}"),
        "gbp" => format!("{minus}£{number}"),
        other => format!("{minus}{number} {}", shown(&other.to_ascii_uppercase())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_the_decimals_of_its_currency() {
        assert_eq!(money(4999, "usd"), "$49.99");
        assert_eq!(money(5, "EUR"), "€0.05");
        assert_eq!(money(-1200, "gbp"), "-£12.00");
        assert_eq!(money(5000, "jpy"), "5000 JPY");
        assert_eq!(money(1234, "kwd"), "1.234 KWD");
        assert_eq!(money(i64::MIN, "chf"), "-92233720368547758.08 CHF");
    }
}
