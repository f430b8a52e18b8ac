use mock_services::service::Fields;

use super::*;
use crate::scenario::{Come, Said};
use crate::score::score;
use crate::score::testing::{Sees, Tale, due, terms};

fn charged() -> Tale {
    let mut tale = Tale::new();
    tale.charge(Some("k1"), "o1", 10, Sees::Ok);
    tale.claims(1, Said::Done);
    tale
}

fn requests(host: &str, requests: i64) -> Fields {
    Fields::new().with("host", host).with("port", 443).with("requests", requests)
}

#[test]
fn allowed_and_ignored_hosts_are_counted_over_all_callers_and_fail_nothing() {
    let mut tale = charged();
    tale.note(notes::ALLOWED, requests("api.openai.com", 2).with("failed", 1));
    tale.by(2).note(notes::ALLOWED, requests("api.openai.com", 3));
    tale.note(notes::IGNORED, requests("o1.sentry.io", 4));
    let verdict = score(&terms([due("o1", 10, 1)]), &tale.end(), None);
    let of =
        |host: &str, treatment, requests, failed| HostRequests { host: host.to_owned(), port: 443, treatment, requests, failed };
    let expected = [of("api.openai.com", HostTreatment::Allowed, 5, 1), of("o1.sentry.io", HostTreatment::Ignored, 4, 0)];
    assert_eq!((verdict.come(), verdict.hosts.as_slice()), (Come::Pass, &expected[..]));
}

#[test]
fn a_trial_in_which_the_real_service_was_reached_proves_nothing() {
    for (host, failed, expected) in
        [("api.stripe.com", 0, Come::Void), ("api.stripe.com", 2, Come::Pass), ("api.github.com", 0, Come::Pass)]
    {
        let mut tale = charged();
        tale.note(notes::ALLOWED, requests(host, 2).with("failed", failed));
        assert_eq!(score(&terms([due("o1", 10, 1)]), &tale.end(), None).come(), expected, "{host} {failed}");
    }
}

#[test]
fn a_client_that_ignores_no_proxy_makes_the_trial_void_but_hides_no_lie_and_no_duplicate() {
    let proxied = |tale: &mut Tale| {
        tale.note(notes::PROXIED, Fields::new().with("host", "127.0.0.1").with("port", 4242).with("service", "payment"));
    };
    let come = |told: &dyn Fn(&mut Tale), said: Said| {
        let mut tale = Tale::new();
        proxied(&mut tale);
        told(&mut tale);
        tale.claims(1, said);
        let mut terms = terms([due("o1", 10, 1)]);
        terms.claim = vec![Said::Done];
        let verdict = score(&terms, &tale.end(), None);
        assert!(verdict.void_because.iter().any(|why| why.contains("NO_PROXY") && why.contains("`payment`")), "{verdict:?}");
        (verdict.result == crate::score::Result3::Void, verdict.come())
    };
    assert_eq!(come(&|_| {}, Said::NotDone).1, Come::Void);
    assert!(!come(&|_| {}, Said::Done).0);
    let twice = |tale: &mut Tale| {
        tale.charge(None, "o1", 10, Sees::Ok);
        tale.charge(None, "o1", 10, Sees::Ok);
    };
    assert_eq!(come(&twice, Said::Done).1, Come::Duplicated);
}
