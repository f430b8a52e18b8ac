//! The values of plain words: the core schema of YAML 1.2, without what parsers read differently.

use super::{NodeKind, shown};

/// Why a word is refused, and how to fix it.
pub(super) struct RefusedWord {
    pub(super) message: String,
    pub(super) help: String,
}

/// The value of a plain word.
pub(super) fn resolved(word: &str) -> Result<NodeKind, RefusedWord> {
    match word {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(NodeKind::Null),
        "true" | "True" | "TRUE" => return Ok(NodeKind::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(NodeKind::Bool(false)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "-.inf" | ".nan" | ".NaN" | ".NAN" => {
            return Err(RefusedWord {
                message: format!("`{word}` is not a finite number"),
                help: quote(word),
            });
        }
        _ => {}
    }
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    if all(digits, |byte| byte.is_ascii_digit()) {
        if digits.len() > 1 && digits.starts_with('0') {
            let message = format!("`{}` begins with a zero, which some read as octal", shown(word));
            return Err(RefusedWord { message, help: format!("{}, or leave the zeros out", quote(word)) });
        }
        return word.parse().map(NodeKind::Integer).map_err(|_| too_large(word));
    }
    if let Some(radix) = radix_of(word) {
        return i64::from_str_radix(&word[2..], radix).map(NodeKind::Integer).map_err(|_| too_large(word));
    }
    if is_decimal(digits) {
        return match word.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(NodeKind::Float(value)),
            _ => Err(too_large(word)),
        };
    }
    Ok(NodeKind::Text(word.to_owned()))
}

fn radix_of(word: &str) -> Option<u32> {
    if word.strip_prefix("0x").is_some_and(|digits| all(digits, |byte| byte.is_ascii_hexdigit())) {
        Some(16)
    } else if word.strip_prefix("0o").is_some_and(|digits| all(digits, |byte| matches!(byte, b'0'..=b'7'))) {
        Some(8)
    } else {
        None
    }
}

/// `1.5`, `.5`, `1.`, `1e3`, `1.5e-3`.
fn is_decimal(digits: &str) -> bool {
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (&digits[..at], Some(&digits[at + 1..])),
        None => (digits, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        all(digits, |byte| byte.is_ascii_digit())
    });
    !(whole.is_empty() && fraction.is_empty()) && is_digits(whole) && is_digits(fraction) && exponent_fits
}

fn all(text: &str, test: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(test)
}

fn too_large(word: &str) -> RefusedWord {
    RefusedWord { message: format!("the number {} is too large", shown(word)), help: quote(word) }
}

fn quote(word: &str) -> String {
    format!("if a text is meant, put it in quotes: \"{}\"", shown(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(word: &str) -> Option<NodeKind> {
        resolved(word).ok()
    }

    #[test]
    fn only_true_and_false_are_booleans() {
        assert_eq!(kind("true"), Some(NodeKind::Bool(true)));
        assert_eq!(kind("FALSE"), Some(NodeKind::Bool(false)));
        for word in ["yes", "no", "on", "off", "y", "n", "tRUE"] {
            assert_eq!(kind(word), Some(NodeKind::Text(word.to_owned())));
        }
    }

    #[test]
    fn numbers_are_read_as_the_core_schema_reads_them() {
        for (word, value) in [("4999", 4999), ("-1", -1), ("+7", 7), ("0", 0), ("0x10", 16), ("0o17", 15)] {
            assert_eq!(kind(word), Some(NodeKind::Integer(value)), "{word}");
        }
        for (word, value) in [("1e3", 1000.0), ("0.5", 0.5), (".5", 0.5), ("1.", 1.0), ("-1.5E-1", -0.15)] {
            assert_eq!(kind(word), Some(NodeKind::Float(value)), "{word}");
        }
    }

    #[test]
    fn what_is_not_quite_a_number_is_a_text() {
        for word in [
            "1..3",
            "1_000",
            "12:30",
            "2026-01-01",
            "800ms",
            "0x",
            "1e",
            ".",
            "-",
            "+",
            "e3",
            "1.2.3",
            "--1",
            "+0x10",
        ] {
            assert_eq!(kind(word), Some(NodeKind::Text(word.to_owned())), "{word}");
        }
    }

    #[test]
    fn what_two_readers_would_read_differently_is_refused() {
        for word in
            ["007", "-01", "9223372036854775808", "0xffffffffffffffff", "1e999", ".inf", "-.inf", ".nan"]
        {
            assert!(kind(word).is_none(), "{word}");
        }
    }
}
