//! Chooses free ports for agents over HTTP that hapax starts: no two starts of this process have the same.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

/// The placeholder of the port in a URL, a command or a variable.
pub(super) const PLACEHOLDER: &str = "${port}";
/// The first port. The range is below the ephemeral ports of the system, so that no service of a trial gets
/// one of these ports.
const FIRST: u16 = 20_000;
/// The number of ports in the range.
const COUNT: u16 = 12_000;
/// The maximum number of ports that are tried.
const MAX_TRIES: u16 = 200;

static TAKEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// A port that was free when it was chosen. No other start gets it until this is dropped.
#[derive(Debug)]
pub(super) struct FreePort(u16);

impl FreePort {
    /// Chooses a free port.
    pub(super) fn choose() -> Result<Self, String> {
        let mut random = [0; 2];
        // Without randomness, the first free port is used.
        let _ = getrandom::fill(&mut random);
        let first = u16::from_ne_bytes(random) % COUNT;
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let found = (0..MAX_TRIES)
            .map(|index| FIRST + (first + index) % COUNT)
            .find(|port| !taken.contains(port) && is_free(*port));
        let port = found.ok_or_else(|| format!("no port from {FIRST} to {} is free", FIRST + COUNT - 1))?;
        taken.insert(port);
        Ok(FreePort(port))
    }

    pub(super) fn number(&self) -> u16 {
        self.0
    }
}

impl Drop for FreePort {
    fn drop(&mut self) {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Whether a program can listen at this port on any address.
fn is_free(port: u16) -> bool {
    [Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED]
        .into_iter()
        .all(|address| TcpListener::bind((address, port)).is_ok())
}

/// The text with the port in place of the placeholder.
pub(super) fn filled(text: &str, port: u16) -> String {
    text.replace(PLACEHOLDER, &port.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_starts_have_the_same_port_at_once() {
        let ports: Vec<FreePort> = (0..50).map(|_| FreePort::choose().unwrap()).collect();
        let numbers: BTreeSet<u16> = ports.iter().map(FreePort::number).collect();
        assert_eq!(numbers.len(), 50);
    }

    #[test]
    fn the_placeholder_is_replaced_by_the_port() {
        assert_eq!(filled("http://127.0.0.1:${port}/task", 8080), "http://127.0.0.1:8080/task");
    }
}
