//! Bundled adapters go through the same checks as any other.

use wharf::adapter::{Access, DenialReason, Source};
use wharf_test_support::Sandbox;

#[tokio::test]
async fn bundled_adapters_are_granted_what_they_request_by_the_same_check() {
    let sandbox = Sandbox::new();
    let host = sandbox.host();
    let mut bundled = 0;
    for entry in host.adapters().expect("a list").into_iter().filter(|entry| entry.source == Source::Bundled) {
        bundled += 1;
        let adapter = host.adapter(&entry.id).await.expect("a bundled adapter loads");
        let grants = host.grants(&adapter).expect("grants");
        assert_eq!(grants.missing(), Access::default(), "{}", entry.id);
        // The user's configuration names the program of the generic one.
        let requests_nothing = grants.requested == Access::default();
        assert_eq!(requests_nothing, entry.id == "acp", "{}: otherwise this shows nothing", entry.id);
        // What it did not request it does not get: being bundled makes no difference.
        let denial = grants.program("/bin/sh").expect_err("a shell is granted to nobody");
        assert_eq!(denial.reason, DenialReason::NotDeclared, "{}", entry.id);
        assert!(grants.set_variable("LD_PRELOAD").is_err(), "{}", entry.id);
    }
    assert!(bundled >= 2, "{bundled}");
}
