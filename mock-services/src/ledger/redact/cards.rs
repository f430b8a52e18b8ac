//! Card numbers: 13 to 19 digits with a correct check digit, in one piece or in groups, also among
//! other digits.

use smallvec::SmallVec;

pub(super) const SHORTEST_CARD: usize = 13;
const LONGEST_CARD: usize = 19;
/// Groups of a number that is only a part of a row of digits are not shorter, but for the last one: those of
/// dates and lists of small numbers are.
const SHORTEST_GROUP: usize = 3;
/// So many characters can be between two groups.
const WIDEST_GAP: usize = 3;

/// Bytes that a card number may have in it, between its groups too.
const IN_CARD: [bool; 256] = {
    let (mut in_card, mut byte) = ([false; 256], 0);
    while byte < 256 {
        in_card[byte] = (byte as u8).is_ascii_digit()
            || matches!(byte as u8, b' ' | b'-' | b'.' | b'_' | b'+' | b'\t' | b'\n' | b'\r')
            || matches!(byte as u8, 0x80..=0xc2 | 0xe2 | 0xe3);
        byte += 1;
    }
    in_card
};

/// Finds all of them.
pub(super) fn find(text: &[u8], found: &mut Vec<(usize, usize)>) {
    let mut at = 0;
    // A card number contains only some bytes. Each window is searched from its end, so that most of a text is
    // skipped.
    while let Some(window) = text.get(at..at + SHORTEST_CARD) {
        if let Some(other) = window.iter().rposition(|byte| !IN_CARD[usize::from(*byte)]) {
            at += other + 1;
        } else if let Some(digit) = window.iter().position(u8::is_ascii_digit) {
            at = find_in_row(text, at + digit, found);
        } else {
            at += SHORTEST_CARD;
        }
    }
}

/// Looks at the groups of digits that begin here with nothing but gaps between them; returns where they
/// end.
fn find_in_row(text: &[u8], start: usize, found: &mut Vec<(usize, usize)>) -> usize {
    let mut groups = SmallVec::<[(usize, usize); 4]>::new();
    let mut at = start;
    loop {
        let end = text[at..]
            .iter()
            .position(|byte| !byte.is_ascii_digit())
            .map_or(text.len(), |length| at + length);
        groups.push((at, end));
        at = end + gap(&text[end..]);
        if at == end {
            break;
        }
    }
    for first in 0..groups.len() {
        find_from(text, &groups, first, found);
    }
    at
}

fn find_from(text: &[u8], groups: &[(usize, usize)], first: usize, found: &mut Vec<(usize, usize)>) {
    let from = groups[first].0;
    // None begins with 20, as years do.
    if !(b'2'..=b'6').contains(&text[from]) || text[from..].starts_with(b"20") {
        return;
    }
    let (mut digits, mut count) = ([0; LONGEST_CARD], 0);
    let mut long_groups = true;
    for (place, (start, end)) in groups.iter().enumerate().skip(first) {
        let group = &text[*start..*end];
        let Some(room) = digits.get_mut(count..count + group.len()) else { return };
        room.copy_from_slice(group);
        count += group.len();
        let whole_row = first == 0 && place + 1 == groups.len();
        let is_card = count >= SHORTEST_CARD
            && (whole_row || long_groups)
            && luhn(&digits[..count])
            && !(place == first && is_fraction(text, groups, first))
            && !is_in_uuid(text, from, *end);
        if is_card {
            found.push((from, *end));
        }
        long_groups &= group.len() >= SHORTEST_GROUP;
    }
}

/// How wide the gap is that separates two groups of digits here; 0 if no other group follows.
fn gap(text: &[u8]) -> usize {
    let mut at = 0;
    for _ in 0..WIDEST_GAP {
        at += match text[at..] {
            [b' ' | b'-' | b'.' | b'_' | b'+' | b'\t' | b'\n' | b'\r', ..] => 1,
            // The blank that does not break, the hyphen that is not shown, the dot in the middle.
            [0xc2, 0xa0 | 0xad | 0xb7, ..] => 2,
            // All kinds of blanks and dashes, the minus sign, the wide blank.
            [0xe2, 0x80 | 0x81, _, ..] | [0xe2, 0x88, 0x92, ..] | [0xe3, 0x80, 0x80, ..] => 3,
            _ => return 0,
        };
        if text.get(at).is_some_and(u8::is_ascii_digit) {
            return at;
        }
    }
    0
}

/// Whether the group is the fraction of a number.
fn is_fraction(text: &[u8], groups: &[(usize, usize)], place: usize) -> bool {
    let Some((start, end)) = place.checked_sub(1).map(|before| groups[before]) else { return false };
    &text[end..groups[place].0] == b"." && end - start < SHORTEST_CARD
}

/// Whether it lies in a UUID, which has digits and hyphens too.
fn is_in_uuid(text: &[u8], from: usize, to: usize) -> bool {
    const LENGTH: usize = 36;
    let is_uuid = |uuid: &[u8]| {
        uuid.iter().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    (to.saturating_sub(LENGTH)..=from).any(|start| text.get(start..start + LENGTH).is_some_and(is_uuid))
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let value = u32::from(*digit - b'0') * if place % 2 == 1 { 2 } else { 1 };
            value / 10 + value % 10
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a text without its card numbers.
    fn left(text: &str) -> String {
        let mut found = Vec::new();
        find(text.as_bytes(), &mut found);
        let is_hidden = |at: usize| found.iter().any(|(from, to)| (*from..*to).contains(&at));
        text.char_indices().filter(|(at, _)| !is_hidden(*at)).map(|(_, char)| char).collect()
    }

    #[test]
    fn a_card_number_is_found_with_any_separator() {
        for gap in
            ["", " ", "-", ".", "_", "+", "  ", "--", " - ", "\u{a0}", "\u{2013}", "\u{2009}", "\t", "\r\n"]
        {
            let number = ["4242", "4242", "4242", "4242"].join(gap);
            assert_eq!(left(&format!("pay {number}, please")), "pay , please", "{gap:?}");
        }
        assert_eq!(left("3782 822463 10005"), "");
    }

    #[test]
    fn a_card_number_is_found_beside_other_digits() {
        for (text, rest) in [
            ("4242424242424242 12/30", " 12/30"),
            ("4242 4242 4242 4242 123", " 123"),
            ("4242424242424242 99", " 99"),
            ("order 12 4242424242424242", "order 12 "),
            ("order 12 4242 4242 4242 4242 12-30", "order 12  12-30"),
            ("4242424242424242 5555555555554444", " "),
            ("4242424242424242.5555555555554444", "."),
            ("card4242424242424242", "card"),
            ("no.4242424242424242", "no."),
            ("4242424242424242 4242424242424242 2026-11-15", "  2026-11-15"),
        ] {
            assert_eq!(left(text), rest, "{text}");
        }
    }

    #[test]
    fn times_ids_and_amounts_are_not_card_numbers() {
        for text in [
            "2026-11-15 17:46:21.000123",
            "2026-11-15 2026-11-18 09",
            "20261115174629",
            "1763170000123",
            "0.4242424242424242",
            "25.4242424242424242",
            "00000000-0000-4242-8242-424242424242",
            "4242424242424241",
            "42424242424242424242",
            "4999 5 12 3000 20 7 31 45 60 15",
        ] {
            assert_eq!(left(text), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn a_card_number_among_other_groups_is_found(before in "([0-9]{1,12}[ _-]){0,4}", after in "([ \
            _-][0-9]{1,12}){0,4}") {
            let text = format!("{before}4000 0566 5566 5556{after}");
            proptest::prop_assert!(!left(&text).contains("0566 5566 5556"), "{}", text);
        }
    }
}
