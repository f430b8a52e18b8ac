//! Copies what one side of a connection sends to the other. The way in which one side ends the connection is
//! the way in which the other sees it end: a reset stays a reset.

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, split};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// A connection that can be reset.
pub(in crate::subject) trait Resettable: AsyncRead + AsyncWrite + Unpin {
    /// Its TCP connection.
    fn tcp(&self) -> &TcpStream;
}

impl Resettable for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Resettable for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// Copies in both directions until both sides have ended.
pub(in crate::subject) async fn relay(mut one: impl Resettable, mut other: TcpStream) {
    let _ = one.tcp().set_nodelay(true);
    let _ = other.set_nodelay(true);
    let copied = {
        let (mut from_one, mut to_one) = split(&mut one);
        let (mut from_other, mut to_other) = split(&mut other);
        let there = async {
            copy(&mut from_one, &mut to_other).await?;
            to_other.shutdown().await
        };
        let back = async {
            copy(&mut from_other, &mut to_one).await?;
            to_one.shutdown().await
        };
        tokio::try_join!(there, back)
    };
    if copied.is_err() {
        let _ = one.tcp().set_zero_linger();
        let _ = other.set_zero_linger();
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Both ends of a connection.
    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, listener.accept().await.unwrap().0)
    }

    async fn relayed() -> (TcpStream, TcpStream) {
        let ((client, near), (far, service)) = (pair().await, pair().await);
        tokio::spawn(relay(near, far));
        (client, service)
    }

    #[tokio::test]
    async fn both_sides_hear_each_other_and_an_end_is_an_end() {
        let (mut client, mut service) = relayed().await;
        client.write_all(b"ask").await.unwrap();
        client.shutdown().await.unwrap();
        let mut text = String::new();
        service.read_to_string(&mut text).await.unwrap();
        service.write_all(b"answer").await.unwrap();
        drop(service);
        client.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "askanswer");
    }

    #[tokio::test]
    async fn a_reset_of_either_side_is_a_reset_for_the_other() {
        let (mut client, service) = relayed().await;
        service.set_zero_linger().unwrap();
        drop(service);
        assert_eq!(client.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
        let (client, mut service) = relayed().await;
        client.set_zero_linger().unwrap();
        drop(client);
        assert_eq!(service.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}
