//! The list of models, from a provider with the interface of `OpenAI`.

use wharf_adapter::{Host, Json, Model, ModelList, fetch_json};

/// The models that a turn may name.
pub(crate) fn list(host: &dyn Host) -> ModelList {
    let (Some(base), Some(key)) = (host.set_variable("OPENAI_BASE_URL"), host.set_variable("OPENAI_API_KEY")) else {
        return ModelList::Unavailable(
            "Qwen Code has no command that lists models; the adapter asks the provider at OPENAI_BASE_URL, with \
             OPENAI_API_KEY"
                .to_owned(),
        );
    };
    let url = format!("{}/models", base.trim_end_matches('/'));
    let body = match fetch_json(host, &url, &[("Authorization", format!("Bearer {key}"))]) {
        Ok(body) => body,
        Err(error) => return error.into(),
    };
    let data = Json::parse(&body).get("data");
    if !data.is_array() {
        return ModelList::Unavailable(format!("{url} did not answer with a list"));
    }
    let default = host.set_variable("OPENAI_MODEL").or_else(|| host.set_variable("QWEN_MODEL"));
    ModelList::Models(data.items().filter_map(|entry| model(entry, default.as_deref())).collect())
}

fn model(entry: Json<'_>, default: Option<&str>) -> Option<Model> {
    let [id, name, owner, context] = entry.select(["id", "display_name", "owned_by", "context_length"]).ok()?;
    let id = id.string()?;
    Some(Model {
        name: name.string().unwrap_or_else(|| id.clone()),
        vendor: owner.string(),
        efforts: vec![],
        context: context.u64(),
        is_default: default == Some(id.as_str()),
        extra: None,
        id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::FakeHost;

    #[test]
    fn the_provider_is_asked() {
        let host = FakeHost::default()
            .with_variable("OPENAI_BASE_URL", "https://h/v1/")
            .with_variable("OPENAI_API_KEY", "k")
            .with_variable("OPENAI_MODEL", "b");
        let body = r#"{"data":[{"id":"a","owned_by":"lab"},{"id":"b","context_length":1000},{"object":"model"}]}"#;
        let ModelList::Models(models) = list(&host.response("GET https://h/v1/models", 200, body)) else {
            panic!("no list")
        };
        let found: Vec<_> = models.iter().map(|model| (model.id.as_str(), model.is_default, model.context)).collect();
        assert_eq!(found, [("a", false, None), ("b", true, Some(1000))]);
        assert!(matches!(list(&FakeHost::default()), ModelList::Unavailable(_)));
    }

    #[test]
    fn a_refusal_is_no_empty_list() {
        let host =
            || FakeHost::default().with_variable("OPENAI_BASE_URL", "https://h").with_variable("OPENAI_API_KEY", "k");
        let refused = list(&host().response("GET https://h/models", 401, "{}"));
        assert!(matches!(refused, ModelList::NeedsAuth(_)));
        let page = list(&host().response("GET https://h/models", 200, "{}"));
        assert!(matches!(page, ModelList::Unavailable(_)));
    }
}
