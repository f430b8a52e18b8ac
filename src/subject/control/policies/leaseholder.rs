//! `leaseholder`: lets one of several workers act, by a lease in the shared folder that expires. The lease is not
//! part of the write (no fencing), so a holder that was frozen writes although another has taken over.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{PolicyContext, run_task, sdk_retry};
use crate::scenario::{ClaimedOutcome, Step};
use crate::subject::control::approvals::Approvals;
use crate::subject::control::claim::StepClaim;
use crate::subject::control::environment::Environment;
use crate::subject::control::intent::derived_key;

/// How long a lease lasts.
const LEASE: Duration = Duration::from_millis(300);
/// The pause before it looks again whether the lease of another has expired.
const PAUSE: Duration = Duration::from_millis(10);

pub(super) fn run(environment: &Environment, approvals: &Approvals<'_>) -> StepClaim {
    let context = PolicyContext::new(environment);
    let Some(folder) = environment.shared_dir() else {
        return StepClaim::not_done("there is no folder for the lease");
    };
    let worker = environment.caller();
    run_task(approvals, environment.steps(), |step| leased(&context, &folder, &worker, step))
}

fn leased(context: &PolicyContext<'_>, folder: &Path, worker: &str, step: &Step) -> StepClaim {
    let job = derived_key(step);
    let (lease, done) = (folder.join(format!("{job}.lease")), folder.join(format!("{job}.done")));
    let draft = folder.join(format!("{job}.{worker}.draft"));
    while !take(&lease, &draft) {
        std::thread::sleep(PAUSE);
    }
    if done.exists() {
        return StepClaim::done("another worker did it");
    }
    let claim = sdk_retry::step(context, step);
    if claim.outcome == ClaimedOutcome::Done {
        let _ = fs::write(&done, worker);
    }
    let _ = fs::remove_file(&lease);
    claim
}

/// Takes the lease if nobody has it or it has expired. A folder that cannot be written counts as taken for ever.
fn take(lease: &Path, draft: &Path) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if fs::write(draft, (now + LEASE).as_millis().to_string()).is_err() {
        return false;
    }
    // A hard link is atomic, so no worker reads half a time.
    if fs::hard_link(draft, lease).is_ok() {
        let _ = fs::remove_file(draft);
        return true;
    }
    let expires = fs::read_to_string(lease).ok().and_then(|text| text.parse::<u128>().ok());
    expires.is_some_and(|expires| expires < now.as_millis()) && fs::rename(draft, lease).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_free_again_when_it_has_expired() {
        let folder = tempfile::tempdir().unwrap();
        let (lease, draft) = (folder.path().join("lease"), folder.path().join("draft"));
        assert!(take(&lease, &draft));
        fs::write(&lease, u128::MAX.to_string()).unwrap();
        assert!(!take(&lease, &draft), "another worker has it");
        fs::write(&lease, "1").unwrap();
        assert!(take(&lease, &draft), "it has expired");
    }
}
