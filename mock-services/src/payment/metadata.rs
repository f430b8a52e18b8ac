//! Metadata: the client's own names and values on an object, within Stripe's limits.

use compact_str::CompactString;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::errors::{PaymentError, Refused};
use super::params::Params;
use crate::service::Fields;

const MAX_KEYS: usize = 50;
const MAX_KEY_CHARACTERS: usize = 40;
const MAX_VALUE_CHARACTERS: usize = 500;

/// The metadata of an object, in insertion order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Metadata(Vec<MetadataEntry>);

/// A name and its value, stored inline when they are short.
type MetadataEntry = (CompactString, CompactString);

/// The metadata changes of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MetadataChange {
    clear: bool,
    set: Vec<MetadataEntry>,
}

impl Metadata {
    /// One name with its value.
    pub(crate) fn single(name: &str, value: &str) -> Self {
        Metadata(vec![(name.into(), value.into())])
    }
}

impl MetadataChange {
    /// Reads `metadata[name]=value`; an empty value removes the name, an empty `metadata` removes all.
    pub(crate) fn read(params: &Params<'_>) -> Result<Self, Refused> {
        let mut change = MetadataChange::default();
        match params.raw("metadata") {
            Some("") => change.clear = true,
            Some(_) => return Err(invalid("Invalid object".to_owned())),
            None => {}
        }
        change.add(params.inside("metadata"))?;
        Ok(change)
    }

    /// Reads `root[metadata][name]=value`, for an object that is created together with another.
    pub(crate) fn read_inside(params: &Params<'_>, root: &str) -> Result<Self, Refused> {
        let mut change = MetadataChange::default();
        let inside = params.inside(root).filter(|(first, ..)| *first == "metadata");
        change.add(inside.filter_map(|(_, rest, value)| {
            let (name, rest) = rest.strip_prefix('[')?.split_once(']')?;
            Some((name, rest, value))
        }))?;
        Ok(change)
    }

    /// Adds entries: the name, the rest of the parameter's name, and the value.
    fn add<'p>(&mut self, entries: impl Iterator<Item = (&'p str, &'p str, &'p str)>) -> Result<(), Refused> {
        for (name, rest, value) in entries {
            if name.is_empty() || !rest.is_empty() {
                return Err(invalid(format!(
                    "Metadata values must be strings, but the value of key '{name}' is not one."
                )));
            }
            if let Some(length) = length_over(name, MAX_KEY_CHARACTERS) {
                let limit = MAX_KEY_CHARACTERS;
                return Err(invalid(format!(
                    "Metadata keys can have up to {limit} characters, but you passed in a key that is \
                     {length} characters. Invalid \
                     key: {name}"
                )));
            }
            if let Some(length) = length_over(value, MAX_VALUE_CHARACTERS) {
                let limit = MAX_VALUE_CHARACTERS;
                return Err(invalid(format!(
                    "Metadata values can have up to {limit} characters, but you passed in a value that is \
                     {length} characters. \
                     Invalid value: {value}"
                )));
            }
            set_entry(&mut self.set, name, value);
            check_count(self.set.len())?;
        }
        Ok(())
    }

    /// The result on an object without metadata.
    pub(crate) fn on_new_object(&self) -> Metadata {
        // With exact capacity, because the object keeps it.
        let mut entries = Vec::with_capacity(self.set.len());
        entries.extend(self.set.iter().filter(|(_, value)| !value.is_empty()).cloned());
        Metadata(entries)
    }

    /// The result on an object that may have metadata.
    pub(crate) fn applied_to(&self, old: &Metadata) -> Result<Metadata, Refused> {
        let mut entries = if self.clear { Vec::new() } else { old.0.clone() };
        for (name, value) in &self.set {
            if value.is_empty() {
                entries.retain(|(other, _)| other != name);
            } else {
                set_entry(&mut entries, name, value);
            }
        }
        check_count(entries.len())?;
        Ok(Metadata(entries))
    }

    /// Adds the values to the fields of a request.
    pub(crate) fn describe(&self, fields: &mut Fields) {
        describe(&self.set, fields);
    }
}

impl Metadata {
    /// The value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        get(&self.0, name)
    }

    /// All names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The order that the metadata names.
    pub(crate) fn order(&self) -> Option<&str> {
        order(&self.0)
    }

    /// Adds every entry, and the order, to the fields of an effect.
    pub(crate) fn describe(&self, fields: &mut Fields) {
        describe(&self.0, fields);
    }

    /// Adds the labels that identify the changed object, and the caller's labels on the action. The labels of
    /// the object come first: a caller's label with another value becomes `own_metadata`, so that no label
    /// can make one object look like another.
    pub(crate) fn describe_with_own(&self, own: &Metadata, fields: &mut Fields) {
        own.describe(fields);
        self.describe(fields);
        for (name, value) in
            own.0.iter().filter(|(name, value)| self.get(name).is_some_and(|other| other != value.as_str()))
        {
            fields.set(format!("own_metadata.{name}"), value.as_str());
        }
    }

    /// Whether these labels differ from `old`: a label changed or was removed, or the order differs. An added
    /// note is not a different label.
    pub(crate) fn relabels(&self, old: &Metadata) -> bool {
        self.order() != old.order()
            || old.0.iter().any(|(name, value)| self.get(name) != Some(value.as_str()))
    }
}

fn get<'a>(entries: &'a [MetadataEntry], name: &str) -> Option<&'a str> {
    entries.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

fn order(entries: &[MetadataEntry]) -> Option<&str> {
    ["order", "order_id"].iter().find_map(|name| get(entries, name)).filter(|order| !order.is_empty())
}

fn describe(entries: &[MetadataEntry], fields: &mut Fields) {
    if let Some(order) = order(entries) {
        fields.set("order", order);
    }
    for (name, value) in entries {
        let mut label = CompactString::const_new("metadata.");
        label.push_str(name);
        fields.set(label, value.as_str());
    }
}

/// The number of characters of a text, when it exceeds the limit.
fn length_over(text: &str, limit: usize) -> Option<usize> {
    // A text has at most as many characters as bytes.
    (text.len() > limit).then(|| text.chars().count()).filter(|length| *length > limit)
}

fn set_entry(entries: &mut Vec<MetadataEntry>, name: &str, value: &str) {
    match entries.iter_mut().find(|(other, _)| other == name) {
        Some(slot) => slot.1 = value.into(),
        None => {
            if entries.is_empty() {
                // Most objects have one entry.
                entries.reserve_exact(1);
            }
            entries.push((name.into(), value.into()));
        }
    }
}

fn check_count(count: usize) -> Result<(), Refused> {
    if count <= MAX_KEYS {
        return Ok(());
    }
    Err(invalid(format!(
        "Metadata can have up to {MAX_KEYS} keys, but you've set {count}. Email us at \
         support+metadata@stripe.com for more information."
    )))
}

fn invalid(message: String) -> Refused {
    Box::new(PaymentError::invalid(message).param("metadata"))
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{Request, Value};

    fn read(body: &str) -> Result<MetadataChange, Refused> {
        let request = Request::new("POST", "/").body(body);
        MetadataChange::read(&Params::read(&request)?)
    }

    #[test]
    fn the_order_is_read_from_either_name() {
        let mut fields = Fields::new();
        read("metadata[order_id]=o2&metadata[a]=b").unwrap().describe(&mut fields);
        assert_eq!(fields.get("order"), Some(&Value::from("o2")));
        assert_eq!(fields.get("metadata.a"), Some(&Value::from("b")));
        assert_eq!(
            read("metadata[order_id]=o2&metadata[order]=o1").unwrap().on_new_object().order(),
            Some("o1")
        );
    }

    #[test]
    fn an_update_sets_removes_and_clears() {
        let old = read("metadata[a]=1&metadata[b]=2").unwrap().on_new_object();
        let new = read("metadata[a]=&metadata[c]=3").unwrap().applied_to(&old).unwrap();
        assert_eq!((new.get("a"), new.get("b"), new.get("c")), (None, Some("2"), Some("3")));
        assert_eq!(read("metadata=").unwrap().applied_to(&old).unwrap(), Metadata::default());
    }

    #[test]
    fn the_labels_of_the_object_come_before_those_of_the_caller() {
        let thing = read("metadata[order]=o1&metadata[a]=1").unwrap().on_new_object();
        let mut fields = Fields::new();
        thing.describe_with_own(
            &read("metadata[order]=o2&metadata[a]=1&metadata[b]=2").unwrap().on_new_object(),
            &mut fields,
        );
        let text = |name: &str| fields.get(name).map(ToString::to_string);
        assert_eq!(text("order").as_deref(), Some("o1"));
        assert_eq!(
            (text("metadata.order"), text("own_metadata.order")),
            (Some("o1".to_owned()), Some("o2".to_owned()))
        );
        assert_eq!((text("metadata.b"), text("own_metadata.a")), (Some("2".to_owned()), None));
        let mut bare = Fields::new();
        Metadata::default().describe_with_own(&Metadata::single("order", "o2"), &mut bare);
        assert_eq!(bare.get("order"), Some(&Value::from("o2")));
    }

    #[test]
    fn labels_differ_when_one_is_changed_removed_or_an_order() {
        let old = read("metadata[a]=1").unwrap().on_new_object();
        let relabels = |body: &str| read(body).unwrap().applied_to(&old).unwrap().relabels(&old);
        assert!(relabels("metadata[a]=2") && relabels("metadata[a]=") && relabels("metadata[order_id]=o1"));
        assert!(!relabels("metadata[a]=1") && !relabels("metadata[note]=x"));
    }

    #[test]
    fn the_limits_are_enforced() {
        let many =
            |count: usize| (0..count).map(|index| format!("metadata[k{index}]=v&")).collect::<String>();
        assert!(read(&many(50)).is_ok());
        assert!(read(&many(51)).is_err());
        assert!(read(&format!("metadata[{}]=v", "k".repeat(40))).is_ok());
        assert!(read(&format!("metadata[{}]=v", "k".repeat(41))).is_err());
        assert!(read(&format!("metadata[k]={}", "v".repeat(500))).is_ok());
        assert!(read(&format!("metadata[k]={}", "v".repeat(501))).is_err());
        assert!(read("metadata[a][b]=1").is_err());
        assert!(read("metadata=text").is_err());
        let full = read(&many(50)).unwrap().on_new_object();
        assert!(read("metadata[more]=1").unwrap().applied_to(&full).is_err());
    }
}
