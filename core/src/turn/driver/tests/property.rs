//! Whatever happens, in any order: the driver always has a deadline, or the process was killed.

use super::*;
use proptest::prelude::*;

fn any_step() -> impl Strategy<Value = Step> {
    let effect = prop_oneof![
        Just(delta()),
        Just(tool(ToolStatus::Running)),
        Just(tool(ToolStatus::Succeeded)),
        "[ab]".prop_map(|id| ask(&id)),
        "[ab]".prop_map(|id| emit(EventKind::AskWithdrawn { id, number: None })),
        Just(ended(Outcome::Completed)),
        Just(Step::Effect(Effect::CloseStdin)),
        (0u32..3, 0u64..5000).prop_map(|(number, delay)| {
            Step::Effect(Effect::SetTimer { number, delay: Duration::from_millis(delay) })
        }),
    ];
    prop_oneof![2 => any_input().prop_map(Step::Input), 1 => effect]
}

fn any_input() -> impl Strategy<Value = Input> {
    let any_delivery = |input: AdapterInput| {
        (any::<bool>(), any::<bool>()).prop_map(move |(wrote, explained)| delivered(input.clone(), wrote, explained))
    };
    prop_oneof![
        Just(Input::Output),
        Just(Input::Stalled),
        Just(Input::StdinClosed),
        "[ab]".prop_map(|id| Input::Answer(Answer::new(id, Decision::Allow))),
        Just(Input::Cancel),
        any_delivery(AdapterInput::Cancel),
        Just(Input::AdapterFailed("trap".into())),
        Just(Input::Message("more".into())),
        Just(Input::MessageUnread("m".into())),
        any_delivery(AdapterInput::Message("more".into())),
        Just(next("more")),
        any_delivery(AdapterInput::NextTurn(Box::new(Turn::new("more")))),
        Just(Input::FinishAfterTurn),
        Just(Input::Flush),
        Just(Input::Tick),
    ]
}

proptest! {
    /// Whatever came before, an agent that writes nothing more is killed: there is always a deadline until then, and
    /// following the deadlines gets there in a bounded number of steps.
    #[test]
    fn the_driver_never_waits_forever(
        keep_alive in any::<bool>(),
        inputs in prop::collection::vec((any_step(), 0u64..10_000), 0..60),
    ) {
        // One that is kept alive waits for its caller, but not longer than the total timeout.
        let mut bench = Bench::new(DriverConfig { keep_alive, ..config() });
        let mut now = Duration::ZERO;
        let mut killed = false;
        for (input, step) in inputs {
            now += Duration::from_millis(step);
            killed |= bench.step(input, now).contains(&Action::Kill);
        }
        for _ in 0..100 {
            let Some(deadline) = bench.driver.deadline() else { break };
            now = now.max(deadline);
            killed |= bench.step(Input::Tick, now).contains(&Action::Kill);
        }
        prop_assert!(killed, "stop {:?}, deadline {:?}", bench.driver.stop, bench.driver.deadline());
        bench.driver.exited(Exit::default());
        let _ = bench.driver.result();
    }
}
