//! The models that a turn can name: `opencode models --verbose`, which needs no network.

use crate::product::Product;
use wharf_adapter::{Binary, Effort, Host, Json, Model, ModelList, Probe};

/// The list is long, and the program starts slowly.
const MILLIS: u32 = 30_000;

pub(crate) fn list(host: &dyn Host, binary: Option<&Binary>) -> ModelList {
    let program = match binary {
        Some(binary) => binary.program.clone(),
        None => match host.find_program(Product::OpenCode.command()) {
            Ok(found) => found.path,
            Err(_) => return ModelList::Unavailable("the program was not found".to_owned()),
        },
    };
    let probe = Probe::new(host, &Binary::at(program)).timeout_ms(MILLIS);
    for args in [&["models", "--verbose"][..], &["models"]] {
        if let Ok(output) = probe.run(args)
            && output.code == Some(0)
        {
            let models = read(&String::from_utf8_lossy(&output.stdout));
            if !models.is_empty() {
                return ModelList::Models(models);
            }
        }
    }
    ModelList::Unavailable("`opencode models` printed no models".to_owned())
}

/// Each model is a line `provider/model`, followed by its details as JSON in several lines, or by nothing.
fn read(output: &str) -> Vec<Model> {
    let mut models: Vec<(&str, String)> = vec![];
    for line in output.lines() {
        let is_id = line.contains('/') && !line.starts_with([' ', '{', '}', '"', '[', ']']);
        match models.last_mut() {
            _ if is_id => models.push((line.trim(), String::new())),
            Some((_, details)) => details.push_str(line),
            None => {}
        }
    }
    models.into_iter().map(|(id, details)| model(id, Json::parse(&details))).collect()
}

fn model(id: &str, details: Json<'_>) -> Model {
    let [name, provider, limit, variants] = ["name", "providerID", "limit", "variants"].map(|key| details.get(key));
    let efforts = variants.fields().map(|(name, _)| name).filter(|name| Effort::parse(name).is_some());
    Model {
        name: name.string().unwrap_or_else(|| id.to_owned()),
        vendor: provider.string().or_else(|| id.split_once('/').map(|(vendor, _)| vendor.to_owned())),
        efforts: efforts.map(str::to_owned).collect(),
        context: limit.get("context").u64(),
        is_default: false,
        extra: None,
        id: id.to_owned(),
    }
}
