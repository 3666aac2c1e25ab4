//! The list of models, as `codex debug models` prints it: with a login it is the account's own, otherwise the one that this
//! version contains.

use wharf_adapter::{Binary, Host, Json, Model, ModelList, Probe};

/// The models that a turn may name.
pub(crate) fn list(host: &dyn Host, binary: Option<&Binary>) -> ModelList {
    let Some(binary) = binary else {
        return ModelList::Unavailable("Codex was not found, and it lists its models itself".to_owned());
    };
    let probe = Probe::new(host, binary).timeout_ms(20_000);
    let attempts: [&[&str]; 2] = [&["debug", "models"], &["debug", "models", "--bundled"]];
    for args in attempts {
        let printed = probe.text(args);
        let models = Json::parse(&printed).get("models");
        if models.is_array() {
            return ModelList::Models(read(models));
        }
    }
    ModelList::Unavailable("`codex debug models` printed no list".to_owned())
}

/// Those that Codex itself offers to choose from, in its order. The first is its default.
fn read(models: Json<'_>) -> Vec<Model> {
    let mut found: Vec<(u64, Model)> = models.items().filter_map(model).collect();
    found.sort_by_key(|(priority, _)| *priority);
    let mut models: Vec<Model> = found.into_iter().map(|(_, model)| model).collect();
    if let Some(first) = models.first_mut() {
        first.is_default = true;
    }
    models
}

fn model(entry: Json<'_>) -> Option<(u64, Model)> {
    let [slug, name, visibility, priority, efforts, context] = entry
        .select(["slug", "display_name", "visibility", "priority", "supported_reasoning_levels", "context_window"])
        .ok()?;
    visibility.is("list").then_some(())?;
    let id = slug.string()?;
    let efforts = efforts.items().filter_map(|level| level.get("effort").string()).collect();
    let name = name.string().unwrap_or_else(|| id.clone());
    let model = Model {
        id,
        name,
        vendor: Some("OpenAI".to_owned()),
        efforts,
        context: context.u64(),
        is_default: false,
        extra: None,
    };
    Some((priority.u64().unwrap_or(u64::MAX), model))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_adapter::testing::FakeHost;

    const LIST: &str = r#"{"models":[
        {"slug":"big","display_name":"Big","visibility":"list","priority":2,"context_window":272000,
         "supported_reasoning_levels":[{"effort":"low","description":"x"},{"effort":"max","description":"y"}]},
        {"slug":"usual","display_name":"Usual","visibility":"list","priority":1},
        {"slug":"internal","visibility":"hide","priority":0}]}"#;

    fn listed(host: &FakeHost) -> ModelList {
        list(host, Some(&Binary::at("/bin/codex".to_owned())))
    }

    #[test]
    fn codex_lists_its_models_in_its_own_order() {
        let ModelList::Models(models) = listed(&FakeHost::default().output("/bin/codex debug models", 0, LIST)) else {
            panic!("no list")
        };
        let ids: Vec<_> = models.iter().map(|model| (model.id.as_str(), model.is_default)).collect();
        assert_eq!(ids, [("usual", true), ("big", false)]);
        assert_eq!((models[1].efforts.join(","), models[1].context), ("low,max".to_owned(), Some(272_000)));
    }

    #[test]
    fn without_the_accounts_list_there_is_the_one_of_the_version() {
        let bundled = FakeHost::default().output("/bin/codex debug models --bundled", 0, LIST);
        assert!(matches!(listed(&bundled), ModelList::Models(models) if models.len() == 2));
        assert!(matches!(listed(&FakeHost::default()), ModelList::Unavailable(_)));
        assert!(matches!(list(&FakeHost::default(), None), ModelList::Unavailable(_)));
    }
}
