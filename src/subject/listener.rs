//! Finds the process that listens at a port: the program that hapax started, or another process.

use std::net::SocketAddr;

/// The owner of a listening socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owner {
    /// A process below the supervisor.
    Started,
    /// Another process, by number and name.
    Other(String),
    /// Unknown.
    Unknown,
}

/// Whether the owner of a socket can be found on this system.
pub(super) const CAN_FIND_OWNER: bool = cfg!(target_os = "linux");

/// The owner of the socket that accepts connections to this address.
#[cfg(target_os = "linux")]
pub(super) fn owner(address: SocketAddr, supervisor: u32) -> Owner {
    linux::owner(address, supervisor)
}

/// The owner of the socket that accepts connections to this address; unknown on this system.
#[cfg(not(target_os = "linux"))]
pub(super) fn owner(_address: SocketAddr, _supervisor: u32) -> Owner {
    Owner::Unknown
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::net::SocketAddr;

    use super::Owner;
    use crate::subject::processes_below;
    use crate::subject::socket_table::{answering, holders, holds, rows};

    pub(super) fn owner(address: SocketAddr, supervisor: u32) -> Owner {
        let inodes = answering(&rows(), address);
        let started = processes_below(supervisor);
        let is_started = |inode: &u64| started.iter().any(|pid| holds(*pid, *inode));
        match inodes.iter().find(|inode| !is_started(inode)) {
            None if inodes.is_empty() => Owner::Unknown,
            None => Owner::Started,
            Some(inode) => holder(*inode).map_or(Owner::Unknown, Owner::Other),
        }
    }

    /// The process that has a socket, by number and name.
    fn holder(inode: u64) -> Option<String> {
        let pid = holders(inode).next()?;
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        Some(format!("process {pid} ({})", yaml_reader::shown(name.trim())))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_socket_of_this_process_belongs_to_another_process() {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let Owner::Other(who) = owner(address, std::process::id()) else {
                panic!("{:?}", owner(address, std::process::id()))
            };
            assert!(who.contains(&std::process::id().to_string()), "{who}");
        }
    }
}
