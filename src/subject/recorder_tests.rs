use super::*;

fn escape(head: &str) -> Option<(String, u16, String)> {
    wanted(head).map(|escape| (escape.host, escape.port, escape.method))
}

#[test]
fn where_a_request_wanted_to_go_is_read_from_its_head() {
    let cases = [
        ("CONNECT api.stripe.com:443 HTTP/1.1\r\n\r\n", ("api.stripe.com", 443, "CONNECT")),
        ("POST http://API.resend.com/emails HTTP/1.1\r\nHost: other\r\n\r\n", ("api.resend.com", 80, "POST")),
        ("GET https://user:secret@example.com:8443?a=b HTTP/1.1\r\n\r\n", ("example.com", 8443, "GET")),
        ("GET / HTTP/1.1\r\nhost: [::2]:81\r\n\r\n", ("::2", 81, "GET")),
        ("CONNECT [2001:db8::1] HTTP/1.1\r\n\r\n", ("2001:db8::1", 443, "CONNECT")),
    ];
    for (head, (host, port, method)) in cases {
        assert_eq!(escape(head), Some((host.to_owned(), port, method.to_owned())), "{head}");
    }
}

#[test]
fn what_is_no_request_leads_nowhere() {
    let long = format!("CONNECT {}:443 HTTP/1.1", "a".repeat(300));
    for head in ["", "\r\n", "GET", "GET / HTTP/1.1\r\n\r\n", "CONNECT host:port HTTP/1.1", "\u{16}\u{3}\u{1}", &long] {
        assert_eq!(escape(head), None, "{head}");
    }
}

async fn sent(recorder: &Recorder, text: &str) -> String {
    let mut line = TcpStream::connect(recorder.url().strip_prefix("http://").unwrap()).await.unwrap();
    line.write_all(text.as_bytes()).await.unwrap();
    line.shutdown().await.unwrap();
    let mut answer = String::new();
    line.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn every_request_is_refused_and_each_place_is_remembered_once() {
    let mut recorder = Recorder::start().await.unwrap();
    let mut events = recorder.events().unwrap();
    for _ in 0..3 {
        let answer = sent(&recorder, "CONNECT api.stripe.com:443 HTTP/1.1\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("api.stripe.com was not reached"), "{answer}");
    }
    assert!(sent(&recorder, "hello\r\n\r\n").await.starts_with("HTTP/1.1 400 "));
    let expected = Escape { host: "api.stripe.com".to_owned(), port: 443, method: "CONNECT".to_owned() };
    assert_eq!(events.try_recv().unwrap(), expected);
    assert!(events.try_recv().is_err());
    assert_eq!(recorder.escapes(), [expected]);
}

#[tokio::test]
async fn a_subject_that_tries_the_whole_world_fills_no_memory() {
    let recorder = Recorder::start().await.unwrap();
    for number in 0..MOST + 20 {
        sent(&recorder, &format!("CONNECT host-{number}.example:443 HTTP/1.1\r\n\r\n")).await;
    }
    assert_eq!(recorder.escapes().len(), MOST);
}
