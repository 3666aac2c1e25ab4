//! Environment variables that make programs load or run other code than their own. An adapter may not set them for its
//! agent, whatever was granted.
//!
//! No such list is complete: every program may have variables of this kind, also the agent itself. It covers dynamic
//! linkers, shells, the runtimes of common languages, package managers, Git, SSH and TLS libraries.

/// The names, in upper case.
const NAMES: &[&str] = &[
    // Where programs are found, and how wharf finds its processes.
    "PATH",
    "PATHEXT",
    "COMSPEC",
    "WHARF_RUN",
    "WHARF_HOST",
    // The C library.
    "GCONV_PATH",
    "GETCONF_DIR",
    "LOCPATH",
    // Shells.
    "ENV",
    "BASH_ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "SHELL",
    "IFS",
    "PS4",
    "ZDOTDIR",
    "FPATH",
    "INPUTRC",
    "PSMODULEPATH",
    // What programs start for a person.
    "VISUAL",
    "LESSOPEN",
    "LESSCLOSE",
    // Runtimes.
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "TS_NODE_PROJECT",
    "TSX_TSCONFIG_PATH",
    "ELECTRON_RUN_AS_NODE",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "JDK_JAVAC_OPTIONS",
    "JAVA_HOME",
    "CLASSPATH",
    "MAVEN_ARGS",
    "GRADLE_USER_HOME",
    "DOTNET_STARTUP_HOOKS",
    "DOTNET_ADDITIONAL_DEPS",
    "DOTNET_SHARED_STORE",
    "DOTNET_ROOT",
    "MONO_PATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "LUA_INIT",
    "LUA_PATH",
    "LUA_CPATH",
    "GUILE_LOAD_PATH",
    "GUILE_LOAD_COMPILED_PATH",
    "R_PROFILE",
    "R_PROFILE_USER",
    "R_ENVIRON",
    "R_ENVIRON_USER",
    "R_LIBS",
    "R_LIBS_USER",
    "JULIA_LOAD_PATH",
    "JULIA_DEPOT_PATH",
    "ERL_FLAGS",
    "ERL_AFLAGS",
    "ERL_ZFLAGS",
    "ERL_LIBS",
    "ELIXIR_ERL_OPTIONS",
    "GOFLAGS",
    "GOTOOLCHAIN",
    "GOROOT",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
    "TCLLIBPATH",
    // Compilers and build tools.
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AR",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MAKEFILES",
    "GCC_EXEC_PREFIX",
    "COMPILER_PATH",
    "PKG_CONFIG_PATH",
    "CMAKE_TOOLCHAIN_FILE",
    // Git, SSH and other tools of agents.
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_ALLOW_PROTOCOL",
    "GH_PATH",
    "SSH_ASKPASS_REQUIRE",
    "SSH_SK_PROVIDER",
    "SSH_PKCS11_PROVIDER",
    "RSYNC_RSH",
    "CVS_RSH",
    "HGRCPATH",
    "SVN_SSH",
    "RIPGREP_CONFIG_PATH",
    "TAR_OPTIONS",
    "WGETRC",
    "EMACSLOADPATH",
    "VIMINIT",
    "EXINIT",
    // TLS and cryptography.
    "OPENSSL_CONF",
    "OPENSSL_CONF_INCLUDE",
    "OPENSSL_MODULES",
    "OPENSSL_ENGINES",
    "KRB5_CONFIG",
    "SASL_PATH",
    "GNUPGHOME",
    // Desktop libraries.
    "GTK_MODULES",
    "GTK_PATH",
    "GTK3_MODULES",
    "GTK_EXE_PREFIX",
    "GTK_IM_MODULE_FILE",
    "GIO_EXTRA_MODULES",
    "GIO_MODULE_DIR",
    "GDK_PIXBUF_MODULE_FILE",
    "GST_PLUGIN_PATH",
    "LIBGL_DRIVERS_PATH",
    "VK_ICD_FILENAMES",
    "QT_PLUGIN_PATH",
    "QT_QPA_PLATFORM_PLUGIN_PATH",
    "QML_IMPORT_PATH",
    "QML2_IMPORT_PATH",
];

/// The beginnings of names, in upper case.
const BEGINNINGS: &[&str] = &[
    "LD_",
    "DYLD_",
    "__PYVENV",
    "BASH_FUNC_",
    "PYTHON",
    "PERL5",
    "PERLIO",
    "PERL_",
    "RUBY",
    "GEM_",
    "BUNDLE_",
    "BUN_",
    "DENO_",
    "NPM_CONFIG_",
    "YARN_",
    "PNPM_",
    "PIP_",
    "UV_",
    "POETRY_",
    "CONDA_",
    "CARGO_",
    "GIT_CONFIG",
    "CORECLR_",
    "COR_",
    "COMPLUS_",
    "COMPOSER_",
];

/// The ends of names, in upper case: what is called so is run, also by agents.
const ENDS: &[&str] = &["_COMMAND", "_ASKPASS", "PAGER", "EDITOR", "BROWSER", "_OPTS", "_PRELOAD"];

/// Whether a variable makes programs load or run other code than their own. Upper and lower case are the same: on some
/// systems, and for npm everywhere.
pub fn loads_code(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    NAMES.contains(&name.as_str())
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_that_load_code_are_known() {
        let names = "PATH Path LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES BUN_OPTIONS BUN_INSPECT_PRELOAD DENO_DIR \
            NODE_OPTIONS PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONWARNINGS PYTHONBREAKPOINT PERL5OPT PERL5LIB PERL5DB \
            RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS GIT_SSH GIT_SSH_COMMAND GIT_CONFIG_COUNT \
            GIT_CONFIG_GLOBAL GIT_CONFIG_PARAMETERS GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR GIT_ASKPASS SSH_ASKPASS \
            OPENSSL_CONF OPENSSL_MODULES GCONV_PATH LOCPATH npm_config_node_options NPM_CONFIG_SCRIPT_SHELL BASH_ENV \
            ENV PROMPT_COMMAND ZDOTDIR GTK_MODULES QT_PLUGIN_PATH DOTNET_STARTUP_HOOKS CORECLR_PROFILER_PATH \
            COR_PROFILER COPILOT_PROVIDER_API_KEY_COMMAND ELECTRON_RUN_AS_NODE LESSOPEN PAGER EDITOR VISUAL BASH_FUNC_ls%% WHARF_RUN CARGO_HOME";
        for name in names.split_whitespace() {
            assert!(loads_code(name), "{name}");
        }
    }

    #[test]
    fn settings_and_keys_load_no_code() {
        let names = "ANTHROPIC_API_KEY CLAUDE_CONFIG_DIR COPILOT_HOME GH_TOKEN GITHUB_TOKEN HTTPS_PROXY HOME TERM \
            SCRIBE_KEY MAX_THINKING_TOKENS GIT_AUTHOR_NAME GIT_TERMINAL_PROMPT NO_COLOR LANG TZ";
        for name in names.split_whitespace() {
            assert!(!loads_code(name), "{name}");
        }
    }
}
