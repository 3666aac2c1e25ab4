//! What the configuration says about the names of models, for the turns of one run. Plain data.

/// The names of models in a run.
pub(crate) struct ModelNames {
    /// What is doubtful about those of the first turn.
    pub(crate) notices: Vec<String>,
    pub(crate) choose: ChooseModel,
}

/// Gives the agent's own name for a model, and what is doubtful about it.
type ChooseModel = Box<dyn Fn(&str) -> (String, Option<String>) + Send>;
