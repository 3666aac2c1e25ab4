//! Prices of models, which the user sets, and the cost that follows from them: an estimate. Some list prices come with
//! wharf: see `list_price`.

use super::money::Money;
use super::usage::{CostSource, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use std::collections::BTreeMap;

/// What the tokens of a model cost, in US dollars for a million. That is also millionths of a dollar for one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Price {
    /// Input that was not read from a cache.
    #[serde(deserialize_with = "amount")]
    pub input: f64,
    /// Output.
    #[serde(deserialize_with = "amount")]
    pub output: f64,
    /// Input read from a cache; the price of other input if it is absent.
    #[serde(default, deserialize_with = "optional_amount", skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Input written to a cache; the price of other input if it is absent.
    #[serde(default, deserialize_with = "optional_amount", skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Price {
    /// What this usage costs; none if the number of input or output tokens is unknown.
    pub fn cost(&self, usage: &Usage) -> Option<Money> {
        let read = usage.cache_read.unwrap_or(0);
        let written = usage.cache_write.unwrap_or(0);
        let cached = read.saturating_add(written);
        let plain = usage.input_uncached.or_else(|| usage.input.map(|input| input.saturating_sub(cached)))?;
        let parts = [
            (plain, self.input),
            (read, self.cached.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (usage.output?, self.output),
        ];
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let micros: f64 = parts.into_iter().map(|(tokens, price)| tokens as f64 * price).sum();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
        (0.0..1e18).contains(&micros).then(|| Money::usd(micros.round() as u64))
    }
}

/// A price that is an amount: not negative, and finite.
fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let price = f64::deserialize(deserializer)?;
    if (0.0..1e9).contains(&price) {
        Ok(price)
    } else {
        Err(D::Error::custom(format!("{price} is not a price: write US dollars for a million tokens")))
    }
}

fn optional_amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    amount(deserializer).map(Some)
}

/// Prices by model. A name that ends in `*` stands for all models that start with the rest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "BTreeMap<String, Price>")]
#[schemars(inline)]
pub struct Prices(pub BTreeMap<String, Price>);

impl TryFrom<BTreeMap<String, Price>> for Prices {
    type Error = String;

    fn try_from(prices: BTreeMap<String, Price>) -> Result<Prices, String> {
        let inside = |name: &&String| name.strip_suffix('*').unwrap_or(name).contains('*');
        match prices.keys().find(inside) {
            Some(name) => Err(format!("the model {name:?} has a `*` that is not at its end, and would match nothing")),
            None => Ok(Prices(prices)),
        }
    }
}

impl Prices {
    /// The price of a model: under its own name, or under the longest name with `*` that fits.
    pub fn of(&self, model: &str) -> Option<&Price> {
        let fits = |name: &str| name.strip_suffix('*').is_some_and(|start| model.starts_with(start));
        let pattern = || self.0.iter().filter(|(name, _)| fits(name)).max_by_key(|(name, _)| name.len());
        self.0.get(model).or_else(|| pattern().map(|(_, price)| price))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fills in the cost of a usage that has none, if the price of the model is known.
    pub fn estimate(&self, model: Option<&str>, usage: &mut Usage) {
        if usage.cost.is_none()
            && let Some(cost) = model.and_then(|model| self.of(model)).and_then(|price| price.cost(usage))
        {
            usage.cost = Some(cost);
            usage.cost_source = Some(CostSource::Prices);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(input: f64, output: f64) -> Price {
        Price { input, output, cached: None, cache_write: None }
    }

    #[test]
    fn a_cost_is_the_sum_over_the_kinds_of_tokens() {
        let mut usage = Usage { input: Some(100), output: Some(10), ..Usage::default() };
        assert_eq!(price(3.0, 15.0).cost(&usage), Some(Money::usd(450)));
        usage.cache_read = Some(60);
        usage.cache_write = Some(20);
        usage.input_uncached = Some(20);
        let cached = Price { cached: Some(0.3), cache_write: Some(3.75), ..price(3.0, 15.0) };
        assert_eq!(cached.cost(&usage), Some(Money::usd(60 + 18 + 75 + 150)));
        usage.output = None;
        assert_eq!(cached.cost(&usage), None, "unknown is not zero");
    }

    #[test]
    fn the_name_that_fits_best_counts() {
        let prices = [("m*", 1.0), ("model-*", 2.0), ("model-x", 3.0)];
        let prices = Prices(prices.map(|(name, input)| (name.to_owned(), price(input, 0.0))).into());
        let input = |model| prices.of(model).map(|price| price.input);
        assert_eq!(
            [input("model-x"), input("model-y"), input("mini"), input("other")],
            [Some(3.0), Some(2.0), Some(1.0), None]
        );
    }

    #[test]
    fn a_cost_that_the_agent_reported_is_not_replaced() {
        let prices = Prices([("m".to_owned(), price(1.0, 1.0))].into());
        let mut usage = Usage { input: Some(1), output: Some(1), cost: Some(Money::usd(9)), ..Usage::default() };
        prices.estimate(Some("m"), &mut usage);
        assert_eq!((usage.cost, usage.cost_source), (Some(Money::usd(9)), None));
        usage.cost = None;
        prices.estimate(None, &mut usage);
        assert_eq!(usage.cost, None);
        prices.estimate(Some("m"), &mut usage);
        assert_eq!((usage.cost, usage.cost_source), (Some(Money::usd(2)), Some(CostSource::Prices)));
    }
}
