//! Writes all reports of a run into its folder.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::report::{
    MAX_SUMMARY_BYTES, TRIALS_FOLDER, badge, junit, page_and_files, page_so_far, summary_md,
};
use crate::results::{Ledgers, Report, StoreError, write_file, write_report};

/// The name of the page in the folder of a run.
pub const PAGE_FILE: &str = "index.html";
/// The name of the summary in the folder of a run.
pub const SUMMARY_FILE: &str = "summary.md";

/// Writes `report.json`, `junit.xml`, `summary.md`, `badge.json` and `index.html`, and for a large run the trials beside it.
///
/// # Errors
/// When the folder cannot be written to.
pub fn publish(folder: &Path, report: &Report, ledgers: &Ledgers) -> Result<(), StoreError> {
    write_report(folder, report)?;
    let path = folder.join("junit.xml");
    let xml = junit(report, ledgers)
        .map_err(|error| StoreError::Write { path: path.clone(), error: io::Error::other(error) })?;
    write_file(&path, xml.as_bytes())?;
    write_file(&folder.join(SUMMARY_FILE), summary_md(report, ledgers, MAX_SUMMARY_BYTES).as_bytes())?;
    write_file(&folder.join("badge.json"), badge(report).as_bytes())?;
    let (page, files) = page_and_files(report, ledgers);
    for (name, content) in files {
        write_file(&folder.join(TRIALS_FOLDER).join(name), content.as_bytes())?;
    }
    write_file(&folder.join(PAGE_FILE), page.as_bytes())
}

/// Writes `index.html` of a run that is not finished: it reloads itself.
///
/// # Errors
/// When the folder cannot be written to.
pub fn publish_page_so_far(folder: &Path, report: &Report, ledgers: &Ledgers) -> Result<(), StoreError> {
    write_file(&folder.join(PAGE_FILE), page_so_far(report, ledgers).as_bytes())
}

/// Appends a summary to the file that `GITHUB_STEP_SUMMARY` names.
///
/// # Errors
/// When the file cannot be written to.
pub fn append_summary(path: &Path, summary: &str) -> Result<(), StoreError> {
    let file = File::options().append(true).create(true).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{}\n", summary.trim_end()).as_bytes()));
    written.map_err(|error| StoreError::Write { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn a_folder_has_everything_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let (report, ledgers) = sample::run();
        publish(folder.path(), &report, &ledgers).unwrap();
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["badge.json", "index.html", "junit.xml", "report.json", "summary.md"]);
    }

    #[test]
    fn a_summary_is_appended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("step.md");
        std::fs::write(&path, "# theirs\n").unwrap();
        append_summary(&path, "# ours\n\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "# theirs\n# ours\n");
    }
}
