//! Small components that a compiler needs much time or memory for.

use crate::wat;
use std::fmt::Write as _;

/// A component that looks like an adapter from outside, and is expensive to compile.
#[derive(Debug, Clone, Copy)]
pub struct CompileBomb {
    /// How deep loops are nested, each around the next: the time grows faster than this.
    pub nested_loops: usize,
    /// How many loops follow each other: the memory grows with their number times that of the variables.
    pub loops: usize,
    /// How many variables live through all of them.
    pub variables: usize,
}

impl CompileBomb {
    /// Minutes of processor time.
    pub const TIME: CompileBomb = CompileBomb { nested_loops: 1000, loops: 0, variables: 200 };

    /// Gigabytes of memory.
    pub const MEMORY: CompileBomb = CompileBomb { nested_loops: 0, loops: 10_000, variables: 1000 };

    /// The component.
    pub fn component(self) -> Vec<u8> {
        self.importing("")
    }

    /// The component with this import, as text.
    pub fn importing(self, import: &str) -> Vec<u8> {
        let CompileBomb { nested_loops, loops, variables } = self;
        let mut code = String::new();
        let mut write = |number: usize, text: &str| {
            let _ = write!(code, "{}", text.replace('#', &number.to_string()));
        };
        (1..=variables).for_each(|number| write(number, "i32.const 7 local.set #\n"));
        (0..nested_loops).for_each(|_| write(0, "loop\n"));
        (1..=variables).for_each(|number| write(number, "local.get # i32.const 1 i32.add local.set #\n"));
        (0..nested_loops).for_each(|_| write(0, "local.get 0 br_if 0 end\n"));
        (0..loops).for_each(|_| write(0, "loop local.get 0 br_if 0 end\n"));
        (1..=variables).for_each(|number| write(number, "local.get # drop\n"));
        let locals = "i32 ".repeat(variables);
        wat(&format!(
            "(component {import} (core module (func (export \"f\") (param i32) (local {locals}) {code})) (instance $i) \
             (export \"wharf:runtime/runtime-adapter@0.1.0\" (instance $i)))"
        ))
    }
}
