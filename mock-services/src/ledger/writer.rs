//! Turns entries into the lines of a ledger file. Only the thread that writes the file makes JSON.

use std::io;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use serde::Serialize;

use super::chain::Chain;
use super::entry::Entry;
use super::{FinishedLedger, LedgerShared, next_of, plan};

/// How many entries are sealed with one hash.
const SEALED_TOGETHER: usize = 64;

/// How far a ledger has been written.
#[derive(Debug, Default)]
pub(super) struct LineWriter {
    /// How many entries were written.
    next: usize,
    /// `None` before the first line.
    chain: Option<Chain>,
    /// The content of a plan record that is written before the first line.
    plan: Option<String>,
}

/// A line of a ledger file.
#[derive(Serialize)]
struct WrittenLine<'a> {
    trial: &'a str,
    #[serde(flatten)]
    entry: &'a Entry,
}

impl LineWriter {
    /// A writer that writes a plan record with this content first, if there is any.
    pub(super) fn new(plan: Option<String>) -> Self {
        LineWriter { plan: plan.filter(|plan| !plan.is_empty()), ..LineWriter::default() }
    }

    /// Adds the lines of these entries, the last of them with a hash.
    fn add(&mut self, trial: &str, entries: &[Entry], lines: &mut Vec<u8>) -> io::Result<()> {
        if let Some(plan) = self.plan.take() {
            lines.extend(plan::seal(&plan).0);
        }
        let start = lines.len();
        for entry in entries {
            serde_json::to_writer(&mut *lines, &WrittenLine { trial, entry })?;
            lines.push(b'\n');
        }
        self.chain.get_or_insert_with(|| Chain::new(trial)).seal(lines, start);
        self.next += entries.len();
        Ok(())
    }
}

impl LedgerShared {
    /// Adds the lines of all new entries to `lines`. After each group of lines `write` may take them.
    pub(super) fn write_new(
        &self,
        lines: &mut Vec<u8>,
        mut write: impl FnMut(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        // Reset first: later entries are announced again.
        self.queued.store(false, Ordering::SeqCst);
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut state = self.state();
            if let Some(FinishedLedger { trial, entries }) = state.finished.pop_front() {
                drop(state);
                while writer.next < entries.len() {
                    let group = next_of(&entries, writer.next, SEALED_TOGETHER);
                    writer.add(&trial, group, lines)?;
                    write(lines)?;
                }
                *writer = LineWriter::default();
                continue;
            }
            let group = next_of(&state.entries, writer.next, SEALED_TOGETHER).to_vec();
            let trial = state.trial.clone();
            drop(state);
            if group.is_empty() {
                return Ok(());
            }
            writer.add(&trial, &group, lines)?;
            write(lines)?;
        }
    }
}
