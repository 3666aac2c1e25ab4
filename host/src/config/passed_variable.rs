//! An entry of `environment`: the name of a variable, or a table that also says whether its value is secret.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use wharf_core::stream::Secrecy;

/// A variable that every agent gets beside the base set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassedVariable {
    /// Its name.
    pub name: String,
    /// Whether its value is kept out of recordings, events and logs; by the rule if it is none.
    pub secret: Option<bool>,
}

impl PassedVariable {
    /// A variable whose value is secret or not by the rule.
    pub fn new(name: impl Into<String>) -> PassedVariable {
        PassedVariable { name: name.into(), secret: None }
    }

    pub(crate) fn secrecy(&self) -> Secrecy {
        match self.secret {
            None => Secrecy::ByRule,
            Some(true) => Secrecy::Secret,
            Some(false) => Secrecy::Plain,
        }
    }

    fn checked<E: Error>(self) -> Result<PassedVariable, E> {
        if self.name.is_empty() || self.name.contains(['=', '\0']) {
            return Err(E::custom(format!(
                "{:?} is not a variable's name; list names only, `--env NAME=VALUE` sets a value",
                self.name
            )));
        }
        Ok(self)
    }
}

impl<'de> Deserialize<'de> for PassedVariable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PassedVariable, D::Error> {
        deserializer.deserialize_any(Entry)
    }
}

/// Both forms. Not an untagged enum: its errors do not say what is wrong.
struct Entry;

/// A variable with more than its name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MarkedVariable")]
struct Table {
    /// Its name.
    name: String,
    /// Whether its value is kept out of recordings, events and logs; by the rule if it is missing.
    secret: Option<bool>,
}

/// A variable: its name, or a table that also says whether its value is secret.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is only described")]
enum Form {
    Name(String),
    Table(Table),
}

impl JsonSchema for PassedVariable {
    fn schema_name() -> Cow<'static, str> {
        "PassedVariable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Form::json_schema(generator)
    }
}

impl<'de> Visitor<'de> for Entry {
    type Value = PassedVariable;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a variable's name, or { name = \"NAME\", secret = false }")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<PassedVariable, E> {
        PassedVariable::new(name).checked()
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<PassedVariable, A::Error> {
        let Table { name, secret } = Table::deserialize(MapAccessDeserializer::new(fields))?;
        PassedVariable { name, secret }.checked()
    }
}
