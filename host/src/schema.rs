//! JSON Schemas of what wharf prints and reads, in a form that code generators turn into named types.

pub use wharf_core::model::{Direction, EVENT_SCHEMA, SchemaHead};
