//! Texts with holes for what is only known in a trial: `${payment.url}`. Pure.

use mock_services::yaml::{listed, nearest, shown};

use super::ServiceAddress;

/// The services that hapax ships, for telling a typing error from a service of the user's own.
const SHIPPED: [&str; 6] = ["payment", "email", "deploy", "records", "tickets", "smtp"];

/// A text with holes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Hole { service: String, part: Part },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Url,
    Host,
    Port,
    Key,
}

impl Part {
    const ALL: [(&'static str, Part); 4] = [("url", Part::Url), ("host", Part::Host), ("port", Part::Port), ("key", Part::Key)];
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
                    help: "write ${payment.url}, or $${ for the characters themselves".to_owned(),
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
            })
            .collect()
    }
}

fn hole(name: &str) -> Result<Piece, TemplateError> {
    let unknown = |help: String| Err(TemplateError { message: format!("there is no `${{{}}}`", shown(name)), help });
    let Some((service, part)) = name.split_once('.') else {
        return unknown(
            "name a service and a part of it: ${payment.url}, ${payment.host}, ${payment.port}, ${payment.key}".to_owned(),
        );
    };
    let near = nearest(service, SHIPPED).filter(|near| *near != service);
    if let Some(near) = near {
        return unknown(format!("did you mean `${{{near}.{}}}`?", shown(part)));
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if service.is_empty() || !service.bytes().all(is_name) {
        return unknown(format!("name a service: {}, or one of your own", listed(SHIPPED)));
    }
    match Part::ALL.into_iter().find(|(word, _)| *word == part) {
        Some((_, Part::Key)) if service == "smtp" => unknown("mail is sent with the key `${email.key}`".to_owned()),
        Some((_, part)) => Ok(Piece::Hole { service: service.to_owned(), part }),
        None => {
            let words = || Part::ALL.into_iter().map(|(word, _)| word);
            let allowed = format!("a service has {}", listed(words()));
            unknown(match nearest(part, words()) {
                Some(near) => format!("did you mean `${{{service}.{near}}}`? {allowed}"),
                None => allowed,
            })
        }
    }
}

fn filled(services: &[ServiceAddress], name: &str, part: Part) -> Option<String> {
    let (url, key) = if name == "smtp" {
        (services.iter().find_map(|service| service.smtp.as_deref())?, "")
    } else {
        services.iter().find(|service| service.name == name).map(|service| (service.url.as_str(), service.key.as_str()))?
    };
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest).split('/').next()?;
    let (host, port) = authority.rsplit_once(':')?;
    Some(match part {
        Part::Url => url.to_owned(),
        Part::Host => host.trim_matches(['[', ']']).to_owned(),
        Part::Port => port.to_owned(),
        Part::Key => key.to_owned(),
    })
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
