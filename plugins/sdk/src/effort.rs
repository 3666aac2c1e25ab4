//! How much the model reasons, on a scale that all agents share.

/// The common scale, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// No reasoning at all.
    None,
    /// As little reasoning as possible.
    Minimal,
    /// Less than usual.
    Low,
    /// The usual amount.
    Medium,
    /// More than usual.
    High,
    /// Much more than usual.
    Xhigh,
    /// As much reasoning as possible.
    Max,
}

impl Effort {
    /// All levels, in ascending order.
    pub const ALL: [Effort; 7] =
        [Effort::None, Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh, Effort::Max];

    /// The name in the interface and in configuration: "low".
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

    /// The level with this name.
    pub fn parse(name: &str) -> Option<Effort> {
        Effort::ALL.into_iter().find(|effort| effort.name() == name)
    }
}

/// The nearest level that an agent offers: the highest one that is not above the requested level, else the lowest.
pub fn nearest_effort(requested: Effort, offered: &[Effort]) -> Option<Effort> {
    let below = offered.iter().copied().filter(|effort| *effort <= requested).max();
    below.or_else(|| offered.iter().copied().min())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_lower_level_is_used() {
        let offered = [Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh];
        for (requested, given) in [("max", "xhigh"), ("xhigh", "xhigh"), ("medium", "medium"), ("none", "low")] {
            let requested = Effort::parse(requested).expect("on the scale");
            assert_eq!(nearest_effort(requested, &offered).map(Effort::name), Some(given));
        }
        assert_eq!(nearest_effort(Effort::Low, &[]), None);
        assert_eq!(Effort::parse("bogus"), None);
    }
}
