//! What an adapter may reach (programs, origins, variables and files), whether its agent can be used, and over
//! which transport. Pure: nothing
//! here touches a disk or a network.

mod addresses;
mod grants;
mod loader_variables;
mod pattern;
mod transport;
mod usable;

pub use addresses::{is_loopback, is_public};
pub use grants::{Denial, DenialReason, Grants, check_requested};
pub use loader_variables::loads_code;
pub use transport::transports;
pub use usable::{Evidence, diagnose};
