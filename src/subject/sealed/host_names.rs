//! The names that a sealed subject looks up. Each gets an address of its own on the loopback network, so that
//! a connection tells which host the subject meant.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The largest number of names. A lookup of another one finds nothing.
const MAX_NAMES: usize = 60_000;

/// The names that were looked up, and their addresses.
#[derive(Debug, Default)]
pub(super) struct HostNames {
    table: Mutex<NameTable>,
}

#[derive(Debug, Default)]
struct NameTable {
    addresses: HashMap<String, Ipv4Addr>,
    names: HashMap<Ipv4Addr, String>,
    /// The names that were looked up and to which nothing was sent.
    unused: BTreeSet<String>,
    used: HashSet<String>,
}

impl HostNames {
    /// The address of a name, the same at each lookup; `None` if there are too many names.
    pub(super) fn address(&self, name: &str) -> Option<Ipv4Addr> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        if name == "localhost" || name.ends_with(".localhost") {
            return Some(Ipv4Addr::LOCALHOST);
        }
        let mut table = self.table();
        if let Some(address) = table.addresses.get(&name) {
            return Some(*address);
        }
        let number =
            u16::try_from(table.addresses.len()).ok().filter(|count| usize::from(*count) < MAX_NAMES)?;
        // From 127.1.0.1 on: 127.0.0.1 is the subject itself.
        let [high, low] = (number + 1).to_be_bytes();
        let address = Ipv4Addr::new(127, 1, high, low);
        table.names.insert(address, name.clone());
        table.addresses.insert(name, address);
        Some(address)
    }

    /// Keeps in mind that a name was looked up.
    pub(super) fn looked_up(&self, name: &str) {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let mut table = self.table();
        if table.unused.len() < MAX_NAMES && !table.used.contains(&name) {
            table.unused.insert(name);
        }
    }

    /// Keeps in mind that something was sent to an address.
    pub(super) fn used(&self, address: Ipv4Addr) {
        let mut table = self.table();
        if let Some(name) = table.names.get(&address).cloned() {
            table.unused.remove(&name);
            table.used.insert(name);
        }
    }

    /// The names that were looked up so far and to which nothing was sent.
    pub(super) fn unused(&self) -> Vec<String> {
        self.table().unused.iter().cloned().collect()
    }

    /// The name that was looked up for an address.
    pub(super) fn name(&self, address: Ipv4Addr) -> Option<String> {
        self.table().names.get(&address).cloned()
    }

    fn table(&self) -> MutexGuard<'_, NameTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_an_address_of_its_own_that_leads_back_to_it() {
        let names = HostNames::default();
        let stripe = names.address("api.stripe.com").unwrap();
        let github = names.address("api.github.com.").unwrap();
        assert_ne!(stripe, github);
        assert_eq!(names.address("API.Stripe.com").unwrap(), stripe);
        assert_eq!(names.name(github).as_deref(), Some("api.github.com"));
        assert_eq!(names.name(Ipv4Addr::new(127, 1, 200, 1)), None);
    }

    #[test]
    fn a_name_is_unused_until_something_is_sent_to_its_address() {
        let names = HostNames::default();
        let [stripe, _] = ["api.stripe.com", "api.github.com"].map(|name| {
            names.looked_up(name);
            names.address(name).unwrap()
        });
        names.looked_up("API.github.com.");
        names.used(stripe);
        names.looked_up("api.stripe.com");
        assert_eq!(names.unused(), ["api.github.com"]);
    }

    #[test]
    fn localhost_is_the_subject_itself_and_no_name_takes_its_address() {
        let names = HostNames::default();
        assert_eq!(names.address("localhost"), Some(Ipv4Addr::LOCALHOST));
        assert_eq!(names.address("db.localhost"), Some(Ipv4Addr::LOCALHOST));
        assert_eq!(names.name(Ipv4Addr::LOCALHOST), None);
    }

    #[test]
    fn names_without_end_find_nothing_at_last() {
        let names = HostNames::default();
        let found = (0..MAX_NAMES + 10).filter(|number| names.address(&format!("host-{number}")).is_some());
        assert_eq!(found.count(), MAX_NAMES);
    }
}
