//! What stands for [`sealed`](super::sealed) on systems without namespaces: nothing can be sealed there.

use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;

use super::recorder::RecorderHandle;
use super::route::ServiceRoute;
use super::{Settings, Start};

const LINUX_ONLY: &str = "sealed runs need Linux; `--intercept` works here";

/// Fails: there are no namespaces.
pub(crate) fn check(_executable: &Path) -> Result<(), String> {
    Err(LINUX_ONLY.to_owned())
}

/// No trust store is changed here.
pub(crate) fn trust_stores() -> Vec<PathBuf> {
    Vec::new()
}

/// Fails: there are no namespaces.
///
/// # Errors
/// Always.
pub fn first_init() -> io::Result<()> {
    Err(io::Error::other(LINUX_ONLY))
}

/// Fails: there are no namespaces.
///
/// # Errors
/// Always.
pub fn second_init() -> io::Result<()> {
    Err(io::Error::other(LINUX_ONLY))
}

/// Fails: there are no namespaces.
///
/// # Errors
/// Always.
pub fn keep_ipc() -> io::Result<()> {
    Err(io::Error::other(LINUX_ONLY))
}

pub(in crate::subject) fn receive_ports(_over: impl AsFd) -> io::Result<Vec<OwnedFd>> {
    Err(io::Error::other(LINUX_ONLY))
}

/// What sealed starts share: there are none.
#[derive(Debug)]
pub struct SealedWorld(Infallible);

impl SealedWorld {
    pub(in crate::subject) fn prepare(
        _folder: &Path,
        _hidden: Vec<PathBuf>,
        _program: &[String],
        _settings: &Settings,
    ) -> io::Result<Self> {
        Err(io::Error::other(LINUX_ONLY))
    }
}

/// How one start is sealed: none is.
#[derive(Debug, Clone)]
pub struct SealedStart {
    world: Arc<SealedWorld>,
    pub(in crate::subject) gateway: Arc<Gateway>,
}

impl SealedStart {
    pub(crate) fn new(
        world: Arc<SealedWorld>,
        _routes: Vec<ServiceRoute>,
        _recorder: RecorderHandle,
    ) -> Self {
        match world.0 {}
    }

    pub(in crate::subject) fn variables(&self) -> std::iter::Empty<(String, String)> {
        match self.world.0 {}
    }

    pub(in crate::subject) fn order(&self, _start: &Start, _hapax: &Path) -> SealOrder {
        match self.world.0 {}
    }
}

#[derive(Debug)]
pub(in crate::subject) struct Gateway(Infallible);

impl Gateway {
    pub(in crate::subject) async fn connect(&self, _port: u16) -> io::Result<TcpStream> {
        match self.0 {}
    }

    pub(in crate::subject) async fn serve(
        self: &Arc<Self>,
        _sockets: Vec<OwnedFd>,
    ) -> io::Result<ServedPorts> {
        match self.0 {}
    }
}

#[derive(Debug)]
pub(in crate::subject) struct ServedPorts(Infallible);

impl ServedPorts {
    pub(in crate::subject) async fn close(self, _are_all_dead: bool) {
        match self.0 {}
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::subject) struct SealOrder {}

#[expect(dead_code, reason = "nothing can be sealed")]
pub(in crate::subject) struct SealedProgram {
    pub(in crate::subject) program: Vec<String>,
    pub(in crate::subject) directory: Option<PathBuf>,
    pub(in crate::subject) env: Vec<(String, String)>,
    pub(in crate::subject) input: super::supervisor::ProgramInput,
}

#[expect(dead_code, reason = "nothing can be sealed")]
pub(in crate::subject) enum NamespaceEvent {
    Exited(i32),
    Signaled(i32),
    OtherEnded,
}

pub(in crate::subject) struct SealedSubject {
    pub(in crate::subject) init: Pid,
    pub(in crate::subject) main: Pid,
}

impl SealedSubject {
    pub(in crate::subject) fn start(
        _executable: &Path,
        _program: SealedProgram,
        _seal: &SealOrder,
        _hapax: impl AsFd,
    ) -> Result<Option<(Child, Self)>, String> {
        Err(LINUX_ONLY.to_owned())
    }

    pub(in crate::subject) fn wait(&mut self) -> Option<NamespaceEvent> {
        None
    }
}
