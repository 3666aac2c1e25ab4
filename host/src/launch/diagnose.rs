//! Finds an adapter's agent, and judges whether turns can work with it: before a turn, and as a preflight.

use super::program::package_of;
use super::resolve::Resolved;
use super::start::Launcher;
use crate::error::{Error, ErrorKind, Result};
use crate::guest::{Adapter, Environment, Imports, Instance, Waiting};
use std::time::Duration;
use wharf_core::model::{Binary, Diagnosis, ErrorClass, Login, Problem, Unusable};
use wharf_core::policy::{self, Evidence, Grants};
use wharf_core::stream::Secrets;

/// How long a preflight takes at most.
const LIMIT: Duration = Duration::from_secs(5);

/// How an agent is checked before any turn.
#[derive(Debug, Clone)]
pub struct Preflight {
    /// How long it may take in all. Ten percent of it is for killing what does not exit.
    pub limit: Duration,
    /// Shows what is being waited for.
    pub waiting: Waiting,
}

impl Default for Preflight {
    fn default() -> Preflight {
        Preflight { limit: LIMIT, waiting: Waiting::default() }
    }
}

impl Launcher {
    /// Finds an adapter's agent; what was found a short while ago counts if the program is still the same. An agent that
    /// cannot be used is an error in the words of the preflight, and is not remembered.
    pub(crate) async fn resolve(
        &self,
        adapter: &Adapter,
        grants: &Grants,
        environment: &Environment,
    ) -> Result<Resolved> {
        let remembered = self.remembered(adapter, grants, environment);
        if let Some(resolved) = remembered.recall() {
            return Ok(resolved);
        }
        let imports = self.imports(grants, environment);
        let binary = usable(&adapter.info().id, self.find(adapter, grants, environment, imports).await?)?;
        Ok(remembered.keep(binary))
    }

    /// Checks an agent within a time limit.
    pub(crate) async fn preflight(
        &self,
        adapter: &Adapter,
        grants: &Grants,
        environment: &Environment,
        preflight: &Preflight,
    ) -> Result<Diagnosis> {
        let limit = preflight.limit;
        let imports = self.imports(grants, environment).with_probe_limit(limit * 9 / 10, preflight.waiting.clone());
        let secrets = environment.secrets(grants);
        match tokio::time::timeout(limit, self.find(adapter, grants, environment, imports)).await {
            Ok(found) => {
                let found = found.map_err(|error| error.redacted(&secrets))?;
                if let Diagnosis { binary: Some(binary), problem: None, .. } = &found {
                    // The next turn need not ask again, and `explain`, which must not ask, knows it.
                    self.remembered(adapter, grants, environment).keep(binary.clone());
                }
                Ok(redacted(found, &secrets))
            }
            Err(_) => Err(Error::adapter(format!(
                "the adapter {} did not find its agent within {} s",
                adapter.info().id,
                limit.as_secs_f32()
            ))),
        }
    }

    async fn find(
        &self,
        adapter: &Adapter,
        grants: &Grants,
        environment: &Environment,
        imports: Imports,
    ) -> Result<Diagnosis> {
        let info = adapter.info();
        if let Some(missing) = self.chosen(adapter, environment)?.missing {
            return Ok(Diagnosis::unusable(None, missing));
        }
        let mut instance = Instance::start(adapter.component(), Some(imports)).await?;
        let found = instance.resolve_binary(grants.named_program.clone(), environment.home()).await?;
        if let Ok(binary) = &found {
            grants
                .run_program(&binary.program, |name| environment.program_path(name))
                .map_err(|denial| Error::adapter(format!("the adapter {} found {denial}", info.id)))?;
        }
        let (probes, denied) =
            instance.imports().map(|imports| (imports.take_probes_made(), imports.was_denied())).unwrap_or_default();
        let evidence = Evidence { adapter: &adapter.name(), install: &info.install_hint, denied, probes: &probes };
        let mut diagnosis = policy::diagnose(found, evidence);
        if let Some(binary) = &mut diagnosis.binary {
            prepend_arguments(adapter, binary);
        }
        // A program that the user named by its path is not replaced by one that is installed.
        let named = grants.named_program.as_deref();
        if let (Some(problem), Some(package)) = (&mut diagnosis.problem, package_of(adapter))
            && problem.reason == Unusable::NotFound
            && named.is_none_or(|named| named == package.program)
        {
            problem.fix = format!("`wharf agent install {}`, or {}", package.agent, problem.fix);
        }
        Ok(diagnosis)
    }
}

/// Puts the first arguments of a named agent before those of its adapter. Not before the adapter has asked the program for
/// its version: that is a question to the program and not to its command.
pub(super) fn prepend_arguments(adapter: &Adapter, binary: &mut Binary) {
    if let Some(agent) = adapter.agent() {
        binary.leading_args.splice(0..0, agent.command.iter().skip(1).cloned());
    }
}

/// The agent, or why no turn can work. A login is not decisive: an adapter may not know every way to log in, and the
/// agent itself says what is missing.
pub(crate) fn usable(id: &str, diagnosis: Diagnosis) -> Result<Binary> {
    match diagnosis {
        Diagnosis { binary: Some(binary), problem: None | Some(Problem { reason: Unusable::NoLogin, .. }), .. } => {
            Ok(binary)
        }
        Diagnosis { problem: Some(problem), .. } => Err(unusable(id, problem)),
        Diagnosis { .. } => Err(Error::adapter(format!("the adapter {id} found no agent and gave no reason"))),
    }
}

fn unusable(id: &str, problem: Problem) -> Error {
    let (class, message) = match problem.reason {
        Unusable::NotFound | Unusable::NotGranted => {
            (ErrorClass::NotFound, format!("the adapter {id} could not find its program: {}", problem.message))
        }
        Unusable::SystemError => return Error::new(ErrorKind::System, problem.message).with_hint(problem.fix),
        Unusable::CannotStart => (ErrorClass::NotFound, problem.message),
        Unusable::NoLogin => (ErrorClass::Auth, problem.message),
        Unusable::UnsupportedVersion => (ErrorClass::InvalidOption, problem.message),
        _ => (ErrorClass::Crash, format!("the agent of the adapter {id} cannot be used: {}", problem.message)),
    };
    Error::agent(message).with_class(class).with_hint(problem.fix)
}

/// A probe may print what it got, and an adapter may repeat it.
fn redacted(mut diagnosis: Diagnosis, secrets: &Secrets) -> Diagnosis {
    let redact = |text: &mut String| *text = secrets.redact(text).into_owned();
    if let Some(problem) = &mut diagnosis.problem {
        redact(&mut problem.message);
        redact(&mut problem.fix);
    }
    if let Some(binary) = &mut diagnosis.binary {
        redact(&mut binary.program);
        binary.leading_args.iter_mut().for_each(redact);
        binary.version.iter_mut().for_each(redact);
        if let Login::Present(text) | Login::Missing(text) = &mut binary.login {
            redact(text);
        }
        for note in &mut binary.notes {
            redact(&mut note.text);
            note.fix.iter_mut().for_each(redact);
        }
    }
    diagnosis
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_among_the_leading_arguments_is_not_in_a_diagnosis() {
        const SECRET: &str = "hunter2hunter2";
        let mut binary = Binary::new(format!("/opt/{SECRET}/agent"));
        binary.leading_args = vec![format!("--key={SECRET}"), "serve".to_owned()];
        let found = redacted(Diagnosis::usable(binary), &Secrets::new([("KEY", SECRET)])).binary.expect("the agent");
        assert_eq!(found.leading_args, ["--key=[redacted:KEY]", "serve"]);
        assert_eq!(found.program, "/opt/[redacted:KEY]/agent");
    }
}
