//! An orchestrator that embeds Wharf: three turns on two adapters, side by side, and one table at the end.
//!
//! `cargo run -p orchestrator -- claude copilot` uses real agents. Without arguments it takes what runs anywhere: the
//! bundled `echo` adapter, whose agent is the `wharf` binary (`cargo build` builds it), and the tutorial's adapter from
//! its file, granted its one program and its one variable: `SCRIBE_KEY=anything cargo run -p orchestrator`.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::path::{Path, PathBuf};
use wharf::ask::{Answer, Decision};
use wharf::event::{EventKind, Report};
use wharf::{Approvals, Config, Dirs, Host, Result, RunOptions, Turn};

const PROMPTS: [&str; 3] = ["Say hello", "Count to three", "What is in this folder?"];

fn main() -> std::process::ExitCode {
    // First of all: the child that compiles components from files, with limits, is this program once more.
    wharf::compile_in_child();
    let runtime = tokio::runtime::Runtime::new().map_err(|error| wharf::Error::system("starting the threads", error));
    match runtime.and_then(|runtime| runtime.block_on(orchestrate())) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}\n{}", error.hint().unwrap_or_default());
            std::process::ExitCode::FAILURE
        }
    }
}

async fn orchestrate() -> Result<()> {
    let dirs = Dirs::from_env()?;
    let mut config = Config::load(&dirs.config, &std::env::current_dir().unwrap_or_default())?;
    if let Some(wharf) = beside("wharf") {
        config.programs.entry("echo".to_owned()).or_insert(wharf);
    }
    let tutorial = Path::new(env!("CARGO_MANIFEST_DIR")).join("../adapter-tutorial");
    let given: Vec<String> = std::env::args().skip(1).take(2).collect();
    let names = if given.len() == 2 {
        given
    } else {
        let component = tutorial_component()?;
        // In the configuration, a component that is loaded by its path has that path as its name, or its digest.
        config.programs.entry(component.clone()).or_insert_with(|| tutorial.join("scribe"));
        config.grants.entry(component.clone()).or_default().variables.push("SCRIBE_KEY".to_owned());
        vec!["echo".to_owned(), component]
    };
    let host = Host::new(dirs, config)?;

    let adapters = [host.adapter(&names[0]).await?, host.adapter(&names[1]).await?];

    let mut turns = Vec::new();
    for (number, prompt) in PROMPTS.into_iter().enumerate() {
        let (host, adapter) = (host.clone(), adapters[number % 2].clone());
        // A run is `Send`: each turn is a separate task.
        turns.push(tokio::spawn(async move {
            let turn = Turn::new(prompt).with_approvals(Approvals::Ask);
            let mut options = RunOptions::default();
            options.labels.insert("task".to_owned(), (number + 1).to_string());
            let mut run = host.start(&adapter, turn, options).await?;
            let mut report = None;
            while let Some(event) = run.next().await {
                match event.kind {
                    // The policy of this orchestrator: the agents may look, and change nothing.
                    EventKind::Ask(ask) => {
                        let reads = ask.tool.as_deref().is_some_and(|tool| tool.starts_with("list"));
                        let decision = if reads { Decision::Allow } else { Decision::Deny };
                        drop(run.answer(Answer::to(&ask, decision).by("orchestrator")));
                    }
                    EventKind::Report(last) => report = Some(last),
                    _ => {}
                }
            }
            Ok::<_, wharf::Error>((adapter.info().id.clone(), prompt, report))
        }));
    }

    println!("{:<10} {:<26} {:<11} {:>6} {:>7}  answer", "adapter", "prompt", "outcome", "tools", "tokens");
    for turn in turns {
        let (adapter, prompt, report) = turn.await.map_err(|error| wharf::Error::system("running a turn", error))??;
        if let Some(report) = report {
            println!("{}", row(&adapter, prompt, &report));
        }
    }
    Ok(())
}

fn row(adapter: &str, prompt: &str, report: &Report) -> String {
    let usage = report.usage.as_ref();
    let tokens = usage.and_then(|usage| Some(usage.input? + usage.output?));
    let tokens = tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
    let answer = report.answer.as_deref().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
    format!("{adapter:<10} {prompt:<26} {:<11} {:>6} {tokens:>7}  {answer}", report.outcome, report.tools.len())
}

/// The tutorial's adapter, built where the bundled ones are.
fn tutorial_component() -> Result<String> {
    let built = beside("wharf").and_then(|wharf| Some(wharf.parent()?.parent()?.to_owned()));
    let path = built.unwrap_or_default().join("adapters/wasm32-wasip2/adapter/adapter_tutorial.wasm");
    if path.exists() {
        return Ok(path.canonicalize().unwrap_or(path).to_string_lossy().into_owned());
    }
    let command =
        "cargo build -p adapter-tutorial --target wasm32-wasip2 --profile adapter --target-dir target/adapters";
    Err(wharf::Error::invalid("the tutorial's adapter or `wharf` is not built")
        .with_hint(format!("`cargo build` and `{command}`")))
}

/// A program beside this one, as cargo puts them.
fn beside(name: &str) -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(name).with_extension(std::env::consts::EXE_EXTENSION);
    path.exists().then_some(path)
}
