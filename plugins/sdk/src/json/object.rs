//! Writing JSON.

use super::escape::quote_into;

/// Writes a JSON object: `Object::new().str("type", "user").raw("message", &inner).finish()`.
#[derive(Debug, Clone)]
pub struct Object(String);

impl Default for Object {
    fn default() -> Object {
        Object::new()
    }
}

impl Object {
    /// An empty object.
    pub fn new() -> Object {
        Object("{".to_owned())
    }

    fn key(&mut self, key: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        quote_into(&mut self.0, key);
        self.0.push(':');
    }

    /// Adds a string.
    #[must_use]
    pub fn str(mut self, key: &str, value: &str) -> Object {
        self.key(key);
        quote_into(&mut self.0, value);
        self
    }

    /// Adds a string if there is one.
    #[must_use]
    pub fn maybe_str(self, key: &str, value: Option<&str>) -> Object {
        match value {
            Some(value) => self.str(key, value),
            None => self,
        }
    }

    /// Adds a value that is already JSON. It is not checked.
    #[must_use]
    pub fn raw(mut self, key: &str, json: &str) -> Object {
        self.key(key);
        self.0.push_str(json);
        self
    }

    /// Adds a whole number.
    #[must_use]
    pub fn number(self, key: &str, value: u64) -> Object {
        self.raw(key, &value.to_string())
    }

    /// Adds a boolean.
    #[must_use]
    pub fn bool(self, key: &str, value: bool) -> Object {
        self.raw(key, if value { "true" } else { "false" })
    }

    /// Adds a nested object.
    #[must_use]
    pub fn object(self, key: &str, value: Object) -> Object {
        self.raw(key, &value.finish())
    }

    /// Closes the object and returns its JSON.
    pub fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// An array of values that are already JSON.
pub fn array<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let mut json = "[".to_owned();
    for (number, item) in items.into_iter().enumerate() {
        if number > 0 {
            json.push(',');
        }
        json.push_str(item.as_ref());
    }
    json.push(']');
    json
}
