//! What a sealed subject sends, as the network of its namespace shows it: the first packet of each
//! connection, the answer to it, and every datagram, at any port. A filter in the system passes on only
//! these, so that none is lost among the data of other connections.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{RecvFlags, eth, recv};
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

use super::resolver;
use crate::domain::Transport;

/// How many packet sockets there are: one for each version of IP.
pub(super) const SOCKETS: usize = 2;
/// The largest part of a packet that is read: a whole query for a name.
const MAX_PACKET: u32 = 4096;

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMP_ECHO: u8 = 8;
const IGMP: u8 = 2;
const ICMP_V6: u8 = 58;
const ICMP_V6_ECHO: u8 = 128;
const HOP_BY_HOP: u8 = 0;
const V6_HEAD: u32 = 40;

/// Opens the packet sockets. This process must be allowed to in its network namespace.
pub(super) fn open() -> io::Result<[OwnedFd; SOCKETS]> {
    let socket = |protocol: rustix::net::Protocol, filter: &[SockFilter]| -> io::Result<OwnedFd> {
        let protocol = i32::try_from(protocol.as_raw().get()).map_err(io::Error::other)?;
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(Protocol::from(protocol)))?;
        socket.attach_filter(filter)?;
        Ok(socket.into())
    };
    Ok([socket(eth::IP, &filter_v4())?, socket(eth::IPV6, &filter_v6())?])
}

/// Reads the packets that have arrived, until there is none.
pub(super) fn receive(socket: impl AsFd, mut take: impl FnMut(&Packet<'_>)) -> io::Result<()> {
    let mut buffer = [0; MAX_PACKET as usize];
    loop {
        let (read, _) = recv(&socket, &mut buffer[..], RecvFlags::DONTWAIT)?;
        if let Some(packet) = Packet::read(&buffer[..read]) {
            take(&packet);
        }
    }
}

/// The first packet of a connection, the answer to it, or a datagram.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Packet<'p> {
    pub(super) kind: PacketKind,
    /// Where it goes; where an answer comes from.
    pub(super) address: IpAddr,
    /// The port; 0 if its protocol has none.
    pub(super) port: u16,
    pub(super) transport: Transport,
    /// What a UDP datagram says.
    pub(super) payload: &'p [u8],
}

/// What a packet is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PacketKind {
    /// It opens a connection, or is a datagram.
    Sent,
    /// The connection was accepted.
    Accepted,
    /// The connection was refused, or ended later by a reset.
    Refused,
}

impl<'p> Packet<'p> {
    /// Reads a packet that begins with its IP head.
    pub(super) fn read(packet: &'p [u8]) -> Option<Self> {
        let (from, to, protocol, body) = match packet.first()? >> 4 {
            4 => {
                let address =
                    |at: usize| Some(IpAddr::from(<[u8; 4]>::try_from(packet.get(at..at + 4)?).ok()?));
                let length = usize::from(packet[0] & 0xf) * 4;
                (address(12)?, address(16)?, *packet.get(9)?, packet.get(length..)?)
            }
            6 => {
                let address =
                    |at: usize| Some(IpAddr::from(<[u8; 16]>::try_from(packet.get(at..at + 16)?).ok()?));
                (address(8)?, address(24)?, *packet.get(6)?, packet.get(V6_HEAD as usize..)?)
            }
            _ => return None,
        };
        let half = |at: usize| Some(u16::from_be_bytes(body.get(at..at + 2)?.try_into().ok()?));
        let sent = |port: u16, transport: Transport, payload: &'p [u8]| Packet {
            kind: PacketKind::Sent,
            address: to,
            port,
            transport,
            payload,
        };
        let answer =
            |kind: PacketKind, port: u16| Packet { kind, address: from, ..sent(port, Transport::Tcp, &[]) };
        Some(match protocol {
            TCP => match u32::from(*body.get(13)?) & (SYN | ACK | RESET) {
                SYN => sent(half(2)?, Transport::Tcp, &[]),
                SYN_AND_ACK => answer(PacketKind::Accepted, half(0)?),
                flags if flags & RESET != 0 => answer(PacketKind::Refused, half(0)?),
                _ => return None,
            },
            // An answer of the name server of hapax: the subject cannot take its port.
            UDP if to.is_ipv4() && half(0)? == resolver::PORT => return None,
            UDP => sent(half(2)?, Transport::Udp, body.get(8..).unwrap_or_default()),
            // What the system answers to a datagram that nobody takes.
            ICMP if *body.first()? != ICMP_ECHO => return None,
            ICMP_V6 if *body.first()? != ICMP_V6_ECHO => return None,
            // What the system tells its neighbors about groups that the subject joins.
            HOP_BY_HOP if to.is_ipv6() => return None,
            IGMP if to.is_ipv4() => return None,
            _ => sent(0, Transport::Other, &[]),
        })
    }
}

/// Steps of a filter, by their numbers in `man 7 packet` and `linux/bpf_common.h`.
mod step {
    use socket2::SockFilter;

    use super::MAX_PACKET;

    /// Loads a word of the packet.
    pub(super) const fn load_word(at: u32) -> SockFilter {
        SockFilter::new(0x20, 0, 0, at)
    }

    /// Loads a byte of the packet.
    pub(super) const fn load_byte(at: u32) -> SockFilter {
        SockFilter::new(0x30, 0, 0, at)
    }

    /// Keeps the length of the head of an IPv4 packet, for the next step.
    pub(super) const fn keep_v4_head() -> SockFilter {
        SockFilter::new(0xb1, 0, 0, 0)
    }

    /// Loads a byte, counted from the end of the head.
    pub(super) const fn load_byte_behind_head(at: u32) -> SockFilter {
        SockFilter::new(0x50, 0, 0, at)
    }

    pub(super) const fn and(mask: u32) -> SockFilter {
        SockFilter::new(0x54, 0, 0, mask)
    }

    /// Leaves out the next steps if the value is this one.
    pub(super) const fn skip_if(value: u32, steps: u8) -> SockFilter {
        SockFilter::new(0x15, steps, 0, value)
    }

    /// Leaves out the next steps if the value is another one.
    pub(super) const fn skip_unless(value: u32, steps: u8) -> SockFilter {
        SockFilter::new(0x15, 0, steps, value)
    }

    /// Leaves out the next steps if the value has none of these bits.
    pub(super) const fn skip_without(bits: u32, steps: u8) -> SockFilter {
        SockFilter::new(0x45, 0, steps, bits)
    }

    pub(super) const fn pass_on() -> SockFilter {
        SockFilter::new(0x06, 0, 0, MAX_PACKET)
    }

    pub(super) const fn drop_packet() -> SockFilter {
        SockFilter::new(0x06, 0, 0, 0)
    }
}

/// Flags of a TCP packet: the first packet of a connection has SYN alone, the answer to it has SYN and ACK,
/// or RESET.
const SYN: u32 = 0x02;
const RESET: u32 = 0x04;
const ACK: u32 = 0x10;
const SYN_AND_ACK: u32 = SYN | ACK;
/// The network `127.0.0.0/8`, which is the subject itself, and `127.1.0.0/16` in it, which has the addresses
/// of names.
const LOOPBACK: u32 = 0x7f00_0000;
const NAMES: u32 = 0x7f01_0000;

/// Everything but the subject's own loopback and the later packets of connections.
fn filter_v4() -> [SockFilter; 12] {
    use step::{
        and, drop_packet, keep_v4_head, load_byte, load_byte_behind_head, load_word, pass_on, skip_if,
        skip_unless, skip_without,
    };
    [
        load_word(16),
        and(0xffff_0000),
        skip_if(NAMES, 2),
        and(0xff00_0000),
        skip_if(LOOPBACK, 6),
        load_byte(9),
        skip_unless(TCP.into(), 3),
        keep_v4_head(),
        load_byte_behind_head(13),
        skip_without(SYN | RESET, 1),
        pass_on(),
        drop_packet(),
    ]
}

/// The same for IPv6, whose loopback is `::1`.
fn filter_v6() -> [SockFilter; 14] {
    use step::{drop_packet, load_byte, load_word, pass_on, skip_if, skip_unless, skip_without};
    [
        load_word(24),
        skip_unless(0, 6),
        load_word(28),
        skip_unless(0, 4),
        load_word(32),
        skip_unless(0, 2),
        load_word(36),
        skip_if(1, 5),
        load_byte(6),
        skip_unless(TCP.into(), 2),
        load_byte(V6_HEAD + 13),
        skip_without(SYN | RESET, 1),
        pass_on(),
        drop_packet(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(protocol: u8, body: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 20];
        (packet[0], packet[9]) = (0x45, protocol);
        packet[12..16].copy_from_slice(&[192, 0, 2, 1]);
        packet[16..20].copy_from_slice(&[93, 184, 216, 34]);
        [&packet, body].concat()
    }

    fn v6(protocol: u8, body: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 40];
        (packet[0], packet[6]) = (0x60, protocol);
        packet[24..40].copy_from_slice(&"2001:db8::1".parse::<std::net::Ipv6Addr>().unwrap().octets());
        [&packet, body].concat()
    }

    #[test]
    fn a_packet_says_where_it_goes() {
        let tcp = |flags: u8| [&[0x90, 0x01, 0x20, 0xfb][..], &[0; 9], &[flags], &[0; 6]].concat();
        let read = |packet: &[u8]| {
            Packet::read(packet).map(|packet| (packet.kind, packet.address.to_string(), packet.port))
        };
        let found = |kind, address: &str, port| Some((kind, address.to_owned(), port));
        assert_eq!(read(&v4(TCP, &tcp(0x02))), found(PacketKind::Sent, "93.184.216.34", 8443));
        assert_eq!(read(&v4(TCP, &tcp(0x12))), found(PacketKind::Accepted, "192.0.2.1", 0x9001));
        assert_eq!(read(&v4(TCP, &tcp(0x14))), found(PacketKind::Refused, "192.0.2.1", 0x9001));
        let datagram = v6(UDP, &[0x90, 0x01, 0x20, 0xfb, 0, 10, 0, 0, b'h', b'i']);
        assert_eq!(read(&datagram), found(PacketKind::Sent, "2001:db8::1", 8443));
        assert_eq!(Packet::read(&datagram).unwrap().payload, b"hi");
        assert_eq!(Packet::read(&v4(132, &[])).unwrap().transport, Transport::Other);
        assert_eq!(Packet::read(&v4(ICMP, &[ICMP_ECHO, 0])).unwrap().transport, Transport::Other);
        assert_eq!(Packet::read(&v6(ICMP_V6, &[ICMP_V6_ECHO, 0])).unwrap().port, 0);
    }

    #[test]
    fn what_the_system_or_hapax_sends_is_nothing_that_the_subject_sent() {
        let from_name_server = [0, 53, 0x20, 0xfb, 0, 8, 0, 0];
        for packet in [
            v4(UDP, &from_name_server),
            v4(ICMP, &[3, 3]),
            v6(ICMP_V6, &[1, 4]),
            v6(0, &[58, 0]),
            v4(IGMP, &[0x22, 0]),
            v4(TCP, &[0]),
            vec![],
            vec![0x45],
            vec![0x20; 60],
        ] {
            assert_eq!(Packet::read(&packet), None, "{packet:?}");
        }
    }
}
