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
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

    use super::Owner;
    use crate::subject::processes_below;

    pub(super) fn owner(address: SocketAddr, supervisor: u32) -> Owner {
        let table = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let mut listeners = listening(&table("/proc/self/net/tcp"), address.port());
        listeners.extend(listening(&table("/proc/self/net/tcp6"), address.port()));
        let inodes = answering(&listeners, address.ip());
        let started = processes_below(supervisor);
        let is_started = |inode: &u64| started.iter().any(|pid| holds(*pid, *inode));
        match inodes.iter().find(|inode| !is_started(inode)) {
            None if inodes.is_empty() => Owner::Unknown,
            None => Owner::Started,
            Some(inode) => holder(*inode).map_or(Owner::Unknown, Owner::Other),
        }
    }

    /// Addresses and inodes of the sockets that listen at a port, as `/proc/net/tcp` or `tcp6` has them.
    pub(super) fn listening(table: &str, port: u16) -> Vec<(IpAddr, u64)> {
        let row = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (address, local_port) = words.get(1)?.split_once(':')?;
            let is_listening = *words.get(3)? == "0A" && u16::from_str_radix(local_port, 16).ok()? == port;
            is_listening.then_some(())?;
            Some((read_address(address)?, words.get(9)?.parse().ok()?))
        };
        table.lines().skip(1).filter_map(row).collect()
    }

    /// Reads an address: words of four bytes in the byte order of the machine.
    fn read_address(text: &str) -> Option<IpAddr> {
        let word = |at: usize| u32::from_str_radix(text.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
        match text.len() {
            8 => Some(IpAddr::V4(Ipv4Addr::from(word(0)?))),
            32 => {
                let mut bytes = [0; 16];
                for (index, four) in bytes.chunks_exact_mut(4).enumerate() {
                    four.copy_from_slice(&word(index * 8)?);
                }
                Some(Ipv6Addr::from(bytes).to_canonical())
            }
            _ => None,
        }
    }

    /// The sockets that accept connections to an address: a specific address has priority over an unspecified
    /// one.
    pub(super) fn answering(listeners: &[(IpAddr, u64)], address: IpAddr) -> Vec<u64> {
        let of = |is_one: &dyn Fn(&IpAddr) -> bool| -> Vec<u64> {
            listeners.iter().filter(|(listens, _)| is_one(listens)).map(|(_, inode)| *inode).collect()
        };
        let exact = of(&|listens| *listens == address.to_canonical());
        if !exact.is_empty() {
            return exact;
        }
        let same_kind = of(&|listens| listens.is_unspecified() && listens.is_ipv4() == address.is_ipv4());
        if same_kind.is_empty() { of(&IpAddr::is_unspecified) } else { same_kind }
    }

    fn holds(pid: i32, inode: u64) -> bool {
        let wanted = format!("socket:[{inode}]");
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|target| target.as_os_str() == wanted.as_str())
    }

    /// The process that has a socket, by number and name.
    fn holder(inode: u64) -> Option<String> {
        let processes = fs::read_dir("/proc")
            .ok()?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let pid = processes.into_iter().find(|pid| holds(*pid, inode))?;
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        Some(format!("process {pid} ({})", yaml_reader::shown(name.trim())))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const TCP: &str = concat!(
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode\n",
            "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 4242\n",
            "   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000 0 4243\n",
            "   2: 00000000:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 4244\n",
        );
        const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
        const ALL: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        const ALL_6: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

        #[test]
        #[cfg(target_endian = "little")]
        fn listeners_are_read_and_connections_are_not() {
            assert_eq!(listening(TCP, 8080), [(LOCAL, 4242)]);
            assert_eq!(listening(TCP, 8081), [(ALL, 4244)]);
            assert_eq!(listening(TCP, 8082), []);
            assert_eq!(listening("nonsense\n1: x", 1), []);
            assert_eq!(read_address("00000000000000000000000000000000"), Some(ALL_6));
            assert_eq!(read_address("0000000000000000FFFF00000100007F"), Some(LOCAL));
        }

        #[test]
        fn a_listener_on_the_specific_address_has_priority() {
            assert_eq!(answering(&[(ALL, 1), (LOCAL, 2)], LOCAL), [2]);
            assert_eq!(answering(&[(ALL, 1), (ALL_6, 3)], LOCAL), [1]);
            assert_eq!(answering(&[(ALL_6, 3)], LOCAL), [3]);
            assert_eq!(answering(&[], LOCAL), [] as [u64; 0]);
        }

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
