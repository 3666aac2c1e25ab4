//! Timers of the adapter.

use super::*;

#[test]
fn timers_come_back_once() {
    let mut bench = Bench::new(config());
    bench.step(Step::Effect(Effect::SetTimer { number: 7, delay: Duration::from_millis(1500) }), at(1));
    assert_eq!(bench.driver.deadline(), Some(Duration::from_millis(2500)));
    assert_eq!(bench.step(Input::Tick, at(3)), [Action::Send(AdapterInput::Timer(7))]);
    assert_eq!(bench.step(Input::Tick, at(4)), []);
}

#[test]
fn an_adapter_that_sets_timers_without_end_has_failed() {
    let mut bench = Bench::new(config());
    let timer = |number| Step::Effect(Effect::SetTimer { number, delay: at(1000) });
    for _ in 0..2 {
        assert!((0..1000).all(|number| bench.step(timer(number), at(1)).is_empty()), "the same timers again");
    }
    assert_eq!(bench.step(timer(1000), at(1)), [Action::Terminate]);
    assert_eq!(bench.outcome().0, Outcome::Failed);
}
