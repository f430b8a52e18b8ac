//! The questions that are asked about a command of a tool.

use mock_services::word_enum;

word_enum! {
    /// A question about a command of a tool.
    pub enum ToolQuestion {
        /// A safe command changes nothing.
        ChangesNothing => "changes-nothing",
        /// For a command without a key: called twice, it has one effect.
        SameCallTwice => "same-call-twice",
        /// The command accepts a key, and does its work once.
        KeyAccepted => "key-accepted",
        /// Called twice with one key, it has one effect.
        SameKeyOneEffect => "same-key-one-effect",
        /// The second call with one key answers `noop` with exit status 0.
        SameKeyNoop => "same-key-noop",
        /// With another key it does its work again.
        AnotherKey => "another-key",
        /// With the same key and other arguments it is refused.
        SameKeyOtherArguments => "same-key-other-arguments",
        /// Every answer has `effect`.
        EffectReported => "effect-reported",
        /// `--dry-run` changes nothing and says what would happen.
        DryRun => "dry-run",
        /// Killed midway and called again with the same key, it has one effect.
        KilledMidway => "killed-midway",
        /// Eight calls at once with one key have one effect.
        EightAtOnce => "eight-at-once",
        /// The exit statuses of a failure that can be retried and of one that cannot differ.
        ExitStatuses => "exit-statuses",
    }
}

impl ToolQuestion {
    /// The questions that the calls with keys, one after another, answer.
    pub(super) const WITH_KEYS: [ToolQuestion; 6] = [
        ToolQuestion::KeyAccepted,
        ToolQuestion::SameKeyOneEffect,
        ToolQuestion::SameKeyNoop,
        ToolQuestion::AnotherKey,
        ToolQuestion::SameKeyOtherArguments,
        ToolQuestion::EffectReported,
    ];
}
