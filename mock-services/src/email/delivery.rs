//! What becomes of an accepted mail, recipient by recipient.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::email::mailbox::{Effect, Message};
use crate::service::After;

/// What becomes of an accepted mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// It is delivered together with its acceptance.
    #[default]
    Now,
    /// It is delivered afterwards.
    After(After),
    /// It is accepted, and nobody ever gets it.
    Never,
    /// It comes back afterwards.
    Bounced(After),
}

/// How the service treats the mail it accepts.
#[derive(Debug, Clone, Default, Serialize)]
pub struct EmailOptions {
    /// What becomes of mail to anybody.
    pub delivery: Delivery,
    /// What becomes of mail to these addresses instead.
    pub addresses: Vec<(String, Delivery)>,
}

impl EmailOptions {
    /// What becomes of mail to this address. Resend's test addresses decide for themselves, with or without a
    /// label (`bounced+signup@resend.dev`), unless they are named in `addresses`.
    fn delivery_to(&self, plain: &str) -> Delivery {
        let named = self.addresses.iter().find(|(address, _)| address.eq_ignore_ascii_case(plain));
        let test = plain.strip_suffix("@resend.dev").map(|local| local.split('+').next().unwrap_or(local));
        match (named, test) {
            (Some((_, delivery)), _) => *delivery,
            (None, Some("delivered")) => Delivery::Now,
            (None, Some("bounced")) => Delivery::Bounced(After::Requests(0)),
            _ => self.delivery,
        }
    }

    /// What happens at once, and what follows by itself. Each mail is accepted just before it is delivered,
    /// so that where the list is cut nothing is seen of the mails behind the cut.
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
                    Delivery::Now => effects.push(Effect::Delivered { message, recipient, at: now }),
                    Delivery::After(after) => {
                        afterwards.push((
                            after,
                            Effect::Delivered { message, recipient, at: expected(now, after) },
                        ));
                    }
                    Delivery::Never => {}
                    Delivery::Bounced(after) => {
                        afterwards
                            .push((after, Effect::Bounced { message, recipient, at: expected(now, after) }));
                    }
                }
            }
        }
        (effects, afterwards)
    }
}

/// When it will be, as far as the clock tells.
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
    fn an_address_that_is_named_comes_before_one_that_decides_for_itself() {
        let options = EmailOptions {
            delivery: Delivery::Never,
            addresses: vec![
                ("Ann@x.example".to_owned(), Delivery::Now),
                ("bounced+1@resend.dev".to_owned(), Delivery::Now),
            ],
        };
        assert_eq!(options.delivery_to("ann@x.example"), Delivery::Now);
        assert_eq!(options.delivery_to("bob@x.example"), Delivery::Never);
        assert_eq!(options.delivery_to("delivered+a@resend.dev"), Delivery::Now);
        assert_eq!(options.delivery_to("bounced@resend.dev"), Delivery::Bounced(After::Requests(0)));
        assert_eq!(options.delivery_to("bounced+1@resend.dev"), Delivery::Now);
    }

    #[test]
    fn a_time_beyond_the_calendar_is_no_time() {
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(expected(now, After::Time(Duration::MAX)), now);
        assert_eq!(expected(now, After::Time(Duration::from_secs(2))).as_second(), 2);
    }
}
