use super::*;

#[test]
fn this_machine_is_recognized_by_every_name_that_it_has() {
    for host in ["localhost", "app.localhost", "127.0.0.1", "127.1.2.3", "::1", "0.0.0.0", "::ffff:127.0.0.1"]
    {
        assert!(is_loopback(host), "{host}");
    }
    for host in ["example.org", "notlocalhost", "128.0.0.1", "::2"] {
        assert!(!is_loopback(host), "{host}");
    }
}
