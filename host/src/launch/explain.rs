//! Explains a turn: what would be started, found without starting anything. The adapter's probes are refused and listed.

use super::diagnose::prepend_arguments;
use super::plan::{choose_transports, plan, refused};
use super::start::Launcher;
use crate::error::{Error, Result};
use crate::guest::{Adapter, Environment, Imports, Instance};
use wharf_core::model::{Binary, Plan, Turn};
use wharf_core::policy::Grants;
use wharf_core::stream::Secrets;

/// What is known of a turn before anything was started.
pub(crate) struct Explained {
    pub(crate) turn: Turn,
    /// What is doubtful about its models.
    pub(crate) notices: Vec<String>,
    pub(crate) binary: Option<Binary>,
    pub(crate) plan: Option<Plan>,
    pub(crate) probes: Vec<String>,
    pub(crate) unknown: Option<String>,
}

impl Launcher {
    /// Uses what was found before; otherwise the adapter looks for its agent with its probes refused. If it cannot do
    /// without them, that is no error.
    pub(crate) async fn explain(
        &self,
        adapter: &Adapter,
        turn: Turn,
        grants: &Grants,
        environment: &Environment,
    ) -> Result<Explained> {
        let secrets = environment.secrets(grants);
        let (turn, notices) = self.complete_turn(adapter, turn)?;
        let mut explained = Explained { turn, notices, binary: None, plan: None, probes: vec![], unknown: None };
        match self.explain_unredacted(adapter, &mut explained, grants, environment).await {
            Ok(()) => {}
            Err(error) if explained.probes.is_empty() => return Err(error.redacted(&secrets)),
            Err(error) => explained.unknown = Some(secrets.redact(&error.to_string()).into_owned()),
        }
        for probe in &mut explained.probes {
            *probe = secrets.redact(probe).into_owned();
        }
        explained.plan.iter_mut().for_each(|plan| redact_plan(plan, &secrets));
        Ok(explained)
    }

    async fn explain_unredacted(
        &self,
        adapter: &Adapter,
        explained: &mut Explained,
        grants: &Grants,
        environment: &Environment,
    ) -> Result<()> {
        let id = &adapter.info().id;
        let binary = if let Some(resolved) = self.remembered(adapter, grants, environment).recall() {
            resolved.binary
        } else {
            if let Some(missing) = self.chosen(adapter, environment)?.missing {
                return Err(Error::agent(missing.message).with_hint(missing.fix));
            }
            let imports = self.imports(grants, environment).without_probes();
            let mut instance = Instance::start(adapter.component(), Some(imports)).await?;
            let found = instance.resolve_binary(grants.named_program.clone(), environment.home()).await;
            explained.probes = instance.imports().map(Imports::take_probes).unwrap_or_default();
            let mut found = found?.map_err(|failure| refused(&adapter.name(), "find its program", &failure))?;
            prepend_arguments(adapter, &mut found);
            found
        };
        grants
            .run_program(&binary.program, |name| environment.program_path(name))
            .map_err(|denial| Error::adapter(format!("the adapter {id} found {denial}")))?;
        explained.binary = Some(binary.clone());
        let imports = self.imports(grants, environment);
        let mut instance = Instance::start(adapter.component(), Some(imports)).await?;
        let transports = choose_transports(id, &binary, &explained.turn, false)?;
        let (turn, transport) = (&explained.turn, transports[0]);
        let planned = plan(adapter, &mut instance, turn, &binary, grants, environment, transport).await?;
        explained.plan = Some(planned);
        Ok(())
    }
}

/// A plan that is only shown.
fn redact_plan(plan: &mut Plan, secrets: &Secrets) {
    let variables = plan.variables.iter_mut().map(|(_, value)| value);
    for arg in plan.args.iter_mut().chain(variables) {
        arg.text = secrets.redact(&arg.text).into_owned();
    }
    let files = plan.files.iter_mut().map(|(_, content)| content);
    for bytes in files.chain([&mut plan.stdin]) {
        *bytes = secrets.redact_bytes(bytes).into_owned();
    }
}
