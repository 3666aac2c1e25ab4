//! The list of models: from the program, which needs no network, and from the API if there is a key.

use crate::describe::{API, KEYS};
use wharf_adapter::json::Object;
use wharf_adapter::{Binary, FetchError, Host, Json, Model, ModelList, Probe, fetch_json};

/// The request that makes the program list its models before any turn.
const INITIALIZE: &str =
    "{\"type\":\"control_request\",\"request_id\":\"wharf-models\",\"request\":{\"subtype\":\"initialize\"}}\n";

/// Lists the models. The program's list has the aliases and their models; the API's list has the models of the key.
pub(crate) fn list(host: &dyn Host, binary: Option<&Binary>) -> ModelList {
    let mut models = binary.map(|binary| from_program(host, binary)).unwrap_or_default();
    match from_api(host) {
        Some(Ok(more)) => {
            let new = more.into_iter().filter(|model| models.iter().all(|known| known.id != model.id));
            let new: Vec<Model> = new.collect();
            models.extend(new);
        }
        Some(Err(error)) if models.is_empty() => return error.into(),
        None if models.is_empty() => {
            return ModelList::NeedsAuth("install Claude Code, or set ANTHROPIC_API_KEY".to_owned());
        }
        _ => {}
    }
    ModelList::Models(models)
}

fn from_program(host: &dyn Host, binary: &Binary) -> Vec<Model> {
    let args = [
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--setting-sources",
        "user",
        "--strict-mcp-config",
        "--no-session-persistence",
    ];
    let Ok(output) = Probe::new(host, binary).timeout_ms(20_000).run_with(&args, INITIALIZE) else { return vec![] };
    let text = String::from_utf8_lossy(&output.stdout);
    let response = text.lines().map(Json::parse).find(|line| line.get("type").is("control_response"));
    let models = response.map(|line| line.at(&["response", "response", "models"]));
    models.into_iter().flat_map(Json::items).filter_map(program_model).collect()
}

fn program_model(model: Json<'_>) -> Option<Model> {
    let keys = ["value", "displayName", "resolvedModel", "description", "supportedEffortLevels"];
    let [id, name, resolved, description, efforts] = model.pick(keys).ok()?;
    let id = id.filled()?.into_owned();
    let resolved = resolved.filled();
    let extra = Object::new()
        .maybe_str("resolvedModel", resolved.as_deref())
        .maybe_str("description", description.filled().as_deref());
    Some(Model {
        name: name.string().unwrap_or_else(|| id.clone()),
        vendor: Some("anthropic".to_owned()),
        efforts: efforts.items().filter_map(Json::string).collect(),
        // The CLI marks the long context window with "[1m]", and does not report other windows.
        context: resolved.as_deref().unwrap_or(&id).ends_with("[1m]").then_some(1_000_000),
        is_default: id == "default",
        extra: Some(extra.finish()),
        id,
    })
}

/// `None` without a key.
fn from_api(host: &dyn Host) -> Option<Result<Vec<Model>, FetchError>> {
    let base = host.set_variable("ANTHROPIC_BASE_URL").unwrap_or_else(|| API.to_owned());
    let [key, token, oauth] = KEYS.map(|name| host.set_variable(name));
    let mut headers = vec![("anthropic-version", "2023-06-01".to_owned())];
    if let Some(key) = key {
        headers.push(("x-api-key", key));
    } else {
        if token.is_none() {
            headers.push(("anthropic-beta", "oauth-2025-04-20".to_owned()));
        }
        headers.push(("authorization", format!("Bearer {}", token.or(oauth)?)));
    }
    let url = format!("{}/v1/models?limit=1000", base.trim_end_matches('/'));
    let models = |body: String| Json::parse(&body).get("data").items().filter_map(api_model).collect();
    Some(fetch_json(host, &url, &headers).map(models))
}

fn api_model(model: Json<'_>) -> Option<Model> {
    let [id, name, window] = model.pick(["id", "display_name", "max_input_tokens"]).ok()?;
    let id = id.filled()?.into_owned();
    Some(Model {
        name: name.string().unwrap_or_else(|| id.clone()),
        vendor: Some("anthropic".to_owned()),
        efforts: vec![],
        context: window.u64(),
        is_default: false,
        extra: None,
        id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::{FakeHost, binary};

    /// The command that lists the models.
    const COMMAND: &str = "/usr/bin/agent -p --input-format stream-json --output-format stream-json --verbose \
                           --setting-sources user --strict-mcp-config --no-session-persistence";
    const OFFLINE: &str = concat!(
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"wharf-models","response":{"#,
        r#""commands":[],"models":[{"value":"default","resolvedModel":"claude-opus-5-5[1m]","displayName":"Default","#,
        r#""description":"Opus","supportsEffort":true,"supportedEffortLevels":["low","max"]},"#,
        r#"{"value":"haiku","resolvedModel":"claude-haiku-5-5","displayName":"Haiku","description":"Fast"}]}}}"#
    );
    const ONLINE: &str = r#"{"data":[{"type":"model","id":"claude-haiku-5-5","display_name":"Claude Haiku 5.5",
        "max_input_tokens":200000},{"type":"model","id":"haiku","display_name":"twice"}],"has_more":false}"#;
    const GET: &str = "GET https://api.anthropic.com/v1/models?limit=1000";

    fn ids(list: &ModelList) -> Vec<&str> {
        let ModelList::Models(models) = list else { panic!("no models but {list:?}") };
        models.iter().map(|model| model.id.as_str()).collect()
    }

    #[test]
    fn the_program_lists_its_aliases_without_a_network() {
        let host = FakeHost::default().output(COMMAND, 0, OFFLINE);
        let list = list(&host, Some(&binary("2.1.325")));
        assert_eq!(ids(&list), ["default", "haiku"]);
        assert!(host.requests.borrow().is_empty());
        let ModelList::Models(models) = list else { panic!("no models") };
        assert_eq!(models[0].efforts, ["low", "max"]);
        assert_eq!((models[0].is_default, models[0].context), (true, Some(1_000_000)));
        let extra = models[1].extra.as_deref().expect("more about it");
        assert_eq!(Json::parse(extra).get("resolvedModel").name(), Some("claude-haiku-5-5"));
    }

    #[test]
    fn a_key_adds_what_the_api_lists() {
        let host = FakeHost::default()
            .output(COMMAND, 0, OFFLINE)
            .with_variable("ANTHROPIC_API_KEY", "k")
            .response(GET, 200, ONLINE);
        assert_eq!(ids(&list(&host, Some(&binary("2.1.325")))), ["default", "haiku", "claude-haiku-5-5"]);
        let requests = host.requests.borrow();
        assert!(requests[0].headers.contains(&("x-api-key".to_owned(), "k".to_owned())));
    }

    #[test]
    fn a_token_is_sent_as_a_bearer_token() {
        let host = FakeHost::default().with_variable("ANTHROPIC_AUTH_TOKEN", "t").response(GET, 200, ONLINE);
        assert_eq!(ids(&list(&host, None)), ["claude-haiku-5-5", "haiku"]);
        assert!(host.requests.borrow()[0].headers.contains(&("authorization".to_owned(), "Bearer t".to_owned())));
    }

    #[test]
    fn a_custom_server_is_used_instead() {
        let host = FakeHost::default()
            .with_variable("ANTHROPIC_API_KEY", "k")
            .with_variable("ANTHROPIC_BASE_URL", "https://proxy.example/");
        let _ = list(&host, None);
        assert_eq!(host.requests.borrow()[0].url, "https://proxy.example/v1/models?limit=1000");
    }

    #[test]
    fn without_a_list_the_reason_is_reported() {
        let keyed = || FakeHost::default().with_variable("ANTHROPIC_API_KEY", "k");
        assert!(matches!(list(&FakeHost::default(), None), ModelList::NeedsAuth(_)));
        assert!(matches!(list(&keyed().response(GET, 401, "{}"), None), ModelList::NeedsAuth(_)));
        assert!(matches!(list(&keyed().response(GET, 500, "{}"), None), ModelList::Unavailable(_)));
        assert!(matches!(list(&keyed(), None), ModelList::Unavailable(_)));
    }
}
