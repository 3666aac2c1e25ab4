//! Answers to everything but inference requests: lists of models, and the GitHub endpoints that Copilot uses.

use serde_json::{Value, json};

/// The answer to a `GET` of this path. `base` is the server's own URL.
pub(crate) fn get(path: &str, base: &str) -> Option<Value> {
    match path {
        "/models" => Some(json!({ "object": "list", "data": copilot_models() })),
        "/v1/models" => Some(models()),
        "/v1beta/models" => Some(json!({ "models": NAMES.map(|(id, name)| gemini_model(id, name)) })),
        "/copilot_internal/user" => Some(copilot_user(base)),
        "/user" => Some(json!({ "login": "mock-user", "id": 1, "type": "User" })),
        _ => {
            let id = path.strip_prefix("/v1beta/models/")?;
            NAMES.iter().find(|(known, _)| *known == id).map(|(id, name)| gemini_model(id, name))
        }
    }
}

/// The models that are not Copilot's.
const NAMES: [(&str, &str); 2] = [("mock-model", "Mock Model"), ("mock-model-mini", "Mock Model Mini")];

fn gemini_model(id: &str, name: &str) -> Value {
    json!({
        "name": format!("models/{id}"), "version": "1", "displayName": name, "inputTokenLimit": 200_000,
        "outputTokenLimit": 32_000, "supportedGenerationMethods": ["generateContent", "countTokens"],
    })
}

/// One list that the clients of both `OpenAI` and Anthropic can read.
fn models() -> Value {
    let model = |id: &str, name: &str| {
        json!({
            "id": id, "type": "model", "display_name": name, "created_at": "2026-01-01T00:00:00Z",
            "object": "model", "owned_by": "mock",
        })
    };
    let data = NAMES.map(|(id, name)| model(id, name));
    json!({ "object": "list", "data": data, "has_more": false, "first_id": "mock-model", "last_id": "mock-model-mini" })
}

/// Each model has a special property that occurs in Copilot's real list: the default, a policy that is not accepted, a
/// hidden model, a model that is not for chat.
fn copilot_models() -> Vec<Value> {
    let model = |id: &str, name: &str, vendor: &str, endpoints: &[&str]| {
        json!({
            "id": id, "name": name, "vendor": vendor, "object": "model", "version": id, "preview": false,
            "model_picker_enabled": true, "model_picker_category": "powerful", "is_chat_default": false,
            "is_chat_fallback": false, "policy": { "state": "enabled", "terms": "" },
            "billing": { "is_premium": true, "multiplier": 1 }, "supported_endpoints": endpoints,
            "capabilities": {
                "type": "chat", "family": id, "object": "model_capabilities", "tokenizer": "o200k_base",
                "limits": {
                    "max_context_window_tokens": 200_000, "max_prompt_tokens": 168_000, "max_output_tokens": 32_000,
                },
                "supports": {
                    "streaming": true, "tool_calls": true, "parallel_tool_calls": true, "structured_outputs": true,
                    "reasoning_effort": ["low", "medium", "high"],
                },
            },
        })
    };
    let openai = ["/chat/completions", "/responses"];
    let mut default = model("gpt-mock", "GPT Mock", "OpenAI", &openai);
    default["is_chat_default"] = json!(true);
    let claude = model("claude-mock", "Claude Mock", "Anthropic", &["/v1/messages", "/chat/completions"]);
    let mut refused = model("gpt-refused", "GPT Refused", "OpenAI", &openai);
    refused["policy"]["state"] = json!("disabled");
    let mut hidden = model("gpt-hidden", "GPT Hidden", "OpenAI", &openai);
    hidden["model_picker_enabled"] = json!(false);
    let mut embedding = model("embedding-mock", "Embedding Mock", "OpenAI", &[]);
    embedding["capabilities"]["type"] = json!("embeddings");
    vec![default, claude, refused, hidden, embedding]
}

fn copilot_user(base: &str) -> Value {
    json!({
        "login": "mock-user", "access_type_sku": "plus_monthly_subscriber_quota", "analytics_tracking_id": "mock",
        "assigned_date": null, "can_signup_for_limited": false, "chat_enabled": true, "cli_enabled": true,
        "copilot_plan": "individual_pro", "organization_login_list": [], "organization_list": [],
        "is_mcp_enabled": true,
        "endpoints": { "api": base, "origin-tracker": base, "proxy": base, "telemetry": base },
    })
}
