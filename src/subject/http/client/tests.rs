use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// What is read of an agent that sends these bytes when it has read the request.
async fn read(bytes: &[u8]) -> Result<AgentAnswer, String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/task", listener.local_addr().unwrap());
    let target = Target::parse(&url).unwrap();
    let line = target.connect().await.unwrap();
    let agent = async {
        let (mut line, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n{}") {
            assert_ne!(line.read_buf(&mut request).await.unwrap(), 0);
        }
        // The client may have read enough.
        let _ = line.write_all(bytes).await;
    };
    tokio::join!(ask(&target, line, "{}".to_owned(), None), agent).0
}

#[test]
fn a_url_is_parsed_into_host_port_and_path() {
    let target = Target::parse("http://localhost:8080/task?x=1").unwrap();
    assert_eq!((target.host.as_str(), target.port, target.path.as_str()), ("localhost", 8080, "/task?x=1"));
    let target = Target::parse("http://[::1]").unwrap();
    assert_eq!((target.host.as_str(), target.port, target.path.as_str()), ("::1", 80, "/"));
    assert_eq!(Target::parse("http://host?a").unwrap().path, "/?a");
    for url in [
        "https://host/",
        "host:80",
        "http://",
        "http://host:port/",
        "http://a b/",
        "http://u@host/",
        "http://host/\r\nX: y",
    ] {
        assert!(Target::parse(url).is_err(), "{url}");
    }
}

#[tokio::test]
async fn an_answer_is_read_however_its_end_is_marked() {
    let done = Ok((200, "done".to_owned()));
    assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone and more").await, done);
    assert_eq!(read(b"HTTP/1.0 200 OK\r\n\r\ndone").await, done);
    assert_eq!(
        read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\ndon\r\n1\r\ne\r\n0\r\n\r\n")
            .await,
        done
    );
    assert_eq!(
        read(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\nContent-Length: 4\r\n\r\ndone").await,
        done
    );
}

#[tokio::test]
async fn what_is_not_an_answer_says_why() {
    let mut errors = Vec::new();
    let large = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(MAX_ANSWER + 1));
    let longer =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", u64::MAX / 2, "x".repeat(MAX_ANSWER + 1));
    for text in [
        "",
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc",
        &longer,
        &large,
    ] {
        errors.push(read(text.as_bytes()).await.unwrap_err());
    }
    insta::assert_snapshot!(errors.join("\n"));
}
