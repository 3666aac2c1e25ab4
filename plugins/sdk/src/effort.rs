//! How hard the model shall think, on the scale that all runtimes share.

/// The common scale, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// No reasoning at all.
    None,
    /// The least there is.
    Minimal,
    /// Little.
    Low,
    /// The middle.
    Medium,
    /// Much.
    High,
    /// Very much.
    Xhigh,
    /// The most there is.
    Max,
}

impl Effort {
    /// All of them, in rising order.
    pub const ALL: [Effort; 7] =
        [Effort::None, Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh, Effort::Max];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Effort::None => "none",
            Effort::Minimal => "minimal",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Xhigh => "xhigh",
            Effort::Max => "max",
        }
    }

    /// From how it is written.
    pub fn parse(name: &str) -> Option<Effort> {
        Effort::ALL.into_iter().find(|effort| effort.name() == name)
    }
}

/// The nearest that a runtime offers: the highest that is not above the wish, or the lowest there is.
pub fn nearest_effort(wish: Effort, offered: &[Effort]) -> Option<Effort> {
    let below = offered.iter().copied().filter(|effort| *effort <= wish).max();
    below.or_else(|| offered.iter().copied().min())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_lowered_to_what_is_offered() {
        let offered = [Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh];
        for (wish, given) in [("max", "xhigh"), ("xhigh", "xhigh"), ("medium", "medium"), ("none", "low")] {
            let wish = Effort::parse(wish).expect("on the scale");
            assert_eq!(nearest_effort(wish, &offered).map(Effort::name), Some(given));
        }
        assert_eq!(nearest_effort(Effort::Low, &[]), None);
        assert_eq!(Effort::parse("bogus"), None);
    }
}
