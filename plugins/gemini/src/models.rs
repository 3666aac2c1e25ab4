//! The list of models: what a new session over ACP offers. The CLI has no command for it.

use wharf_adapter::json::{Object, array};
use wharf_adapter::{Binary, Host, HostError, Json, Login, Model, ModelList, Probe};

/// A start takes seconds on a loaded machine.
const PROBE_MILLIS: u32 = 40_000;
/// The id of our request for a session.
const NEW_SESSION: u64 = 2;

/// The models that a turn may name.
pub(crate) fn list(host: &dyn Host, binary: Option<&Binary>) -> ModelList {
    let Some(binary) = binary else {
        return ModelList::Unavailable("the program was not found".to_owned());
    };
    // Without a login the CLI would open a browser and wait.
    if let Login::Missing(fix) = &binary.login {
        return ModelList::NeedsAuth(fix.clone());
    }
    let flag = if crate::features::Features::of(binary).acp { "--acp" } else { "--experimental-acp" };
    match Probe::new(host, binary).timeout_ms(PROBE_MILLIS).run_with(&[flag], &requests()) {
        Ok(output) => read(&String::from_utf8_lossy(&output.stdout)),
        Err(HostError::TimedOut) => ModelList::Unavailable("the agent did not offer a session in time".to_owned()),
        Err(HostError::Denied(reason)) => ModelList::Unavailable(format!("the agent may not be run: {reason}")),
        Err(_) => ModelList::Unavailable("the agent could not be run".to_owned()),
    }
}

/// The handshake and a session in the folder that probes run in. Stdin then closes, and the agent exits.
fn requests() -> String {
    let request = |id: u64, method: &str, params: Object| {
        let request = Object::new().str("jsonrpc", "2.0").number("id", id).str("method", method);
        request.object("params", params).finish() + "\n"
    };
    let initialize = Object::new().number("protocolVersion", 1).object("clientCapabilities", Object::new());
    let new = Object::new().str("cwd", ".").raw("mcpServers", &array::<&str>([]));
    request(1, "initialize", initialize) + &request(NEW_SESSION, "session/new", new)
}

fn read(output: &str) -> ModelList {
    let answer = output.lines().map(Json::parse).find(|line| line.get("id").u64() == Some(NEW_SESSION));
    let Some(answer) = answer else {
        return ModelList::Unavailable("the agent offered no session".to_owned());
    };
    let error = answer.get("error");
    if !error.is_null() {
        let message = error.get("message").string().unwrap_or_default();
        let needs_login = error.get("code").i32() == Some(wharf_adapter::acp::AUTH_REQUIRED);
        return if needs_login { ModelList::NeedsAuth(message) } else { ModelList::Unavailable(message) };
    }
    let models = answer.at(&["result", "models"]);
    let current = models.get("currentModelId").string();
    let model = |entry: Json<'_>| {
        let [id, name, description] = entry.select(["modelId", "name", "description"]).ok()?;
        let id = id.string()?;
        Some(Model {
            name: name.string().unwrap_or_else(|| id.clone()),
            vendor: Some("Google".to_owned()),
            efforts: vec![],
            context: None,
            is_default: current.as_deref() == Some(&id),
            extra: description.filled().map(|text| Object::new().str("description", &text).finish()),
            id,
        })
    };
    ModelList::Models(models.get("availableModels").items().filter_map(model).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::{FakeHost, binary};

    fn listed(output: &str) -> ModelList {
        let host = FakeHost::default().output("/usr/bin/agent --acp", 0, output);
        list(&host, Some(&binary("0.61.0")))
    }

    #[test]
    fn the_models_of_a_new_session_are_listed() {
        let session = concat!(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
            r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s","models":{"availableModels":[{"modelId":"auto","name":"Auto","#,
            r#""description":"the best"},{"modelId":"gemini-2.5-pro","name":"gemini-2.5-pro"}],"currentModelId":"auto"}}}"#,
        );
        let ModelList::Models(models) = listed(session) else { panic!("no models") };
        let found: Vec<_> =
            models.iter().map(|model| (model.id.as_str(), model.name.as_str(), model.is_default)).collect();
        assert_eq!(found, [("auto", "Auto", true), ("gemini-2.5-pro", "gemini-2.5-pro", false)]);
        assert_eq!(models[0].extra.as_deref(), Some(r#"{"description":"the best"}"#));
    }

    #[test]
    fn a_session_that_is_not_offered_says_why() {
        let refused = r#"{"id":2,"error":{"code":-32000,"message":"Gemini API key is missing or not configured."}}"#;
        assert!(matches!(listed(refused), ModelList::NeedsAuth(_)));
        assert!(matches!(listed("{\"id\":1}\n"), ModelList::Unavailable(_)));
        assert!(matches!(list(&FakeHost::default(), None), ModelList::Unavailable(_)));
        let logged_out = Binary { login: Login::Missing("log in".to_owned()), ..binary("0.61.0") };
        assert!(matches!(list(&FakeHost::default(), Some(&logged_out)), ModelList::NeedsAuth(_)));
    }
}
