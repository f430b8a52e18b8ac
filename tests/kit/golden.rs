//! One `hapax selftest` over every shipped scenario, for all tests that need to know what the controls do there. It
//! is kept below `target/`, under the digest of the program, which contains the scenarios: a test never reads
//! the run of another build, and a test that runs alone makes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use hapax::scenario::Case;
use hapax::score::{Verdict, score};
use mock_services::ledger::{Event, read_ledgers};

use super::workspace::HAPAX;

/// What the selftest printed.
pub(crate) fn printed() -> String {
    fs::read_to_string(FOLDER.join(PRINTED)).unwrap()
}

/// The verdicts of a control by its ledgers, in those of the cases that list it; of `careful` in all cases.
pub(crate) fn verdicts(control: &str, cases: &[Case]) -> BTreeMap<String, Verdict> {
    let Ok(file) = File::open(FOLDER.join(control).join("ledger.jsonl")) else { return BTreeMap::new() };
    let ledgers = read_ledgers(BufReader::new(file)).unwrap();
    let verdict = |case: &Case| {
        let saved = ledgers.get(&format!("{}#1", case.id))?;
        assert_eq!(saved.torn, None, "{control} in {}", case.id);
        Some((case.id.clone(), score(&case.terms, &saved.entries, None)))
    };
    cases.iter().filter_map(verdict).collect()
}

/// How many services had attempts of several callers, counted in each trial of the cases with several callers.
pub(crate) fn shared_services(control: &str, cases: &[Case]) -> usize {
    let Ok(file) = File::open(FOLDER.join(control).join("ledger.jsonl")) else { return 0 };
    let ledgers = read_ledgers(BufReader::new(file)).unwrap();
    let in_case = |case: &Case| {
        let mut callers: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for entry in ledgers.get(&format!("{}#1", case.id)).into_iter().flat_map(|saved| &saved.entries) {
            if let Event::Received(received) = &entry.event {
                let service = received.operation.split('.').next().unwrap_or_default();
                callers.entry(service).or_default().insert(received.caller);
            }
        }
        callers.values().filter(|callers| callers.len() > 1).count()
    };
    cases.iter().filter(|case| case.callers > 1).map(in_case).sum()
}

const PRINTED: &str = "printed.txt";

/// Runs once for all tests of this process; the lock lets other processes wait for it.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("golden");
    fs::create_dir_all(&all).unwrap();
    let lock = File::create(all.join("lock")).unwrap();
    lock.lock().unwrap();
    let folder = all.join(digest());
    if !folder.exists() {
        let others = fs::read_dir(&all).unwrap().map(|entry| entry.unwrap().path());
        others.filter(|path| path.is_dir()).for_each(|path| fs::remove_dir_all(path).unwrap());
        let new = all.join("new");
        run(&new);
        fs::rename(new, &folder).unwrap();
    }
    folder
});

/// The digest of the program. `sha256sum`, because the program of a test build is large.
fn digest() -> String {
    let output = Command::new("sha256sum").arg(HAPAX).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let digest = text.split_whitespace().next().unwrap_or_default();
    assert_eq!(digest.len(), 64, "sha256sum printed {text:?}");
    digest.to_owned()
}

/// Runs it outside of the repository, as a user does who has only the program.
fn run(out: &Path) {
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = Command::new(HAPAX);
    command.args(["selftest", "--quiet", "--out"]).arg(out).current_dir(elsewhere.path());
    let output = command.env("NO_COLOR", "1").output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // A run that fails is not kept: whoever needs it tries again.
    assert!(output.status.success(), "{stdout}{stderr}");
    fs::write(out.join(PRINTED), &*stdout).unwrap();
}
