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
    for head in
        ["", "\r\n", "GET", "GET / HTTP/1.1\r\n\r\n", "CONNECT host:port HTTP/1.1", "\u{16}\u{3}\u{1}", &long]
    {
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
    let mut recorder = Recorder::start(Hosts::default(), Vec::new(), Vec::new(), None).await.unwrap();
    let mut events = recorder.events().unwrap();
    for _ in 0..3 {
        let answer = sent(&recorder, "CONNECT api.stripe.com:443 HTTP/1.1\r\n\r\n").await;
        assert!(
            answer.starts_with("HTTP/1.1 403 ")
                && answer.contains("api.stripe.com is not allowed in this trial"),
            "{answer}"
        );
    }
    assert!(sent(&recorder, "hello\r\n\r\n").await.starts_with("HTTP/1.1 400 "));
    let expected = Escape {
        host: "api.stripe.com".to_owned(),
        port: 443,
        transport: Transport::Tcp,
        method: "CONNECT".to_owned(),
    };
    assert_eq!(events.try_recv().unwrap(), ProxyEvent::Escaped(expected.clone()));
    assert!(events.try_recv().is_err());
    assert_eq!(recorder.escapes(), [expected]);
}

#[tokio::test]
async fn a_subject_that_tries_the_whole_world_fills_no_memory() {
    let recorder = Recorder::start(Hosts::default(), Vec::new(), Vec::new(), None).await.unwrap();
    for number in 0..MAX_RECORDED + 20 {
        sent(&recorder, &format!("CONNECT host-{number}.example:443 HTTP/1.1\r\n\r\n")).await;
    }
    assert_eq!(recorder.escapes().len(), MAX_RECORDED);
}

/// A host that answers one connection: it gives what it was sent up to the end of the head, and sends this.
async fn host(answer: &'static str) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = tokio::spawn(async move {
        let (mut line, _) = listener.accept().await.unwrap();
        let mut read = Vec::new();
        while head_end(&read).is_none() && line.read_buf(&mut read).await.unwrap() > 0 {}
        line.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(read).unwrap()
    });
    (port, task)
}

fn allowing(text: &str) -> Hosts {
    Hosts { allow: vec![super::super::HostPattern::allowed(text).unwrap()], ..Hosts::default() }
}

#[tokio::test]
async fn a_request_to_an_allowed_host_is_forwarded_and_counted() {
    let (port, heard) = host("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").await;
    let recorder =
        Recorder::start(allowing(&format!("localhost:{port}")), Vec::new(), Vec::new(), None).await.unwrap();
    let request = format!("GET http://localhost:{port}/v1/models HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
    assert!(sent(&recorder, &request).await.starts_with("HTTP/1.1 204 "));
    assert!(heard.await.unwrap().starts_with("GET /v1/models HTTP/1.1\r\n"));
    let passed = HostRequests { requests: 1, ..HostRequests::to("localhost", port, HostTreatment::Allowed) };
    assert_eq!((recorder.passed(), recorder.escapes()), (vec![passed], Vec::new()));
}

#[tokio::test]
async fn what_is_encrypted_goes_through_a_tunnel_that_ends_with_the_recorder() {
    let (port, heard) = host("hello").await;
    let recorder = Recorder::start(allowing("localhost"), Vec::new(), Vec::new(), None).await.unwrap();
    let mut line = TcpStream::connect(recorder.url().strip_prefix("http://").unwrap()).await.unwrap();
    line.write_all(format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\nany bytes\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    line.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "HTTP/1.1 200 Connection established\r\n\r\nhello");
    assert_eq!(heard.await.unwrap(), "any bytes\r\n\r\n");

    let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let mut line = TcpStream::connect(recorder.url().strip_prefix("http://").unwrap()).await.unwrap();
    line.write_all(format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    let (mut far, _) = silent.accept().await.unwrap();
    drop(recorder);
    // Both ends see the end of it.
    assert!(matches!(far.read(&mut [0; 8]).await, Ok(0) | Err(_)));
    let _ = line.read_to_end(&mut Vec::new()).await;
}

#[tokio::test]
async fn a_host_that_is_allowed_and_not_there_is_said_to_be_so() {
    let free = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port();
    let recorder = Recorder::start(allowing("localhost"), Vec::new(), Vec::new(), None).await.unwrap();
    let answer = sent(&recorder, &format!("CONNECT localhost:{free} HTTP/1.1\r\n\r\n")).await;
    assert!(
        answer.starts_with("HTTP/1.1 502 ") && answer.contains("cannot connect to the allowed host"),
        "{answer}"
    );
    assert_eq!((recorder.passed()[0].failed, recorder.escapes().len()), (1, 0));
}

#[tokio::test]
async fn an_ignored_host_is_refused_without_an_escape() {
    let ignore = vec![super::super::HostPattern::ignored("*.sentry.io").unwrap()];
    let recorder =
        Recorder::start(Hosts { ignore, ..Hosts::default() }, Vec::new(), Vec::new(), None).await.unwrap();
    for _ in 0..2 {
        assert!(
            sent(&recorder, "CONNECT o1.ingest.sentry.io:443 HTTP/1.1\r\n\r\n")
                .await
                .starts_with("HTTP/1.1 403 ")
        );
    }
    let passed = recorder.passed();
    assert_eq!(
        (passed[0].requests, passed[0].treatment, recorder.escapes().len()),
        (2, HostTreatment::Ignored, 0)
    );
}

#[tokio::test]
async fn a_client_that_requests_a_service_of_the_trial_through_the_proxy_is_refused() {
    let own = vec![OwnPort { port: 4242, service: "payment".to_owned() }];
    // Allowing this machine does not lead to the services of the trial.
    let mut recorder = Recorder::start(allowing("127.0.0.1"), own, Vec::new(), None).await.unwrap();
    let answer =
        sent(&recorder, "POST http://127.0.0.1:4242/v1/charges HTTP/1.1\r\nHost: 127.0.0.1:4242\r\n\r\n")
            .await;
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("NO_PROXY"), "{answer}");
    let event = recorder.events().unwrap().try_recv();
    assert!(matches!(event, Ok(ProxyEvent::Proxied(_, service)) if service == "payment"));
}

#[tokio::test]
async fn a_request_that_nobody_waits_for_is_served_before_the_drain_ends() {
    let recorder = Recorder::start(Hosts::default(), Vec::new(), Vec::new(), None).await.unwrap();
    let address = recorder.url().strip_prefix("http://").unwrap().to_owned();
    // Without a pause for the runtime: it has not noticed any of them.
    for number in 0..50 {
        let mut client = std::net::TcpStream::connect(&address).unwrap();
        let request = format!("CONNECT host-{number}.example:443 HTTP/1.1\r\n\r\n");
        std::io::Write::write_all(&mut client, request.as_bytes()).unwrap();
    }
    recorder.drain().await;
    assert_eq!(recorder.escapes().len(), 50);
}

#[tokio::test]
async fn a_service_for_every_host_answers_for_hosts_that_are_neither_allowed_nor_ignored() {
    let (port, heard) = host("HTTP/1.1 201 Created\r\nConnection: close\r\n\r\n").await;
    let route = ServiceRoute {
        service: "any".to_owned(),
        hosts: Vec::new(),
        any_host: true,
        http: SocketAddr::from(([127, 0, 0, 1], port)),
        smtp: None,
        smtps: None,
    };
    let ignore = vec![super::super::HostPattern::ignored("*.sentry.io").unwrap()];
    let recorder =
        Recorder::start(Hosts { ignore, ..Hosts::default() }, Vec::new(), vec![route], None).await.unwrap();
    let request = |host: &str| format!("POST http://{host}/x HTTP/1.1\r\nHost: {host}\r\n\r\n");
    assert!(sent(&recorder, &request("o1.sentry.io")).await.starts_with("HTTP/1.1 403 "));
    assert!(sent(&recorder, &request("127.0.0.1:9")).await.starts_with("HTTP/1.1 403 "));
    assert!(sent(&recorder, &request("api.example.com")).await.starts_with("HTTP/1.1 201 "));
    assert!(heard.await.unwrap().starts_with("POST /x HTTP/1.1\r\nHost: api.example.com\r\n"));
    let escaped: Vec<String> = recorder.escapes().into_iter().map(|escape| escape.host).collect();
    assert_eq!(escaped, ["127.0.0.1"]);
}

/// Java's client leaves without a word when it refuses a certificate, as one does that is killed.
#[tokio::test]
async fn a_handshake_that_is_broken_off_is_a_refusal_unless_the_certificate_was_accepted_before() {
    let recorder = Recorder::start(Hosts::default(), Vec::new(), Vec::new(), None).await.unwrap();
    let handle = recorder.handle();
    let left = io::Error::from(io::ErrorKind::UnexpectedEof);
    let alert = io::Error::from(io::ErrorKind::InvalidData);
    assert!(handle.is_refusal("api.example.com", &left));
    handle.certificate_accepted("api.example.com");
    assert!(!handle.is_refusal("api.example.com", &left));
    assert!(handle.is_refusal("api.example.com", &alert));
    assert!(handle.is_refusal("other.example.com", &left));
}
