//! Complete texts are compared with a naive redaction, streams with complete texts.

use proptest::prelude::*;

use super::*;

#[test]
fn what_counts_as_a_secret() {
    for (name, value, expected) in [
        ("ANTHROPIC_API_KEY", "sk-ant-0123456789", true),
        ("GH_TOKEN", "abcdefgh", true),
        ("GH_TOKEN", "abcdefg", false),
        ("GH_TOKEN", "  abcdefg  ", false),
        ("GH_TOKEN", "", false),
        ("MAX_TOKENS", "1234567890", false),
        ("TEMPERATURE", "-0.123456789", false),
        ("PIN", "1234567.8.9", true),
        ("KEY", "12345678e9012345", true),
        ("KEY", "--------", true),
        ("FLAG", "true", false),
        ("ANTHROPIC_MODEL", "claude-opus-4-1", false),
        ("anthropic_base_url", "https://example.org", false),
        ("HOME", "/home/somebody", false),
        ("XDG_CONFIG_DIR", "/home/somebody/.config", false),
        ("PATH", "/usr/bin:/bin", false),
        ("PROVIDER_TYPE", "anthropic", false),
        ("AWS_REGION", "eu-central-1", false),
        ("PROVIDER_WIRE_API", "responses", false),
        ("API_KEY", "responses", true),
    ] {
        assert_eq!(is_secret(name, value), expected, "{name}={value}");
    }
}

#[test]
fn texts_are_redacted() {
    let secrets = Secrets::new([
        ("LONG", "abcdefghij"),
        ("SHORT", "abcdefgh"),
        ("NEXT", "ghijklmnop"),
        ("SAME", "abcdefgh"),
        ("QUOTED", "say \"friend\"\n"),
        ("TOWN", "Zürich-Süd"),
        ("AGAIN", "xyxyxyxy"),
        ("MODEL", "not-a-secret"),
    ]);
    for (text, expected) in [
        ("", ""),
        ("nothing here, not-a-secret", "nothing here, not-a-secret"),
        ("-abcdefgh-", "-[redacted:SHORT]-"),
        ("-abcdefghij-", "-[redacted:LONG]-"),
        ("abcdefghabcdefgh", "[redacted:SHORT][redacted:SHORT]"),
        // They overlap: no part of the second is left.
        ("abcdefghijklmnop", "[redacted:LONG]"),
        ("abcdefghijklmno", "[redacted:LONG]klmno"),
        ("xyxyxyxyxyx", "[redacted:AGAIN]x"),
        ("say \"friend\"", "[redacted:QUOTED]"),
        (r#"{"password":"say \"friend\""}"#, r#"{"password":"[redacted:QUOTED]"}"#),
        ("in Zürich-Süd", "in [redacted:TOWN]"),
    ] {
        assert_eq!(secrets.redact(text), expected);
        assert_eq!(streamed(&secrets, text.as_bytes(), &[1]), expected.as_bytes(), "one by one: {text}");
    }
    assert_eq!(secrets.redact_bytes(b"\xff abcdefgh \xfe").as_ref(), b"\xff [redacted:SHORT] \xfe");
    assert!(matches!(secrets.redact("nothing here"), Cow::Borrowed(_)));
}

#[test]
fn json_inside_json_contains_no_secret_that_needs_escapes() {
    let value = "p\"w\\&</é'+=\n~x";
    let secrets = Secrets::new([("KEY", value)]);
    let json = |text: &str| serde_json::json!({ "text": text }).to_string();
    let once = json(value);
    let go = once.replace('&', "\\u0026").replace('<', "\\u003c");
    let php = once.replace('/', "\\/").replace('é', "\\u00e9");
    for inner in [once.as_str(), &go, &php] {
        let twice = json(inner);
        let thrice = json(&twice);
        for text in [value, inner, &twice, &thrice] {
            let redacted = secrets.redact(text);
            assert!(redacted.contains("[redacted:KEY]"), "{text}");
            assert!(!redacted.contains("~x") && !redacted.contains('w'), "{redacted}");
            assert_eq!(streamed(&secrets, text.as_bytes(), &[1]), redacted.as_bytes(), "one by one: {text}");
        }
    }
    let outer_go = json(&once).replace('&', "\\u0026").replace('<', "\\u003c");
    assert!(secrets.redact(&outer_go).contains("[redacted:KEY]"));
}

#[test]
fn a_login_in_a_url_is_found_without_the_url() {
    let secrets = Secrets::new([("BASE_URL", "https://u:s3cr3t-key@h")]);
    for (text, expected) in [
        ("via https://u:s3cr3t-key@h/", "via [redacted:BASE_URL]/"),
        ("user u:s3cr3t-key", "user [redacted:BASE_URL]"),
        ("password s3cr3t-key", "password [redacted:BASE_URL]"),
        ("password=s3cr3t-key&x", "password=[redacted:BASE_URL]&x"),
        ("u", "u"),
    ] {
        assert_eq!(secrets.redact(text), expected);
    }
}

#[test]
fn percent_encoding_hides_no_secret() {
    let secrets = Secrets::new([("KEY", "a+b/c=secret")]);
    for text in ["a%2Bb%2Fc%3Dsecret", "a%2Bb/c%3Dsecret"] {
        assert_eq!(secrets.redact(&format!("https://h/?key={text}&x")), "https://h/?key=[redacted:KEY]&x");
    }
}

#[test]
fn what_the_user_says_of_a_variable_counts_more_than_the_rule() {
    let secrets = Secrets::marked([
        ("TASK_ID", "task-0123456789", Secrecy::Plain),
        ("MY_URL", "https://internal.example", Secrecy::Secret),
        ("PIN", "1234567890", Secrecy::Secret),
        ("SHORT", "abc", Secrecy::Secret),
        ("WORD", "completed", Secrecy::Secret),
        ("TOKEN", "token-0123456789", Secrecy::ByRule),
    ]);
    assert_eq!(
        secrets.redact("task-0123456789 https://internal.example 1234567890 abc completed token-0123456789"),
        "task-0123456789 [redacted:MY_URL] [redacted:PIN] abc completed [redacted:TOKEN]"
    );
}

#[test]
fn only_a_prefix_of_a_secret_is_held() {
    let secrets = Secrets::new([("KEY", "abcabcabd"), ("OTHER", "cab-cab-cab")]);
    let mut redactor = Redactor::new(&secrets);
    let mut push = |text: &str| {
        let mut out = Vec::new();
        out.extend(redactor.push(text.as_bytes().to_vec()));
        String::from_utf8(out).expect("the text was UTF-8")
    };
    assert_eq!(push("hello"), "hello");
    assert_eq!(push("abcab"), "");
    assert_eq!(push("cab"), "");
    // The first three are no longer a prefix, the rest is.
    assert_eq!(push("c"), "abc");
    assert_eq!(push("ab"), "");
    assert_eq!(push("d!"), "[redacted:KEY]!");
}

#[test]
fn without_secrets_nothing_is_changed() {
    let secrets = Secrets::new([("HOME", "/home/somebody")]);
    assert!(secrets.is_empty());
    assert_eq!(streamed(&secrets, b"/home/somebody", &[3]), b"/home/somebody");
}

#[test]
fn debug_output_contains_no_secret() {
    let secrets = Secrets::new([("KEY", "abcdefghij")]);
    let mut redactor = Redactor::new(&secrets);
    redactor.push(b"abcdefghi".to_vec());
    let shown = format!("{secrets:?} {redactor:?}");
    assert!(shown.contains("KEY") && !shown.contains("abc") && !shown.contains("97"), "{shown}");
}

/// The redaction of a stream that is pushed in pieces of these sizes, repeated.
fn streamed(secrets: &Secrets, stream: &[u8], sizes: &[usize]) -> Vec<u8> {
    let mut redactor = Redactor::new(secrets);
    let mut out = Vec::new();
    let mut rest = stream;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (now, later) = rest.split_at((*size).clamp(1, rest.len()));
        out.extend(redactor.push(now.to_vec()));
        let longest = secrets.needles.iter().flat_map(|needle| &needle.forms).map(|form| form.text.len()).max();
        let longest = longest.unwrap_or(0);
        assert!(redactor.held.len() < longest.max(1));
        rest = later;
    }
    out.extend(redactor.finish());
    out
}

/// Marks every byte of every occurrence, and writes a placeholder for each one that starts outside of earlier ones.
fn naive(secrets: &[(String, String)], text: &str) -> String {
    let mut out = String::new();
    let mut covered = 0;
    for (at, character) in text.char_indices() {
        let here = secrets.iter().filter(|(_, value)| text[at..].starts_with(value.as_str()));
        let longest = here.rev().max_by_key(|(_, value)| value.len());
        if let Some((name, value)) = longest {
            if at >= covered {
                out.extend(["[redacted:", name, "]"]);
            }
            covered = covered.max(at + value.len());
        }
        if at >= covered {
            out.push(character);
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_stream_is_redacted_like_the_complete_text_and_contains_no_secret(
        // Few letters, so that secrets overlap with each other and with themselves.
        values in prop::collection::vec("[ab]{8,10}|[abé]{8,12}|(ab){4,6}|aaaaaaaaa", 0..4),
        pieces in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, "[abc]{0,4}"), 0..12),
        sizes in prop::collection::vec(1..12_usize, 1..6),
    ) {
        let variables: Vec<(String, String)> =
            values.iter().enumerate().map(|(index, value)| (format!("KEY_{index}"), value.clone())).collect();
        let mut text = String::new();
        for (index, length, between) in &pieces {
            if !values.is_empty() {
                // Complete secrets and prefixes of them.
                text.extend(values[index.index(values.len())].chars().take(*length));
            }
            text.push_str(between);
        }
        let secrets = Secrets::new(variables.iter().map(|(name, value)| (name, value)));
        let whole = secrets.redact(&text);
        prop_assert_eq!(whole.as_ref(), naive(&variables, &text));
        for value in &values {
            prop_assert!(!whole.contains(value.as_str()));
        }
        for sizes in [&sizes[..], &[1], &[usize::MAX]] {
            prop_assert_eq!(&streamed(&secrets, text.as_bytes(), sizes), whole.as_bytes());
        }
    }

    #[test]
    fn any_value_is_found_inside_and_outside_of_json(value in "\\PC{8,20}|[a\"\\\\\n\t/]{8,12}", before in "[a-c]{0,3}") {
        prop_assume!(is_secret("KEY", &value) && !"[redacted:KEY]".contains(value.trim()));
        let secrets = Secrets::new([("KEY", &value)]);
        let text = format!("{before}{} {value}", serde_json::Value::from(value.as_str()));
        let redacted = streamed(&secrets, text.as_bytes(), &[3]);
        let redacted = String::from_utf8(redacted).expect("the text was UTF-8");
        prop_assert!(!redacted.contains(value.trim()), "{redacted}");
        prop_assert!(redacted.matches("[redacted:KEY]").count() >= 2, "{redacted}");
        prop_assert_eq!(redacted, secrets.redact(&text));
    }
}
