//! Finds the program, its version, its login, and what it can do.

use crate::options::Transport;
use crate::product::{INSTALL, Product};
use crate::{config, login};
use wharf_adapter::{Binary, Capabilities, Environment, Failure, Host, LogLevel, Probe, Refused, Version, locate};

/// Old versions that were never tried and are known to lack something are not listed: nothing is known of them.
const REFUSED: &[Refused] = &[];

/// A first start migrates a database, which takes seconds.
const PROBE_MILLIS: u32 = 30_000;

/// The last version that was seen to exit before its last lines were written.
const LOSES_LINES: Version = Version(1, 15, 4);

pub(crate) fn resolve(host: &dyn Host, environment: &Environment) -> Result<Binary, Failure> {
    let mut binary = Binary::at(locate(host, environment, &["opencode"], INSTALL)?);
    let product = Product::of_binary(&binary);
    let version = Probe::new(host, &binary).timeout_ms(PROBE_MILLIS).version();
    binary.set_version(version, product.tested(), REFUSED, product.install());
    if version.is_none() {
        transports(&mut binary);
        return Ok(binary);
    }
    if product == Product::OpenCode && version.is_some_and(|version| version <= LOSES_LINES) {
        let text = "over the transport `run` this version exits before it has written all of its output: what is missing is \
                    looked up with `opencode export`, and an error may not be found";
        binary.note(LogLevel::Info, text, Some("use the transport `acp`, or update OpenCode"));
    }
    config::note_variables(host, product, &mut binary);
    binary.login = login::check(host, environment.home.as_deref(), product);
    transports(&mut binary);
    Ok(binary)
}

/// What the program offers, over each transport.
fn transports(binary: &mut Binary) {
    let both = Capabilities::SESSION_RESUME
        | Capabilities::SESSION_FORK
        | Capabilities::MODEL_DISCOVERY
        | Capabilities::EFFORT_LEVELS
        | Capabilities::TOKEN_USAGE
        | Capabilities::COST_TRACKING
        | Capabilities::TOOL_RULES
        | Capabilities::MCP_SERVERS
        | Capabilities::ATTACHMENTS
        | Capabilities::POLICY;
    let duplex = Capabilities::STREAMING | Capabilities::DUPLEX | Capabilities::ASKS | Capabilities::INTERRUPT;
    binary.transport(Transport::Acp.name(), both | duplex);
    binary.transport(Transport::Run.name(), both);
}
