//! Medians, percentiles and ratios of several rounds.

/// The median. Of an even number it is the lower of the two in the middle, so that it was always measured.
pub(crate) fn median(values: &[f64]) -> f64 {
    percentile(values, 50.0)
}

/// The smallest value that is not exceeded by this percentage of the values. NaN if there are none.
pub(crate) fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "there are thousands, not quadrillions")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between zero and the length")]
    let rank = (sorted.len() as f64 * percent / 100.0).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// The median of the ratios of values that were measured in the same round.
pub(crate) fn ratio(values: &[f64], baseline: &[f64]) -> f64 {
    let ratios: Vec<f64> = values.iter().zip(baseline).map(|(value, base)| value / base).collect();
    median(&ratios)
}

/// A count as a float. Exact up to 2⁵³.
#[expect(clippy::cast_precision_loss, reason = "sizes and counts of one machine are far below 2⁵³")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_percentiles_are_values_that_were_measured() {
        let cases: [(&[f64], f64, f64); 6] = [
            (&[7.0], 50.0, 7.0),
            (&[3.0, 1.0, 2.0], 50.0, 2.0),
            (&[4.0, 1.0, 3.0, 2.0], 50.0, 2.0),
            (&[5.0, 1.0, 4.0, 2.0, 3.0], 0.0, 1.0),
            (&[5.0, 1.0, 4.0, 2.0, 3.0], 99.0, 5.0),
            (&[5.0, 1.0, 4.0, 2.0, 3.0], 100.0, 5.0),
        ];
        for (values, percent, expected) in cases {
            assert!((percentile(values, percent) - expected).abs() < f64::EPSILON, "{values:?} {percent}");
        }
        let hundred: Vec<f64> = (0..100).map(f64::from).collect();
        assert!((percentile(&hundred, 99.0) - 98.0).abs() < f64::EPSILON);
        assert!((median(&[5.0, 1.0, 4.0, 2.0, 3.0]) - 3.0).abs() < f64::EPSILON);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_ratio_compares_values_of_the_same_round() {
        // The machine was twice as slow in the second round, for both.
        assert!((ratio(&[10.0, 20.0, 11.0], &[5.0, 10.0, 5.0]) - 2.0).abs() < f64::EPSILON);
    }
}
