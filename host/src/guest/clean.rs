//! What an adapter says for people, without secrets. It is removed where the adapter's words enter the host, so that no
//! error, report, list or log that they get into later can forget it.
//!
//! What the agent is started with is not touched: arguments, variables and files may need a secret.

use super::fault::Fault;
use super::v0_1::{Launch, PromptDelivery};
use wharf_core::model::{Binary, Failure, Login, Model, ModelList, Retry};
use wharf_core::stream::Secrets;

/// Has words for people in it.
pub(super) trait Clean {
    /// Removes the secrets.
    fn clean(&mut self, secrets: &Secrets);
}

fn text(text: &mut String, secrets: &Secrets) {
    if let std::borrow::Cow::Owned(clean) = secrets.redact(text) {
        *text = clean;
    }
}

fn texts<'t>(texts: impl IntoIterator<Item = &'t mut String>, secrets: &Secrets) {
    texts.into_iter().for_each(|one| text(one, secrets));
}

impl Clean for Fault {
    fn clean(&mut self, secrets: &Secrets) {
        texts([&mut self.reason, &mut self.stderr], secrets);
    }
}

impl Clean for Failure {
    fn clean(&mut self, secrets: &Secrets) {
        text(&mut self.message, secrets);
        texts(&mut self.code, secrets);
        if let Retry::AfterUserAction { action } = &mut self.retry {
            text(action, secrets);
        }
    }
}

impl Clean for Binary {
    /// Not the program and its arguments, which are run.
    fn clean(&mut self, secrets: &Secrets) {
        texts(&mut self.version, secrets);
        if let Login::Present(detail) | Login::Missing(detail) = &mut self.login {
            text(detail, secrets);
        }
        for note in &mut self.notes {
            text(&mut note.text, secrets);
            texts(&mut note.fix, secrets);
        }
    }
}

impl Clean for ModelList {
    fn clean(&mut self, secrets: &Secrets) {
        match self {
            ModelList::Models(models) => models.iter_mut().for_each(|model| model.clean(secrets)),
            ModelList::Unavailable(reason) | ModelList::NeedsAuth(reason) => text(reason, secrets),
            ModelList::Unsupported => {}
        }
    }
}

impl Clean for Model {
    fn clean(&mut self, secrets: &Secrets) {
        texts([&mut self.id, &mut self.name], secrets);
        texts(&mut self.vendor, secrets);
        texts(&mut self.efforts, secrets);
        if let Some(extra) = &mut self.extra {
            secrets.redact_value(extra);
        }
    }
}

/// The agent is started with it: only the reasons of unsupported settings are for people.
impl Clean for Launch {
    fn clean(&mut self, secrets: &Secrets) {
        texts(self.unsupported.iter_mut().map(|setting| &mut setting.reason), secrets);
    }
}

/// The prompt is for the agent.
impl Clean for PromptDelivery {
    fn clean(&mut self, _secrets: &Secrets) {}
}

impl<T: Clean> Clean for Option<T> {
    fn clean(&mut self, secrets: &Secrets) {
        if let Some(one) = self {
            one.clean(secrets);
        }
    }
}

impl<T: Clean, E: Clean> Clean for Result<T, E> {
    fn clean(&mut self, secrets: &Secrets) {
        match self {
            Ok(value) => value.clean(secrets),
            Err(error) => error.clean(secrets),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wharf_core::model::{ErrorClass, LogLevel, Note};

    #[test]
    fn the_words_of_an_adapter_contain_no_secret_and_what_is_run_is_not_changed() {
        const SECRET: &str = "hunter2hunter2";
        let secrets = Secrets::new([("KEY", SECRET)]);
        let mut binary = Binary::new(format!("/bin/{SECRET}"));
        binary.leading_args = vec![SECRET.to_owned()];
        binary.version = Some(format!("1.0-{SECRET}"));
        binary.login = Login::Present(SECRET.to_owned());
        binary.notes =
            vec![Note { level: LogLevel::Info, text: SECRET.to_owned(), fix: Some(format!("set KEY={SECRET}")) }];
        let mut failure = Failure::new(ErrorClass::Auth, format!("bad key {SECRET}"));
        failure.code = Some(SECRET.to_owned());
        failure.retry = Retry::AfterUserAction { action: format!("forget {SECRET}") };
        let mut model = Model {
            id: SECRET.to_owned(),
            name: SECRET.to_owned(),
            vendor: Some(SECRET.to_owned()),
            efforts: vec![SECRET.to_owned()],
            context: None,
            is_default: false,
            extra: Some(serde_json::json!({ "a": [SECRET] })),
        };
        let mut fault = Fault { call: "finish", reason: SECRET.to_owned(), stderr: SECRET.to_owned() };
        let mut list = ModelList::Models(vec![model.clone()]);
        binary.clean(&secrets);
        failure.clean(&secrets);
        model.clean(&secrets);
        fault.clean(&secrets);
        list.clean(&secrets);
        assert_eq!((binary.program.as_str(), binary.leading_args[0].as_str()), ("/bin/hunter2hunter2", SECRET));
        binary.program.clear();
        binary.leading_args.clear();
        let shown = format!("{binary:?} {failure:?} {model:?} {fault:?} {list:?}");
        assert!(!shown.contains(SECRET) && shown.matches("[redacted:KEY]").count() >= 15, "{shown}");
    }
}
