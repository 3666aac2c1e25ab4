//! What a component consists of, read before it is compiled: its imports and exports, and whether anything in it is too
//! large or too many.
//!
//! Reading takes milliseconds, compiling takes seconds. So what can be refused without the compiler is refused here. This
//! is not a validation, which is the compiler's, and not a bound of its work: a function of a few kilobytes can keep the
//! compiler busy for minutes. Only the limits of the child process stop that (see [`super::compiler`]).

use std::ops::ControlFlow;
use wasmtime::wasmparser::{
    BinaryReaderError, CanonicalFunction, CanonicalOption, ComponentInstance, ComponentTypeRef, FunctionBody, Parser,
    Payload, TypeBounds,
};

/// The most modules and components in one file. A Python adapter has about twenty.
const PARTS: usize = 250;

/// The most functions in one file. A JavaScript engine has about thirty thousand.
const FUNCTIONS: u64 = 250_000;

/// The largest function, in bytes. The loops of interpreters have some hundred kilobytes.
const BODY: usize = 1 << 20;

/// The most local variables of one function.
const LOCALS: u64 = 10_000;

/// The most instances that the components in one file can become. A component that instantiates another one twice, which
/// instantiates another one twice, and so on, doubles the compiler's work with each.
const INSTANCES: u64 = 1000;

/// What a component consists of.
#[derive(Debug, Default)]
pub(super) struct Structure<'a> {
    /// The names of its imports, without those of plain types.
    pub(super) imports: Vec<&'a str>,
    /// The names of its exports.
    pub(super) exports: Vec<&'a str>,
    /// Whether it uses the async functions of the component model.
    pub(super) is_async: bool,
}

/// Why a component cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// It is not a component, with what the parser says.
    Invalid(String),
    /// It exceeds a limit, in words.
    TooLarge(String),
}

impl From<BinaryReaderError> for Problem {
    fn from(error: BinaryReaderError) -> Problem {
        Problem::Invalid(error.to_string())
    }
}

impl<'a> Structure<'a> {
    /// Reads a component.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Structure<'a>, Problem> {
        let mut reader = Reader::default();
        for payload in Parser::new(0).parse_all(bytes) {
            if reader.take(payload?)?.is_break() {
                break;
            }
        }
        Ok(reader.structure)
    }
}

#[derive(Default)]
struct Reader<'a> {
    structure: Structure<'a>,
    parts: usize,
    functions: u64,
    /// For each module and component that is being read, from the outermost: how many components it instantiates.
    open: Vec<u64>,
    /// How many instances there can be at most.
    instances: u64,
}

impl<'a> Reader<'a> {
    /// Takes the next piece. Breaks after the last one.
    fn take(&mut self, payload: Payload<'a>) -> Result<ControlFlow<()>, Problem> {
        let is_outermost = self.open.len() == 1;
        match payload {
            Payload::Version { .. } => {
                self.parts += 1;
                at_most(self.parts, PARTS, "modules and components")?;
                self.open.push(0);
            }
            Payload::End(_) => {
                let made = self.open.pop().unwrap_or_default();
                self.instances = self.instances.max(1).saturating_mul(made + 1);
                at_most(self.instances, INSTANCES, "instances of components")?;
                if self.open.is_empty() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Payload::ComponentImportSection(section) if is_outermost => {
                for import in section {
                    let import = import?;
                    if !matches!(import.ty, ComponentTypeRef::Type(TypeBounds::Eq(_))) {
                        self.structure.imports.push(import.name.name);
                    }
                }
            }
            Payload::ComponentExportSection(section) if is_outermost => {
                for export in section {
                    self.structure.exports.push(export?.name.name);
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section {
                    if let (ComponentInstance::Instantiate { .. }, Some(made)) = (instance?, self.open.last_mut()) {
                        *made += 1;
                    }
                }
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section {
                    self.structure.is_async |= is_async(&function?);
                }
            }
            Payload::CodeSectionStart { count, .. } => {
                self.functions += u64::from(count);
                at_most(self.functions, FUNCTIONS, "functions")?;
            }
            Payload::CodeSectionEntry(body) => check_function(&body)?,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn check_function(body: &FunctionBody<'_>) -> Result<(), Problem> {
    at_most(body.as_bytes().len(), BODY, "bytes in one function")?;
    let mut locals = 0;
    for group in body.get_locals_reader()? {
        locals += u64::from(group?.0);
        at_most(locals, LOCALS, "local variables in one function")?;
    }
    Ok(())
}

fn is_async(function: &CanonicalFunction) -> bool {
    match function {
        CanonicalFunction::Lift { options, .. } | CanonicalFunction::Lower { options, .. } => {
            options.iter().any(|option| matches!(option, CanonicalOption::Async | CanonicalOption::Callback(_)))
        }
        CanonicalFunction::ResourceNew { .. }
        | CanonicalFunction::ResourceDrop { .. }
        | CanonicalFunction::ResourceRep { .. } => false,
        // Tasks, streams, futures, threads.
        _ => true,
    }
}

fn at_most<T: Copy + PartialOrd + std::fmt::Display>(count: T, limit: T, what: &str) -> Result<(), Problem> {
    if count > limit {
        return Err(Problem::TooLarge(format!("it has more than {limit} {what}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    fn wat(text: &str) -> Vec<u8> {
        wat::parse_str(text).expect("text of a component")
    }

    #[test]
    fn only_the_outermost_imports_and_exports_count_and_plain_types_do_not() {
        let component = wat(r#"(component
            (import "a:b/c@0.1.0" (instance $i))
            (import "f" (func))
            (type $t u32)
            (import "t" (type (eq $t)))
            (import "r" (type (sub resource)))
            (component (import "inner:x/y@1.0.0" (func)) (export "inner" (func 0)))
            (core module (import "m" "core" (func)) (func (export "core")))
            (export "d:e/f@0.1.0" (instance $i)))"#);
        let structure = Structure::read(&component).expect("it is one");
        assert_eq!(structure.imports, ["a:b/c@0.1.0", "f", "r"]);
        assert_eq!(structure.exports, ["d:e/f@0.1.0"]);
        assert!(!structure.is_async);
    }

    #[test]
    fn a_component_beyond_a_limit_is_refused_and_one_at_the_limit_is_not() {
        let components = |count: usize| format!("(component {})", "(core module)".repeat(count));
        let functions = |count: usize| format!("(component (core module {}))", "(func)".repeat(count));
        // A body is its code, the number of its locals and its end.
        let body = |bytes: usize| format!("(component (core module (func {})))", "nop ".repeat(bytes - 2));
        let locals = |count: usize| format!("(component (core module (func (local {}))))", "i32 ".repeat(count));
        for (text, expected) in [
            (components(PARTS - 1), None),
            (components(PARTS), Some("more than 250 modules and components")),
            (functions(250_000), None),
            (functions(250_001), Some("more than 250000 functions")),
            (body(BODY), None),
            (body(BODY + 1), Some("more than 1048576 bytes in one function")),
            (locals(10_000), None),
            (locals(10_001), Some("more than 10000 local variables in one function")),
        ] {
            match (Structure::read(&wat(&text)), expected) {
                (Ok(_), None) => {}
                (Err(Problem::TooLarge(reason)), Some(expected)) => assert!(reason.contains(expected), "{reason}"),
                (result, _) => panic!("{expected:?}: {result:?}"),
            }
        }
    }

    #[test]
    fn components_that_double_with_each_level_are_refused() {
        let nested = |levels: usize| {
            let mut text = "(component (component $c0)".to_owned();
            for level in 1..=levels {
                let inner = format!("(instance (instantiate $c{}))", level - 1);
                let _ = write!(text, "(component $c{level} {inner} {inner})");
            }
            text + ")"
        };
        assert!(Structure::read(&wat(&nested(6))).is_ok());
        let refused = Structure::read(&wat(&nested(30))).expect_err("two to the power of thirty");
        assert_eq!(refused, Problem::TooLarge("it has more than 1000 instances of components".to_owned()));
    }

    #[test]
    fn no_part_of_a_component_and_no_flipped_bit_is_a_panic() {
        let whole = wat(&format!("(component (import \"a\" (func)) (core module {}))", "(func (local i32))".repeat(9)));
        for at in 0..whole.len() {
            let _ = Structure::read(&whole[..at]);
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                let _ = Structure::read(&damaged);
            }
        }
        assert!(matches!(Structure::read(&whole[..whole.len() - 1]), Err(Problem::Invalid(_))));
    }
}
