//! What the driver is told to do, and what it reports: plain data. The plan is the task of the trial, and
//! each record is one line of its standard output.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// In texts of arguments, the driver replaces this by an opaque name of the trial: twelve hexadecimal digits.
pub(crate) const TRIAL_PLACEHOLDER: &str = "{{trial}}";
/// The same for keys, which are others in every trial, and are not counted where the name of the trial is.
pub(crate) const KEY_PLACEHOLDER: &str = "{{trial-key}}";

/// Where the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerAddress {
    /// A program that speaks over its standard input and output.
    Command(Vec<String>),
    /// A URL, for streamable HTTP.
    Url(String),
    /// A program that serves streamable HTTP at a URL.
    Serving {
        /// The program.
        program: Vec<String>,
        /// Its URL.
        url: String,
    },
}

/// How a connection is established.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Handshake {
    /// With `initialize`: versions up to 2025-11-25.
    #[default]
    Initialize,
    /// Without it: version 2026-07-28.
    Discover,
}

/// The plan of one caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DriverPlan {
    /// How to connect.
    pub(crate) handshake: Handshake,
    /// How long the server can take to connect, to list its tools, and for each call.
    pub(crate) timeout: Duration,
    /// The folder for the list of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) list_folder: Option<PathBuf>,
    /// A text that is another one in every run, for a server that remembers the trials of earlier runs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) run: String,
    /// The steps of each start: the first start, then the restart.
    pub(crate) starts: Vec<Vec<DriverStep>>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub(crate) enum DriverStep {
    /// Lists the tools and writes the list.
    List,
    /// Calls a tool.
    Call(ToolCall),
    /// Calls it again as an agent would: only if the last call did not succeed, and did not say that its
    /// outcome is not known.
    CallAgainAfterError(ToolCall),
    /// Calls a tool from several sessions at once: all of them are open before the first call is sent.
    CallAtOnce {
        /// The call.
        call: ToolCall,
        /// The number of sessions.
        callers: u32,
    },
    /// Calls a tool that reads, and counts the name of the trial in its result.
    Count(ToolCall),
    /// Stays connected for this time: a server can write after its answer.
    Watch {
        /// How long.
        time: Duration,
    },
    /// Calls a tool, and cancels the call when its request has arrived at the backend. Then waits for a time, and asks
    /// whether the server still answers.
    Cancel {
        /// The call.
        call: ToolCall,
        /// How long to wait afterwards.
        wait: Duration,
    },
    /// Calls a tool, and closes the connection without waiting for the result. Then connects again.
    LoseConnection {
        /// The call.
        call: ToolCall,
        /// When the connection is closed.
        when: CloseMoment,
    },
}

/// When the connection of a call is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CloseMoment {
    /// When its request has arrived at the backend, whose services hapax has.
    Arrived,
    /// After a time, where hapax does not have the backend.
    After(Duration),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolCall {
    /// The tool.
    pub(crate) tool: String,
    /// Its arguments.
    pub(crate) arguments: Map<String, Value>,
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "saw", rename_all = "kebab-case")]
pub(crate) enum DriverRecord {
    /// Connected.
    Connected {
        /// The protocol version.
        protocol: String,
        /// The server's name and version, as it states them.
        server: String,
        /// When the driver began to connect, in milliseconds since 1970. Earlier builds did not write it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        began_at: Option<i64>,
        /// How long that took, in milliseconds, with the start of a server that has its own in each trial.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took_ms: Option<u64>,
    },
    /// No connection: why.
    NotConnected {
        /// The reason.
        why: String,
    },
    /// The tools were listed.
    Listed {
        /// The digest of the list, which is the same for the same tools in any order.
        digest: String,
    },
    /// The tools could not be listed.
    NotListed {
        /// The reason.
        why: String,
    },
    /// A tool was called.
    Called {
        /// The tool.
        tool: String,
        /// What came back.
        outcome: CallOutcome,
        /// The text of the result, or why there is none; shortened.
        text: String,
        /// When it was answered or cancelled, or its connection closed, in milliseconds since 1970. Earlier builds
        /// wrote it only for calls without a result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended_at: Option<i64>,
        /// How long it took, in milliseconds. Earlier builds did not write it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took_ms: Option<u64>,
    },
    /// The name of the trial was counted in the result of a tool that reads.
    Counted {
        /// How often it is there.
        count: usize,
    },
    /// It could not be counted: the tool that reads gave no result.
    NotCounted {
        /// The reason.
        why: String,
    },
    /// The server asked for something, which was declined.
    Declined {
        /// What: sampling, elicitation.
        what: String,
    },
    /// Whether the server answers after a cancelled call.
    Alive {
        /// Whether it does.
        answers: bool,
    },
    /// The server wrote something to its standard output that is not a message.
    Noise {
        /// How many lines.
        lines: u64,
        /// The first of them, shortened.
        first: String,
    },
}

/// What came back from a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CallOutcome {
    /// A result.
    Ok,
    /// A result with `isError`.
    Error,
    /// A result without `isError` whose text is an error.
    ErrorInText,
    /// A result without `isError` whose text says neither that it worked nor that it failed.
    Unclear,
    /// An error of the protocol.
    ProtocolError,
    /// The connection ended.
    Lost,
    /// Nothing, in time.
    Timeout,
    /// Nothing: the call was cancelled, or its connection was closed.
    NotAwaited,
    /// The server wants input from the user before it goes on.
    NeedsInput,
}

impl CallOutcome {
    /// Whether there is a result that is not an error. Of a read, an empty list is as good as any other.
    pub(crate) fn is_result(self) -> bool {
        matches!(self, CallOutcome::Ok | CallOutcome::Unclear)
    }

    /// Whether the server answered, with a result or an error.
    pub(crate) fn is_answer(self) -> bool {
        let is_error =
            matches!(self, CallOutcome::Error | CallOutcome::ErrorInText | CallOutcome::ProtocolError);
        self.is_result() || is_error
    }
}

/// A tool, as listed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListedTool {
    /// Its name.
    pub(crate) name: String,
    /// Its description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    /// The JSON Schema of its arguments.
    pub(crate) input_schema: Value,
    /// What it says about itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) annotations: Option<Value>,
}

impl ListedTool {
    /// A hint of the annotations, if it is given.
    pub(crate) fn hint(&self, name: &str) -> Option<bool> {
        self.annotations.as_ref()?.get(name)?.as_bool()
    }
}

/// The list of tools, as written to the folder of lists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ListedTools {
    /// The tools.
    pub(crate) tools: Vec<ListedTool>,
}

/// The records in the output of a start. Other lines are skipped.
pub(crate) fn read_records(output: &str) -> Vec<DriverRecord> {
    output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Whether a text says that it is not known whether something happened, so that a careful agent does not just
/// call again.
pub(crate) fn leaves_outcome_open(text: &str) -> bool {
    const PHRASES: [&str; 12] = [
        "may have",
        "might have",
        "could have been",
        "outcome is unknown",
        "outcome unknown",
        "result is unknown",
        "status is unknown",
        "not known whether",
        "unknown whether",
        "unclear whether",
        "do not retry",
        "before you call again",
    ];
    let text = text.to_lowercase();
    PHRASES.iter().any(|phrase| text.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_and_its_records_are_read_as_they_were_written() {
        let call = ToolCall { tool: "send".to_owned(), arguments: Map::new() };
        let plan = DriverPlan {
            run: "2026-11-16T12:00:00Z".to_owned(),
            handshake: Handshake::Discover,
            timeout: Duration::from_secs(3),
            list_folder: None,
            starts: vec![
                vec![DriverStep::List, DriverStep::Call(call.clone())],
                vec![DriverStep::LoseConnection { call, when: CloseMoment::After(Duration::from_secs(1)) }],
            ],
        };
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<DriverPlan>(&text).unwrap(), plan);

        let record = DriverRecord::Called {
            tool: "send".to_owned(),
            outcome: CallOutcome::ProtocolError,
            text: "no such tool".to_owned(),
            ended_at: None,
            took_ms: Some(12),
        };
        let output = format!(
            "not a record\n{}\n{{\"saw\":\"something else\"}}\n",
            serde_json::to_string(&record).unwrap()
        );
        assert_eq!(read_records(&output), [record]);
    }

    #[test]
    fn a_text_that_leaves_the_outcome_open_is_told_from_an_error() {
        assert!(leaves_outcome_open(
            "The mail MAY HAVE been sent: check with list_emails before you call again."
        ));
        assert!(!leaves_outcome_open("Failed to send the mail: connection reset. Please try again."));
    }
}
