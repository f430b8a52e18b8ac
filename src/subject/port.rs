//! Ports for agents over HTTP that hapax starts: a free one for each start, which no other start of this
//! process has.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

/// What stands for the port in a URL, a command or a variable.
pub(super) const HOLE: &str = "${port}";
/// Below the ports that the system gives to whoever names none, so that no service of a trial gets one of
/// these before the agent does.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;
/// So many ports are tried.
const TRIES: u16 = 200;

static TAKEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// A port that was free when it was chosen; no other start gets it until this is dropped.
#[derive(Debug)]
pub(super) struct FreePort(u16);

impl FreePort {
    /// Chooses one, or says why there is none.
    pub(super) fn choose() -> Result<Self, String> {
        let mut random = [0; 2];
        // Where there is no chance, the first that is free does as well.
        let _ = getrandom::fill(&mut random);
        let first = u16::from_ne_bytes(random) % COUNT;
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let found = (0..TRIES)
            .map(|place| FIRST + (first + place) % COUNT)
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

/// Whether a program can listen there, whichever address it names.
fn is_free(port: u16) -> bool {
    [Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED]
        .into_iter()
        .all(|address| TcpListener::bind((address, port)).is_ok())
}

/// A text with the port in its place.
pub(super) fn filled(text: &str, port: u16) -> String {
    text.replace(HOLE, &port.to_string())
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
    fn a_port_is_filled_in() {
        assert_eq!(filled("http://127.0.0.1:${port}/task", 8080), "http://127.0.0.1:8080/task");
    }
}
