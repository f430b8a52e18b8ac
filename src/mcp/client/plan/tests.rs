use super::*;

#[test]
fn a_plan_and_its_records_are_read_as_they_were_written() {
    let call = ToolCall { tool: "send".to_owned(), arguments: Map::new() };
    let plan = DriverPlan {
        run: "2026-11-16T12:00:00Z".to_owned(),
        handshake: Handshake::Discover,
        timeout: Duration::from_secs(3),
        list_folder: None,
        starts: vec![
            vec![DriverStep::List, DriverStep::Call(call.clone())],
            vec![DriverStep::LoseConnection { call, after: Duration::from_secs(1) }],
        ],
    };
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<DriverPlan>(&text).unwrap(), plan);

    let record = DriverRecord::Called {
        tool: "send".to_owned(),
        outcome: CallOutcome::ProtocolError,
        text: "no such tool".to_owned(),
        ended_at: None,
    };
    let output = format!(
        "not a record\n{}\n{{\"saw\":\"something else\"}}\n",
        serde_json::to_string(&record).unwrap()
    );
    assert_eq!(read_records(&output), [record]);
}

#[test]
fn a_text_that_is_an_error_is_recognized() {
    for text in ["{\"error\": \"fetch failed\"}", "{\"ok\": false}", "Error: 500", "Failed to send: reset"] {
        assert!(reads_as_error(text), "{text}");
    }
    for text in ["{\"ok\": true, \"error\": null}", "sent: 1", "[]", "The error report was filed"] {
        assert!(!reads_as_error(text), "{text}");
    }
}

#[test]
fn a_text_that_leaves_the_outcome_open_is_told_from_an_error() {
    assert!(leaves_outcome_open(
        "The mail MAY HAVE been sent: check with list_emails before you call again."
    ));
    assert!(!leaves_outcome_open("Failed to send the mail: connection reset. Please try again."));
}
