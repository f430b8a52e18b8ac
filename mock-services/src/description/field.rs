//! What the fields of a service's operations and effects mean: for messages, advice, examples and timelines.

/// The description of one field. A service describes the fields that are particular to it; all services share
/// [`FieldDescription::COMMON`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldDescription {
    /// Its name.
    pub name: &'static str,
    /// What it says about an effect.
    pub role: FieldRole,
    /// Whether a timeline shows it before the other fields.
    pub is_first: bool,
    /// Whether a value of digits is a number, not a text.
    pub is_number: bool,
    /// How to write its value, if the service records only whole numbers in it.
    pub whole_number: Option<&'static str>,
    /// If it is an amount of money: the field with its currency.
    pub currency: Option<&'static str>,
    /// What advice calls it, if not by its name: `recipient`.
    pub advice: Option<&'static str>,
    /// Values for examples.
    pub examples: Option<FieldExamples>,
    /// When two texts mean the same value; `None` if only equal texts do.
    pub form: Option<ValueForm>,
}

/// What a field says about an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldRole {
    /// Nothing in particular: it identifies an effect if its operation says so.
    #[default]
    Plain,
    /// It identifies an effect, even if it has a usual value.
    Identifies,
    /// What the effect is for: an order. It identifies the intent, whoever the caller is.
    Purpose,
    /// Where the effect happens. Many effects happen there, so it does not tell one from another.
    Place,
    /// The object that the effect changes.
    Object,
    /// Whom the effect is about: it identifies an effect whose id is not known in advance.
    Owner,
    /// An id that the service generates, so it is not known when a scenario is written.
    Generated,
    /// It describes an effect and does not identify it.
    Describes,
    /// It describes an effect, in words that can differ between runs without a different meaning.
    DescribesInWords,
    /// Words that can differ between runs without a different meaning.
    Words,
}

/// Values of a field for examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldExamples {
    /// Two values.
    pub two: [&'static str; 2],
    /// A numbered value; `{}` is the number.
    pub numbered: &'static str,
}

impl FieldDescription {
    /// An amount of money.
    pub const AMOUNT: FieldDescription = FieldDescription {
        is_first: true,
        is_number: true,
        currency: Some("currency"),
        ..FieldDescription::new("amount").role(FieldRole::Describes)
    };
    /// The currency of an amount.
    pub const CURRENCY: FieldDescription = FieldDescription::new("currency").role(FieldRole::Describes);
    /// The recipient of a message.
    pub const TO: FieldDescription = FieldDescription {
        is_first: true,
        ..FieldDescription::new("to").role(FieldRole::Object).examples(
            "ann@example.com",
            "bob@example.com",
            "user{}@example.com",
        )
    };

    /// The fields that mean the same in every service that does not describe them itself, the most important
    /// first.
    pub const COMMON: &[FieldDescription] = &[
        FieldDescription::AMOUNT,
        FieldDescription::CURRENCY,
        FieldDescription {
            is_first: true,
            ..FieldDescription::new("order")
                .role(FieldRole::Purpose)
                .examples("ord_1001", "ord_1002", "ord_{}")
        },
        FieldDescription::new("reference").role(FieldRole::Purpose),
        FieldDescription::TO,
        FieldDescription::new("customer").role(FieldRole::Owner).examples("cus_42", "cus_43", "cus_{}"),
        FieldDescription::new("quantity").role(FieldRole::Describes).number(),
        FieldDescription::new("value").role(FieldRole::Describes).number(),
        FieldDescription::new("by").role(FieldRole::Describes).number(),
        FieldDescription::new("price").role(FieldRole::Describes),
        FieldDescription::new("version").role(FieldRole::Describes),
        FieldDescription::new("reason").role(FieldRole::Describes),
        FieldDescription::new("subject").role(FieldRole::Describes),
        FieldDescription::new("text").role(FieldRole::DescribesInWords),
        FieldDescription::new("description").role(FieldRole::DescribesInWords),
        FieldDescription::new("html").role(FieldRole::Words),
        FieldDescription::new("body").role(FieldRole::Words),
        FieldDescription::new("message").role(FieldRole::Words),
    ];

    /// A field of which only the name is known.
    pub const UNKNOWN: FieldDescription = FieldDescription::new("");

    /// A field.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        FieldDescription {
            name,
            role: FieldRole::Plain,
            is_first: false,
            is_number: false,
            whole_number: None,
            currency: None,
            advice: None,
            examples: None,
            form: None,
        }
    }

    /// Sets what it says about an effect.
    #[must_use]
    pub const fn role(mut self, role: FieldRole) -> Self {
        self.role = role;
        self
    }

    /// Makes it a number.
    #[must_use]
    pub const fn number(mut self) -> Self {
        self.is_number = true;
        self
    }

    /// Sets when two texts mean the same value.
    #[must_use]
    pub const fn form(mut self, form: ValueForm) -> Self {
        self.form = Some(form);
        self
    }

    /// Sets two values for examples, and a numbered one.
    #[must_use]
    pub const fn examples(mut self, one: &'static str, other: &'static str, numbered: &'static str) -> Self {
        self.examples = Some(FieldExamples { two: [one, other], numbered });
        self
    }

    /// Whether it describes an effect and does not identify it.
    #[must_use]
    pub const fn describes(&self) -> bool {
        matches!(self.role, FieldRole::Describes | FieldRole::DescribesInWords)
    }

    /// Whether its wording can differ between runs without a different meaning.
    #[must_use]
    pub const fn is_free_text(&self) -> bool {
        matches!(self.role, FieldRole::Words | FieldRole::DescribesInWords)
    }
}

/// A part of the phrase that tells one effect from others: `for ord_1001`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhrasePart {
    /// The words before the value.
    pub before: &'static str,
    /// The fields with the value; the values of several fields follow each other without a space.
    pub fields: &'static [&'static str],
    /// Whether it is only used if the phrase has no other part.
    pub only_alone: bool,
}

impl PhrasePart {
    /// The phrase for effects of a service that has none of its own.
    pub const COMMON: &[PhrasePart] = &[
        PhrasePart::new("of", &["amount"]),
        PhrasePart::new("to", &["to"]),
        PhrasePart::new("for", &["order"]),
        PhrasePart::alone("of", &["customer"]),
    ];

    /// A part of a phrase.
    #[must_use]
    pub const fn new(before: &'static str, fields: &'static [&'static str]) -> Self {
        PhrasePart { before, fields, only_alone: false }
    }

    /// A part that is only used if the phrase has no other part.
    #[must_use]
    pub const fn alone(before: &'static str, fields: &'static [&'static str]) -> Self {
        PhrasePart { before, fields, only_alone: true }
    }
}

/// When two texts mean the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    /// If they differ only in case: mail addresses.
    AnyCase,
    /// If they name the same branch or tag: `v1.4.2` and `refs/tags/v1.4.2`.
    GitRef,
    /// If they differ only in slashes at their end: paths of URLs.
    UrlPath,
}

impl ValueForm {
    /// The canonical text of all texts that mean the same value.
    #[must_use]
    pub fn canonical(self, text: &str) -> String {
        match self {
            ValueForm::AnyCase => text.to_lowercase(),
            ValueForm::GitRef => short_ref(text).to_owned(),
            ValueForm::UrlPath => match text.trim_end_matches('/') {
                "" => "/".to_owned(),
                path => path.to_owned(),
            },
        }
    }
}

/// The name of a branch or a tag without git's `refs/` folders: `v1.4.2` of `refs/tags/v1.4.2`.
pub(crate) fn short_ref(name: &str) -> &str {
    let stems = ["refs/heads/", "refs/tags/", "heads/", "tags/"];
    stems.iter().find_map(|stem| name.strip_prefix(stem)).filter(|rest| !rest.is_empty()).unwrap_or(name)
}
