//! A certification in parts: each machine tests its share of the trials and leaves a folder, and the folders are merged
//! into one certification, over which one certificate is signed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::agent::{CONTROLS, findings_in, judge_run};
use super::evidence::FileDigest;
use super::runs::{RUN_NAMES, trials_in};
use super::statement::{ControlCheck, Tested};
use super::trials::AskedLevel;
use super::{CertifyError, PART_FILE, SUBJECT_FILE};
use crate::report::publish;
use crate::results::{
    MergedRun, PartSource, PartSources, SavedRun, StoreError, merge_folders, without_doubles, write_file,
};

/// What a part of a certification says about itself, beside its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CertificationPart {
    pub(crate) hapax: String,
    /// The number of the part, from 1.
    pub(crate) part: u32,
    /// The number of parts.
    pub(crate) of: u32,
    pub(crate) seed: u64,
    pub(crate) asked: AskedLevel,
    /// The largest number of callers at once.
    pub(crate) callers: u32,
    pub(crate) interrupted: bool,
    pub(crate) tested: Tested,
}

/// The parts, merged: nothing is issued yet.
#[derive(Debug)]
pub(crate) struct MergedParts {
    pub(crate) tested: Tested,
    pub(crate) asked: AskedLevel,
    pub(crate) seed: u64,
    /// What to say about the parts.
    pub(crate) remarks: Vec<String>,
}

/// Writes what a part says about itself.
pub(crate) fn write_part(folder: &Path, part: &CertificationPart) -> Result<(), CertifyError> {
    let text = serde_json::to_vec_pretty(part).map_err(io::Error::other)?;
    write_file(&folder.join(PART_FILE), &text).map_err(|error| CertifyError::Evidence(error.to_string()))
}

fn read_part(source: &PartSource) -> Result<CertificationPart, CertifyError> {
    let none = |why: String| CertifyError::NoPart { part: source.name.clone(), why };
    let text = fs::read(source.folder.join(PART_FILE)).map_err(|error| none(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| none(error.to_string()))
}

/// Begins a part, or resumes one: then it must not have ended, and must have tested the same files.
pub(super) fn begin_part(
    folder: &Path,
    subject: &str,
    digests: &[FileDigest],
    resumes: bool,
) -> Result<(), CertifyError> {
    let path = folder.join(SUBJECT_FILE);
    if !resumes {
        let text = serde_json::to_vec_pretty(digests).map_err(io::Error::other)?;
        return write_file(&path, &text).map_err(|error| CertifyError::Evidence(error.to_string()));
    }
    let ended = fs::read(folder.join(PART_FILE)).ok();
    let ended = ended.and_then(|text| serde_json::from_slice::<CertificationPart>(&text).ok());
    if ended.is_some_and(|part| !part.interrupted) {
        return Err(CertifyError::Ended { folder: folder.to_owned() });
    }
    let unreadable = |error: io::Error| CertifyError::Unreadable { path: path.clone(), error };
    let before: Vec<FileDigest> = serde_json::from_slice(&fs::read(&path).map_err(unreadable)?)
        .map_err(|error| unreadable(error.into()))?;
    if before != digests {
        return Err(CertifyError::Changed(subject.to_owned()));
    }
    // The controls are tried as a whole.
    match fs::remove_dir_all(folder.join(CONTROLS)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Finds the parts: folders, archives, and an archive on `input`.
pub(crate) fn find_parts(paths: &[PathBuf], input: impl io::Read) -> Result<PartSources, StoreError> {
    PartSources::find_with(PART_FILE, paths, input)
}

/// Merges parts into `out`, which is an empty folder. The trials are those of all parts; more callers and
/// the controls were tried by the first part.
pub(crate) fn merge_parts(found: &PartSources, out: &Path) -> Result<MergedParts, CertifyError> {
    let evidence = |error: &dyn std::fmt::Display| CertifyError::Evidence(error.to_string());
    let stored = |error: StoreError| evidence(&error);
    let mut parts = Vec::new();
    for source in &found.parts {
        parts.push((source.clone(), read_part(source)?));
    }
    for other in parts.iter().skip(1) {
        same(&parts[0], other)?;
    }
    let of_cases = parts.iter().map(|(source, _)| PartSource {
        name: source.name.clone(),
        folder: source.folder.join(RUN_NAMES.cases),
    });
    let (sources, remarks) = without_doubles(of_cases.collect()).map_err(stored)?;
    parts.retain(|(source, _)| sources.iter().any(|kept| kept.folder == source.folder.join(RUN_NAMES.cases)));
    dedup_named_twice(&mut parts);
    let cases = out.join(RUN_NAMES.cases);
    let sources = PartSources { parts: sources, unpacked: None };
    let MergedRun { saved: SavedRun { report, ledgers }, .. } = merge_folders(sources, &cases)
        .map_err(|error| CertifyError::Evidence(format!("{error}; {}", error.help())))?;
    publish(&cases, &report, &ledgers).map_err(stored)?;
    for (index, (source, part)) in parts.iter().enumerate() {
        let second = source.folder.join(RUN_NAMES.second_try);
        if second.is_dir() {
            copy_folder(
                &second,
                &out.join(RUN_NAMES.second_try).join(format!("{:06}-{index:06}", part.part)),
            )?;
        }
    }
    let (source, first) = worst_first_part(&parts)?;
    let folder = &source.folder;
    for name in [CONTROLS, RUN_NAMES.callers.trim_end_matches('/')] {
        if folder.join(name).is_dir() {
            copy_folder(&folder.join(name), &out.join(name))?;
        }
    }
    let mut tested = first.tested.clone();
    tested.trials = trials_in(out, RUN_NAMES, &judge_run).map_err(CertifyError::Evidence)?;
    tested.findings = findings_in(&cases).map_err(CertifyError::Evidence)?;
    tested.notes.push(format!("It was tested in {} parts, whose trials are merged here.", first.of));
    tested.notes.extend(report.notes.iter().filter(|note| note.starts_with("Part ")).cloned());
    tested.interrupted = report.interrupted || parts.iter().any(|(_, part)| part.interrupted);
    Ok(MergedParts { tested, asked: first.asked, seed: first.seed, remarks })
}

/// A folder that was named twice is one part.
fn dedup_named_twice(parts: &mut Vec<(PartSource, CertificationPart)>) {
    let mut seen = std::collections::BTreeSet::new();
    parts.retain(|(source, _)| seen.insert(source.folder.clone()));
}

/// The first part; of several copies, the one that shows least.
fn worst_first_part(
    parts: &[(PartSource, CertificationPart)],
) -> Result<(&PartSource, &CertificationPart), CertifyError> {
    let shows = |part: &CertificationPart| {
        let as_known =
            !part.tested.controls.is_empty() && part.tested.controls.iter().all(ControlCheck::is_as_known);
        (as_known, part.tested.callers.as_ref().map_or(0, |callers| callers.passed))
    };
    let firsts = parts.iter().filter(|(_, part)| part.part == 1);
    let worst = firsts.min_by_key(|(_, part)| shows(part)).map(|(source, part)| (source, part));
    worst
        .ok_or_else(|| CertifyError::Evidence("part 1 is missing; name its folder too, or run it".to_owned()))
}

/// Whether two parts are of one certification.
fn same(
    (one, first): &(PartSource, CertificationPart),
    (other, part): &(PartSource, CertificationPart),
) -> Result<(), CertifyError> {
    let (this, that) = (&first.tested, &part.tested);
    let files = |tested: &Tested| {
        let files = tested.subject.digests.iter().map(|file| format!("{} {}", file.name, file.sha256));
        files.collect::<Vec<_>>().join(", ")
    };
    let shown = |value: &dyn std::fmt::Debug| format!("{value:?}");
    let facts = [
        ("the version of hapax", first.hapax.clone(), part.hapax.clone()),
        ("the number of parts", first.of.to_string(), part.of.to_string()),
        ("the seed", first.seed.to_string(), part.seed.to_string()),
        ("the level", first.asked.level.to_string(), part.asked.level.to_string()),
        ("the confidence", first.asked.confidence.to_string(), part.asked.confidence.to_string()),
        ("--callers", first.callers.to_string(), part.callers.to_string()),
        ("the subject", this.subject.name.clone(), that.subject.name.clone()),
        ("the command", this.subject.command.join(" "), that.subject.command.join(" ")),
        ("what was tested", files(this), files(that)),
        ("the local recipe", shown(&this.subject.local_recipe), shown(&that.subject.local_recipe)),
        ("whether the subject was sealed", shown(&this.sealed), shown(&that.sealed)),
        ("the promise", this.promise.to_string(), that.promise.to_string()),
        ("the settings that limit the test", this.silencing.join("; "), that.silencing.join("; ")),
        ("the scenarios", shown(&this.scenarios), shown(&that.scenarios)),
        ("the shipped scenarios", shown(&this.golden_set), shown(&that.golden_set)),
    ];
    match facts.into_iter().find(|(_, this, that)| this != that) {
        None => Ok(()),
        Some((what, this, that)) => Err(CertifyError::OtherPart {
            one: one.name.clone(),
            other: other.name.clone(),
            what,
            this: crate::text::line(&this, 200),
            that: crate::text::line(&that, 200),
        }),
    }
}

/// Copies the regular files below a folder.
fn copy_folder(from: &Path, to: &Path) -> Result<(), CertifyError> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
