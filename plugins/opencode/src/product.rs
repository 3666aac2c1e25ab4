//! Which of the two programs runs: `OpenCode`, or Kilo, which is a fork of it with other names.

use wharf_adapter::{Binary, Tested, Version, text};

/// A program that speaks this adapter's two protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Product {
    #[default]
    OpenCode,
    Kilo,
}

impl Product {
    /// By the name of its program, which the user may have chosen.
    pub(crate) fn of(program: &str) -> Product {
        let path = program.replace('\\', "/");
        let name = path.rsplit('/').next().unwrap_or_default();
        if name.starts_with("kilo") || text::contains(&path, "@kilocode/") { Product::Kilo } else { Product::OpenCode }
    }

    /// By the program that was found.
    pub(crate) fn of_binary(binary: &Binary) -> Product {
        Product::of(&binary.program)
    }

    /// What its command is called.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Product::OpenCode => "opencode",
            Product::Kilo => "kilo",
        }
    }

    /// One of its variables: `OPENCODE_CONFIG`, `KILO_CONFIG`.
    pub(crate) fn variable(self, name: &str) -> String {
        let prefix = match self {
            Product::OpenCode => "OPENCODE_",
            Product::Kilo => "KILO_",
        };
        [prefix, name].concat()
    }

    /// The versions that the adapter was tested with.
    pub(crate) fn tested(self) -> Tested {
        match self {
            Product::OpenCode => TESTED,
            Product::Kilo => Tested(&[Version(7, 8, 1)]),
        }
    }

    /// How to install it.
    pub(crate) fn install(self) -> &'static str {
        match self {
            Product::OpenCode => INSTALL,
            Product::Kilo => "npm install -g @kilocode/cli",
        }
    }
}

/// The versions of `OpenCode` that the adapter was tested with.
pub(crate) const TESTED: Tested = Tested(&[Version(1, 15, 4), Version(1, 18, 33)]);

/// How to install `OpenCode`.
pub(crate) const INSTALL: &str = "npm install -g opencode-ai";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_is_recognized_by_its_program() {
        for (program, product) in [
            ("/usr/bin/opencode", Product::OpenCode),
            ("/home/kilo/bin/opencode", Product::OpenCode),
            ("/usr/bin/kilo", Product::Kilo),
            ("C:\\npm\\kilo.exe", Product::Kilo),
            ("/x/node_modules/@kilocode/cli/bin/run", Product::Kilo),
        ] {
            assert_eq!(Product::of(program), product, "{program}");
        }
    }
}
