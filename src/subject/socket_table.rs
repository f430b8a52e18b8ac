//! The TCP sockets of this machine, as `/proc/net/tcp` and `tcp6` list them, and the processes that have them.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state of a socket that listens.
const LISTENING: &str = "0A";

/// One TCP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TcpRow {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    pub(super) is_listening: bool,
    pub(super) inode: u64,
}

/// All TCP sockets of this network namespace.
pub(super) fn rows() -> Vec<TcpRow> {
    let table = |file: &str| read(&fs::read_to_string(file).unwrap_or_default());
    let mut rows = table("/proc/self/net/tcp");
    rows.extend(table("/proc/self/net/tcp6"));
    rows
}

fn read(table: &str) -> Vec<TcpRow> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some(TcpRow {
            local: read_address(words.get(1)?)?,
            remote: read_address(words.get(2)?)?,
            is_listening: *words.get(3)? == LISTENING,
            inode: words.get(9)?.parse().ok()?,
        })
    };
    table.lines().skip(1).filter_map(row).collect()
}

/// Reads an address, words of four bytes in the byte order of the machine, and a port.
fn read_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (index, four) in bytes.chunks_exact_mut(4).enumerate() {
                four.copy_from_slice(&word(index * 8)?);
            }
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// The sockets that accept connections to an address: a specific address has priority over an unspecified one.
pub(super) fn answering(rows: &[TcpRow], address: SocketAddr) -> Vec<u64> {
    let of = |is_one: &dyn Fn(IpAddr) -> bool| -> Vec<u64> {
        let listeners = rows.iter().filter(|row| row.is_listening && row.local.port() == address.port());
        listeners.filter(|row| is_one(row.local.ip())).map(|row| row.inode).collect()
    };
    let ip = address.ip().to_canonical();
    let exact = of(&|listens| listens == ip);
    if !exact.is_empty() {
        return exact;
    }
    let same_kind = of(&|listens| listens.is_unspecified() && listens.is_ipv4() == ip.is_ipv4());
    if same_kind.is_empty() { of(&|listens| listens.is_unspecified()) } else { same_kind }
}

/// Whether a process has a socket.
pub(super) fn holds(pid: i32, inode: u64) -> bool {
    let wanted = format!("socket:[{inode}]");
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files
        .filter_map(|file| fs::read_link(file.path()).ok())
        .any(|target| target.as_os_str() == wanted.as_str())
}

/// The processes that have a socket.
pub(super) fn holders(inode: u64) -> impl Iterator<Item = i32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(move |pid| holds(*pid, inode))
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
    fn sockets_are_read_with_both_addresses() {
        let rows = read(TCP);
        assert_eq!(rows.iter().map(|row| row.inode).collect::<Vec<_>>(), [4242, 4243, 4244]);
        assert_eq!(rows[1].remote, SocketAddr::new(LOCAL, 50_000));
        assert_eq!(rows.iter().map(|row| row.is_listening).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(answering(&rows, SocketAddr::new(LOCAL, 8080)), [4242]);
        assert_eq!(answering(&rows, SocketAddr::new(LOCAL, 8081)), [4244]);
        assert_eq!(answering(&rows, SocketAddr::new(LOCAL, 8082)), [] as [u64; 0]);
        assert_eq!(read("nonsense\n1: x"), []);
        let ip = |text: &str| read_address(text).map(|address| address.ip());
        assert_eq!(ip("00000000000000000000000000000000:0001"), Some(ALL_6));
        assert_eq!(ip("0000000000000000FFFF00000100007F:0001"), Some(LOCAL));
    }

    #[test]
    fn a_listener_on_the_specific_address_has_priority() {
        let answers = |listeners: &[(IpAddr, u64)]| {
            let row = |(ip, inode): &(IpAddr, u64)| TcpRow {
                local: SocketAddr::new(*ip, 1),
                remote: SocketAddr::new(ALL, 0),
                is_listening: true,
                inode: *inode,
            };
            answering(&listeners.iter().map(row).collect::<Vec<_>>(), SocketAddr::new(LOCAL, 1))
        };
        assert_eq!(answers(&[(ALL, 1), (LOCAL, 2)]), [2]);
        assert_eq!(answers(&[(ALL, 1), (ALL_6, 3)]), [1]);
        assert_eq!(answers(&[(ALL_6, 3)]), [3]);
        assert_eq!(answers(&[]), [] as [u64; 0]);
    }
}
