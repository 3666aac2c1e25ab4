//! The list of models: from GitHub, or from a custom provider.

use crate::info::API;
use crate::login;
use wharf_adapter::json::Object;
use wharf_adapter::{Host, Json, Model, ModelList, fetch_json};

/// The request for a list of models.
struct ListRequest {
    url: String,
    headers: Vec<(&'static str, String)>,
    /// Whether the list comes from GitHub, with its rules.
    github: bool,
}

/// The models that a turn may name.
pub(crate) fn list(host: &dyn Host) -> ModelList {
    let request = match list_request(host) {
        Ok(request) => request,
        Err(other) => return other,
    };
    let body = match fetch_json(host, &request.url, &request.headers) {
        Ok(body) => body,
        Err(error) => return error.into(),
    };
    let data = Json::parse(&body).get("data");
    if !data.is_array() {
        return ModelList::Unavailable(format!("{} did not answer with a list", request.url));
    }
    if !request.github {
        return ModelList::Models(data.items().filter_map(custom_model).collect());
    }
    let restricted = data.items().any(|model| model.at(&["billing", "restricted_to"]).items().next().is_some());
    let plan = if restricted { plan(host, &request.headers) } else { None };
    ModelList::Models(data.items().filter_map(|model| github_model(model, plan.as_deref())).collect())
}

fn list_request(host: &dyn Host) -> Result<ListRequest, ModelList> {
    if let Some(base) = host.set_variable("COPILOT_PROVIDER_BASE_URL") {
        return custom_list(host, base.trim_end_matches('/'));
    }
    let token = login::token(host).map(|(_, token)| token).or_else(|| login::gh_token(host)).ok_or_else(|| {
        ModelList::NeedsAuth("set COPILOT_GITHUB_TOKEN or log in with `gh auth login` to list models".to_owned())
    })?;
    let base = host.set_variable("COPILOT_API_URL").unwrap_or_else(|| API.to_owned());
    let headers = vec![
        ("Authorization", format!("Bearer {token}")),
        ("Copilot-Integration-Id", "copilot-developer-cli".to_owned()),
        ("X-GitHub-Api-Version", "2026-08-01".to_owned()),
    ];
    Ok(ListRequest { url: format!("{}/models", base.trim_end_matches('/')), headers, github: true })
}

fn custom_list(host: &dyn Host, base: &str) -> Result<ListRequest, ModelList> {
    let key =
        host.set_variable("COPILOT_PROVIDER_BEARER_TOKEN").or_else(|| host.set_variable("COPILOT_PROVIDER_API_KEY"));
    let (url, headers) = match host.set_variable("COPILOT_PROVIDER_TYPE").as_deref() {
        Some("azure") => {
            return Err(ModelList::Unavailable("Azure does not list its deployments with its models".to_owned()));
        }
        // The CLI expects this base URL without the version.
        Some("anthropic") => {
            let version = ("anthropic-version", "2023-06-01".to_owned());
            (format!("{base}/v1/models"), [Some(version), key.map(|key| ("x-api-key", key))])
        }
        _ => (format!("{base}/models"), [None, key.map(|key| ("Authorization", format!("Bearer {key}")))]),
    };
    Ok(ListRequest { url, headers: headers.into_iter().flatten().collect(), github: false })
}

/// The account's plan, for models that only some plans have. If the plan is unknown, these models stay on the list.
fn plan(host: &dyn Host, headers: &[(&str, String)]) -> Option<String> {
    let user = fetch_json(host, "https://api.github.com/copilot_internal/user", &headers[..1]).ok()?;
    Json::parse(&user).get("copilot_plan").string()
}

/// An entry of GitHub's list, if a turn can use it. The CLI itself also lists models that a person must enable first,
/// and embeddings; a headless turn can use neither.
fn github_model(entry: Json<'_>, plan: Option<&str>) -> Option<Model> {
    let [id, name, vendor, picker, policy, billing, capabilities, default] = entry
        .select([
            "id",
            "name",
            "vendor",
            "model_picker_enabled",
            "policy",
            "billing",
            "capabilities",
            "is_chat_default",
        ])
        .ok()?;
    let id = id.string()?;
    let restricted = billing.get("restricted_to");
    let usable = capabilities.get("type").is("chat")
        && picker.bool() != Some(false)
        && (policy.get("state").is_null() || policy.get("state").is("enabled"))
        && (restricted.items().next().is_none()
            || plan.is_none_or(|plan| restricted.items().any(|item| item.is(plan))));
    if !usable {
        return None;
    }
    let efforts = capabilities.at(&["supports", "reasoning_effort"]).items().filter_map(Json::string).collect();
    let extra = ["multiplier", "is_premium"].into_iter().fold(Object::new(), |extra, key| {
        let value = billing.get(key);
        if value.is_null() { extra } else { extra.raw(key, value.raw()) }
    });
    Some(Model {
        name: name.string().unwrap_or_else(|| id.clone()),
        vendor: vendor.string(),
        efforts,
        context: capabilities.at(&["limits", "max_context_window_tokens"]).u64(),
        is_default: default.is_true(),
        extra: Some(extra.finish()).filter(|extra| extra != "{}"),
        id,
    })
}

/// An entry in the format of `OpenAI` and Anthropic.
fn custom_model(entry: Json<'_>) -> Option<Model> {
    let [id, name, owner] = entry.select(["id", "display_name", "owned_by"]).ok()?;
    let id = id.string()?;
    Some(Model {
        name: name.string().unwrap_or_else(|| id.clone()),
        vendor: owner.string(),
        efforts: vec![],
        context: None,
        is_default: false,
        extra: None,
        id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::FakeHost;

    const LIST: &str = r#"{"object":"list","data":[
        {"id":"gpt-5.4","name":"GPT-5.4","vendor":"OpenAI","is_chat_default":true,"model_picker_enabled":true,
         "policy":{"state":"enabled"},"billing":{"is_premium":true,"multiplier":0.33},
         "capabilities":{"type":"chat","limits":{"max_context_window_tokens":200000},
                         "supports":{"reasoning_effort":["low","high"]}}},
        {"id":"no-policy","capabilities":{"type":"chat"}},
        {"id":"disabled","policy":{"state":"disabled"},"capabilities":{"type":"chat"}},
        {"id":"preview","preview":true,"policy":{"state":"disabled"},"capabilities":{"type":"chat"}},
        {"id":"unconfigured","policy":{"state":"unconfigured"},"capabilities":{"type":"chat"}},
        {"id":"hidden","model_picker_enabled":false,"capabilities":{"type":"chat"}},
        {"id":"restricted","billing":{"restricted_to":["enterprise"]},"capabilities":{"type":"chat"}},
        {"id":"embedding","capabilities":{"type":"embeddings"}}]}"#;

    fn ids(list: &ModelList) -> Vec<&str> {
        let ModelList::Models(models) = list else { panic!("{list:?}") };
        models.iter().map(|model| model.id.as_str()).collect()
    }

    fn github(status: u16, body: &str) -> FakeHost {
        FakeHost::default().with_variable("GH_TOKEN", "gho_t").response(
            "GET https://api.githubcopilot.com/models",
            status,
            body,
        )
    }

    #[test]
    fn only_usable_models_are_listed() {
        let host = github(200, LIST);
        let list_without_plan = list(&host);
        assert_eq!(ids(&list_without_plan), ["gpt-5.4", "no-policy", "restricted"]);
        let host = host.response(
            "GET https://api.github.com/copilot_internal/user",
            200,
            r#"{"copilot_plan":"individual_pro"}"#,
        );
        let ModelList::Models(models) = list(&host) else { panic!("no list") };
        assert_eq!(models.len(), 2);
        let first = &models[0];
        assert_eq!((first.is_default, first.context, first.vendor.as_deref()), (true, Some(200_000), Some("OpenAI")));
        assert_eq!(first.efforts, ["low", "high"]);
        assert_eq!(first.extra.as_deref(), Some(r#"{"multiplier":0.33,"is_premium":true}"#));
        assert_eq!((models[1].name.as_str(), models[1].extra.as_deref()), ("no-policy", None));
        let requests = host.requests.borrow();
        assert!(requests[0].headers.contains(&("Authorization".to_owned(), "Bearer gho_t".to_owned())));
        let origins = crate::info::describe().access.origins;
        for request in requests.iter() {
            assert!(origins.iter().any(|origin| request.url.starts_with(&format!("{origin}/"))), "{}", request.url);
        }
    }

    #[test]
    fn without_a_list_the_reason_is_reported() {
        assert!(matches!(list(&FakeHost::default()), ModelList::NeedsAuth(_)));
        assert!(matches!(list(&github(401, "")), ModelList::NeedsAuth(_)));
        assert!(matches!(list(&github(500, "")), ModelList::Unavailable(reason) if reason.contains("500")));
        assert!(matches!(list(&github(200, "<html>")), ModelList::Unavailable(_)));
        let unreachable = FakeHost::default().with_variable("GH_TOKEN", "gho_t");
        assert!(matches!(list(&unreachable), ModelList::Unavailable(_)));
    }

    #[test]
    fn a_custom_provider_has_its_own_list() {
        let body = r#"{"data":[{"id":"m1","owned_by":"me"},{"id":"m2","display_name":"Two"}]}"#;
        let own = FakeHost::default()
            .with_variable("COPILOT_PROVIDER_BASE_URL", "https://h/v1/")
            .with_variable("COPILOT_PROVIDER_API_KEY", "k")
            .response("GET https://h/v1/models", 200, body);
        assert_eq!(ids(&list(&own)), ["m1", "m2"]);
        assert_eq!(own.requests.borrow()[0].headers, [("Authorization".to_owned(), "Bearer k".to_owned())]);
        let anthropic = FakeHost::default()
            .with_variable("COPILOT_PROVIDER_BASE_URL", "https://h")
            .with_variable("COPILOT_PROVIDER_TYPE", "anthropic")
            .response("GET https://h/v1/models", 200, body);
        assert_eq!(ids(&list(&anthropic)), ["m1", "m2"]);
        assert!(matches!(list(&anthropic.with_variable("COPILOT_PROVIDER_TYPE", "azure")), ModelList::Unavailable(_)));
    }
}
