//! Durations as people write them: `800ms`, `2s`, `1m`, `1.5s`.

use std::time::Duration;

const UNITS: [(&str, u64); 3] = [("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000)];

/// The duration that the text means; `None` if it is not a duration, or finer than a nanosecond.
pub fn read_duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let (number, unit) = text.split_at(unit_at);
    let (_, scale) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let (whole, fraction) = match number.split_once('.') {
        Some((_, "")) => return None,
        Some((whole, fraction)) => (whole, fraction.trim_end_matches('0')),
        None => (number, ""),
    };
    let mut nanos = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    if !fraction.is_empty() {
        let parts = 10u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let share = fraction.parse::<u64>().ok()?.checked_mul(scale)?;
        if share % parts != 0 {
            return None;
        }
        nanos = nanos.checked_add(share / parts)?;
    }
    Some(Duration::from_nanos(nanos))
}

/// The duration as it is written: in the largest unit that needs no fraction.
#[must_use]
pub fn write_duration(duration: Duration) -> String {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    if nanos == 0 {
        return if seconds > 0 && seconds % 60 == 0 {
            format!("{}m", seconds / 60)
        } else {
            format!("{seconds}s")
        };
    }
    let millis = duration.as_millis();
    match nanos % 1_000_000 {
        0 => format!("{millis}ms"),
        rest => format!("{millis}.{}ms", format!("{rest:06}").trim_end_matches('0')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_with_their_unit() {
        let cases = [
            ("800ms", 800_000),
            ("2s", 2_000_000),
            ("1m", 60_000_000),
            ("1.5s", 1_500_000),
            ("0.25ms", 250),
            ("0s", 0),
        ];
        for (text, micros) in cases {
            assert_eq!(read_duration(text), Some(Duration::from_micros(micros)), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_durations() {
        for text in [
            "",
            "5",
            "s",
            "1 s",
            "-1s",
            "1h",
            "1.s",
            ".5s",
            "1.2.3s",
            "1e3s",
            "99999999999999999999s",
            "0.0000000001s",
            "٣s",
        ] {
            assert_eq!(read_duration(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(nanos in 0u64..=1u64 << 60) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(read_duration(&write_duration(duration)), Some(duration));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = read_duration(&text);
        }
    }
}
