//! The words with which a trial writes into the ledger what happens to the subject. Whoever scores or shows a
//! ledger reads them here.

/// A caller was started. Fields: `start`, what it was given as `HAPAX_TRIAL` (`trial`) and `HAPAX_CALLER`
/// (`name`), and after the first turn `turn` (from 1).
pub const STARTED: &str = "started";
/// A start of a caller has ended. Fields: `start`, `how` (`exited`, `signalled`, `time-up`, `over-limit`,
/// `answered`), `status` (a number), and where processes were left behind that had to be ended, `left` (how
/// many). Where its time was up after it had made its claim: `reported` and `limit` (when it made the claim
/// and when it was stopped, in milliseconds after its start) and `under-way` (how many requests were being
/// sent or not answered then).
pub const ENDED: &str = "ended";
/// A caller could not be started at all. Fields: `start`, `error`.
pub const UNSTARTABLE: &str = "unstartable";
/// The command that is run before each trial failed, so nothing was started. Fields: `error`.
pub const UNPREPARED: &str = "unprepared";
/// What a start of a caller said at its end. Fields: `start`, `outcome` (`done`, `not-done`, `unknown`,
/// `missing`), `message`, `from` (`result-file`, `last-line`, `exit-status`, `pattern`, `answer`), and where
/// it could not be read `problem`.
pub const CLAIMED: &str = "claimed";
/// An interrupt struck. Fields: `interrupt` (its place, from 0), `do`, `attempt` (the number in the ledger).
pub const STRUCK: &str = "struck";
/// An interrupt did not take effect: the caller had ended by itself, or could not be stopped. Fields:
/// `interrupt` (its place, from 0), `do`, `attempt` (the number in the ledger), `why`.
pub const MISSED: &str = "missed";
/// The subject tried to reach something else than the services. Fields: `host`, `port`.
pub const ESCAPED: &str = "escaped";
/// A client asked the proxy for a service of the trial, although `NO_PROXY` names its address. Fields:
/// `host`, `port`, `service`.
pub const PROXIED: &str = "proxied";
/// Requests to a host that is allowed, counted at the end of the trial. Fields: `host`, `port`, `requests`,
/// and where the host could not be reached `failed` (how often).
pub const ALLOWED: &str = "allowed";
/// Requests to a host that is ignored, which were refused, counted at the end of the trial. Fields: `host`,
/// `port`, `requests`.
pub const IGNORED: &str = "ignored";
/// The subject used more than it may. Fields: `what` (in words).
pub const OVER_LIMIT: &str = "over-limit";
/// Requests of a caller had not been answered when the trial ended, or when the time was over for which an
/// agent over HTTP is watched. Fields: `requests`.
pub const UNANSWERED: &str = "unanswered";
/// A caller was still sending a request then. Fields: `connections`.
pub const STILL_SENDING: &str = "still-sending";
/// Connections of a caller were open and idle then, and were closed. Fields: `connections`.
pub const IDLE_CLOSED: &str = "idle-closed";
/// A request came after the trial had ended. Fields: see [`mock_services::ledger::LATE_REQUEST`].
pub const LATE_REQUEST: &str = mock_services::ledger::LATE_REQUEST;
