//! What the controls do: agents that hapax ships, with an expected outcome in each case.

/// What a control does, in a few words; empty where it is not known.
pub(super) fn behavior(control: &str) -> &'static str {
    match control {
        "naive" => "retries every failure, with a new key each time",
        "sdk-retry" => "retries with one key within a call, and a new key for the next call",
        "keyed" => "retries with a key that is derived from the task",
        "verify-first" => "reads once before each retry",
        "careful" => "stores what it is going to do, derives the key from it, reads and waits: it must pass",
        "timid" => "makes one attempt and does not retry",
        "constant-key" => "uses one key for everything",
        "overclaimer" => "makes one attempt, and always claims done",
        "onlooker" => "reads whether it is done, and never does it",
        "racer" => "reads, changes and writes back without a condition on the version",
        "storm" => "retries in nested layers, with a new key each time",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_control_is_explained() {
        for control in crate::scenario::CONTROLS {
            assert_ne!(super::behavior(control), "", "{control}");
        }
    }
}
