//! The network of a sealed start: the loopback interface, to which every address belongs. A connection to any
//! address is therefore refused at once, or reaches hapax if it serves the port; hapax sees each of them.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// The loopback interface is the first of a network namespace.
const LOOPBACK: u32 = 1;

const NEW_LINK: u16 = 16;
const NEW_ROUTE: u16 = 24;
const ERROR: u16 = 2;
/// A request with an acknowledgement.
const REQUEST: u16 = 0x1 | 0x4;
/// Create what must not exist yet.
const CREATE: u16 = 0x400 | 0x200;

const INET: u8 = 2;
const INET6: u8 = 10;

/// Brings the loopback interface up and makes every address one of this machine.
pub(super) fn bring_up() -> io::Result<()> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    ask(&socket, NEW_LINK, REQUEST, &link_up())?;
    ask(&socket, NEW_ROUTE, REQUEST | CREATE, &all_addresses_are_local(INET))?;
    // On a system without IPv6 no packet can be sent with it.
    let _ = ask(&socket, NEW_ROUTE, REQUEST | CREATE, &all_addresses_are_local(INET6));
    Ok(())
}

/// `struct ifinfomsg`: the interface gets the flag `IFF_UP`.
fn link_up() -> Vec<u8> {
    let (family, kind, up) = ([0u8, 0], 0u16, 1u32);
    let mut body = family.to_vec();
    body.extend(kind.to_ne_bytes());
    body.extend(LOOPBACK.to_ne_bytes());
    body.extend(up.to_ne_bytes());
    body.extend(up.to_ne_bytes());
    body
}

/// `struct rtmsg` and the attribute `RTA_OIF`: the local route to all addresses, as
/// `ip route add local default dev lo` makes it.
fn all_addresses_are_local(family: u8) -> Vec<u8> {
    const TABLE_LOCAL: u8 = 255;
    const PROTOCOL_BOOT: u8 = 3;
    const SCOPE_HOST: u8 = 254;
    const TYPE_LOCAL: u8 = 2;
    let mut body = vec![family, 0, 0, 0, TABLE_LOCAL, PROTOCOL_BOOT, SCOPE_HOST, TYPE_LOCAL];
    body.extend(0u32.to_ne_bytes());
    let (length, output_interface) = (8u16, 4u16);
    body.extend(length.to_ne_bytes());
    body.extend(output_interface.to_ne_bytes());
    body.extend(LOOPBACK.to_ne_bytes());
    body
}

/// Sends one netlink message and waits for its acknowledgement.
fn ask(socket: &OwnedFd, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    const HEAD: usize = 16;
    let length = u32::try_from(HEAD + body.len()).unwrap_or(u32::MAX);
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    send(socket, &message, SendFlags::empty())?;
    let mut reply = [0u8; 1024];
    let (read, _) = recv(socket, &mut reply, RecvFlags::empty())?;
    let reply = &reply[..read];
    let is_acknowledged = reply.get(4..6) == Some(&ERROR.to_ne_bytes()[..]);
    let code = reply.get(HEAD..HEAD + 4).and_then(|code| code.try_into().ok()).map(i32::from_ne_bytes);
    match code.filter(|_| is_acknowledged) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::Error::other("the system answered a netlink request with something else")),
    }
}
