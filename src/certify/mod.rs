//! Certificates: runs the battery of probes that fits a subject (an agent, a tool server, a command-line
//! tool), and writes what was observed as a signed statement. A battery produces plain data ([`ProbeTrial`]);
//! what a certificate says is computed from that data alone, so that it can be computed again when the
//! certificate is verified.

mod bound;
#[cfg(feature = "mcp")]
pub mod mcp;
mod model;
mod probe_log;
mod results;

pub use bound::{lower_bound, trials_needed};
pub use model::{
    BatteryResult, CallersHeld, ControlCheck, EvidenceFile, FileDigest, SubjectKindTested, TestedSubject,
    file_digest, sha256,
};
pub use probe_log::{PROBE_FILE, ProbeLog, ProbeLogError, read_probes};
pub use results::{ProbeOutcome, ProbeTrial, QuestionResult, QuestionStatus, question_results};
