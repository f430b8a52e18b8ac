//! Texts with holes for what is only known in a trial: `${payment.url}`. Pure.

use mock_services::catalog::{self, examples};
use mock_services::yaml::{listed, nearest, shown};
use serde::Serialize;

use super::ServiceAddress;

/// The SMTP side of a service, in plain text and over TLS.
const MAIL_SERVERS: [&str; 2] = ["smtp", "smtps"];

/// The names that hapax ships, to tell a typing error from a service of the user's own.
fn shipped() -> impl Iterator<Item = &'static str> + Clone {
    catalog::names().chain(MAIL_SERVERS)
}

/// A text with holes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
enum Piece {
    Text(String),
    Hole {
        service: String,
        part: Part,
    },
    /// The port of an agent over HTTP.
    Port,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Part {
    Url,
    Host,
    Port,
    Key,
    User,
    Password,
    Ca,
}

impl Part {
    /// What every service has.
    const OF_A_SERVICE: [(&'static str, Part); 4] =
        [("url", Part::Url), ("host", Part::Host), ("port", Part::Port), ("key", Part::Key)];
    /// What a mail server has.
    const OF_MAIL: [(&'static str, Part); 6] = [
        ("url", Part::Url),
        ("host", Part::Host),
        ("port", Part::Port),
        ("user", Part::User),
        ("password", Part::Password),
        ("ca", Part::Ca),
    ];

    fn of(service: &str) -> &'static [(&'static str, Part)] {
        if is_mail(service) { &Part::OF_MAIL } else { &Part::OF_A_SERVICE }
    }
}

/// Whether it is the SMTP side of a service.
fn is_mail(service: &str) -> bool {
    MAIL_SERVERS.contains(&service)
}

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl Template {
    /// The text, where it has no holes.
    #[must_use]
    pub fn constant(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Reads a text; `$${` stands for `${`.
    ///
    /// # Errors
    /// Where a hole is not closed, or names nothing that there is.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                plain.push_str(&rest[..at]);
                plain.push('{');
                rest = &rest[at + 2..];
                continue;
            }
            plain.push_str(&rest[..at]);
            let Some(length) = rest[at + 2..].find('}') else {
                let message = format!("`{}` is not closed", shown(&rest[at..]));
                return Err(TemplateError {
                    message,
                    help: format!(
                        "write ${{{}.url}}, or $${{ for the characters themselves",
                        examples::SERVICE
                    ),
                });
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(hole(&rest[at + 2..at + 2 + length])?);
            rest = &rest[at + 3 + length..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Template(pieces))
    }

    /// The text for these services; `None` where it speaks of one that is not among them.
    #[must_use]
    pub fn fill(&self, services: &[ServiceAddress]) -> Option<String> {
        self.0
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => Some(text.clone()),
                Piece::Hole { service, part } => filled(services, service, *part),
                Piece::Port => None,
            })
            .collect()
    }

    /// The same text with this port for `${port}`.
    #[must_use]
    pub(super) fn with_port(mut self, port: u16) -> Self {
        for piece in &mut self.0 {
            if *piece == Piece::Port {
                *piece = Piece::Text(port.to_string());
            }
        }
        self
    }
}

fn hole(name: &str) -> Result<Piece, TemplateError> {
    let unknown =
        |help: String| Err(TemplateError { message: format!("there is no `${{{}}}`", shown(name)), help });
    if name == "port" {
        return Ok(Piece::Port);
    }
    let Some((service, part)) = name.split_once('.') else {
        let parts = Part::OF_A_SERVICE.map(|(part, _)| format!("${{{}.{part}}}", examples::SERVICE));
        return unknown(format!("name a service and a part of it: {}", parts.join(", ")));
    };
    let near = nearest(service, shipped()).filter(|near| *near != service);
    if let Some(near) = near {
        return unknown(format!("did you mean `${{{near}.{}}}`?", shown(part)));
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if service.is_empty() || !service.bytes().all(is_name) {
        return unknown(format!("name a service: {}, or one of your own", listed(shipped())));
    }
    match Part::of(service).iter().find(|(word, _)| *word == part) {
        Some((_, part)) => Ok(Piece::Hole { service: service.to_owned(), part: *part }),
        None if is_mail(service) && part == "key" => {
            unknown(format!("the key is the password: `${{{service}.password}}`"))
        }
        None => {
            let words = || Part::of(service).iter().map(|(word, _)| *word);
            let allowed = format!(
                "{} has {}",
                if is_mail(service) { "a mail server" } else { "a service" },
                listed(words())
            );
            unknown(match nearest(part, words()) {
                Some(near) => format!("did you mean `${{{service}.{near}}}`? {allowed}"),
                None => allowed,
            })
        }
    }
}

fn filled(services: &[ServiceAddress], name: &str, part: Part) -> Option<String> {
    let mail = services.iter().find(|service| service.smtp.is_some());
    let service = if is_mail(name) { mail? } else { services.iter().find(|service| service.name == name)? };
    let smtp = service.smtp.as_ref();
    let url = match name {
        "smtp" => &smtp?.url,
        "smtps" => smtp?.tls_url.as_ref()?,
        _ => &service.url,
    };
    let authority = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest).split('/').next()?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, address)| address);
    let (host, port) = authority.rsplit_once(':')?;
    Some(match part {
        Part::Url => url.to_owned(),
        Part::Host => host.trim_matches(['[', ']']).to_owned(),
        Part::Port => port.to_owned(),
        Part::Key | Part::Password => service.key.clone(),
        Part::User => super::mail::SMTP_USER.to_owned(),
        Part::Ca => smtp?.trust.as_ref()?.ca.to_string_lossy().into_owned(),
    })
}

#[cfg(test)]
mod tests;
