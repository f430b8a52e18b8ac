//! How often subjects send requests to allowed hosts. A request waits for its turn, and the time limit of its start does
//! not run meanwhile.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The units of time of a rate.
const UNITS: [(&str, Duration); 3] =
    [("s", Duration::from_secs(1)), ("m", Duration::from_secs(60)), ("h", Duration::from_secs(3600))];

/// How the rate of each part is marked.
const EACH_PART: &str = "part";

/// A rate as a user writes it: `60/m`, or `60/m/part`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRate {
    requests: NonZeroU32,
    per: Duration,
    /// Whether it is that of each part, and not of all parts together.
    is_of_each_part: bool,
}

impl FromStr for RequestRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split('/');
        let requests = words.next().and_then(|word| word.parse().ok());
        let unit = words.next().and_then(|word| UNITS.iter().find(|(unit, _)| *unit == word));
        let is_of_each_part = words.next().map(|word| word == EACH_PART);
        match (requests, unit, is_of_each_part, words.next()) {
            (Some(requests), Some((_, per)), None | Some(true), None) => {
                Ok(RequestRate { requests, per: *per, is_of_each_part: is_of_each_part.is_some() })
            }
            _ => Err("write it as 60/m, with s, m or h: 60 requests each minute, of all parts together; 60/m/part is \
                      the rate of each part"
                .to_owned()),
        }
    }
}

/// The price of the tokens of a model, in dollars for a million input and output tokens: `3/15`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenPrice {
    input: f64,
    output: f64,
}

impl FromStr for TokenPrice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let price = |text: &str| text.parse::<f64>().ok().filter(|price| (0.0..1e6).contains(price));
        text.split_once('/')
            .and_then(|(input, output)| Some(TokenPrice { input: price(input)?, output: price(output)? }))
            .ok_or_else(|| {
                "write it as 3/15: dollars for a million input tokens and for a million output tokens"
                    .to_owned()
            })
    }
}

impl TokenPrice {
    /// What so many tokens cost, in millionths of a dollar.
    pub(super) fn microdollars(self, input: u64, output: u64) -> u64 {
        (input as f64 * self.input + output as f64 * self.output).round() as u64
    }
}

/// Gives the requests of a run their turns, and prices their tokens.
#[derive(Debug)]
pub struct RateLimiter {
    price: Option<TokenPrice>,
    /// The time between two requests.
    interval: Duration,
    next: Mutex<Option<Instant>>,
    /// The hosts that were reached over TLS, and whether their requests can be read; if not, their connections are limited.
    hosts: Mutex<BTreeMap<String, bool>>,
}

impl RateLimiter {
    /// The rate of one of so many parts.
    #[must_use]
    pub fn new(rate: RequestRate, parts: u32) -> Self {
        let parts = if rate.is_of_each_part { 1 } else { parts.max(1) };
        let interval = rate.per.saturating_mul(parts) / rate.requests.get();
        RateLimiter { interval, ..RateLimiter::unlimited() }
    }

    /// No limit: requests to allowed hosts are only read.
    #[must_use]
    pub fn unlimited() -> Self {
        RateLimiter { price: None, interval: Duration::ZERO, next: Mutex::default(), hosts: Mutex::default() }
    }

    /// With this price of tokens.
    #[must_use]
    pub fn priced(self, price: Option<TokenPrice>) -> Self {
        RateLimiter { price, ..self }
    }

    pub(super) fn price(&self) -> Option<TokenPrice> {
        self.price
    }

    /// Waits for the next turn. Requests are spread evenly, so that no span of time has more than its share.
    async fn turn(&self) {
        let at = {
            let mut next = lock(&self.next);
            let at = next.map_or_else(Instant::now, |next| next.max(Instant::now()));
            *next = Some(at + self.interval);
            at
        };
        sleep_until(at).await;
    }

    /// The requests to this host cannot be read.
    pub(super) fn cannot_read(&self, host: &str) {
        lock(&self.hosts).insert(host.to_owned(), false);
    }

    /// The requests to this host can be read, as far as the host is concerned.
    pub(super) fn can_be_read(&self, host: &str) {
        lock(&self.hosts).entry(host.to_owned()).or_insert(true);
    }

    pub(super) fn can_read(&self, host: &str) -> Option<bool> {
        lock(&self.hosts).get(host).copied()
    }

    /// The hosts whose connections were limited, and not their requests.
    #[must_use]
    pub fn unread_hosts(&self) -> Vec<String> {
        let hosts = lock(&self.hosts);
        hosts.iter().filter(|(_, is_read)| !**is_read).map(|(host, _)| host.clone()).collect()
    }
}

/// The turns of one caller.
#[derive(Debug, Clone)]
pub struct CallerRate {
    pub(super) limiter: Arc<RateLimiter>,
    waits: Arc<Mutex<TurnWaits>>,
}

/// How long a start waits for turns: the time during which at least one of its requests waits.
#[derive(Debug, Default)]
struct TurnWaits {
    waiting: u32,
    since: Option<Instant>,
    before: Duration,
}

impl TurnWaits {
    fn so_far(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl CallerRate {
    pub(crate) fn new(limiter: Arc<RateLimiter>) -> Self {
        CallerRate { limiter, waits: Arc::default() }
    }

    /// Waits for the turn of a request.
    pub(super) async fn turn(&self) {
        /// Ends the wait, also if the client does not wait any more.
        struct Waiting<'a>(&'a CallerRate);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                let mut waits = lock(&self.0.waits);
                waits.waiting -= 1;
                if waits.waiting == 0 {
                    waits.before = waits.so_far();
                    waits.since = None;
                }
            }
        }
        {
            let mut waits = lock(&self.waits);
            waits.waiting += 1;
            waits.since.get_or_insert_with(Instant::now);
        }
        let _waiting = Waiting(self);
        self.limiter.turn().await;
    }

    /// Another start of the caller begins.
    pub(crate) fn begin(&self) {
        let mut waits = lock(&self.waits);
        waits.before = Duration::ZERO;
        waits.since = waits.since.map(|_| Instant::now());
    }

    /// Whether a request waits now.
    pub(super) fn is_waiting(&self) -> bool {
        lock(&self.waits).since.is_some()
    }

    /// How long this start has waited so far.
    pub(crate) fn waited(&self) -> Duration {
        lock(&self.waits).so_far()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_shared_by_all_parts_unless_it_is_that_of_each() {
        let interval = |text: &str, parts| RateLimiter::new(text.parse().unwrap(), parts).interval;
        assert_eq!(interval("60/m", 1), Duration::from_secs(1));
        assert_eq!(interval("60/m", 8), Duration::from_secs(8));
        assert_eq!(interval("60/m/part", 8), Duration::from_secs(1));
        assert_eq!(interval("4/s", 1), Duration::from_millis(250));
        assert_eq!(interval("1/h", 2), Duration::from_secs(7200));
        for wrong in ["", "60", "0/m", "-1/m", "60/d", "60/m/x", "60/m/part/x", "1.5/s", "m/60"] {
            assert!(wrong.parse::<RequestRate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_price_is_for_a_million_tokens() {
        let cost = |text: &str| text.parse::<TokenPrice>().map(|price| price.microdollars(1000, 10));
        assert_eq!(cost("3/15"), Ok(3150));
        assert_eq!(cost("0.25/2"), Ok(270));
        for wrong in ["3", "3/", "-1/2", "a/b", "NaN/1", "3/15/2"] {
            assert!(cost(wrong).is_err(), "{wrong}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn turns_are_spread_and_requests_that_wait_together_wait_once() {
        let began = Instant::now();
        let rate = CallerRate::new(Arc::new(RateLimiter::new("2/s".parse().unwrap(), 1)));
        rate.turn().await;
        assert_eq!((began.elapsed(), rate.waited()), (Duration::ZERO, Duration::ZERO));
        tokio::join!(rate.turn(), rate.turn(), rate.turn());
        assert_eq!((began.elapsed().as_millis(), rate.waited().as_millis()), (1500, 1500));
        // Unused turns are not saved.
        tokio::time::sleep(Duration::from_secs(60)).await;
        tokio::join!(rate.turn(), rate.turn());
        assert_eq!((began.elapsed().as_millis(), rate.waited().as_millis()), (62_000, 2_000));
        rate.begin();
        assert_eq!(rate.waited(), Duration::ZERO);
        // A client that leaves waits no longer.
        let left = tokio::time::timeout(Duration::from_millis(100), rate.turn()).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!((left.is_err(), rate.waited().as_millis()), (true, 100));
    }
}
