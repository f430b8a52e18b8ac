//! What is known about clients and frameworks that repeat requests by themselves: how a request names them, and
//! how long they wait before each retry. Pure.

use mock_services::service::Fields;
use yaml_reader::shown;

/// The shortest and the longest wait before a retry, in milliseconds. The first retry is number 1.
type Waits = fn(u32) -> (u64, u64);

/// The header that names a client.
const USER_AGENT: &str = "user-agent";
/// The maximum number of a retry whose wait is computed.
const MAX_RETRY: u32 = 12;
/// A slow machine makes a wait longer by this many milliseconds, and by a third. A wait is never shorter.
const DELAY: u64 = 300;

/// A client that can retry a write within one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryingClient {
    /// A part of its user agent.
    mark: &'static str,
    waits: Waits,
    /// Whether it waits as long as `Retry-After` says.
    waits_as_asked: bool,
    /// Whether it retries only where the agent asks for it. Then a loop without a pause looks the same, unless
    /// it connects again for each call.
    pub(super) is_optional: bool,
    /// Whether a loop with the usual pause looks the same, unless both requests share a connection. It does not
    /// always use an open connection again.
    pub(super) is_like_a_loop: bool,
}

const CLIENT: RetryingClient = RetryingClient {
    mark: "",
    waits: |_| (0, 0),
    waits_as_asked: true,
    is_optional: false,
    is_like_a_loop: false,
};

/// The clients whose requests do not say which try they are.
const CLIENTS: [RetryingClient; 9] = [
    RetryingClient {
        mark: "Stripe/",
        waits: |retry| {
            let longest = exponential(500, retry).min(5_000);
            ((longest / 2).max(500), longest)
        },
        waits_as_asked: false,
        ..CLIENT
    },
    // It retries at once, and leaves a second between two writes that it was asked for.
    RetryingClient { mark: "PyGithub", waits: |_| (0, 500), ..CLIENT },
    RetryingClient { mark: "python-gitlab", waits: |retry| exact(exponential(100, retry)), ..CLIENT },
    // It leaves a second between two writes that it was asked for.
    RetryingClient {
        mark: "octokit",
        waits: |retry| if retry == 1 { (0, 1_000) } else { exact(1_000 * u64::from(retry).pow(2)) },
        ..CLIENT
    },
    // urllib3's `Retry` makes its first retry at once, and doubles a time that the agent chooses.
    RetryingClient { mark: "python-requests/", waits: urllib3, is_optional: true, ..CLIENT },
    RetryingClient { mark: "python-urllib3/", waits: urllib3, is_optional: true, ..CLIENT },
    // With axios-retry.
    RetryingClient {
        mark: "axios/",
        waits: |retry| (0, exponential(240, retry)),
        is_optional: true,
        ..CLIENT
    },
    RetryingClient {
        mark: "got (",
        waits: |retry| (exponential(1_000, retry), exponential(1_000, retry) + 100),
        ..CLIENT
    },
    RetryingClient {
        mark: "curl/",
        waits: |retry| exact(exponential(1_000, retry)),
        is_like_a_loop: true,
        ..CLIENT
    },
];

/// A framework that repeats a step or a request by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryingFramework {
    /// A part of the user agent of its requests.
    mark: &'static str,
    waits: Waits,
    /// Whether it repeats what the agent does, and not only its own requests.
    does_repeat_steps: bool,
}

/// The frameworks that name themselves in their requests.
const FRAMEWORKS: [RetryingFramework; 2] = [
    // Vercel's AI SDK repeats its requests to the model.
    RetryingFramework {
        mark: "ai-sdk",
        waits: |retry| exact(exponential(2_000, retry)),
        does_repeat_steps: false,
    },
    // LangGraph repeats a node. LangChain names itself in the requests to the model.
    RetryingFramework {
        mark: "langchain",
        waits: |retry| (exponential(500, retry), exponential(1_000, retry) + 1_000),
        does_repeat_steps: true,
    },
];

fn exponential(first: u64, retry: u32) -> u64 {
    first << retry.saturating_sub(1).min(MAX_RETRY)
}

fn exact(wait: u64) -> (u64, u64) {
    (wait, wait)
}

/// It retries at once, but has to connect again first, which takes its time on a machine that is busy.
fn urllib3(retry: u32) -> (u64, u64) {
    if retry == 1 { (0, 100) } else { (0, 120_000) }
}

/// Whether a gap in microseconds can be this wait.
fn fits(gap: u64, (shortest, longest): (u64, u64)) -> bool {
    let milliseconds = gap / 1_000;
    // A timer of another clock can be a little early.
    milliseconds >= shortest - shortest / 50 && milliseconds <= longest + longest / 3 + DELAY
}

/// Whether a gap can be the wait before a retry up to this number: what repeats the whole call starts the count
/// again.
fn fits_one(waits: Waits, gap: u64, retry: u32) -> bool {
    (1..=retry.clamp(1, MAX_RETRY)).any(|retry| fits(gap, waits(retry)))
}

impl RetryingClient {
    /// The client that a request names.
    pub(super) fn of(headers: &Fields) -> Option<RetryingClient> {
        let agent = headers.get(USER_AGENT)?.to_string();
        CLIENTS.into_iter().find(|client| agent.contains(client.mark))
    }

    /// Whether it can have made a retry after this gap, which is its nth, where the reply asked for a wait.
    pub(super) fn can_wait(&self, gap: u64, retry: u32, retry_after: Option<u64>) -> bool {
        let asked = retry_after.filter(|_| self.waits_as_asked);
        asked.is_some_and(|seconds| fits(gap, exact(seconds.saturating_mul(1_000))))
            || fits_one(self.waits, gap, retry)
    }
}

impl RetryingFramework {
    /// The framework that can have repeated a request: one that the request names, or one that names itself in
    /// another request of the same caller and repeats steps.
    pub(super) fn of<'f>(
        request: &Fields,
        mut others: impl Iterator<Item = &'f Fields>,
    ) -> Option<RetryingFramework> {
        let is_named = |headers: &Fields, framework: &RetryingFramework| {
            headers.get(USER_AGENT).is_some_and(|agent| agent.to_string().contains(framework.mark))
        };
        let own = FRAMEWORKS.into_iter().find(|framework| is_named(request, framework));
        own.or_else(|| {
            others.find_map(|other| {
                FRAMEWORKS
                    .into_iter()
                    .find(|framework| framework.does_repeat_steps && is_named(other, framework))
            })
        })
    }

    /// Whether it can have made a retry after this gap, which is its nth.
    pub(super) fn can_wait(&self, gap: u64, retry: u32) -> bool {
        fits_one(self.waits, gap, retry)
    }

    /// Its name in the evidence.
    pub(super) fn name(&self) -> &'static str {
        self.mark
    }
}

/// The beginning of the user agent of a request.
pub(super) fn user_agent(headers: &Fields) -> Option<String> {
    let agent = headers.get(USER_AGENT)?.to_string();
    Some(shown(&agent.chars().take(40).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(agent: &str) -> RetryingClient {
        RetryingClient::of(&Fields::new().with(USER_AGENT, agent)).unwrap()
    }

    #[test]
    fn a_client_is_known_by_its_wait_which_is_never_shorter_and_can_be_a_little_longer() {
        let stripe = client("Stripe/v1 PythonBindings/16.1.0");
        let can = |milliseconds: u64, retry| stripe.can_wait(milliseconds * 1_000, retry, None);
        assert_eq!(
            [can(2, 1), can(450, 1), can(500, 1), can(700, 1), can(1_000, 1)],
            [false, false, true, true, false]
        );
        assert!(can(1_000, 2) && can(500, 2), "what is above the client starts the count again");
        let gitlab = client("python-gitlab/8.6.0");
        assert!(!gitlab.can_wait(2_000, 1, None) && gitlab.can_wait(101_000, 1, None));
        assert!(!gitlab.can_wait(1_000_000, 1, None));
    }

    #[test]
    fn a_wait_that_the_reply_asked_for_fits_the_clients_that_obey_it() {
        assert!(client("python-requests/2.34.2").can_wait(2_010_000, 1, Some(2)));
        assert!(!client("python-requests/2.34.2").can_wait(2_010_000, 1, None));
        assert!(!client("Stripe/v1 NodeBindings/23.1.0").can_wait(2_010_000, 1, Some(2)));
    }

    #[test]
    fn a_client_that_never_retries_a_write_is_not_listed() {
        for agent in ["python-httpx/0.28.1", "Python-urllib/3.11", "node", "Go-http-client/1.1", ""] {
            assert!(RetryingClient::of(&Fields::new().with(USER_AGENT, agent)).is_none(), "{agent}");
        }
        assert!(RetryingClient::of(&Fields::new()).is_none());
    }

    #[test]
    fn a_framework_names_itself_in_the_request_or_repeats_steps() {
        let named = |agent: &str| Fields::new().with(USER_AGENT, agent);
        let of = |request: &str, other: &str| {
            RetryingFramework::of(&named(request), [named(other)].iter()).map(|framework| framework.name())
        };
        assert_eq!(of("ai/7.0.169 ai-sdk-provider-utils/5.0.79", ""), Some("ai-sdk"));
        assert_eq!(of("node", "ai/7.0.169 ai-sdk-provider-utils/5.0.79"), None, "it repeats no tools");
        assert_eq!(of("node", "langchainjs-openai/1.5.8 (node/24)"), Some("langchain"));
        assert_eq!(of("node", "OpenAI/JS 7.53.0"), None);
    }
}
