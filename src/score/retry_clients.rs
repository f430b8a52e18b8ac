//! What is known about clients and frameworks that repeat requests by themselves: how a request names them, and
//! how long they wait before each retry. Pure.

use mock_services::ledger::Received;
use mock_services::service::Fields;
use yaml_reader::shown;

/// The shortest and the longest wait before a retry, in milliseconds. The first retry is number 1.
type Waits = fn(u32) -> (u64, u64);
/// The shortest and the longest wait before a retry after a failure; `None` if it does not retry after that one.
type WaitsAfter = fn(Failure, u32) -> Option<(u64, u64)>;

/// How the attempt before a retry failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Failure {
    /// The status of its reply; `None` if no complete reply came.
    pub(super) status: Option<u16>,
    /// The seconds of `Retry-After` in its reply.
    pub(super) retry_after: Option<u64>,
}

/// Whether a client can have made a retry after a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitFit {
    /// It waits so by itself.
    ByItself,
    /// It waits so only where the code asks for it, and a loop can wait so, too.
    WhereAsked,
    /// It never waits so.
    Never,
}

/// The header that names a client.
const USER_AGENT: &str = "user-agent";
/// The maximum number of a retry whose wait is computed.
const MAX_RETRY: u32 = 12;
/// A slow machine makes a wait longer by this many milliseconds, and by a third. A wait is never shorter.
const DELAY: u64 = 300;

/// A client that can retry a write within one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryingClient {
    /// Its name, where its user agent does not say it.
    name: &'static str,
    /// A part of its user agent.
    mark: &'static str,
    /// What else is in its requests.
    is_in: fn(&Received) -> bool,
    /// How long it waits where nothing is set.
    by_itself: WaitsAfter,
    /// How often it retries one call where nothing is set.
    most: u32,
    /// How long it waits where the code asks it to retry.
    where_asked: WaitsAfter,
    /// Whether it waits as long as `Retry-After` says where it retries.
    waits_as_asked: bool,
    /// Whether a loop with the usual pause looks the same, unless both requests share a connection. It does not
    /// always use an open connection again.
    pub(super) is_like_a_loop: bool,
    /// Whether it retries before it has read the reply, and so over another connection.
    pub(super) leaves_replies_unread: bool,
}

const CLIENT: RetryingClient = RetryingClient {
    name: "",
    mark: "",
    is_in: |_| true,
    by_itself: |_, _| None,
    most: u32::MAX,
    where_asked: |_, _| None,
    waits_as_asked: true,
    is_like_a_loop: false,
    leaves_replies_unread: false,
};

const STRIPE: RetryingClient = RetryingClient {
    mark: "Stripe/",
    by_itself: |_, retry| {
        let longest = exponential(500, retry).min(5_000);
        Some(((longest / 2).max(500), longest))
    },
    most: 2,
    waits_as_asked: false,
    ..CLIENT
};

/// The clients whose requests do not say which try they are. The first that fits counts.
const CLIENTS: [RetryingClient; 15] = [
    RetryingClient { mark: "NodeBindings", leaves_replies_unread: true, ..STRIPE },
    STRIPE,
    // It retries at once, and leaves a second between two writes that it was asked for.
    RetryingClient { mark: "PyGithub", by_itself: |_, _| Some((0, 500)), most: 10, ..CLIENT },
    // It has to be asked, and its wait is none that a loop usually makes.
    RetryingClient { mark: "python-gitlab", by_itself: |_, retry| exact(exponential(100, retry)), ..CLIENT },
    // It leaves a second between two writes that it was asked for.
    RetryingClient {
        mark: "octokit",
        by_itself: |_, retry| {
            if retry == 1 { Some((0, 1_000)) } else { exact(1_000 * u64::from(retry).pow(2)) }
        },
        most: 3,
        ..CLIENT
    },
    RetryingClient {
        mark: "slackclient/",
        by_itself: |failed, retry| failed.status.is_none().then(|| slack_sdk(retry)),
        most: 1,
        where_asked: |failed, retry| match (failed.status, failed.retry_after) {
            (Some(429), asked) => {
                let asked = asked.unwrap_or(1).saturating_mul(1_000);
                Some((asked, asked + 1_000))
            }
            _ => Some(slack_sdk(retry)),
        },
        waits_as_asked: false,
        ..CLIENT
    },
    // It waits as `Retry-After` says, and then as before any other retry.
    RetryingClient {
        mark: "@slack:web-api/",
        by_itself: |failed, retry| {
            let shortest = slack_web_api(retry);
            let asked = failed.retry_after.unwrap_or(0).saturating_mul(1_000);
            Some((asked + shortest, asked + 2 * shortest))
        },
        most: 10,
        waits_as_asked: false,
        ..CLIENT
    },
    RetryingClient {
        name: "jira",
        mark: "python-requests/",
        is_in: |request| request.client.get("x-atlassian-token").is_some(),
        by_itself: |failed, retry| {
            let longest = match (failed.status, failed.retry_after) {
                (Some(429 | 503), Some(asked)) => asked.max(1).saturating_mul(2_000),
                (None | Some(429), _) => exponential(20_000, retry),
                (Some(_), _) => return None,
            };
            let longest = longest.min(60_000);
            Some((longest / 2, longest))
        },
        most: 3,
        waits_as_asked: false,
        ..CLIENT
    },
    // It sets urllib3's `Retry` for lost connections and 429.
    RetryingClient {
        name: "pyairtable",
        mark: "python-requests/",
        is_in: |request| request.fields.iter().any(|(name, _)| name.ends_with("returnFieldsByFieldId")),
        by_itself: |failed, retry| match failed.status {
            None | Some(429) if retry == 1 => Some(AT_ONCE),
            None | Some(429) => exact(exponential(100, retry)),
            Some(_) => None,
        },
        most: 5,
        where_asked: urllib3,
        ..CLIENT
    },
    // urllib3's `Retry` makes its first retry at once, and doubles a time that the agent chooses.
    RetryingClient { mark: "python-requests/", where_asked: urllib3, ..CLIENT },
    RetryingClient { mark: "python-urllib3/", where_asked: urllib3, ..CLIENT },
    // The Google API client and what it stands on, httplib2, which repeats a request at once whose connection is lost.
    RetryingClient {
        name: "httplib2",
        mark: "(gzip)",
        by_itself: |failed, _| failed.status.is_none().then_some(AT_ONCE),
        most: 1,
        where_asked: |_, retry| Some((0, exponential(2_000, retry))),
        waits_as_asked: false,
        ..CLIENT
    },
    // With axios-retry.
    RetryingClient { mark: "axios/", where_asked: |_, retry| Some((0, exponential(240, retry))), ..CLIENT },
    RetryingClient {
        mark: "got (",
        by_itself: |_, retry| Some((exponential(1_000, retry), exponential(1_000, retry) + 100)),
        ..CLIENT
    },
    RetryingClient {
        mark: "curl/",
        by_itself: |_, retry| exact(exponential(1_000, retry)),
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
        waits: |retry| (exponential(2_000, retry), exponential(2_000, retry)),
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

/// The shortest wait of @slack/web-api, which grows by 1.96821 with each retry.
fn slack_web_api(retry: u32) -> u64 {
    (1..retry.min(MAX_RETRY)).fold(1_000, |wait, _| wait * 1_968 / 1_000)
}

fn exact(wait: u64) -> Option<(u64, u64)> {
    Some((wait, wait))
}

/// A retry without a wait has to connect again first, which takes its time on a machine that is busy.
const AT_ONCE: (u64, u64) = (0, 100);

fn urllib3(_: Failure, retry: u32) -> Option<(u64, u64)> {
    Some(if retry == 1 { AT_ONCE } else { (0, 120_000) })
}

fn slack_sdk(retry: u32) -> (u64, u64) {
    (exponential(500, retry), exponential(500, retry) + 1_000)
}

/// Whether a gap in microseconds can be this wait.
fn fits(gap: u64, (shortest, longest): (u64, u64)) -> bool {
    let milliseconds = gap / 1_000;
    // A timer of another clock can be a little early.
    milliseconds >= shortest - shortest / 50 && milliseconds <= longest + longest / 3 + DELAY
}

/// Whether one of the waits before the retries up to this number fits: what repeats the whole call starts the count
/// again.
fn fits_one(gap: u64, retry: u32, waits: impl Fn(u32) -> Option<(u64, u64)>) -> bool {
    (1..=retry.clamp(1, MAX_RETRY)).filter_map(waits).any(|wait| fits(gap, wait))
}

impl RetryingClient {
    /// The client that a request names.
    pub(super) fn of(request: &Received) -> Option<RetryingClient> {
        let agent = request.client.get(USER_AGENT)?.to_string();
        CLIENTS.into_iter().find(|client| agent.contains(client.mark) && (client.is_in)(request))
    }

    /// Whether it can have made a retry after this gap, which is its nth.
    pub(super) fn fit(&self, failed: Failure, gap: u64, retry: u32) -> WaitFit {
        let is_asked_for = |waits: WaitsAfter| {
            let asked = failed.retry_after.filter(|_| self.waits_as_asked && waits(failed, 1).is_some());
            asked.is_some_and(|seconds| {
                let wait = seconds.saturating_mul(1_000);
                fits(gap, (wait, wait))
            })
        };
        let can_be =
            |waits: WaitsAfter| is_asked_for(waits) || fits_one(gap, retry, |retry| waits(failed, retry));
        // After as many retries as it makes by itself, the next request is a new call, or one more that it was asked for.
        let is_new_call = u64::from(retry) % (u64::from(self.most) + 1) == 0;
        let is_by_itself = can_be(self.by_itself);
        if is_by_itself && !is_new_call {
            WaitFit::ByItself
        } else if is_by_itself || can_be(self.where_asked) {
            WaitFit::WhereAsked
        } else {
            WaitFit::Never
        }
    }

    /// Whether a retry after this gap came at once.
    pub(super) fn is_at_once(gap: u64) -> bool {
        fits(gap, AT_ONCE)
    }

    /// What it is called in the evidence, with the user agent of its request.
    pub(super) fn called(&self, agent: &str) -> String {
        if self.name.is_empty() { agent.to_owned() } else { format!("{}, {agent}", self.name) }
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
        fits_one(gap, retry, |retry| Some((self.waits)(retry)))
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
    use crate::score::testing::request;

    fn client(agent: &str) -> RetryingClient {
        RetryingClient::of(&request(agent)).unwrap()
    }

    const LOST: Failure = Failure { status: None, retry_after: None };
    const ERROR: Failure = Failure { status: Some(503), retry_after: None };
    const BUSY: Failure = Failure { status: Some(429), retry_after: Some(2) };

    /// What the clients make of waits in milliseconds before the first retry.
    fn fit(client: &RetryingClient, failed: Failure, milliseconds: &[u64]) -> Vec<WaitFit> {
        milliseconds.iter().map(|wait| client.fit(failed, wait * 1_000, 1)).collect()
    }

    use WaitFit::{ByItself, Never, WhereAsked};

    #[test]
    fn a_client_is_known_by_its_wait_which_is_never_shorter_and_can_be_a_little_longer() {
        let stripe = client("Stripe/v1 PythonBindings/16.1.0");
        assert_eq!(fit(&stripe, LOST, &[2, 450, 500, 700, 1_000]), [Never, Never, ByItself, ByItself, Never]);
        for wait in [1_000_000, 500_000] {
            assert_eq!(
                stripe.fit(LOST, wait, 2),
                ByItself,
                "what is above the client starts the count again"
            );
        }
        let gitlab = client("python-gitlab/8.6.0");
        assert_eq!(fit(&gitlab, LOST, &[2, 101, 1_000]), [Never, ByItself, Never]);
    }

    #[test]
    fn after_as_many_retries_as_a_client_makes_the_next_can_be_a_new_call() {
        let stripe = client("Stripe/v1 PythonBindings/16.1.0");
        let fits: Vec<WaitFit> = (1..=6).map(|number| stripe.fit(LOST, 500_000, number)).collect();
        assert_eq!(fits, [ByItself, ByItself, WhereAsked, ByItself, ByItself, WhereAsked]);
        assert_eq!(stripe.fit(LOST, 30_000_000, 3), Never);
    }

    #[test]
    fn a_wait_that_the_reply_asked_for_fits_the_clients_that_obey_it() {
        assert_eq!(fit(&client("python-requests/2.34.2"), BUSY, &[2_010]), [WhereAsked]);
        assert_eq!(fit(&client("python-requests/2.34.2"), LOST, &[2_010]), [Never]);
        assert_eq!(fit(&client("Stripe/v1 NodeBindings/23.1.0"), BUSY, &[2_010]), [Never]);
        assert_eq!(fit(&client("octokit-rest.js/22"), BUSY, &[2_010]), [ByItself]);
    }

    #[test]
    fn a_wait_that_has_to_be_set_on_a_client_does_not_tell_it_from_a_loop() {
        for agent in ["python-requests/2.34.2", "python-urllib3/2.8.0", "axios/1.21.1"] {
            assert_eq!(fit(&client(agent), LOST, &[1, 2_000]), [WhereAsked, Never], "{agent}");
        }
        assert_eq!(client("python-requests/2.34.2").fit(LOST, 2_000_000, 2), WhereAsked);
    }

    #[test]
    fn the_clients_of_slack_wait_for_a_random_time() {
        let python = client("Python/3.11.7 slackclient/3.47.0 Linux/6.1");
        assert_eq!(fit(&python, LOST, &[1, 634, 1_400, 4_000]), [Never, ByItself, ByItself, Never]);
        assert_eq!(
            fit(&python, ERROR, &[634]),
            [WhereAsked],
            "it has a handler for errors, which is not set"
        );
        let node = client("@slack:web-api/8.2.0 node/24.19.0 linux/6.1");
        assert_eq!(fit(&node, LOST, &[500, 1_846, 2_322, 9_000]), [Never, ByItself, ByItself, Never]);
        assert_eq!(fit(&node, BUSY, &[2_010, 3_932]), [Never, ByItself]);
    }

    #[test]
    fn a_client_on_requests_is_known_by_what_it_sends() {
        let mut jira = request("python-requests/2.34.2");
        jira.client.set("x-atlassian-token", "no-check");
        let jira = RetryingClient::of(&jira).unwrap();
        assert_eq!(jira.called("python-requests/2.34.2"), "jira, python-requests/2.34.2");
        assert_eq!(fit(&jira, LOST, &[1, 600, 14_076]), [Never, Never, ByItself]);
        assert_eq!(fit(&jira, ERROR, &[14_000]), [Never]);
        assert_eq!(fit(&jira, BUSY, &[1_000, 3_900]), [Never, ByItself]);

        let mut airtable = request("python-requests/2.34.2");
        airtable.fields.set("body.returnFieldsByFieldId", false);
        let airtable = RetryingClient::of(&airtable).unwrap();
        assert_eq!(fit(&airtable, LOST, &[1, 5_000]), [ByItself, Never]);
        assert_eq!(fit(&airtable, BUSY, &[2_040]), [ByItself]);
        assert_eq!(fit(&airtable, ERROR, &[1]), [WhereAsked]);
    }

    #[test]
    fn the_google_client_repeats_a_lost_request_at_once_and_an_error_only_if_it_is_asked() {
        let google = client("(gzip)");
        assert_eq!(fit(&google, LOST, &[11]), [ByItself]);
        assert_eq!(fit(&google, ERROR, &[11, 1_500, 9_000]), [WhereAsked, WhereAsked, Never]);
    }

    #[test]
    fn a_client_that_never_retries_a_write_is_not_listed() {
        for agent in ["python-httpx/0.28.1", "Python-urllib/3.11", "node", "Go-http-client/1.1", ""] {
            assert!(RetryingClient::of(&request(agent)).is_none(), "{agent}");
        }
        let unnamed = Received { client: Fields::new(), ..request("") };
        assert!(RetryingClient::of(&unnamed).is_none());
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
