//! What hapax, the supervisor and the init process of a sealed start say to each other. Plain data.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::subject::supervisor::ProgramInput;

/// How a start is sealed: part of the order to its supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::subject) struct SealOrder {
    /// The TCP ports that hapax serves, at every address of the namespace.
    pub(in crate::subject) tcp_ports: Vec<u16>,
    /// The UDP ports that hapax serves.
    pub(in crate::subject) udp_ports: Vec<u16>,
    /// What the subject sees of the file system.
    pub(in crate::subject) files: FileView,
    /// The process that keeps the namespace for IPC of its machine; without one it has a namespace of its own.
    pub(in crate::subject) ipc: Option<u32>,
    /// About the first process id of the subject in its namespace.
    pub(in crate::subject) first_process: u32,
}

/// What a sealed subject sees in place of what is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::subject) struct FileView {
    /// Folders in place of which it sees another one, which its trial has for itself.
    pub(in crate::subject) own: Vec<ReplacedFile>,
    /// What it sees although it is in the place of such a folder.
    pub(in crate::subject) needed: Vec<PathBuf>,
    /// Directories that are empty for it, and sockets that it cannot connect to.
    pub(in crate::subject) hidden: Vec<PathBuf>,
    /// Files and directories that it sees although they are in a hidden directory.
    pub(in crate::subject) visible: Vec<PathBuf>,
    /// Files that have another content for it.
    pub(in crate::subject) replaced: Vec<ReplacedFile>,
}

/// A file or folder that has another content for a sealed subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::subject) struct ReplacedFile {
    /// The file as the subject names it.
    pub(in crate::subject) path: PathBuf,
    /// The file that has the other content.
    pub(in crate::subject) content: PathBuf,
}

/// The first line to the init processes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InitOrder {
    /// The program and its arguments; empty if it is only tried whether a program could be started.
    pub(super) program: Vec<String>,
    /// Its working directory.
    pub(super) directory: Option<PathBuf>,
    /// All its environment variables.
    pub(super) env: Vec<(String, String)>,
    /// Its standard input.
    pub(super) input: ProgramInput,
    /// What it sees and reaches.
    pub(super) seal: SealOrder,
    /// Its user and group, where those of the namespace cannot all be mapped.
    pub(super) ids: Option<(u32, u32)>,
}

/// What the init processes report to the supervisor, which answers the first three with a line.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum InitReport {
    /// The first is in a user namespace of its own, whose ids the supervisor maps now.
    Unshared,
    /// The ports are open, and are handed over when the supervisor has answered.
    Ports,
    /// The program runs, as the first child of the second. No status is taken before the supervisor answers.
    Started,
    /// It could not be started: why.
    Failed(String),
    /// The program has exited with this status.
    Exited(i32),
    /// The program was ended by this signal.
    Signaled(i32),
    /// Another process of the namespace has ended.
    OtherEnded,
}
