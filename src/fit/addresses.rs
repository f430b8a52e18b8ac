//! Mail addresses in texts: whether one is that of another person than the recipient.

use super::Rule;
use super::salutation::bare;

/// Parts of the names of addresses that are no persons.
const NO_PERSONS: &[&str] = &[
    "abuse",
    "accounts",
    "admin",
    "billing",
    "care",
    "contact",
    "customer",
    "hello",
    "help",
    "hi",
    "info",
    "legal",
    "mail",
    "news",
    "newsletter",
    "no",
    "noreply",
    "office",
    "orders",
    "payments",
    "postmaster",
    "press",
    "privacy",
    "refunds",
    "reply",
    "returns",
    "sales",
    "security",
    "service",
    "shop",
    "store",
    "support",
    "team",
    "unsubscribe",
];

/// The address of a person whom neither the task names nor the sender: a text that names only the sender, or an office
/// of the sender, says nothing about the recipient. `sender` has the addresses of the sender, in lower case.
pub(super) fn other_address(rule: Rule<'_>, recipient: &str, sender: &str, text: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || "@._+-".contains(c);
    let mut words = text.split(|c| !is_part(c)).map(|word| word.trim_matches(|c| "._-+".contains(c)));
    words.find(|word| is_foreign(word, recipient, sender) && !rule.is_named(word)).map(str::to_owned)
}

fn is_foreign(word: &str, recipient: &str, sender: &str) -> bool {
    let domain = |address: &str| address.rsplit('@').next().unwrap_or_default().to_lowercase();
    let Some((local, _)) =
        word.split_once('@').filter(|(local, domain)| !local.is_empty() && domain.contains('.'))
    else {
        return false;
    };
    let mut parts = local.split(|c: char| !c.is_alphanumeric());
    let is_office = parts.any(|part| NO_PERSONS.contains(&bare(part).as_str()));
    let is_colleague = domain(word) != domain(recipient) && sender.contains(&format!("@{}", domain(word)));
    !is_office && !is_colleague && !sender.contains(&word.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_another_person_is_foreign() {
        let is_foreign = |word: &str| is_foreign(word, "ann@mail.example", "shop@shop.example");
        for word in ["bob@mail.example", "eve@elsewhere.example"] {
            assert!(is_foreign(word), "{word}");
        }
        for word in [
            "shop@shop.example",
            "Shop@Shop.example",
            "jane@shop.example",
            "support@elsewhere.example",
            "no-reply@mail.example",
            "@ann",
            "a@b",
            "hello",
        ] {
            assert!(!is_foreign(word), "{word}");
        }
    }
}
