//! Certificates: runs the battery of probes that fits a subject (an agent, a tool server, a command-line
//! tool), and writes what was observed as a signed statement. A battery produces plain data ([`ProbeTrial`]);
//! what a certificate says is computed from that data alone, so that it can be computed again when the
//! certificate is verified.

mod agent;
mod bound;
mod command_words;
mod envelope;
mod issue;
mod key;
#[cfg(feature = "mcp")]
pub mod mcp;
mod model;
mod page;
mod probe_log;
mod ramp;
mod results;
mod statement;
mod subject_files;
mod terminal;
mod tool;
mod verify;

pub use agent::{AgentError, AgentOptions, AgentPlan, CertifyEvent, certify_agent, planned};
pub use bound::{lower_bound, trials_needed};
pub use envelope::{EnvelopeSignature, PAYLOAD_TYPE, SignatureCheck, SignedEnvelope};
pub use issue::{CERTIFICATE_FILE, CERTIFICATE_PAGE, Certification, IssueOptions, issue};
pub use key::{KeyError, SigningKey, VerifyingKey, write_key_pair};
pub use model::{
    BatteryResult, CallersHeld, ControlCheck, EvidenceFile, FileDigest, SubjectKindTested, TestedSubject,
    file_digest, sha256,
};
pub use page::certificate_page;
pub use probe_log::{PROBE_FILE, ProbeLog, ProbeLogError, read_probes};
pub use results::{ProbeOutcome, ProbeTrial, QuestionResult, QuestionStatus, question_results};
pub use statement::{
    AskedLevel, CERTIFICATE_VERSION, Certificate, Conclusion, IssueFacts, NoCertificate, PassHatKBound,
    STATEMENT_TYPE, Sha256Digest, Statement, StatementError, StatementSubject, TestedWith, read_statement,
    statement,
};
pub use subject_files::{SubjectFilesError, subject_files};
pub use terminal::{certification_text, verification_text};
pub use tool::{
    CommandKind, ControlToolArguments, StateCount, StateRead, ToolBatteryError, ToolCommand, ToolFile,
    ToolOptions, ToolQuestion, certify_tool, control_tool, planned_probes,
};
pub use verify::{CheckResult, Verification, VerifyError, VerifyOptions, verify};
