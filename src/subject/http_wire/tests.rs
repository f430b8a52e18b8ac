use super::*;
use proptest::prelude::*;

async fn read(bytes: &[u8]) -> Result<Answer, String> {
    read_answer(&mut &*bytes).await
}

#[test]
fn a_url_is_taken_apart() {
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
async fn an_answer_is_read_however_its_end_is_told() {
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
async fn what_is_no_answer_says_why() {
    let mut told = Vec::new();
    let large = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(MOST + 1));
    for text in [
        "",
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc",
        &format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", usize::MAX, "x".repeat(MOST)),
    ] {
        told.push(read(text.as_bytes()).await.unwrap_err());
    }
    insta::assert_snapshot!(told.join("\n"));
    // Its end came with its last byte, so it is whole; but it is too much.
    assert!(read(large.as_bytes()).await.is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(head in "(HTTP/1.1 [0-9]{3}\r\n)?(Transfer-Encoding: chunked\r\n)?", rest in proptest::collection::vec(any::<u8>(), 0..200)) {
        let bytes = [head.as_bytes(), b"\r\n\r\n", &rest].concat();
        let _ = parse(&bytes, true);
        let _ = parse(&bytes, false);
    }
}
