//! The same faults over SMTP, on the reply to a message: the `250` is lost, and the message is delivered
//! nevertheless.

use std::sync::Arc;

use mock_services::MockServices;
use mock_services::ledger::{ClosedBy, Event};
use mock_services::service::{EffectFacts, Value};

use crate::kit::ledger::replied;
use crate::kit::{End, RawConnection, attempts, commits, email, events, faults, start, wait_for_value};

/// Reads one reply with all its lines.
async fn reply(connection: &mut RawConnection) -> String {
    let mut text = String::new();
    loop {
        let one = String::from_utf8(connection.read_through(b"\r\n").await).unwrap();
        text.push_str(&one);
        if one.as_bytes().get(3) != Some(&b'-') {
            return text;
        }
    }
}

async fn send_command(connection: &mut RawConnection, command: &str) -> String {
    connection.send(format!("{command}\r\n").as_bytes()).await;
    reply(connection).await
}

async fn greeted_connection(services: &MockServices) -> RawConnection {
    let mut connection = RawConnection::open(services.smtp_address("email", 1).unwrap()).await;
    assert!(reply(&mut connection).await.starts_with("220 "));
    assert!(send_command(&mut connection, "EHLO shop.example").await.starts_with("250-"));
    connection
}

/// Sends a message up to the final dot; its reply is not read yet.
async fn send_message(connection: &mut RawConnection, to: &str) {
    assert!(send_command(connection, "MAIL FROM:<shop@shop.example>").await.starts_with("250 "));
    assert!(send_command(connection, &format!("RCPT TO:<{to}>")).await.starts_with("250 "));
    assert!(send_command(connection, "DATA").await.starts_with("354 "));
    connection
        .send(b"From: shop@shop.example\r\nSubject: Your order\r\n\r\nIt is on its way.\r\n.\r\n")
        .await;
}

async fn faulted(reply: &str) -> (MockServices, RawConnection) {
    let services = start(email(&[&format!("email.send#1 commit=now reply={reply}")])).await;
    let mut connection = greeted_connection(&services).await;
    send_message(&mut connection, "ann@x.example").await;
    (services, connection)
}

async fn closed_by(services: &MockServices) -> ClosedBy {
    wait_for_value(services, |event| if let Event::Closed { by, .. } = event { Some(*by) } else { None })
        .await
}

#[tokio::test]
async fn an_accepted_message_is_answered_and_more_can_follow() {
    let services = start(email(&[])).await;
    let mut connection = greeted_connection(&services).await;
    for number in 1..=3 {
        send_message(&mut connection, "ann@x.example").await;
        let answer = reply(&mut connection).await;
        assert!(answer.starts_with("250 2.0.0 Ok: queued as "), "{answer}");
        let recorded = replied(&services, number).await;
        assert_eq!((recorded.bytes, recorded.whole, recorded.status), (answer.len() as u64, true, Some(250)));
    }
    assert!(send_command(&mut connection, "QUIT").await.starts_with("221 "));
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin));
    assert_eq!(commits(&services), [1, 2, 3]);
}

#[tokio::test]
async fn drop_loses_the_250_with_a_fin() {
    let (services, mut connection) = faulted("drop").await;
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin));
    assert_eq!((replied(&services, 1).await.bytes, commits(&services)), (0, vec![1]));
    drop(connection);
    assert_eq!(closed_by(&services).await, ClosedBy::Service);
}

#[tokio::test]
async fn reset_loses_the_250_with_a_rst() {
    let (services, mut connection) = faulted("reset").await;
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Reset));
    assert_eq!((replied(&services, 1).await.bytes, commits(&services)), (0, vec![1]));
    assert_eq!(closed_by(&services).await, ClosedBy::Service);
}

#[tokio::test]
async fn hang_keeps_the_connection_silent_until_the_client_leaves() {
    let (services, mut connection) = faulted("{hang: {release: 10m}}").await;
    wait_for_value(&services, |event| matches!(event, Event::Committed { .. }).then_some(())).await;
    assert!(connection.is_silent().await);
    drop(connection);
    assert_eq!(closed_by(&services).await, ClosedBy::Caller);
    assert_eq!(replied(&services, 1).await.bytes, 0);
}

#[tokio::test]
async fn hang_ends_with_a_fin_after_its_release() {
    let (services, mut connection) = faulted("{hang: {release: 40ms}}").await;
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin));
    assert_eq!((replied(&services, 1).await.bytes, commits(&services)), (0, vec![1]));
}

#[tokio::test]
async fn a_503_is_a_421_and_ends_the_session() {
    let (services, mut connection) = faulted("{status: 503}").await;
    let (bytes, end) = connection.read_to_end().await;
    assert_eq!(bytes, b"421 4.3.2 Service not available, closing transmission channel\r\n");
    assert_eq!((end, commits(&services)), (End::Fin, vec![1]));
    let recorded = replied(&services, 1).await;
    assert_eq!((recorded.bytes, recorded.whole, recorded.status), (bytes.len() as u64, true, Some(421)));
}

#[tokio::test]
async fn garble_is_a_line_that_is_not_a_reply() {
    let (services, mut connection) = faulted("garble").await;
    let bytes = connection.read_through(b"\r\n").await;
    assert!(bytes[..3].iter().any(|byte| !byte.is_ascii_digit()), "{}", bytes.escape_ascii());
    let recorded = replied(&services, 1).await;
    assert_eq!((recorded.bytes, recorded.whole), (bytes.len() as u64, true));
    assert!(send_command(&mut connection, "NOOP").await.starts_with("250 "), "the connection is open");
}

#[tokio::test]
async fn truncate_is_half_a_line_and_a_fin() {
    let (services, mut connection) = faulted("truncate").await;
    let (bytes, end) = connection.read_to_end().await;
    assert!(bytes.starts_with(b"250 2.0.0 ") && !bytes.ends_with(b"\r\n"), "{}", bytes.escape_ascii());
    let recorded = replied(&services, 1).await;
    assert_eq!((recorded.bytes, recorded.whole, end), (bytes.len() as u64, false, End::Fin));
}

#[tokio::test]
async fn delay_and_drip_send_the_250_in_the_end() {
    for manner in ["{delay: 40ms}", "{drip: 40ms}"] {
        let (services, mut connection) = faulted(manner).await;
        let answer = reply(&mut connection).await;
        assert!(answer.starts_with("250 2.0.0 Ok: queued as "), "{answer}");
        let recorded = replied(&services, 1).await;
        assert_eq!((recorded.bytes, recorded.whole), (answer.len() as u64, true));
    }
}

#[tokio::test]
async fn another_session_continues_while_one_is_reset() {
    let services = start(email(&["email.send#1 commit=now reply=reset"])).await;
    let (mut other, mut faulted) = (greeted_connection(&services).await, greeted_connection(&services).await);
    assert!(send_command(&mut other, "MAIL FROM:<shop@shop.example>").await.starts_with("250 "));
    send_message(&mut faulted, "ann@x.example").await;
    assert_eq!(faulted.read_to_end().await.1, End::Reset);
    assert!(send_command(&mut other, "RSET").await.starts_with("250 "));
    send_message(&mut other, "bob@x.example").await;
    assert!(reply(&mut other).await.starts_with("250 "));
}

#[tokio::test]
async fn without_the_api_key_no_message_is_accepted_and_no_fault_is_used_up() {
    let builder = mock_services::MockServices::builder()
        .faults(faults(&["email.send#1 commit=now reply=drop"]))
        .service(mock_services::email::Email::default(), mock_services::ServiceOptions::default());
    let services = start(builder).await;
    let mut connection = greeted_connection(&services).await;
    assert!(send_command(&mut connection, "MAIL FROM:<shop@shop.example>").await.starts_with("530 "));
    // base64 of "\0user\0wrong".
    assert!(send_command(&mut connection, "AUTH PLAIN AHVzZXIAd3Jvbmc=").await.starts_with("535 "));
    let refused = events(&services)
        .iter()
        .any(|event| matches!(event, Event::Refused(refused) if refused.status == 535));
    assert!(refused && attempts(&services).is_empty());
    assert!(services.fired()[0].attempts.is_empty());
    assert!(send_command(&mut connection, "AUTH LOGIN").await.starts_with("334 "));
    assert!(send_command(&mut connection, "dXNlcg==").await.starts_with("334 "));
    assert!(send_command(&mut connection, &base64(services.key("email").unwrap())).await.starts_with("235 "));
    send_message(&mut connection, "ann@x.example").await;
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin));
    assert_eq!(services.fired()[0].attempts, [1]);
}

fn base64(text: &str) -> String {
    const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for group in text.as_bytes().chunks(3) {
        let word =
            group.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let symbol = SYMBOLS[(word >> (18 - 6 * place)) as usize & 63];
            encoded.push(if place <= group.len() { char::from(symbol) } else { '=' });
        }
    }
    encoded
}

#[tokio::test]
async fn an_oversized_reply_has_many_lines() {
    let (services, mut connection) = faulted("{oversize: 100KB}").await;
    let answer = reply(&mut connection).await;
    assert!(
        answer.len() >= 100_000 && answer.lines().all(|line| line.starts_with("250")),
        "{}",
        answer.len()
    );
    assert!(answer.lines().last().unwrap().starts_with("250 2.0.0 Ok: queued as "));
    let recorded = replied(&services, 1).await;
    assert_eq!((recorded.whole, recorded.bytes), (true, answer.len() as u64));
    assert!(send_command(&mut connection, "NOOP").await.starts_with("250 "));
}

#[tokio::test]
async fn a_message_to_a_test_address_uses_up_no_fault() {
    let to_ann =
        Arc::new(|facts: &EffectFacts| facts.fields.get("to") == Some(&Value::from("ann@x.example")));
    let services = start(email(&["email.send#1 commit=never reply={status: 451}"]).intended(to_ann)).await;
    let mut connection = greeted_connection(&services).await;
    send_message(&mut connection, "bounced@resend.dev").await;
    assert!(reply(&mut connection).await.starts_with("250 "));
    send_message(&mut connection, "ann@x.example").await;
    assert!(
        reply(&mut connection).await.starts_with("451 "),
        "the fault waits for the mail that is intended"
    );
}
