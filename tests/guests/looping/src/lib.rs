//! An adapter whose `describe` never returns, for the tests of the sandbox. A separate guest, because no option reaches
//! an adapter before `describe`.

use wharf_adapter::{
    Adapter, AdapterInfo, Binary, Effects, Environment, ErrorClass, Failure, Host, Json, Launch, Malformed, Settings,
};

/// The adapter. It gets no further than `describe`.
#[derive(Default)]
pub struct Looping;

impl Adapter for Looping {
    fn describe() -> AdapterInfo {
        loop {
            std::hint::spin_loop();
        }
    }

    fn resolve_binary(&mut self, _host: &dyn Host, _environment: &Environment) -> Result<Binary, Failure> {
        Err(Failure::new(ErrorClass::Other, "it has no program"))
    }

    fn launch(&mut self, _settings: &mut Settings<'_>, _binary: &Binary) -> Result<Launch, Failure> {
        Err(Failure::new(ErrorClass::Other, "it has no program"))
    }

    fn line(&mut self, _line: Json<'_>, _out: &mut Effects) -> Result<(), Malformed> {
        Err(Malformed)
    }
}

wharf_adapter::export!(Looping);
