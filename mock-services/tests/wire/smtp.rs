//! The same faults over SMTP, on the answer to a message: the `250` is lost, and the message is delivered all
//! the same.

use mock_services::MockServices;
use mock_services::ledger::{ClosedBy, Event};

use crate::kit::ledger::replied;
use crate::kit::{Connection, End, attempts, commits, email, events, faults, started, wait_for_value};

/// Reads one reply, of however many lines.
async fn reply(line: &mut Connection) -> String {
    let mut text = String::new();
    loop {
        let one = String::from_utf8(line.through(b"\r\n").await).unwrap();
        text.push_str(&one);
        if one.as_bytes().get(3) != Some(&b'-') {
            return text;
        }
    }
}

async fn say(line: &mut Connection, command: &str) -> String {
    line.send(format!("{command}\r\n").as_bytes()).await;
    reply(line).await
}

async fn greeted(services: &MockServices) -> Connection {
    let mut line = Connection::open(services.smtp_address("email", 1).unwrap()).await;
    assert!(reply(&mut line).await.starts_with("220 "));
    assert!(say(&mut line, "EHLO shop.example").await.starts_with("250-"));
    line
}

/// Hands a message over, up to the dot that ends it; the answer to it has not been read.
async fn hand_over(line: &mut Connection, to: &str) {
    assert!(say(line, "MAIL FROM:<shop@shop.example>").await.starts_with("250 "));
    assert!(say(line, &format!("RCPT TO:<{to}>")).await.starts_with("250 "));
    assert!(say(line, "DATA").await.starts_with("354 "));
    line.send(b"From: shop@shop.example\r\nSubject: Your order\r\n\r\nIt is on its way.\r\n.\r\n").await;
}

async fn struck(reply: &str) -> (MockServices, Connection) {
    let services = started(email(&[&format!("email.send#1 commit=now reply={reply}")])).await;
    let mut line = greeted(&services).await;
    hand_over(&mut line, "ann@x.example").await;
    (services, line)
}

async fn closed_by(services: &MockServices) -> ClosedBy {
    wait_for_value(services, |event| if let Event::Closed { by, .. } = event { Some(*by) } else { None })
        .await
}

#[tokio::test]
async fn a_message_that_is_taken_is_answered_and_more_may_follow() {
    let services = started(email(&[])).await;
    let mut line = greeted(&services).await;
    for number in 1..=3 {
        hand_over(&mut line, "ann@x.example").await;
        let answer = reply(&mut line).await;
        assert!(answer.starts_with("250 2.0.0 Ok: queued as "), "{answer}");
        let told = replied(&services, number).await;
        assert_eq!((told.bytes, told.whole, told.status), (answer.len() as u64, true, Some(250)));
    }
    assert!(say(&mut line, "QUIT").await.starts_with("221 "));
    assert_eq!(line.rest().await, (Vec::new(), End::Fin));
    assert_eq!(commits(&services), [1, 2, 3]);
}

#[tokio::test]
async fn drop_loses_the_250_with_a_fin() {
    let (services, mut line) = struck("drop").await;
    assert_eq!(line.rest().await, (Vec::new(), End::Fin));
    assert_eq!((replied(&services, 1).await.bytes, commits(&services)), (0, vec![1]));
    drop(line);
    assert_eq!(closed_by(&services).await, ClosedBy::Service);
}

#[tokio::test]
async fn reset_loses_the_250_with_a_rst() {
    let (services, mut line) = struck("reset").await;
    assert_eq!(line.rest().await, (Vec::new(), End::Reset));
    assert_eq!((replied(&services, 1).await.bytes, commits(&services)), (0, vec![1]));
    assert_eq!(closed_by(&services).await, ClosedBy::Service);
}

#[tokio::test]
async fn hang_keeps_the_line_open_and_silent_until_the_caller_leaves() {
    let (services, mut line) = struck("{hang: {release: 10m}}").await;
    wait_for_value(&services, |event| matches!(event, Event::Committed { .. }).then_some(())).await;
    assert!(line.is_silent().await);
    drop(line);
    assert_eq!(closed_by(&services).await, ClosedBy::Caller);
    assert_eq!(replied(&services, 1).await.bytes, 0);
}

#[tokio::test]
async fn hang_ends_with_a_fin_when_its_release_is_over() {
    let (services, mut line) = struck("{hang: {release: 40ms}}").await;
    assert_eq!(line.rest().await, (Vec::new(), End::Fin));
    assert_eq!((replied(&services, 1).await.bytes, commits(&services)), (0, vec![1]));
}

#[tokio::test]
async fn a_status_of_503_is_a_421_and_the_end_of_the_conversation() {
    let (services, mut line) = struck("{status: 503}").await;
    let (bytes, end) = line.rest().await;
    assert_eq!(bytes, b"421 4.3.2 Service not available, closing transmission channel\r\n");
    assert_eq!((end, commits(&services)), (End::Fin, vec![1]));
    let told = replied(&services, 1).await;
    assert_eq!((told.bytes, told.whole, told.status), (bytes.len() as u64, true, Some(421)));
}

#[tokio::test]
async fn garble_is_a_line_that_is_no_reply() {
    let (services, mut line) = struck("garble").await;
    let bytes = line.through(b"\r\n").await;
    assert!(bytes[..3].iter().any(|byte| !byte.is_ascii_digit()), "{}", bytes.escape_ascii());
    let told = replied(&services, 1).await;
    assert_eq!((told.bytes, told.whole), (bytes.len() as u64, true));
    assert!(say(&mut line, "NOOP").await.starts_with("250 "), "the line is open");
}

#[tokio::test]
async fn truncate_is_half_of_a_line_and_a_fin() {
    let (services, mut line) = struck("truncate").await;
    let (bytes, end) = line.rest().await;
    assert!(bytes.starts_with(b"250 2.0.0 ") && !bytes.ends_with(b"\r\n"), "{}", bytes.escape_ascii());
    let told = replied(&services, 1).await;
    assert_eq!((told.bytes, told.whole, end), (bytes.len() as u64, false, End::Fin));
}

#[tokio::test]
async fn delay_and_drip_bring_the_250_after_all() {
    for manner in ["{delay: 40ms}", "{drip: 40ms}"] {
        let (services, mut line) = struck(manner).await;
        let answer = reply(&mut line).await;
        assert!(answer.starts_with("250 2.0.0 Ok: queued as "), "{answer}");
        let told = replied(&services, 1).await;
        assert_eq!((told.bytes, told.whole), (answer.len() as u64, true));
    }
}

#[tokio::test]
async fn another_conversation_goes_on_while_one_is_cut_off() {
    let services = started(email(&["email.send#1 commit=now reply=reset"])).await;
    let (mut other, mut faulted) = (greeted(&services).await, greeted(&services).await);
    assert!(say(&mut other, "MAIL FROM:<shop@shop.example>").await.starts_with("250 "));
    hand_over(&mut faulted, "ann@x.example").await;
    assert_eq!(faulted.rest().await.1, End::Reset);
    assert!(say(&mut other, "RSET").await.starts_with("250 "));
    hand_over(&mut other, "bob@x.example").await;
    assert!(reply(&mut other).await.starts_with("250 "));
}

#[tokio::test]
async fn without_the_minted_key_nothing_is_taken_and_no_fault_is_used_up() {
    let builder = mock_services::MockServices::builder()
        .faults(faults(&["email.send#1 commit=now reply=drop"]))
        .service(mock_services::email::Email::default(), mock_services::ServiceOptions::default());
    let services = started(builder).await;
    let mut line = greeted(&services).await;
    assert!(say(&mut line, "MAIL FROM:<shop@shop.example>").await.starts_with("530 "));
    // base64 of "\0user\0wrong".
    assert!(say(&mut line, "AUTH PLAIN AHVzZXIAd3Jvbmc=").await.starts_with("535 "));
    let refused = events(&services).iter().any(|event| matches!(event, Event::Refused { status: 535, .. }));
    assert!(refused && attempts(&services).is_empty());
    assert!(services.fired()[0].attempts.is_empty());
    assert!(say(&mut line, "AUTH LOGIN").await.starts_with("334 "));
    assert!(say(&mut line, "dXNlcg==").await.starts_with("334 "));
    assert!(say(&mut line, &base64(services.key("email").unwrap())).await.starts_with("235 "));
    hand_over(&mut line, "ann@x.example").await;
    assert_eq!(line.rest().await, (Vec::new(), End::Fin));
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
async fn an_oversized_reply_is_one_of_many_lines() {
    let (services, mut line) = struck("{oversize: 100KB}").await;
    let answer = reply(&mut line).await;
    assert!(
        answer.len() >= 100_000 && answer.lines().all(|line| line.starts_with("250")),
        "{}",
        answer.len()
    );
    assert!(answer.lines().last().unwrap().starts_with("250 2.0.0 Ok: queued as "));
    let told = replied(&services, 1).await;
    assert_eq!((told.whole, told.bytes), (true, answer.len() as u64));
    assert!(say(&mut line, "NOOP").await.starts_with("250 "));
}
