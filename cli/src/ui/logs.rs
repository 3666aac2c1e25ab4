//! Log lines of the library and of adapters, printed to stderr.

use super::common::Common;
use super::shell::{print_stderr, print_warning};
use super::text::ours;
use std::fmt::Write as _;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

/// Prints warnings and, unless `--quiet`, why somebody has to wait; with `--verbose` everything that wharf and its adapters
/// log.
pub(crate) fn install(common: &Common) {
    let subscriber = tracing_subscriber::registry().with(Printer { quiet: common.quiet, verbose: common.verbose });
    // Only a second call can fail, and there is none.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

struct Printer {
    quiet: bool,
    verbose: bool,
}

impl<S: Subscriber> Layer<S> for Printer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let important = *metadata.level() <= Level::WARN;
        let wait = metadata.target() == "wharf::compiler" && *metadata.level() == Level::INFO && !self.quiet;
        if !metadata.target().starts_with("wharf") || !(important || wait || self.verbose) {
            return;
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        let source = if metadata.target() == "wharf::adapter" { "adapter: " } else { "" };
        let text = ours(source).block(message.0);
        if important { print_warning(text) } else { print_stderr(text) }
    }
}

/// The text of a log line.
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
        }
    }
}
