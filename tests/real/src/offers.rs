//! What an adapter says it can do with this version over this transport, from `wharf doctor --json`.

use serde_json::Value;

/// The capabilities, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Offers {
    capabilities: Vec<String>,
    /// Why the transport cannot be used at all.
    pub(crate) no_transport: Option<String>,
}

impl Offers {
    /// `found` is what doctor prints of one agent. Without a forced transport, the host uses whichever has what a turn
    /// needs, so that the capabilities of all of them count.
    pub(crate) fn read(found: &Value, forced: Option<&str>) -> Offers {
        let agent = &found["agent"];
        let Some(transports) = agent["transports"].as_array() else {
            return Offers { capabilities: names(&agent["capabilities"]), no_transport: None };
        };
        let is_wanted = |transport: &&Value| forced.is_none_or(|name| transport["name"] == name);
        let wanted: Vec<&Value> = transports.iter().filter(is_wanted).collect();
        let no_transport = match forced {
            Some(name) if wanted.is_empty() => {
                let names: Vec<&str> = transports.iter().filter_map(|transport| transport["name"].as_str()).collect();
                Some(format!("this version has no transport `{name}`, only {}", names.join(", ")))
            }
            _ => None,
        };
        let capabilities = wanted.into_iter().flat_map(|transport| names(&transport["capabilities"])).collect();
        Offers { capabilities, no_transport }
    }

    pub(crate) fn has(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|one| one == capability)
    }
}

fn names(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn capabilities_are_those_of_the_transport() {
        let lines = json!({ "name": "json-lines", "capabilities": ["streaming"] });
        let acp = json!({ "name": "acp", "capabilities": ["asks"] });
        let found = json!({ "agent": { "transports": [lines, acp] } });
        let of = |forced| Offers::read(&found, forced);
        assert!(of(None).has("asks") && of(None).has("streaming"));
        assert!(of(Some("acp")).has("asks") && !of(Some("acp")).has("streaming"));
        assert!(of(Some("sdk")).no_transport.is_some_and(|reason| reason.contains("sdk")));
        let flat = json!({ "agent": { "capabilities": ["asks"] } });
        assert!(Offers::read(&flat, Some("acp")).has("asks"));
    }
}
