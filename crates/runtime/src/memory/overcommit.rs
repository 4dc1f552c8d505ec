//! Overcommit: queries may use more than is guaranteed to them while there is memory. When a limit of a user or of the server is
//! passed, the query that has gone farthest beyond its guarantee is stopped, and the others wait for what it frees. Pure.
//!
//! Source: ClickHouse's documentation, *Memory overcommit*.

/// A query that holds memory under the limit that was passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// What it holds.
    pub bytes: i64,
    /// What is guaranteed to it (`memory_overcommit_ratio_denominator`, `…_for_user`); a query with 0 is never chosen.
    pub guaranteed_bytes: i64,
    /// It was chosen before and has not ended yet.
    pub is_chosen: bool,
}

/// The place of the query to stop: the one with the largest ratio of what it holds to its guarantee. None where one that was chosen
/// is still ending, or where no query may be chosen.
pub fn choose_victim(candidates: &[Candidate]) -> Option<usize> {
    if candidates.iter().any(|candidate| candidate.is_chosen) {
        return None;
    }
    let ratio = |candidate: &Candidate| candidate.bytes as f64 / candidate.guaranteed_bytes as f64;
    let eligible = candidates.iter().enumerate();
    eligible
        .filter(|(_, candidate)| candidate.guaranteed_bytes > 0 && candidate.bytes > 0)
        .max_by(|(_, left), (_, right)| ratio(left).total_cmp(&ratio(right)))
        .map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(bytes: i64, guaranteed_bytes: i64) -> Candidate {
        Candidate { bytes, guaranteed_bytes, is_chosen: false }
    }

    #[test]
    fn the_one_farthest_beyond_its_guarantee_is_chosen() {
        let candidates = [candidate(100, 100), candidate(90, 10), candidate(500, 100), candidate(9_000, 0)];
        assert_eq!(choose_victim(&candidates), Some(1));
        assert_eq!(choose_victim(&candidates[3..]), None);
        assert_eq!(choose_victim(&[]), None);
    }

    #[test]
    fn one_victim_at_a_time() {
        let ending = Candidate { is_chosen: true, ..candidate(1, 1) };
        assert_eq!(choose_victim(&[ending, candidate(100, 1)]), None);
    }
}
