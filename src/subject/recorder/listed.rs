//! Connections to hosts that are listed as harmless for some requests: the requests decide. One that is not listed goes to
//! the service that stands for the host, or is refused with a finding, as for any other host.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::forward::{HANDSHAKE_TIMEOUT, head_end};
use super::{Escape, MAX_HEAD_BYTES, RecorderHandle, TIME_LIMIT, refusal};
use crate::domain::HostTreatment;
use crate::subject::harmless::is_harmless;
use crate::subject::relay::{Resettable, relay};
use crate::subject::route::ServiceRoute;

/// The first line and the host of a request.
#[derive(Debug, PartialEq, Eq)]
struct SentRequest<'a> {
    method: &'a str,
    path: &'a str,
    /// The host that it names, without a port.
    host: &'a str,
}

impl<'a> SentRequest<'a> {
    fn parse(head: &'a str) -> Option<Self> {
        let mut lines = head.lines();
        let mut words = lines.next()?.split_whitespace();
        let (method, target) = (words.next()?, words.next()?);
        let named =
            |line: &'a str| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("host"));
        let (_, host) = lines.find_map(named)?;
        let (of_target, path) = match target.split_once("://") {
            None => (None, target),
            Some((_, rest)) => {
                let end = rest.find(['/', '?']).unwrap_or(rest.len());
                (Some(&rest[..end]), &rest[end..])
            }
        };
        let host = of_target.unwrap_or(host).trim();
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        let path = path.split(['?', '#']).next().filter(|path| !path.is_empty()).unwrap_or("/");
        Some(SentRequest { method, path, host })
    }

    /// Whether programs send it by themselves to the host of the connection. A request that names another host is for
    /// that host.
    fn is_harmless(&self, wanted: &Escape) -> bool {
        self.host.eq_ignore_ascii_case(&wanted.host)
            && is_harmless(&wanted.host, wanted.port, self.method, self.path)
    }
}

/// Whether a request to the proxy, up to the end of its head, is harmless.
pub(super) fn harmless_request(wanted: &Escape, read: &[u8]) -> bool {
    let head = String::from_utf8_lossy(read);
    head_end(read).is_some() && SentRequest::parse(&head).is_some_and(|head| head.is_harmless(wanted))
}

/// Answers in place of a host, for a client that asked the proxy for a connection and accepts its certificates.
pub(super) async fn intercept_listed(
    mut client: TcpStream,
    wanted: &Escape,
    recorder: &RecorderHandle,
) -> io::Result<()> {
    let Some(tls) = mock_services::https_config() else {
        return Err(io::Error::other("no certificate could be made"));
    };
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    let routes = recorder.routes.clone();
    match timeout(HANDSHAKE_TIMEOUT, TlsAcceptor::from(tls).accept(client)).await {
        Ok(Ok(client)) => {
            recorder.certificate_accepted(&wanted.host);
            answer_listed(client, wanted, &routes, recorder).await
        }
        Ok(Err(error)) => {
            unread(wanted, &routes, recorder, recorder.is_refusal(&wanted.host, &error));
            Ok(())
        }
        Err(_) => {
            unread(wanted, &routes, recorder, false);
            Ok(())
        }
    }
}

/// Reads the first request of a connection, and ends the connection after it: the next one is read by itself.
pub(in crate::subject) async fn answer_listed(
    mut client: impl Resettable,
    wanted: &Escape,
    routes: &[ServiceRoute],
    recorder: &RecorderHandle,
) -> io::Result<()> {
    let mut read = Vec::new();
    let reading = async {
        while head_end(&read).is_none() && read.len() < MAX_HEAD_BYTES {
            if client.read_buf(&mut read).await? == 0 {
                break;
            }
        }
        io::Result::Ok(())
    };
    // A client that leaves has sent no request.
    let _ = timeout(TIME_LIMIT, reading).await;
    if read.is_empty() {
        unread(wanted, routes, recorder, false);
        return Ok(());
    }
    if harmless_request(wanted, &read) {
        recorder.ignored(wanted);
        let text =
            format!("hapax: requests to {} are ignored in this trial and not forwarded.\n", wanted.host);
        return timeout(TIME_LIMIT, async {
            client.write_all(refusal("403 Forbidden", &text).as_bytes()).await?;
            client.shutdown().await?;
            // Read the rest of the request; otherwise the client may see a reset instead of the response.
            let mut rest = [0; 4096];
            while client.read(&mut rest).await? > 0 {}
            Ok(())
        })
        .await?;
    }
    match ServiceRoute::find(routes, &wanted.host) {
        Some(route) => {
            let mut service = TcpStream::connect(route.http).await?;
            service.write_all(&read).await?;
            relay(client, service).await;
        }
        None => {
            recorder.escaped(wanted.clone());
            let _ = client.tcp().set_zero_linger();
        }
    }
    Ok(())
}

/// Records a connection of which no request could be read.
pub(in crate::subject) fn unread(
    wanted: &Escape,
    routes: &[ServiceRoute],
    recorder: &RecorderHandle,
    is_certificate_refused: bool,
) {
    if recorder.treatment(routes, wanted) == Some(HostTreatment::Ignored) {
        recorder.ignored(wanted);
    } else if ServiceRoute::find(routes, &wanted.host).is_none() {
        recorder.escaped(wanted.clone());
    } else if is_certificate_refused {
        recorder.certificate_refused(wanted.clone());
    } else {
        recorder.contacted(wanted.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::super::Recorder;
    use super::*;
    use crate::domain::Transport;
    use crate::subject::Hosts;

    fn to(host: &str, port: u16, method: &str) -> Escape {
        Escape { host: host.to_owned(), port, transport: Transport::Tcp, method: method.to_owned() }
    }

    #[test]
    fn a_request_is_harmless_by_its_method_its_path_and_the_host_that_it_names() {
        let wanted = to("errors.stripe.com", 443, "CONNECT");
        let is = |head: &str| harmless_request(&wanted, head.as_bytes());
        assert!(is("POST /api/426/store/?sentry_key=1 HTTP/1.1\r\nHost: errors.stripe.com\r\n\r\n"));
        assert!(is(
            "POST https://errors.stripe.com/api/426/store/ HTTP/1.1\r\nHost: errors.stripe.com:443\r\n\r\n"
        ));
        for other in [
            "DELETE /api/426/store/ HTTP/1.1\r\nHost: errors.stripe.com\r\n\r\n",
            "POST /v1/charges HTTP/1.1\r\nHost: errors.stripe.com\r\n\r\n",
            "POST /v1/charges?/api/426/store/ HTTP/1.1\r\nHost: errors.stripe.com\r\n\r\n",
            "POST /api/426/store/ HTTP/1.1\r\nHost: api.stripe.com\r\n\r\n",
            "POST /api/426/store/ HTTP/1.1\r\n\r\n",
            "POST /api/426/store/ HTTP/1.1\r\nHost: errors.stripe.com\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ] {
            assert!(!is(other), "{other}");
        }
    }

    /// How many connections are ignored, and the hosts that escape, of one that sends this to the proxy.
    async fn sent(text: &str) -> (usize, Vec<String>) {
        let recorder = Recorder::start(Hosts::default(), Vec::new(), Vec::new(), None).await.unwrap();
        let mut line = TcpStream::connect(recorder.url().strip_prefix("http://").unwrap()).await.unwrap();
        line.write_all(text.as_bytes()).await.unwrap();
        line.shutdown().await.unwrap();
        let mut answer = String::new();
        line.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        let escaped = recorder.escapes().into_iter().map(|escape| escape.host);
        (recorder.passed().len(), escaped.collect())
    }

    #[tokio::test]
    async fn the_proxy_ignores_a_listed_request_and_no_other_of_the_host() {
        let path = "/encodings/o200k_base.tiktoken";
        let host = "openaipublic.blob.core.windows.net";
        let request = |method: &str, host: &str, path: &str| {
            format!("{method} http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
        };
        assert_eq!(sent(&request("GET", host, path)).await, (1, vec![]));
        assert_eq!(sent(&request("PUT", host, path)).await, (0, vec![host.to_owned()]));
        assert_eq!(sent(&request("GET", host, "/secrets")).await, (0, vec![host.to_owned()]));
        let unknown = "openaipublic.blob.example.com";
        assert_eq!(sent(&request("GET", unknown, path)).await, (0, vec![unknown.to_owned()]));
        // The first has nothing else; what is sent to the second cannot be read.
        let connect = |host: &str| format!("CONNECT {host}:443 HTTP/1.1\r\n\r\n");
        assert_eq!(sent(&connect(host)).await, (1, vec![]));
        let shared = "api.smith.langchain.com";
        assert_eq!(sent(&connect(shared)).await, (0, vec![shared.to_owned()]));
    }

    /// The same of a connection of which hapax reads the requests.
    async fn read_by_hapax(host: &str, request: &str) -> (usize, Vec<String>) {
        let recorder = Recorder::start(Hosts::default(), Vec::new(), Vec::new(), None).await.unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        answer_listed(accepted, &to(host, 443, "CONNECT"), &[], &recorder.handle()).await.unwrap();
        let escaped = recorder.escapes().into_iter().map(|escape| escape.host);
        (recorder.passed().len(), escaped.collect())
    }

    #[tokio::test]
    async fn where_requests_can_be_read_each_decides() {
        let host = "api.smith.langchain.com";
        let traces = format!("POST /runs/batch HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(read_by_hapax(host, &traces).await, (1, vec![]));
        let effect = format!("POST /datasets HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(read_by_hapax(host, &effect).await, (0, vec![host.to_owned()]));
        assert_eq!(read_by_hapax(host, "").await, (0, vec![host.to_owned()]));
        assert_eq!(read_by_hapax("r.stripe.com", "").await, (1, vec![]));
    }
}
