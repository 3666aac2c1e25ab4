//! The list prices that come with wharf: a few models, each with the price that its vendor's own CLI calculates with.
//!
//! Prices change, and differ between contracts, so the user's own always count first. Read from Claude Code 2.0.76.

use super::price::{Price, Prices};

/// Names, and the prices of input, output, input read from a cache and input written to one.
const LIST: &[(&[&str], [f64; 4])] = &[
    (&["claude-3-5-haiku*", "claude-3.5-haiku*"], [0.8, 4.0, 0.08, 1.0]),
    (&["claude-haiku-4-5*", "claude-haiku-4.5*"], [1.0, 5.0, 0.1, 1.25]),
    (&["claude-3-5-sonnet*", "claude-3.5-sonnet*", "claude-3-7-sonnet*", "claude-3.7-sonnet*"], SONNET),
    (&["claude-sonnet-4", "claude-sonnet-4-2*", "claude-sonnet-4-5*", "claude-sonnet-4.5*"], SONNET),
    (&["claude-opus-4", "claude-opus-4-2*", "claude-opus-4-1*", "claude-opus-4.1*"], [15.0, 75.0, 1.5, 18.75]),
    (&["claude-opus-4-5*", "claude-opus-4.5*"], [5.0, 25.0, 0.5, 6.25]),
];

const SONNET: [f64; 4] = [3.0, 15.0, 0.3, 3.75];

impl Prices {
    /// These prices, and list prices for models that none of them fits.
    #[must_use]
    pub fn with_list_prices(&self) -> Prices {
        let mut all = self.clone();
        for (names, [input, output, cached, cache_write]) in LIST {
            let price =
                Price { input: *input, output: *output, cached: Some(*cached), cache_write: Some(*cache_write) };
            let listed = names.iter().filter(|name| self.of(name.trim_end_matches('*')).is_none());
            all.0.extend(listed.map(|name| ((*name).to_owned(), price)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Price = Price { input: 1.0, output: 1.0, cached: None, cache_write: None };

    #[test]
    fn the_users_prices_count_before_the_list() {
        let output = |own: &[&str], model: &str| {
            let own = own.iter().map(|name| ((*name).to_owned(), OWN)).collect();
            Prices(own).with_list_prices().of(model).map(|price| price.output)
        };
        assert_eq!(output(&[], "claude-sonnet-4-5-20250929"), Some(15.0));
        assert_eq!(output(&[], "claude-opus-4-20250514"), Some(75.0));
        assert_eq!(output(&[], "claude-opus-4.5"), Some(25.0));
        assert_eq!(output(&[], "claude-sonnet-9"), None, "an unknown model has no price");
        for own in ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5*", "claude-*", "*"] {
            assert_eq!(output(&[own], "claude-sonnet-4-5-20250929"), Some(1.0), "{own}");
        }
    }
}
