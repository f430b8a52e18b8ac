//! The name server of a sealed subject. Every name has an IPv4 address and no IPv6 address.

use std::sync::Arc;

use simple_dns::rdata::{A, RData};
use simple_dns::{CLASS, Packet, PacketFlag, QTYPE, RCODE, ResourceRecord, TYPE};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use super::host_names::HostNames;

/// The port of name servers.
pub(super) const PORT: u16 = 53;
/// The largest query over UDP.
const MAX_QUERY: usize = 4096;
/// How long a client may keep an answer, in seconds: an address stays the same as long as the subject runs.
const LIFETIME: u32 = 60;

/// Answers queries over UDP until it is dropped.
pub(super) async fn serve_udp(socket: UdpSocket, names: Arc<HostNames>) {
    let mut query = [0; MAX_QUERY];
    loop {
        // An error is about an earlier answer whose client is gone.
        let Ok((length, client)) = socket.recv_from(&mut query).await else { continue };
        if let Some(answer) = answer(&query[..length], &names) {
            let _ = socket.send_to(&answer, client).await;
        }
    }
}

/// Answers the queries of one connection. `false` if it sent something else, or nothing.
pub(super) async fn serve_tcp(mut stream: TcpStream, names: &HostNames) -> bool {
    let mut has_asked = false;
    loop {
        let Ok(length) = stream.read_u16().await else { return has_asked };
        let mut query = vec![0; usize::from(length)];
        let is_read = stream.read_exact(&mut query).await.is_ok();
        let Some(answer) = answer(&query, names).filter(|_| is_read) else { return false };
        has_asked = true;
        let Ok(length) = u16::try_from(answer.len()) else { return has_asked };
        if stream.write_all(&[&length.to_be_bytes(), &answer[..]].concat()).await.is_err() {
            return has_asked;
        }
    }
}

/// The name that a query asks for; `None` if it is not a query.
pub(super) fn asked_name(query: &[u8]) -> Option<String> {
    let query = Packet::parse(query).ok().filter(|packet| !packet.has_flags(PacketFlag::RESPONSE))?;
    Some(query.questions.first()?.qname.to_string())
}

/// The answer to a query; `None` if it is not one.
fn answer(query: &[u8], names: &HostNames) -> Option<Vec<u8>> {
    let query = Packet::parse(query).ok()?;
    let question = query.questions.first()?;
    let mut reply = Packet::new_reply(query.id());
    reply.set_flags(PacketFlag::RECURSION_AVAILABLE | PacketFlag::AUTHORITATIVE_ANSWER);
    if query.has_flags(PacketFlag::RECURSION_DESIRED) {
        reply.set_flags(PacketFlag::RECURSION_DESIRED);
    }
    reply.questions.push(question.clone());
    let name = question.qname.to_string();
    names.looked_up(&name);
    if question.qtype == QTYPE::TYPE(TYPE::A) {
        match names.address(&name) {
            Some(address) => reply.answers.push(ResourceRecord::new(
                question.qname.clone(),
                CLASS::IN,
                LIFETIME,
                RData::A(A::from(address)),
            )),
            None => *reply.rcode_mut() = RCODE::NameError,
        }
    }
    reply.build_bytes_vec().ok()
}

#[cfg(test)]
mod tests {
    use simple_dns::{Name, QCLASS, Question};

    use super::*;

    fn ask(name: &str, kind: TYPE) -> Option<Vec<std::net::Ipv4Addr>> {
        let mut query = Packet::new_query(7);
        let name = Name::new(name).unwrap();
        query.questions.push(Question::new(name, QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN), false));
        let reply = answer(&query.build_bytes_vec().unwrap(), &HostNames::default())?;
        let reply = Packet::parse(&reply).unwrap();
        assert_eq!((reply.id(), reply.rcode(), reply.questions.len()), (7, RCODE::NoError, 1));
        let addresses = reply.answers.iter().map(|record| match &record.rdata {
            RData::A(found) => std::net::Ipv4Addr::from(found.address),
            other => panic!("{other:?}"),
        });
        Some(addresses.collect())
    }

    #[test]
    fn every_name_has_an_address_and_none_has_an_ipv6_address() {
        assert_eq!(ask("api.stripe.com", TYPE::A).unwrap().len(), 1);
        assert_eq!(ask("api.stripe.com", TYPE::AAAA).unwrap(), Vec::<std::net::Ipv4Addr>::new());
        assert_eq!(ask("stripe.com", TYPE::MX).unwrap(), Vec::<std::net::Ipv4Addr>::new());
    }

    #[test]
    fn what_is_not_a_query_gets_no_answer() {
        for text in [&b""[..], b"x", &[0xff; 40], &[0; 12]] {
            assert_eq!(answer(text, &HostNames::default()), None);
        }
    }
}
