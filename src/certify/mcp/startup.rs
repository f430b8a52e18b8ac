//! What a server writes at its start, although nothing is called: a clean-up, a registration. It is no effect of a call,
//! so it is not counted in the first start of a trial, on an empty directory. After a kill or a new connection it is
//! counted: what a server writes then can be what an earlier call left behind.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::observed::{ObservedTrial, SeenWrite, short};

/// How much of a body is shown, in characters.
const MAX_BODY: usize = 160;

/// A write of a start without a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartupWrite {
    pub(super) operation: String,
    pub(super) method: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    pub(super) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<String>,
    /// How often a connection makes it.
    pub(super) count: usize,
}

impl StartupWrite {
    fn of(write: &SeenWrite) -> Self {
        StartupWrite {
            operation: write.operation.clone(),
            method: write.method.clone(),
            host: write.host.clone(),
            path: write.path.clone(),
            body: write.body.clone(),
            count: 1,
        }
    }

    fn is(&self, write: &SeenWrite) -> bool {
        (&self.operation, &self.method, &self.path) == (&write.operation, &write.method, &write.path)
            && (&self.host, &self.body) == (&write.host, &write.body)
    }

    /// It as a note of a certificate.
    pub(super) fn note(&self) -> String {
        let host = self.host.as_deref().unwrap_or_default();
        let body = self.body.as_ref().map(|body| format!(" {}", short(body, MAX_BODY))).unwrap_or_default();
        format!(
            "at its start, without a call, the server sends {} {host}{}{body}; this is not counted in the first start of a \
             trial",
            self.method, self.path
        )
    }
}

/// The writes of a trial in which the server was started and nothing was called.
pub(super) fn startup_writes(seen: &ObservedTrial) -> Vec<StartupWrite> {
    let mut startup: Vec<StartupWrite> = Vec::new();
    if !seen.calls.is_empty() {
        return startup;
    }
    for write in &seen.writes {
        match startup.iter_mut().find(|known| known.is(write)) {
            Some(known) => known.count += 1,
            None => startup.push(StartupWrite::of(write)),
        }
    }
    startup
}

/// Whether the one call of a trial makes the same write: then nobody can tell which one is whose.
pub(super) fn is_made_by_a_call(startup: &StartupWrite, seen: &ObservedTrial) -> bool {
    let made = seen.writes.iter().filter(|write| startup.is(write)).count();
    made > startup.count.saturating_mul(seen.first_connections.max(1))
}

/// The attempts that are not counted: in the first start, as many as a start without a call makes.
pub(super) fn excused(seen: &ObservedTrial, startup: &[StartupWrite]) -> BTreeSet<u64> {
    let is_first = |write: &&SeenWrite| seen.first_start_ended.is_none_or(|ended| write.at < ended);
    let of = |known: &StartupWrite| {
        let most = known.count.saturating_mul(seen.first_connections);
        let same = seen.writes.iter().filter(is_first).filter(|write| known.is(write));
        same.take(most).map(|write| write.attempt).collect::<Vec<u64>>()
    };
    startup.iter().flat_map(of).collect()
}

/// The trial without what is not counted.
pub(super) fn without_startup(seen: &ObservedTrial, startup: &[StartupWrite]) -> ObservedTrial {
    let excused = excused(seen, startup);
    let mut counted = seen.clone();
    counted.writes.retain(|write| !excused.contains(&write.attempt));
    counted.effects.retain(|effect| !excused.contains(&effect.attempt));
    counted.faulted.retain(|attempt| !excused.contains(attempt));
    counted
}

#[cfg(test)]
mod tests {
    use super::super::observed::{SeenCall, SeenEffect};
    use super::*;
    use crate::mcp::client::CallOutcome;

    fn write(attempt: u64, method: &str, path: &str, at: i64) -> SeenWrite {
        SeenWrite {
            attempt,
            operation: format!("web.{}", method.to_lowercase()),
            key: None,
            at,
            method: method.to_owned(),
            path: path.to_owned(),
            host: Some("api.example.com".to_owned()),
            body: Some("{}".to_owned()),
        }
    }

    /// A trial with these writes, all of which are effects, and with a call.
    fn trial(writes: Vec<SeenWrite>) -> ObservedTrial {
        let effect = |write: &SeenWrite| SeenEffect {
            attempt: write.attempt,
            effect: write.operation.clone(),
            operation: write.operation.clone(),
            at: write.at,
        };
        ObservedTrial {
            effects: writes.iter().map(effect).collect(),
            writes,
            calls: vec![SeenCall { outcome: CallOutcome::Ok, text: "ok".to_owned(), ended_at: Some(100) }],
            first_connections: 1,
            ..ObservedTrial::default()
        }
    }

    fn startup(writes: Vec<SeenWrite>) -> Vec<StartupWrite> {
        startup_writes(&ObservedTrial { calls: Vec::new(), ..trial(writes) })
    }

    fn counted(seen: &ObservedTrial, startup: &[StartupWrite]) -> Vec<u64> {
        let counted = without_startup(seen, startup);
        assert_eq!(counted.writes.len(), counted.effects.len());
        counted.effects.iter().map(|effect| effect.attempt).collect()
    }

    #[test]
    fn the_same_write_is_excused_as_often_as_a_start_makes_it() {
        let known = startup(vec![write(1, "DELETE", "/old", 10)]);
        let seen = trial(vec![write(1, "DELETE", "/old", 10), write(2, "POST", "/new", 20)]);
        assert_eq!(counted(&seen, &known), [2]);
        let again = trial(vec![write(1, "DELETE", "/old", 10), write(2, "DELETE", "/old", 20)]);
        assert_eq!(counted(&again, &known), [2]);
        assert!(is_made_by_a_call(&known[0], &again) && !is_made_by_a_call(&known[0], &seen));
        // Each of several callers has a server of its own.
        let several = ObservedTrial { first_connections: 2, ..again };
        assert_eq!(counted(&several, &known), [] as [u64; 0]);
    }

    #[test]
    fn another_method_host_path_or_body_is_counted() {
        let known = startup(vec![write(1, "POST", "/started", 10)]);
        let other_host =
            SeenWrite { host: Some("other.example.com".to_owned()), ..write(1, "POST", "/started", 10) };
        let other_body =
            SeenWrite { body: Some("{\"a\": 1}".to_owned()), ..write(1, "POST", "/started", 10) };
        for other in [write(1, "PUT", "/started", 10), write(1, "POST", "/start", 10), other_host, other_body]
        {
            assert_eq!(counted(&trial(vec![other.clone()]), &known), [1], "{other:?}");
        }
    }

    #[test]
    fn everything_counts_after_a_kill_or_a_new_connection() {
        let known = startup(vec![write(1, "POST", "/queued", 10)]);
        let seen = trial(vec![write(1, "POST", "/queued", 10), write(2, "POST", "/queued", 60)]);
        let restarted = ObservedTrial { first_start_ended: Some(50), ..seen };
        assert_eq!(counted(&restarted, &known), [2]);
        let late = trial(vec![write(1, "POST", "/queued", 60)]);
        assert_eq!(counted(&ObservedTrial { first_start_ended: Some(60), ..late }, &known), [1]);
    }

    #[test]
    fn a_fault_on_what_is_not_counted_was_not_applied() {
        let known = startup(vec![write(1, "POST", "/started", 10)]);
        let seen = ObservedTrial { faulted: vec![1], ..trial(vec![write(1, "POST", "/started", 10)]) };
        assert!(without_startup(&seen, &known).faulted.is_empty());
        assert_eq!(without_startup(&seen, &[]).faulted, [1]);
    }

    #[test]
    fn a_trial_with_a_call_shows_no_start_without_one() {
        assert_eq!(startup_writes(&trial(vec![write(1, "DELETE", "/old", 10)])), []);
    }
}
