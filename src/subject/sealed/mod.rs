//! Sealed starts: a subject runs, unchanged, in user, mount, network and process namespaces of its own, and one for IPC that it shares with the other starts of its machine. The real
//! hosts of the services lead to the services of the trial, all other hosts to the recorder, and nothing leads
//! out.
//!
//! hapax starts the supervisor, which starts two init processes ([`init`]), which start the subject. The ports
//! that the subject can reach are opened inside and handed to hapax, whose [`gateway`] serves them.

mod channel;
mod gateway;
mod handover;
mod host_names;
mod host_sockets;
mod init;
mod ipc;
mod loopback;
mod mounts;
mod namespaces;
mod needed_files;
mod order;
mod packets;
mod resolver;
mod seal;
mod trust_stores;
mod world;

use std::path::Path;
use std::sync::Arc;

use super::Start;
use super::recorder::RecorderHandle;
use super::route::ServiceRoute;
pub(in crate::subject) use gateway::{Gateway, ServedPorts};
pub(in crate::subject) use handover::receive as receive_ports;
pub use init::{first_init, second_init};
pub(in crate::subject) use ipc::IpcKeeper;
pub use ipc::keep_ipc;
pub(in crate::subject) use order::SealOrder;
pub(crate) use seal::check;
pub(in crate::subject) use seal::{NamespaceEvent, SealedProgram, SealedSubject};
pub use world::SealedWorld;
pub(crate) use world::trust_stores;

/// How one start is sealed.
#[derive(Debug, Clone)]
pub struct SealedStart {
    world: Arc<SealedWorld>,
    pub(in crate::subject) gateway: Arc<Gateway>,
}

impl SealedStart {
    /// A start whose services are at these addresses.
    pub(crate) fn new(world: Arc<SealedWorld>, routes: Vec<ServiceRoute>, recorder: RecorderHandle) -> Self {
        SealedStart { world, gateway: Arc::new(Gateway::new(routes, recorder)) }
    }

    /// The environment variables that a sealed subject gets.
    pub(in crate::subject) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        self.world.variables()
    }

    /// What the supervisor is to do.
    pub(in crate::subject) fn order(&self, start: &Start, hapax: &Path) -> SealOrder {
        let mut visible = vec![start.state_dir.clone(), start.shared_dir.clone()];
        visible.extend(start.result.parent().map(Path::to_owned));
        SealOrder {
            tcp_ports: self.gateway.tcp_ports(),
            udp_ports: self.gateway.udp_ports(),
            files: self.world.files(visible, &start.machine),
            ipc: start.machine.ipc(hapax),
            first_process: start.first_process,
        }
    }
}
