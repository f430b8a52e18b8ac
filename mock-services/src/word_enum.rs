//! Enums whose variants are words in files and messages. The word of a variant is written once, in the
//! definition of the enum; serialization, parsing, JSON Schemas and everything that is displayed use it.

/// A text that is not the word of a variant of an enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown word")]
pub struct UnknownWord;

/// Defines an enum whose variants each have one word.
///
/// The enum gets `ALL` (every variant, in order), `as_str`, `FromStr`, `Display`, and implementations of
/// `Serialize` and `Deserialize` that write and read the word. Variants are ordered as they are listed.
///
/// ```
/// mock_services::word_enum! {
///     /// How a parcel is sent.
///     pub enum Shipping {
///         /// In a few days.
///         Standard => "standard",
///         /// Tomorrow.
///         NextDay => "next-day",
///     }
/// }
///
/// assert_eq!(Shipping::NextDay.as_str(), "next-day");
/// assert_eq!("standard".parse(), Ok(Shipping::Standard));
/// assert_eq!(Shipping::ALL.map(Shipping::as_str), ["standard", "next-day"]);
/// ```
#[macro_export]
macro_rules! word_enum {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$variant_attribute:meta])* $variant:ident => $word:literal),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility enum $name {
            $($(#[$variant_attribute])* $variant,)+
        }

        #[allow(dead_code, reason = "not every enum needs every function")]
        impl $name {
            /// Every variant, in order.
            $visibility const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];

            /// The word of this variant in files and messages.
            #[must_use]
            $visibility const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok($name::$variant),)+
                    _ => Err($crate::UnknownWord),
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use $crate::serde::de::Error as _;
                let word: ::std::borrow::Cow<'de, str> = $crate::serde::Deserialize::deserialize(deserializer)?;
                word.parse().map_err(|_| D::Error::unknown_variant(&word, &[$($word),+]))
            }
        }
    };
}

#[cfg(test)]
mod tests {
    word_enum! {
        /// A sample.
        pub(super) enum Sample {
            /// First.
            First => "first",
            /// Second.
            SecondOne => "second-one",
        }
    }

    #[test]
    fn every_word_is_written_and_read_as_itself() {
        for sample in Sample::ALL {
            let json = serde_json::to_string(&sample).unwrap();
            assert_eq!(json, format!("\"{}\"", sample.as_str()));
            assert_eq!(serde_json::from_str::<Sample>(&json).unwrap(), sample);
            assert_eq!(sample.as_str().parse(), Ok(sample));
            assert_eq!(sample.to_string(), sample.as_str());
        }
    }

    #[test]
    fn an_unknown_word_is_an_error_that_lists_the_known_words() {
        let error = serde_json::from_str::<Sample>("\"third\"").unwrap_err().to_string();
        assert!(error.contains("`third`") && error.contains("`first` or `second-one`"), "{error}");
    }

    #[test]
    fn variants_are_ordered_as_they_are_listed() {
        assert!(Sample::First < Sample::SecondOne);
    }
}
