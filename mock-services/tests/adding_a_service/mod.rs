//! Follows `docs/adding-a-service.md`: the code of the page is the code of the folder `shipping`, and it
//! works over the wire. Also checks the rule that keeps the page short: no file outside a service's own
//! folder names the service.

pub(crate) mod names;
#[expect(unreachable_pub, reason = "inside the package these items are public")]
mod shipping;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};

use mock_services::catalog::{self, ServiceDescription};
use mock_services::fault::read_line;
use mock_services::ledger::Event;
use mock_services::{MockServices, ServiceOptions};
use serde_json::{Value, json};
use yaml_reader::{Reader, Source, parse};

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The code blocks of the page whose first line names a file: the file, and the text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(file) = line.strip_prefix("```rust,").and_then(|rest| rest.strip_prefix("file=")) else {
            continue;
        };
        let text: String =
            lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        blocks.push((file.to_owned(), text));
    }
    blocks
}

#[test]
fn the_code_of_the_page_is_the_code_of_the_example() {
    let page = std::fs::read_to_string(root().join("docs/adding-a-service.md")).unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adding_a_service");
    let places = [
        ("mock-services/src/shipping/mod.rs", example.join("shipping/mod.rs")),
        ("mock-services/src/shipping/description.rs", example.join("shipping/description.rs")),
        ("src/subject/control/tools/shipping.rs", root().join("src/subject/control/tools/shipping.rs")),
    ];
    let blocks = blocks(&page);
    assert_eq!(blocks.len(), places.len(), "the page has one block for each file");
    for (name, path) in places {
        let kept = std::fs::read_to_string(&path).unwrap();
        // Inside the package, its own name is `crate`.
        let kept = if name.starts_with("mock-services/") { in_the_package(&kept) } else { kept };
        let (_, text) = blocks.iter().find(|(file, _)| file == name).unwrap();
        assert!(*text == kept, "{name} of the page differs from {}", path.display());
    }
}

/// The text of an example file as it is inside the package.
fn in_the_package(text: &str) -> String {
    let text = text.replace("use mock_services::{Builder", "use crate::services::{Builder");
    let text = text.replace("use mock_services::catalog::{", "use crate::description::{");
    text.replace("mock_services::", "crate::")
        .replace("pub use description::description;", "pub(crate) use description::description;")
        .replace("pub fn description()", "pub(crate) fn description()")
}

#[test]
fn the_lines_of_the_page_fit_the_files_that_it_names() {
    let page = std::fs::read_to_string(root().join("docs/adding-a-service.md")).unwrap();
    for (file, line, alike) in [
        ("mock-services/src/lib.rs", "pub mod shipping;", "pub mod records;"),
        (
            "mock-services/src/built_in.rs",
            "    crate::shipping::description,",
            "    crate::records::description,",
        ),
        ("src/subject/control/tools/mod.rs", "mod shipping;", "mod records;"),
        ("src/subject/control/tools/mod.rs", "shipping::TOOL", "records::TOOL"),
    ] {
        assert!(page.contains(line), "the page has no line {line}");
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains(alike), "{file} has no line {alike}, so that {line} does not fit into it");
    }
}

fn description() -> ServiceDescription {
    shipping::description()
}

#[test]
fn the_description_is_consistent() {
    assert_eq!(description().problems(), Vec::<String>::new());
    assert!(catalog::find("shipping").is_none(), "the example is not shipped");
    let mut wrong = description();
    wrong.reveals = Vec::new();
    wrong.effects[0].name = "shipping.send".to_owned();
    assert_eq!(
        wrong.problems(),
        [
            "`reveals` does not describe the read shipping.list",
            "the effect shipping.send is not a write of the service"
        ]
    );
}

/// Sends one request and returns the status and the body of the response; `None` without a response.
fn exchange(address: SocketAddr, key: &str, head: &str, body: &Value) -> Option<(u16, Value)> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut line = TcpStream::connect(address).unwrap();
    let request = format!(
        "{head} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    line.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    line.read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    let body = answer.split_once("\r\n\r\n")?.1;
    Some((status, serde_json::from_str(body).unwrap_or_default()))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_works_over_the_wire_with_options_faults_and_a_ledger() {
    let description = description();
    let source = Source::new("scenario", "{refused_countries: [atlantis]}");
    let tree = parse(&source).unwrap();
    let reader = Reader::new(&source);
    let mut map = reader.map(&tree, "the service").unwrap();
    let configured = (description.configure)(&reader, &mut map);
    map.finish();
    assert_eq!(reader.count(), 0);
    assert_eq!(configured.configuration(), json!({ "refused_countries": ["atlantis"] }));

    let fault = Source::new("--fault", "shipping.buy#1 commit=now reply=drop");
    let fault = read_line(&fault, &description.operations, None).unwrap();
    let builder = MockServices::builder().faults(vec![fault]);
    let services = configured.add_to(builder, 1, ServiceOptions::default()).start().await.unwrap();
    let address = services.address("shipping", 1).unwrap();
    let key = services.key("shipping").unwrap().to_owned();
    assert!(key.starts_with("ship_"));

    let asked = tokio::task::spawn_blocking(move || {
        let order = json!({ "order": "ord_1", "country": "de" });
        let refused = json!({ "order": "ord_2", "country": "atlantis" });
        [
            exchange(address, "wrong", "POST /labels", &order),
            exchange(address, &key, "POST /labels", &refused),
            exchange(address, &key, "POST /labels", &order),
            exchange(address, &key, "GET /labels?order=ord_1", &Value::Null),
        ]
    });
    let [wrong_key, refused, lost, listed] = asked.await.unwrap();
    assert_eq!(wrong_key.unwrap().0, 401);
    assert_eq!(refused.unwrap().0, 422);
    assert_eq!(lost, None, "the label was sold, and the reply was dropped");
    let (status, listed) = listed.unwrap();
    assert_eq!((status, listed["labels"][0]["order"].as_str()), (200, Some("ord_1")));

    let effect = &description.effects[0];
    let mut committed = 0;
    for entry in services.ledger().entries() {
        let Event::Committed { effect: name, fields, .. } = entry.event else { continue };
        assert_eq!(name, "shipping.buy");
        for (field, _) in fields.iter() {
            assert!(effect.carries(field), "the description does not name the field {field}");
        }
        committed += 1;
    }
    assert_eq!(committed, 1);
    services.stop().await;
}
