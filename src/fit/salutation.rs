//! Whom a text addresses: the name in `Dear Bob,`.

/// Words that begin a salutation.
const GREETINGS: &[&str] = &["Dear", "Hi", "Hello", "Hey"];
/// Words of a salutation that are no names of persons.
const NO_NAMES: &[&str] = &[
    "again",
    "admin",
    "all",
    "buyer",
    "client",
    "colleague",
    "colleagues",
    "community",
    "customer",
    "everybody",
    "everyone",
    "folks",
    "friend",
    "friends",
    "from",
    "guest",
    "madam",
    "ma'am",
    "manager",
    "member",
    "miss",
    "mr",
    "mrs",
    "ms",
    "dr",
    "our",
    "owner",
    "partner",
    "patron",
    "reader",
    "recipient",
    "sender",
    "shopper",
    "sir",
    "staff",
    "subscriber",
    "support",
    "team",
    "thank",
    "thanks",
    "the",
    "there",
    "to",
    "user",
    "valued",
    "welcome",
    "world",
    "you",
    "your",
    "name",
    "firstname",
];
/// The maximum number of words of a name.
const MAX_WORDS: usize = 3;

/// The names of the persons whom a text greets, each as it is written: one to three words that begin with a capital
/// letter, before a comma or another end of the phrase.
pub(super) fn greeted(text: &str) -> Vec<&str> {
    let starts =
        GREETINGS.iter().flat_map(|word| text.match_indices(word).map(|(at, word)| (at, at + word.len())));
    let mut starts: Vec<(usize, usize)> = starts
        .filter(|(at, _)| !text[..*at].ends_with(|before: char| before.is_alphanumeric() || before == '-'))
        .collect();
    starts.sort_unstable();
    starts.into_iter().filter_map(|(_, end)| name_at(&text[end..])).collect()
}

/// The name at the begin of a text, after a space.
fn name_at(text: &str) -> Option<&str> {
    let text = text.strip_prefix([' ', '\u{a0}'])?;
    let end = text.find([',', '!', ':', ';', '\n', '\r', '<', '–', '—']).unwrap_or(text.len());
    let name = text[..end].trim();
    let words: Vec<&str> = name.split_whitespace().collect();
    let is_name = (1..=MAX_WORDS).contains(&words.len())
        && words.iter().all(|word| {
            word.starts_with(char::is_uppercase)
                && word.chars().all(|c| c.is_alphabetic() || "'’.-".contains(c))
                && !NO_NAMES.contains(&bare(word).as_str())
        });
    is_name.then_some(name)
}

/// A word in lower case without the points at its ends.
pub(super) fn bare(word: &str) -> String {
    word.trim_matches('.').to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_salutation_names_a_person_or_nobody() {
        assert_eq!(greeted("Receipt Dear Bob, thank you"), ["Bob"]);
        assert_eq!(greeted("Hi Ann Lee!\nHello Bob"), ["Ann Lee", "Bob"]);
        assert_eq!(greeted("Dear O'Hara: …"), ["O'Hara"]);
        for nobody in [
            "Dear customer,",
            "Dear Customer,",
            "Dear Valued Customer,",
            "Hi there!",
            "Hello, thank you",
            "Hello World!",
            "Hello Thank you for your order of today",
            "Dear Sir or Madam,",
            "Hi 42,",
            "Hi-Fi Bob",
            "Oh Dear",
            "Dearest",
            "Hi {{name}},",
        ] {
            assert_eq!(greeted(nobody), Vec::<&str>::new(), "{nobody}");
        }
    }
}
