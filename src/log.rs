//! hapax's own log of its steps, on standard error. It is off unless the variable `HAPAX_LOG` names a level,
//! and contains nothing of a subject that is not in the report: no key, no request and no output.

use std::time::{Duration, Instant};

use tracing_subscriber::filter::LevelFilter;

use crate::process_env;

/// The variable that turns the log on.
const VARIABLE: &str = "HAPAX_LOG";

/// A step that takes longer than this is logged as slow.
const SLOW: Duration = Duration::from_secs(1);

/// Starts the log where `HAPAX_LOG` asks for one.
///
/// # Errors
/// If the variable has a value that is not a level.
pub(crate) fn start() -> Result<(), String> {
    let level = level(process_env::text(VARIABLE).unwrap_or_default().trim())?;
    if level != LevelFilter::OFF {
        let log = tracing_subscriber::fmt().with_max_level(level).with_ansi(false);
        // It fails only where another log was started before, as in a test.
        let _ = log.with_writer(std::io::stderr).try_init();
    }
    Ok(())
}

fn level(word: &str) -> Result<LevelFilter, String> {
    match word {
        "" | "off" => Ok(LevelFilter::OFF),
        "error" => Ok(LevelFilter::ERROR),
        "warn" => Ok(LevelFilter::WARN),
        "info" => Ok(LevelFilter::INFO),
        "debug" => Ok(LevelFilter::DEBUG),
        "trace" => Ok(LevelFilter::TRACE),
        _ => Err(format!(
            "{VARIABLE} must be off, error, warn, info, debug or trace, not `{}`",
            yaml_reader::shown(word)
        )),
    }
}

/// Logs a step that took long.
pub(crate) fn slow_step(step: &str, began: Instant) {
    let took = began.elapsed();
    if took > SLOW {
        tracing::warn!(step, took_ms = took.as_millis(), "slow step");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_off_unless_a_level_is_named() {
        assert_eq!((level(""), level("off")), (Ok(LevelFilter::OFF), Ok(LevelFilter::OFF)));
        assert_eq!(level("debug"), Ok(LevelFilter::DEBUG));
    }

    #[test]
    fn a_value_that_is_not_a_level_is_an_error_that_names_the_levels() {
        let error = level("verbose").unwrap_err();
        assert_eq!(error, "HAPAX_LOG must be off, error, warn, info, debug or trace, not `verbose`");
    }
}
