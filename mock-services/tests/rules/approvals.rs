//! Questions to a person over the wire.

use std::time::Duration;

use mock_services::approval::{ApprovalOptions, Approvals};
use mock_services::service::After;
use mock_services::{MockServices, ServiceOptions};
use serde_json::json;

use crate::kit::request::TestRequest;
use crate::kit::services::TestServices;

#[tokio::test]
async fn a_read_can_wait_for_an_answer_that_comes_later() {
    let after = Some(After::Time(Duration::from_millis(200)));
    let options = ApprovalOptions { decision: Some("approved".to_owned()), after };
    let builder = MockServices::builder().service(Approvals::new(options), ServiceOptions::default());
    let services = TestServices::start(builder, &[]).await.unwrap();
    let question = json!({"operation": "payment.refund", "fields": {"order": "ord_7"}});
    let asked = services.send("approval", &TestRequest::json("POST", "/approvals", &question)).await;
    assert_eq!((asked.status(), asked.at("/status").as_str()), (Some(201), "pending"));
    let read = TestRequest::get(format!("/approvals/{}?wait=60s", asked.at("/id")));
    let answered = services.send("approval", &read).await;
    assert_eq!(answered.at("/status"), "approved");
}
