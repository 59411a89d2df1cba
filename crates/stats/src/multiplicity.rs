//! Many tests at once: Holm's family-wise adjustment (operators) and Benjamini and Hochberg's rate (cases).

/// Holm's (1979) adjusted p-values, in the order given: each at most 1, monotone in the raw ones.
///
/// Rejecting where the result is at most alpha keeps the chance of any false rejection at or below alpha whatever the
/// dependence between the tests.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let order = ascending(p_values);
    let mut adjusted = vec![f64::NAN; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, &idx) in order.iter().enumerate() {
        largest = largest.max((p_values.len() - rank) as f64 * p_values[idx]).min(1.0);
        adjusted[idx] = largest;
    }
    adjusted
}

/// Benjamini and Hochberg's (1995) adjusted p-values (q), in the order given.
///
/// Rejecting where the result is at most alpha keeps the expected share of false ones among the rejected at or below
/// alpha for tests that are independent or positively dependent.
#[must_use]
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let order = ascending(p_values);
    let mut adjusted = vec![f64::NAN; p_values.len()];
    let mut smallest = 1.0_f64;
    for (rank, &idx) in order.iter().enumerate().rev() {
        smallest = smallest.min(p_values.len() as f64 / (rank + 1) as f64 * p_values[idx]);
        adjusted[idx] = smallest;
    }
    adjusted
}

fn ascending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&left, &right| values[left].total_cmp(&values[right]));
    order
}
