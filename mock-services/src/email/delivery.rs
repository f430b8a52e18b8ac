//! The delivery of an accepted mail to each recipient.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::email::mailbox::{Effect, Message};
use crate::service::After;

/// What happens to an accepted mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MailDelivery {
    /// It is delivered when it is accepted.
    #[default]
    Now,
    /// It is delivered later.
    After(After),
    /// It is accepted and never delivered.
    Never,
    /// It bounces later.
    Bounced(After),
}

/// How the service delivers the mail it accepts.
#[derive(Debug, Clone, Default, Serialize)]
pub struct EmailOptions {
    /// The delivery of all mail that `addresses` does not name.
    pub delivery: MailDelivery,
    /// The delivery of mail to these addresses.
    pub addresses: Vec<(String, MailDelivery)>,
}

impl EmailOptions {
    /// The delivery of mail to this address. Resend's test addresses have their own delivery, with or without
    /// a label (`bounced+signup@resend.dev`), unless `addresses` names them.
    fn delivery_to(&self, plain: &str) -> MailDelivery {
        let named = self.addresses.iter().find(|(address, _)| address.eq_ignore_ascii_case(plain));
        let test = plain.strip_suffix("@resend.dev").map(|local| local.split('+').next().unwrap_or(local));
        match (named, test) {
            (Some((_, delivery)), _) => *delivery,
            (None, Some("delivered")) => MailDelivery::Now,
            (None, Some("bounced")) => MailDelivery::Bounced(After::Requests(0)),
            _ => self.delivery,
        }
    }

    /// The immediate effects and the delayed ones. Each mail is accepted just before it is delivered, so that
    /// a list that is only partly committed shows nothing of the rest.
    pub(super) fn plan(
        &self,
        messages: &[Arc<Message>],
        now: Timestamp,
    ) -> (Vec<Effect>, Vec<(After, Effect)>) {
        let (mut effects, mut afterwards) = (Vec::new(), Vec::new());
        for message in messages {
            effects.push(Effect::Accepted(Arc::clone(message)));
            for (recipient, plain) in message.draft.recipients.iter().enumerate() {
                let message = Arc::clone(message);
                match self.delivery_to(plain) {
                    MailDelivery::Now => effects.push(Effect::Delivered { message, recipient, at: now }),
                    MailDelivery::After(after) => {
                        afterwards.push((
                            after,
                            Effect::Delivered { message, recipient, at: expected(now, after) },
                        ));
                    }
                    MailDelivery::Never => {}
                    MailDelivery::Bounced(after) => {
                        afterwards
                            .push((after, Effect::Bounced { message, recipient, at: expected(now, after) }));
                    }
                }
            }
        }
        (effects, afterwards)
    }
}

/// The expected time of a delayed effect, when it depends on the clock.
fn expected(now: Timestamp, after: After) -> Timestamp {
    match after {
        After::Time(wait) => {
            SignedDuration::try_from(wait).ok().and_then(|wait| now.checked_add(wait).ok()).unwrap_or(now)
        }
        After::Requests(_) | After::Settled => now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_named_address_overrides_a_test_address() {
        let options = EmailOptions {
            delivery: MailDelivery::Never,
            addresses: vec![
                ("Ann@x.example".to_owned(), MailDelivery::Now),
                ("bounced+1@resend.dev".to_owned(), MailDelivery::Now),
            ],
        };
        assert_eq!(options.delivery_to("ann@x.example"), MailDelivery::Now);
        assert_eq!(options.delivery_to("bob@x.example"), MailDelivery::Never);
        assert_eq!(options.delivery_to("delivered+a@resend.dev"), MailDelivery::Now);
        assert_eq!(options.delivery_to("bounced@resend.dev"), MailDelivery::Bounced(After::Requests(0)));
        assert_eq!(options.delivery_to("bounced+1@resend.dev"), MailDelivery::Now);
    }

    #[test]
    fn a_time_out_of_range_is_ignored() {
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(expected(now, After::Time(Duration::MAX)), now);
        assert_eq!(expected(now, After::Time(Duration::from_secs(2))).as_second(), 2);
    }
}
