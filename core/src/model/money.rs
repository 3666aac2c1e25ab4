//! Money: an amount that is never rounded, with its currency. Nothing here converts one currency into another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An amount of money.
///
/// ```
/// let cost = wharf_core::model::Money::usd(1_200_000);
/// assert_eq!(cost.to_string(), "$1.2000");
/// assert_eq!(serde_json::json!(cost), serde_json::json!({ "micros": 1_200_000, "currency": "USD" }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Money {
    /// Millionths of the currency's unit: 1200000 is 1.20 dollars.
    pub micros: u64,
    /// The currency.
    pub currency: Currency,
}

impl Money {
    /// Millionths of a US dollar.
    pub fn usd(micros: u64) -> Money {
        Money { micros, currency: Currency::Usd }
    }
}

impl fmt::Display for Money {
    /// To four digits: `$0.0125`. What would be rounded to nothing has six: `$0.000048`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Currency::Usd = self.currency;
        if (1..50).contains(&self.micros) {
            return formatter.pad(&format!("$0.{:06}", self.micros));
        }
        let hundreds = self.micros.saturating_add(50) / 100;
        formatter.pad(&format!("${}.{:04}", hundreds / 10_000, hundreds % 10_000))
    }
}

/// A currency, by its ISO 4217 code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum Currency {
    /// US dollars: the currency in which the agents report.
    Usd,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_shown_to_four_digits_and_never_as_nothing() {
        for (micros, text) in [
            (0, "$0.0000"),
            (1, "$0.000001"),
            (49, "$0.000049"),
            (50, "$0.0001"),
            (999_999, "$1.0000"),
            (1_234_567, "$1.2346"),
        ] {
            assert_eq!(Money::usd(micros).to_string(), text);
        }
        assert!(Money::usd(u64::MAX).to_string().starts_with("$184467440737"), "nothing overflows");
    }
}
