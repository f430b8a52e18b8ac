//! How a subject is started and heard: any program, an agent that is already running, or a control. It knows no case and no verdict.

mod start;

pub use start::{ClaimHeard, ClaimSource, Ended, How, Limits, ServiceAddress, Start};
