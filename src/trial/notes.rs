//! The words with which a trial writes into the ledger what happens to the subject. Whoever scores or shows a ledger reads them here.

/// A caller was started. Fields: `start`, and what it was given as `HAPAX_TRIAL` (`trial`) and `HAPAX_CALLER` (`name`).
pub const STARTED: &str = "started";
/// A start of a caller has ended. Fields: `start`, `how` (`exited`, `signalled`, `time-up`, `over-limit`, `answered`), `status` (a number), and
/// where processes were left behind that had to be ended, `left` (how many).
pub const ENDED: &str = "ended";
/// A caller could not be started at all. Fields: `start`, `error`.
pub const UNSTARTABLE: &str = "unstartable";
/// What a start of a caller said at its end. Fields: `start`, `outcome` (`done`, `not-done`, `unknown`, `missing`), `message`, `from`
/// (`result-file`, `last-line`, `exit-status`, `pattern`, `answer`), and where it could not be read `problem`.
pub const CLAIMED: &str = "claimed";
/// An interrupt struck. Fields: `interrupt` (its place, from 0), `do`, `attempt` (the number in the ledger).
pub const STRUCK: &str = "struck";
/// An interrupt did not take effect: the caller had ended by itself, or could not be stopped. Fields: `interrupt` (its place, from 0), `do`,
/// `attempt` (the number in the ledger), `why`.
pub const MISSED: &str = "missed";
/// The subject tried to reach something else than the services. Fields: `host`, `port`.
pub const ESCAPED: &str = "escaped";
/// The subject used more than it may. Fields: `what` (in words).
pub const OVER_LIMIT: &str = "over-limit";
