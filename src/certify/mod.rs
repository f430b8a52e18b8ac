//! Certificates: runs the scenarios that fit a subject (an agent, an MCP server, a command-line tool) with enough
//! trials for a level, and writes what was observed as a signed statement. Testing a subject gives plain data
//! ([`Tested`]); what a certificate says is computed from its trials alone, so that it can be computed again when
//! the certificate is verified.

mod agent;
mod envelope;
mod evidence;
mod golden_sets;
mod issue;
mod key;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
mod page;
mod parts;
mod runs;
mod search;
mod sentence;
mod statement;
mod terminal;
mod tool;
mod trials;
mod verify;
mod version_1;

use std::io;
use std::path::PathBuf;

use yaml_reader::{Node, NodeKind, Problems, Span};

use crate::explore::ExploreError;
use crate::run::{RunError, RunEvent};
use crate::scenario::words_of;

pub(crate) use agent::{AgentOptions, AgentPlan, certify_agent};
pub(crate) use issue::{Certification, IssueOptions, NoCertificate, issue};
pub(crate) use key::{KeyError, SigningKey, write_key_pair};
pub(crate) use parts::{CertificationPart, MergedParts, find_parts, merge_parts, write_part};
pub(crate) use statement::{SubjectKindTested, Tested};
pub(crate) use terminal::{certification_text, verification_text};
pub(crate) use tool::{ToolFile, ToolOptions, certify_tool, planned_trials};
pub(crate) use trials::{AskedLevel, CaseVerdict};
pub(crate) use verify::{VerifyError, verify};
#[cfg(feature = "mcp")]
pub(crate) use version_1::current_name;

/// The name of the certificate in the folder of a certification.
pub(crate) const CERTIFICATE_FILE: &str = "certificate.json";
/// The name of the file in which a part of a certification says what it is.
const PART_FILE: &str = "part.json";
/// The digests of what a part tests, written before its first trial.
const SUBJECT_FILE: &str = "subject.json";
/// The name of its page.
pub(crate) const CERTIFICATE_PAGE: &str = "certificate.html";

/// An event of a certification, for the display of progress.
#[derive(Debug)]
pub(crate) enum CertifyEvent<'a> {
    /// A phase begins.
    Phase(&'a str),
    /// An event of one of its runs.
    Run(RunEvent<'a>),
    /// So many trials of so many are done.
    Trials(usize, usize),
}

/// Shows the events of a certification.
pub(crate) type OnEvent<'a> = dyn FnMut(CertifyEvent<'_>) + Send + 'a;

/// Why a subject could not be tested.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertifyError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("the search failed: {0}")]
    Search(#[from] ExploreError),
    #[error("cannot find the executable `{0}`, whose digest the certificate names")]
    NoExecutable(String),
    #[error("cannot read {path}, whose digest the certificate names: {error}", path = path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error(
        "a certificate names the digest of what was tested, and hapax does not start the agent at {0}; give \
         the command that starts it"
    )]
    NotStarted(String),
    /// No digest names what was tested.
    #[error("a file of {0} was changed while it was tested, so there is no certificate; run it again")]
    Changed(String),
    #[error(
        "the ledgers or reports were changed while the subject was tested, so there is no certificate; only \
         the subject can have changed them: test it without --unsealed"
    )]
    EvidenceChanged,
    #[error("{0}")]
    Evidence(String),
    #[error(
        "{part} is not a part of a certification, or the part did not end: {PART_FILE}: {why}; name what \
         `hapax certify --partition` wrote, and add --resume to the command of a part that did not end"
    )]
    NoPart { part: String, why: String },
    #[error("the part in {folder} has ended: merge it with the others", folder = folder.display())]
    Ended { folder: PathBuf },
    #[error(
        "{folder} is the run of another certification; resume with the same arguments, or start the part again in \
         another folder",
        folder = folder.display()
    )]
    OtherRun { folder: PathBuf },
    #[error(
        "{one} and {other} are not parts of one certification: {what} is {this} in one and {that} in the other; run \
         all parts from the same files with the same arguments"
    )]
    OtherPart { one: String, other: String, what: &'static str, this: String, that: String },
    #[error("the command `{command}` does not work as the file describes it: {why}")]
    Smoke { command: String, why: String },
    #[cfg(feature = "mcp")]
    #[error("the MCP server cannot be tested: {0}")]
    Server(String),
    #[error("the services of the tools file or the answers have problems:\n{}", .0.render(false).trim_end())]
    Services(Problems),
    #[error("{0}")]
    Files(#[from] io::Error),
}

/// Names for case ids, one for each of these texts: they can be typed, and all differ.
fn typeable<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let nodes = texts.map(|text| Node::new(NodeKind::Text(text.to_owned()), Span::default()));
    words_of(&nodes.collect::<Vec<_>>())
}
