//! Which process is at the other end of a connection to a port of hapax: the subject, the server at its URL, or a
//! process that has nothing to do with the run. What cannot be found out counts as the subject's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::http::Target;
use super::{Subject, SubjectKind};

/// The server at the URL of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SubjectServer {
    /// The subject is no server that was running before its trial.
    None,
    /// It is on this machine, at one of these addresses.
    Here(Vec<SocketAddr>),
    /// Its processes cannot be found.
    Elsewhere,
}

impl SubjectServer {
    /// The server of a subject.
    pub(crate) fn of(subject: &Subject) -> Self {
        let SubjectKind::Http { url, command: None, .. } = &subject.kind else { return SubjectServer::None };
        let Ok(target) = Target::parse(url) else { return SubjectServer::Elsewhere };
        let ips = match target.host().parse::<IpAddr>() {
            Ok(ip) if ip.is_loopback() => vec![ip],
            Err(_) if target.host() == "localhost" => {
                vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
            }
            _ => return SubjectServer::Elsewhere,
        };
        SubjectServer::Here(ips.into_iter().map(|ip| SocketAddr::new(ip, target.port())).collect())
    }

    /// Whether the client of a connection, from its address to that of hapax, is known to be a process that is neither
    /// hapax, nor the subject, nor its server.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_foreign(&self, client: SocketAddr, hapax: SocketAddr) -> bool {
        linux::is_foreign(self, client, hapax)
    }

    /// Whether the client of a connection is known to be another process: it is not, on this system.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn is_foreign(&self, _client: SocketAddr, _hapax: SocketAddr) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::fs;
    use std::net::SocketAddr;

    use super::SubjectServer;
    use crate::proc_stat::ProcStat;
    use crate::subject::socket_table::{TcpRow, answering, holders, rows};

    /// A variable that every process of a subject has, unless it removes it.
    const MARK: &[u8] = b"HAPAX_RESULT=";
    /// The most parents of a process that are looked at.
    const MAX_DEPTH: usize = 64;

    pub(super) fn is_foreign(server: &SubjectServer, client: SocketAddr, hapax: SocketAddr) -> bool {
        let rows = rows();
        let servers: BTreeSet<i32> = match server {
            SubjectServer::None => BTreeSet::new(),
            SubjectServer::Elsewhere => return false,
            SubjectServer::Here(addresses) => {
                let inodes = addresses.iter().flat_map(|address| answering(&rows, *address));
                let found: BTreeSet<i32> = inodes.flat_map(holders).collect();
                if found.is_empty() {
                    return false;
                }
                found
            }
        };
        let clients: Vec<i32> = inode(&rows, client, hapax).into_iter().flat_map(holders).collect();
        let groups: BTreeSet<i32> =
            servers.iter().filter_map(|pid| Some(ProcStat::of_process(pid)?.group)).collect();
        let known = Known { servers, groups };
        !clients.is_empty() && clients.iter().all(|pid| known.is_foreign(*pid))
    }

    /// The socket of the client.
    fn inode(rows: &[TcpRow], client: SocketAddr, hapax: SocketAddr) -> Option<u64> {
        let same = |one: SocketAddr, other: SocketAddr| {
            one.port() == other.port() && one.ip().to_canonical() == other.ip().to_canonical()
        };
        let found = rows.iter().find(|row| same(row.local, client) && same(row.remote, hapax))?;
        // A socket that no process has any more has no number.
        Some(found.inode).filter(|inode| *inode != 0)
    }

    /// The processes of the server of a subject.
    struct Known {
        servers: BTreeSet<i32>,
        groups: BTreeSet<i32>,
    }

    impl Known {
        /// Whether a process is neither hapax, nor the subject, nor its server, nor started by one of them.
        fn is_foreign(&self, pid: i32) -> bool {
            let own = i32::try_from(std::process::id()).unwrap_or_default();
            let Some(stat) = ProcStat::of_process(pid) else { return false };
            let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
            let has_mark = environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(MARK));
            if has_mark || self.groups.contains(&stat.group) {
                return false;
            }
            let mut above = pid;
            for _ in 0..MAX_DEPTH {
                if above == own || self.servers.contains(&above) {
                    return false;
                }
                match ProcStat::of_process(above) {
                    Some(stat) if stat.parent > 0 => above = stat.parent,
                    Some(_) => return true,
                    None => return false,
                }
            }
            false
        }
    }
}
