//! One idempotency key from many connections at the same time: exactly one charge.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::Barrier;

use crate::client::{ClientConnection, Workload, runtime};
use crate::serve::id;
use crate::servers::Server;

const CONNECTIONS: usize = 16;

/// Stops the benchmark when two responses to one key name different charges.
pub(crate) fn check(hapax: &Path, rounds: usize) {
    let server = Server::hapax(hapax);
    let charges = runtime().block_on(async {
        let barrier = Arc::new(Barrier::new(CONNECTIONS));
        let tasks: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                let (address, key, barrier) = (server.address, server.key.clone(), Arc::clone(&barrier));
                tokio::spawn(async move {
                    let mut line = ClientConnection::open(address).await;
                    let mut charges = BTreeSet::new();
                    for round in 0..rounds {
                        let request = Workload::Charges.request(&key, &format!("round-{round}"));
                        barrier.wait().await;
                        let answer = line.exchange(&request).await;
                        // 409 when another request with the key is still in progress.
                        if answer.starts_with(b"HTTP/1.1 200") {
                            charges.insert((round, id(answer)));
                        }
                    }
                    charges
                })
            })
            .collect();
        let mut charges = BTreeSet::new();
        for task in tasks {
            charges.extend(task.await.expect("no panic"));
        }
        charges
    });
    println!("\nOne key from {CONNECTIONS} connections, {rounds} rounds: {} charges.", charges.len());
    assert_eq!(charges.len(), rounds, "a key was not honored");
}
