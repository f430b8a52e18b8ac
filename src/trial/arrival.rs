//! Tells a subject that one of its own requests has arrived: an empty file in the directory of its first caller. The driver
//! of MCP servers waits for it, so that no time has to be guessed after which a call has reached the backend.

use std::path::PathBuf;
use std::sync::Arc;

use mock_services::{MockServices, MomentKind};
use tokio::task::JoinHandle;

use crate::domain::ARRIVAL_FILE;
use crate::scenario::{InterruptMoment, Reached};

/// Watches the services of one trial for a moment.
pub(super) struct ArrivalWatcher(Option<JoinHandle<()>>);

impl ArrivalWatcher {
    /// Writes the file into this directory when the moment comes. The service waits until it is written.
    pub(super) fn watch(
        moment: Option<&InterruptMoment>,
        services: &Arc<MockServices>,
        directory: PathBuf,
    ) -> Self {
        ArrivalWatcher(moment.and_then(|moment| watcher(moment.clone(), services, directory)))
    }
}

fn watcher(
    wanted: InterruptMoment,
    services: &Arc<MockServices>,
    directory: PathBuf,
) -> Option<JoinHandle<()>> {
    let kind = match wanted.reached {
        Reached::Received => MomentKind::Received,
        Reached::Committed => MomentKind::Committed,
        Reached::Replied => MomentKind::AfterReply,
    };
    let service = wanted.operation.split('.').next().unwrap_or_default();
    let mut listener = services.listen(service, kind)?;
    Some(tokio::spawn(async move {
        let mut seen = 0;
        while let Some(held) = listener.recv().await {
            seen += u32::from(held.moment.operation == wanted.operation);
            if seen == wanted.attempt {
                // Without the file, the driver waits for as long as it waits for an answer.
                let _ = std::fs::write(directory.join(ARRIVAL_FILE), "");
                return;
            }
        }
    }))
}

impl Drop for ArrivalWatcher {
    fn drop(&mut self) {
        if let Some(watcher) = &self.0 {
            watcher.abort();
        }
    }
}
