//! Says the value of a variable wherever an adapter can say something. The variable `FAULTY_LEAK` chooses where, because
//! no option reaches `resolve_binary`.

use wharf_adapter::{Binary, ErrorClass, Failure, Host, LogLevel, Retry};

/// The variable whose value is said.
pub(crate) const SECRET: &str = "FAULTY_SECRET";
/// The variable that says where.
pub(crate) const LEAK: &str = "FAULTY_LEAK";

/// Says it, if the host gives both variables.
pub(crate) fn everywhere(host: &dyn Host, binary: &mut Binary) -> Result<(), Failure> {
    let given = |name| host.variable(name).ok().flatten();
    let (Some(secret), Some(place)) = (given(SECRET), given(LEAK)) else { return Ok(()) };
    host.log(LogLevel::Warn, &format!("the log says {secret}"));
    binary.version = Some(format!("1.0.0-{secret}"));
    binary.note(LogLevel::Info, format!("the note says {secret}"), Some(&format!("forget {secret}")));
    match place.as_str() {
        "failure" => {
            let mut failure = Failure::new(ErrorClass::Auth, format!("the failure says {secret}"));
            failure.retry = Retry::AfterUserAction(format!("forget {secret}"));
            Err(failure)
        }
        "panic" => panic!("the panic says {secret}"),
        "program" => {
            binary.program = format!("/the/program/says/{secret}");
            Ok(())
        }
        _ => Ok(()),
    }
}
