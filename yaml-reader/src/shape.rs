//! The shape of a file: which keys a map can have and what their values look like. The reader takes the keys of a
//! map from it, and the JSON Schema for editors is built from it, so that a key is described once.

use serde_json::{Map as Object, Value, json};

/// What a value looks like.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Any value.
    Any,
    /// Anything but nothing.
    Something,
    /// A text.
    Text,
    /// A text that is not blank.
    Sentence,
    /// A text that this regular expression matches.
    Pattern(&'static str),
    /// `true` or `false`.
    Flag,
    /// A whole number from the first to the last.
    Integer(i64, i64),
    /// A number between 0 and 1, neither included.
    Fraction,
    /// A number between 0 and 1, with 1.
    Chance,
    /// A value of one of these types of JSON.
    Types(&'static [&'static str]),
    /// This word.
    Word(&'static str),
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
    /// A list of such values.
    List(&'static Shape, Count),
    /// A list of such values, none of them twice.
    Set(&'static Shape, Count),
    /// A map with names of the first shape and values of the second.
    MapOf(&'static Shape, &'static Shape, Count),
    /// A map with these keys.
    Map(&'static [Field], Rule),
    /// One of these.
    OneOf(&'static [Shape]),
    /// A definition of the schema, such as `duration`.
    Ref(&'static str),
    /// What the other variants cannot express.
    Own(fn() -> Value),
}

/// How many entries a list or a map can have: at least, and at most.
#[derive(Debug, Clone, Copy)]
pub struct Count(pub usize, pub usize);

impl Count {
    /// Any number.
    pub const ANY: Count = Count(0, usize::MAX);
    /// One or more.
    pub const SOME: Count = Count(1, usize::MAX);

    fn add_to(self, schema: &mut Value, least: &str, most: &str) {
        if self.0 > 0 {
            schema[least] = self.0.into();
        }
        if self.1 < usize::MAX {
            schema[most] = self.1.into();
        }
    }
}

/// A key of a map and its value.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The key.
    pub name: &'static str,
    /// A description for editors; empty without one.
    pub about: &'static str,
    /// Whether it must be there.
    pub is_required: bool,
    /// The value.
    pub shape: Shape,
}

/// A key that must be there.
#[must_use]
pub const fn required(name: &'static str, shape: Shape) -> Field {
    Field { name, about: "", is_required: true, shape }
}

/// A key that may be there.
#[must_use]
pub const fn optional(name: &'static str, shape: Shape) -> Field {
    Field { is_required: false, ..required(name, shape) }
}

impl Field {
    /// Adds a description for editors.
    #[must_use]
    pub const fn about(self, about: &'static str) -> Self {
        Field { about, ..self }
    }
}

/// Which keys a map needs, beside those that are always required.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// No others.
    None,
    /// One of these at least; without any, the first is reported as missing.
    First(&'static [&'static str]),
    /// One of these at least. The reader reports it in its own words.
    AnyOf(&'static [&'static str]),
    /// Exactly one of these. The reader reports it in its own words.
    OneOf(&'static [&'static str]),
}

/// A map with `N` keys. The reader gets their values in the same order.
#[derive(Debug)]
pub struct MapShape<const N: usize> {
    fields: [Field; N],
    rule: Rule,
}

impl<const N: usize> MapShape<N> {
    /// A map with these keys.
    #[must_use]
    pub const fn new(fields: [Field; N]) -> Self {
        MapShape { fields, rule: Rule::None }
    }

    /// Adds which keys it needs.
    #[must_use]
    pub const fn needs(self, rule: Rule) -> Self {
        MapShape { fields: self.fields, rule }
    }

    /// As the shape of a value.
    #[must_use]
    pub const fn shape(&'static self) -> Shape {
        Shape::Map(&self.fields, self.rule)
    }

    /// Its keys.
    #[must_use]
    pub const fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The names of the keys.
    pub(super) fn names(&self) -> [&'static str; N] {
        self.fields.map(|field| field.name)
    }

    /// Whether this key is missing in a map that has the keys for which `has` is true.
    pub(super) fn is_missing(&self, index: usize, has: impl Fn(&str) -> bool) -> bool {
        let Field { name, is_required, .. } = self.fields[index];
        match self.rule {
            Rule::First(keys) if keys.first() == Some(&name) => !keys.iter().any(|key| has(key)),
            _ => is_required && !has(name),
        }
    }

    /// The JSON Schema of a file (draft 2020-12). `definitions` are the schemas that [`Shape::Ref`] names; `names`
    /// is whether the definition `name` can stand for any value.
    #[must_use]
    pub fn document(&'static self, title: &str, about: &str, definitions: Value, names: bool) -> Value {
        let mut schema = self.shape().without_name(names);
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        schema["title"] = title.into();
        schema["description"] = about.into();
        schema["$defs"] = definitions;
        schema
    }
}

impl Shape {
    /// A duration with a unit: `800ms`.
    pub const DURATION: Shape = Shape::Ref("duration");
    /// A whole number from 1.
    pub const POSITIVE: Shape = Shape::Integer(1, u32::MAX as i64);

    /// A list of texts.
    pub const TEXTS: Shape = Shape::List(&Shape::Text, Count::ANY);
    /// A map of names to any values.
    pub const ANY_MAP: Shape = Shape::MapOf(&Shape::Any, &Shape::Any, Count::ANY);
    /// A map of names to texts.
    pub const TEXT_MAP: Shape = Shape::MapOf(&Shape::Any, &Shape::Text, Count::ANY);

    /// The JSON Schema. With `names`, the definition `name` can stand for the value and for any value in it.
    #[must_use]
    pub fn schema(self, names: bool) -> Value {
        let schema = self.without_name(names);
        // The others accept every text, or allow a name themselves.
        let needs_name = match self {
            Shape::Any | Shape::Something | Shape::Text | Shape::Sentence => false,
            Shape::Ref(_) | Shape::Own(_) | Shape::OneOf(_) => false,
            Shape::Types(types) => !types.contains(&"string"),
            _ => true,
        };
        if names && needs_name {
            json!({ "anyOf": [schema, Shape::Ref("name").schema(false)] })
        } else {
            schema
        }
    }

    /// The same, where no name can stand for the value as a whole.
    fn without_name(self, names: bool) -> Value {
        match self {
            Shape::Any => json!(true),
            Shape::Something => json!({ "not": { "type": "null" } }),
            Shape::Text => json!({ "type": "string" }),
            Shape::Sentence => json!({ "type": "string", "pattern": "\\S" }),
            Shape::Pattern(pattern) => json!({ "type": "string", "pattern": pattern }),
            Shape::Flag => json!({ "type": "boolean" }),
            Shape::Integer(first, last) => {
                let mut integer = json!({ "type": "integer" });
                if first > i64::MIN {
                    integer["minimum"] = first.into();
                }
                if last < i64::MAX {
                    integer["maximum"] = last.into();
                }
                integer
            }
            Shape::Fraction => json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }),
            Shape::Chance => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }),
            Shape::Types([only]) => json!({ "type": only }),
            Shape::Types(types) => json!({ "type": types }),
            Shape::Word(word) => json!({ "const": word }),
            Shape::Words(words) => json!({ "enum": words() }),
            Shape::List(items, count) => {
                let mut list = json!({ "type": "array", "items": items.schema(names) });
                count.add_to(&mut list, "minItems", "maxItems");
                list
            }
            Shape::Set(items, count) => {
                let mut set = Shape::List(items, count).without_name(names);
                set["uniqueItems"] = true.into();
                set
            }
            Shape::MapOf(keys, values, count) => {
                let mut map = json!({ "type": "object", "additionalProperties": values.schema(names) });
                if !matches!(keys, Shape::Any) {
                    map["propertyNames"] = keys.schema(false);
                }
                count.add_to(&mut map, "minProperties", "maxProperties");
                map
            }
            Shape::Map(fields, rule) => object(fields, rule, names),
            // A name is allowed once.
            Shape::OneOf(shapes) => {
                let schema = |(index, shape): (usize, &Shape)| {
                    if index == 0 { shape.schema(names) } else { shape.without_name(names) }
                };
                json!({ "anyOf": shapes.iter().enumerate().map(schema).collect::<Vec<_>>() })
            }
            Shape::Ref(name) => json!({ "$ref": format!("#/$defs/{name}") }),
            Shape::Own(schema) => schema(),
        }
    }
}

/// The JSON Schema of a map with these keys.
#[must_use]
pub fn object(fields: &[Field], rule: Rule, names: bool) -> Value {
    let property = |field: &Field| {
        let mut schema = field.shape.schema(names);
        if !field.about.is_empty() {
            // Anything is `true`, which has no place for a description.
            schema = if schema == json!(true) { json!({}) } else { schema };
            schema["description"] = field.about.into();
        }
        (field.name.to_owned(), schema)
    };
    let properties: Object<String, Value> = fields.iter().map(property).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    let required: Vec<&str> =
        fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    let alternatives = |keys: &[&str]| keys.iter().map(|key| json!({ "required": [key] })).collect::<Value>();
    match rule {
        Rule::None => {}
        Rule::First(keys) | Rule::AnyOf(keys) => schema["anyOf"] = alternatives(keys),
        Rule::OneOf(keys) => schema["oneOf"] = alternatives(keys),
    }
    schema
}

/// The words of a table of words and their meanings.
#[must_use]
pub fn words_of<T>(table: &[(&'static str, T)]) -> Vec<&'static str> {
    table.iter().map(|(word, _)| *word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reader, Source, parse};

    static SHOP: MapShape<3> = MapShape::new([
        required("name", Shape::Text).about("What it is called."),
        optional("opens", Shape::OneOf(&[Shape::Integer(0, 23), Shape::Word("never")])),
        optional("shelves", Shape::List(&Shape::Flag, Count::SOME)),
    ])
    .needs(Rule::First(&["opens", "shelves"]));

    fn read(text: &str) -> Result<[Option<String>; 3], String> {
        let file = Source::new("shop.yaml", text);
        let (tree, reader) = (parse(&file).unwrap(), Reader::new(&file));
        let fields = reader.fields(&tree, "a shop", &SHOP);
        let fields = fields.map(|fields| fields.map(|field| field.map(|node| node.describe())));
        reader.finish(fields).map_err(|problems| {
            let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
            messages.join("; ")
        })
    }

    #[test]
    fn values_are_in_the_order_of_the_shape_and_keys_are_held_to_it() {
        let text = |text: &str| Some(format!("the text \"{text}\""));
        assert_eq!(read("{opens: never, name: a}").unwrap(), [text("a"), text("never"), None]);
        assert_eq!(read("{shelves: [], name: a}").unwrap(), [text("a"), None, Some("a list".to_owned())]);
        assert_eq!(read("{name: a}").unwrap_err(), "a shop needs the key `opens`");
        let both = "a shop needs the key `name`; a shop has no key `color`";
        assert_eq!(read("{opens: 1, color: red}").unwrap_err(), both);
    }

    #[test]
    fn a_name_can_stand_for_any_value_but_once_in_a_choice() {
        let name = || json!({ "$ref": "#/$defs/name" });
        let hours = json!({ "type": "integer", "minimum": 0, "maximum": 23 });
        let flag = json!({ "anyOf": [{ "type": "boolean" }, name()] });
        let shelves = json!({ "type": "array", "items": flag, "minItems": 1 });
        let wanted = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "What it is called." },
                "opens": { "anyOf": [{ "anyOf": [hours, name()] }, { "const": "never" }] },
                "shelves": { "anyOf": [shelves, name()] },
            },
            "required": ["name"],
            "anyOf": [{ "required": ["opens"] }, { "required": ["shelves"] }],
            "additionalProperties": false,
        });
        assert_eq!(SHOP.shape().schema(true), json!({ "anyOf": [wanted, name()] }));
        assert!(!SHOP.shape().schema(false).to_string().contains("$ref"));
    }
}
