//! Sizes as people write them: `6MB`, `512KiB`, `2000B`.

/// The units, in the order in which a size is written with them.
const UNITS: [(&str, u64); 5] =
    [("MB", 1_000_000), ("KB", 1_000), ("MiB", 1024 * 1024), ("KiB", 1024), ("B", 1)];

/// The number of bytes that the text means; `None` if it is not a size.
pub fn read_size(text: &str) -> Option<u64> {
    let unit_at = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let (_, scale) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(scale)
}

/// The size as it is written: in the first unit that needs no fraction.
#[must_use]
pub fn write_size(bytes: u64) -> String {
    let (unit, scale) = UNITS.into_iter().find(|(_, scale)| bytes.is_multiple_of(*scale)).unwrap_or(("B", 1));
    format!("{}{unit}", bytes / scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        for (text, bytes) in
            [("6MB", 6_000_000), ("6MiB", 6 * 1024 * 1024), ("1KB", 1_000), ("2KiB", 2_048), ("17B", 17)]
        {
            assert_eq!(read_size(text), Some(bytes), "{text}");
        }
        for text in [
            "",
            "6",
            "MB",
            "6mb",
            "6 MB",
            "-1KB",
            "1.5MB",
            "99999999999999999999B",
            "99999999999999MB",
            "٣KB",
        ] {
            assert_eq!(read_size(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(bytes: u64) {
            prop_assert_eq!(read_size(&write_size(bytes)), Some(bytes));
        }
    }
}
