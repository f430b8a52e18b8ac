//! Runs `hapax serve` and other verbs, and sends requests to the services.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

fn hapax() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapax"));
    command.env_remove("HAPAX_TOKEN").env("NO_COLOR", "1").env("COLUMNS", "120");
    command
}

/// A command that ends by itself.
pub(crate) struct Hapax;

impl Hapax {
    /// Exit status, standard output and standard error.
    pub(crate) fn run(arguments: &[&str]) -> (i32, String, String) {
        let output = hapax().args(arguments).stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

/// A running `hapax serve`; it is killed when dropped.
pub(crate) struct Serve {
    child: Child,
    out: BufReader<ChildStdout>,
    pub(crate) banner: String,
    printed: String,
}

impl Serve {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let json = arguments.contains(&"--json");
        let mut child = hapax()
            .arg("serve")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut error = BufReader::new(child.stderr.take().unwrap());
        let mut banner = String::new();
        // With --json the banner goes to standard error.
        let source: &mut dyn BufRead = if json { &mut error } else { &mut out };
        while !banner.ends_with("\n\n") || !banner.contains("HAPAX_ADMIN_TOKEN") {
            assert_ne!(source.read_line(&mut banner).unwrap(), 0, "it ended: {banner}");
        }
        // The rest is short and fits into the pipe, so nothing has to read it.
        std::mem::forget(error);
        Serve { child, out, banner, printed: String::new() }
    }

    /// The link to the live page, with the token.
    pub(crate) fn page(&self) -> &str {
        let link = self.banner.lines().find_map(|line| line.trim_start().strip_prefix("page "));
        link.expect("the banner has a link").trim()
    }

    /// A variable that it prints.
    pub(crate) fn variable(&self, name: &str) -> &str {
        let line = format!("export {name}=");
        self.banner
            .lines()
            .find_map(|have| have.strip_prefix(&line))
            .unwrap_or_else(|| panic!("no {name} in {}", self.banner))
    }

    /// The port in one of the URLs that it prints.
    pub(crate) fn port(&self, variable: &str) -> u16 {
        let url = self.variable(variable);
        url.rsplit(':').next().and_then(|port| port.trim_end_matches('/').parse().ok()).expect("a port")
    }

    /// Sends a form to a service; returns status and body, or nothing if the connection was closed.
    pub(crate) fn post(
        &self,
        service: &str,
        path: &str,
        form: &str,
        headers: &[(&str, &str)],
    ) -> Option<(u16, String)> {
        let kind = [("Content-Type", "application/x-www-form-urlencoded")];
        self.request(service, "POST", path, form, &[&kind, headers].concat())
    }

    pub(crate) fn request(
        &self,
        service: &str,
        method: &str,
        path: &str,
        body: &str,
        headers: &[(&str, &str)],
    ) -> Option<(u16, String)> {
        let stem = format!("HAPAX_{}", service.to_uppercase());
        let (url, key) = (self.variable(&format!("{stem}_URL")), self.variable(&format!("{stem}_KEY")));
        ask(url, method, path, body, key, headers)
    }

    /// Sends a request and does not read the answer.
    pub(crate) fn begin(&self, service: &str, method: &str, path: &str, body: &str) -> TcpStream {
        let stem = format!("HAPAX_{}", service.to_uppercase());
        let (url, key) = (self.variable(&format!("{stem}_URL")), self.variable(&format!("{stem}_KEY")));
        send(url, method, path, body, key, &[])
    }

    /// A request to the admin API: status and JSON.
    pub(crate) fn admin(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let (url, token) = (self.variable("HAPAX_ADMIN_URL"), self.variable("HAPAX_ADMIN_TOKEN"));
        let (status, text) = ask(url, method, path, body, token, &[]).expect("an answer");
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    /// The text of a path of the admin API.
    pub(crate) fn admin_text(&self, path: &str) -> String {
        let (url, token) = (self.variable("HAPAX_ADMIN_URL"), self.variable("HAPAX_ADMIN_TOKEN"));
        ask(url, "GET", path, "", token, &[]).expect("an answer").1
    }

    /// Reads until a line contains the text.
    pub(crate) fn wait_for(&mut self, text: &str) {
        loop {
            let mut line = String::new();
            assert_ne!(
                self.out.read_line(&mut line).unwrap(),
                0,
                "it ended without `{text}`: {}",
                self.printed
            );
            self.printed += &line;
            if line.contains(text) {
                return;
            }
        }
    }

    /// Sends Ctrl-C and returns everything that was printed after the banner.
    pub(crate) fn interrupt(mut self) -> String {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        self.out.read_to_string(&mut self.printed).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        std::mem::take(&mut self.printed)
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ask(
    url: &str,
    method: &str,
    path: &str,
    body: &str,
    key: &str,
    headers: &[(&str, &str)],
) -> Option<(u16, String)> {
    let mut line = send(url, method, path, body, key, headers);
    let mut answer = String::new();
    line.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

fn send(url: &str, method: &str, path: &str, body: &str, key: &str, headers: &[(&str, &str)]) -> TcpStream {
    let host = url.strip_prefix("http://").unwrap();
    let mut line = TcpStream::connect(host).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n{headers}");
    write!(line, "{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}").unwrap();
    line
}

/// The text with ports, keys, ids and times replaced.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::new();
    for line in text.lines() {
        let words: Vec<String> = line.split(' ').map(plain_word).collect();
        plain += words.join(" ").trim_end();
        plain.push('\n');
    }
    plain
}

fn plain_word(word: &str) -> String {
    if let Some((scheme, _)) = word.split_once("://apikey:") {
        return format!("{scheme}://apikey:SECRET@127.0.0.1:PORT");
    }
    if let Some((name, path)) = word.split_once('=').filter(|(_, path)| path.contains("/hapax-")) {
        return format!("{name}=TEMPORARY/{}", path.rsplit('/').next().unwrap_or_default());
    }
    if let Some((scheme, rest)) = word.split_once("://127.0.0.1:") {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (path, secret) =
            rest[end..].split_once("#token=").map_or((&rest[end..], ""), |(path, _)| (path, "#token=SECRET"));
        return format!("{scheme}://127.0.0.1:PORT{path}{secret}");
    }
    if let Some((name, _)) =
        word.split_once('=').filter(|(name, _)| name.ends_with("_KEY") || name.ends_with("_TOKEN"))
    {
        return format!("{name}=SECRET");
    }
    let is_time = word
        .split_once('.')
        .is_some_and(|(whole, part)| part.len() == 3 && format!("{whole}{part}").parse::<u64>().is_ok());
    if is_time { "TIME".to_owned() } else { word.to_owned() }
}
