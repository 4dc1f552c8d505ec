//! Sums of floats in the order in which ClickHouse adds them where all rows are of one group: sixteen sums side by side, each of every
//! sixteenth row, which are added one after the other in the end. The last digits of a result depend on it.

const LANES: usize = 16;

/// Adds `terms` of rows `0..count` to sums.
pub(super) fn add_in_lanes<const N: usize>(sums: &mut [f64; N], count: usize, terms: impl Fn(usize) -> [f64; N]) {
    let add = |sums: &mut [f64; N], terms: [f64; N]| sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    let in_lanes = count - count % LANES;
    if in_lanes > 0 {
        let mut lanes = [[0.0; N]; LANES];
        for first in (0..in_lanes).step_by(LANES) {
            lanes.iter_mut().enumerate().for_each(|(lane, sums)| add(sums, terms(first + lane)));
        }
        lanes.into_iter().for_each(|lane| add(sums, lane));
    }
    (in_lanes..count).for_each(|row| add(sums, terms(row)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_digits_are_those_of_clickhouse() {
        let mut sums = [0.0; 3];
        add_in_lanes(&mut sums, 1000, |_| [1.0, 0.1, 0.1 * 0.1]);
        let [count, sum, squares] = sums;
        assert_eq!((squares - sum * sum / count) / count, 3.552_713_678_800_501e-17);
    }
}
