//! What wharf costs.
mod corpus;
mod native;
use corpus::{Mix, Runtime};
use std::path::Path;
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["native", runtime, agent] => {
            native::run(if runtime == "copilot" { Runtime::Copilot } else { Runtime::Claude }, Path::new(agent))
                .unwrap()
        }
        ["corpus", runtime, mix, size] => {
            use std::io::Write as _;
            let turn = corpus::turn(
                if runtime == "copilot" { Runtime::Copilot } else { Runtime::Claude },
                if mix == "mixed" { Mix::Mixed } else { Mix::Deltas },
                size.parse().unwrap(),
            );
            std::io::stdout().write_all(turn.as_bytes()).unwrap();
        }
        _ => panic!(),
    }
}
