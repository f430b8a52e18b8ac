//! Ten thousand idle connections, and too few file descriptors for them.

use crate::bad_input::processes::{RAISE_FILE_LIMIT, Store, idle_connections};

#[tokio::test]
async fn ten_thousand_idle_connections_block_no_client() {
    let store = Store::start(RAISE_FILE_LIMIT).await;
    store.assert_answers("before").await;
    let before = store.part.peak_memory();
    let (silent, opened) = idle_connections(store.address, 10_000).await;
    assert!(opened >= 200, "the limit on open files leaves room for {opened} connections only");
    store.assert_answers("meanwhile").await;
    let grown = store.part.peak_memory() - before;
    assert!(grown < 64 * 1024 * 1024, "{opened} idle connections took {grown} bytes");
    silent.finish().await;
    store.assert_answers("after").await;
    assert_eq!(store.finish().await, (3, 0), "idle connections are not in the ledger");
}

#[tokio::test]
async fn a_service_short_of_file_descriptors_closes_idle_connections() {
    let store = Store::start("ulimit -n 64").await;
    store.assert_answers("before").await;
    let (silent, opened) = idle_connections(store.address, 1_000).await;
    assert!(opened > 100, "more than the service has files for: {opened}");
    for number in 0..50 {
        store.assert_answers(&format!("meanwhile{number}")).await;
    }
    silent.finish().await;
    store.assert_answers("after").await;
    assert_eq!(store.finish().await, (52, 0));
}
