//! An adapter whose `describe` does not return, for the tests of the sandbox: no option reaches it before that.

use wharf_adapter::{
    Adapter, AdapterInfo, Binary, Effects, Environment, ErrorClass, Failure, Host, Json, Launch, Malformed, Turn,
};

/// It never gets to be anything.
#[derive(Default)]
pub struct Looping;

impl Adapter for Looping {
    fn describe() -> AdapterInfo {
        loop {
            std::hint::spin_loop();
        }
    }

    fn resolve_binary(&mut self, _host: &dyn Host, _around: &Environment) -> Result<Binary, Failure> {
        Err(Failure::new(ErrorClass::Other, "it has no program"))
    }

    fn build_args(&mut self, _turn: &Turn, _binary: &Binary) -> Result<Launch, Failure> {
        Err(Failure::new(ErrorClass::Other, "it has no program"))
    }

    fn line(&mut self, _line: Json<'_>, _out: &mut Effects) -> Result<(), Malformed> {
        Err(Malformed)
    }
}

wharf_adapter::export!(Looping);
