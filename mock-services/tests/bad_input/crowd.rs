//! Ten thousand connections that say nothing, and too few files for them.

use crate::bad_input::processes::{AS_MANY_FILES_AS_MAY_BE, Store, crowd};

#[tokio::test]
async fn ten_thousand_connections_that_say_nothing_keep_nobody_out() {
    let store = Store::start(AS_MANY_FILES_AS_MAY_BE).await;
    store.answers("before").await;
    let before = store.part.peak();
    let (silent, opened) = crowd(store.address, 10_000).await;
    assert!(opened >= 200, "the limit on open files leaves room for {opened} connections only");
    store.answers("meanwhile").await;
    let grown = store.part.peak() - before;
    assert!(grown < 64 * 1024 * 1024, "{opened} connections that say nothing took {grown} bytes");
    silent.finish().await;
    store.answers("after").await;
    assert_eq!(store.ends().await, (3, 0), "silence is nothing that happened");
}

#[tokio::test]
async fn a_service_with_few_files_left_sends_the_silent_away_and_answers_the_others() {
    let store = Store::start("ulimit -n 64").await;
    store.answers("before").await;
    let (silent, opened) = crowd(store.address, 1_000).await;
    assert!(opened > 100, "more than the service has files for: {opened}");
    for number in 0..50 {
        store.answers(&format!("meanwhile{number}")).await;
    }
    silent.finish().await;
    store.answers("after").await;
    assert_eq!(store.ends().await, (52, 0));
}
