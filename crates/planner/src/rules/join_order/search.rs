//! Finds the order of joins with the least work: of few relations by going through all connected subsets, the small ones first
//! (dynamic programming, as Selinger and others 1979 have it, over bushy trees); of many by joining again and again the two that give the
//! fewest rows (greedy operator ordering, Fegaras 1998).

use super::graph::{Graph, Member, Relations, Tree};
use crate::rules::cardinality;

/// Up to so many relations all orders are looked at: 3ⁿ pairs of subsets, of which most are not connected.
const EXHAUSTIVE_MAX: usize = 11;
/// Where more pairs than this are connected, as where all relations have one key, planning would take milliseconds.
const PAIRS_MAX: usize = 6_000;
/// How many probed rows a row costs that is put into a hash table.
const BUILD: f64 = 2.0;

/// A set of relations joined in some order.
#[derive(Clone, Copy, Debug)]
struct Joined {
    rows: f64,
    work: f64,
}

/// The rows and the work of a join, and whether anything connects its sides: otherwise every row is every row's partner.
fn join(graph: &Graph, left: (Relations, Joined), right: (Relations, Joined)) -> (Joined, bool) {
    let mut values = 1.0_f64;
    let mut is_connected = false;
    // Keys of several columns have no more values than there are rows.
    let mut most = [1.0_f64, 1.0];
    let mut counted: [Relations; 2] = [0, 0];
    for class in &graph.classes {
        let fewest = |side: Relations| {
            let own = class.iter().filter(|member| side & (1 << member.relation) != 0);
            own.min_by(|one, other| one.values.total_cmp(&other.values))
        };
        let (Some(of_left), Some(of_right)) = (fewest(left.0), fewest(right.0)) else { continue };
        is_connected = true;
        values *= of_left.values.max(of_right.values);
        let mut count = |side: usize, member: &Member| {
            if counted[side] & (1 << member.relation) == 0 {
                counted[side] |= 1 << member.relation;
                most[side] *= member.rows;
            }
        };
        count(0, of_left);
        count(1, of_right);
    }
    let mut rows = left.1.rows * right.1.rows / values.min(most[0].max(most[1]));
    for condition in &graph.conditions {
        let reads = condition.relations;
        if reads != 0 && reads & !(left.0 | right.0) == 0 && reads & !left.0 != 0 && reads & !right.0 != 0 {
            is_connected = true;
            rows *= cardinality::OF_CONDITION;
        }
    }
    let rows = rows.max(1.0);
    let work = left.1.work + right.1.work + left.1.rows + BUILD * right.1.rows + rows;
    (Joined { rows, work }, is_connected)
}

/// The work of an order, in rows.
pub fn work(graph: &Graph, tree: &Tree) -> f64 {
    fn of(graph: &Graph, tree: &Tree) -> Joined {
        match tree {
            Tree::Relation(at) => alone(graph, *at),
            Tree::Join(left, right) => {
                let sides = [left, right].map(|side| (side.relations(), of(graph, side)));
                join(graph, sides[0], sides[1]).0
            }
        }
    }
    of(graph, tree).work
}

fn alone(graph: &Graph, at: usize) -> Joined {
    Joined { rows: graph.relations.get(at).map_or(1.0, |relation| relation.rows), work: 0.0 }
}

/// The best order that is found, and its work.
pub fn best(graph: &Graph) -> (Tree, f64) {
    let exhaustive = if graph.relations.len() <= EXHAUSTIVE_MAX { exhaustive(graph) } else { None };
    exhaustive.unwrap_or_else(|| greedy(graph))
}

/// The join with the side of fewer rows in memory, whether the sides are connected, and whether they had to change places for that.
fn sides(graph: &Graph, one: (Relations, Joined), other: (Relations, Joined)) -> (Joined, bool, bool) {
    let is_turned = one.1.rows < other.1.rows;
    let (left, right) = if is_turned { (other, one) } else { (one, other) };
    let (joined, is_connected) = join(graph, left, right);
    (joined, is_connected, is_turned)
}

/// The relations that a key or a condition connects with each set of relations.
fn neighbours(graph: &Graph) -> Vec<Relations> {
    let count = graph.relations.len();
    let of_class = |class: &Vec<Member>| class.iter().fold(0, |all, member| all | 1 << member.relation);
    let classes = graph.classes.iter().map(of_class);
    let together: Vec<Relations> =
        classes.chain(graph.conditions.iter().map(|condition| condition.relations)).collect();
    let mut found = vec![0; 1 << count];
    for set in 1..1_usize << count {
        let lowest = set & set.wrapping_neg();
        found[set] = match set ^ lowest {
            0 => together.iter().filter(|all| **all & lowest as Relations != 0).fold(0, |found, all| found | all),
            others => found[others] | found[lowest],
        };
    }
    found
}

/// `None` where the relations are not all connected, or where there are too many ways to look at.
fn exhaustive(graph: &Graph) -> Option<(Tree, f64)> {
    let count = graph.relations.len();
    let neighbours = neighbours(graph);
    let mut pairs = 0;
    // For each set of relations the best way to join it, and the left side of its last join.
    let mut ways: Vec<Option<(Joined, usize)>> = vec![None; 1 << count];
    for set in 1..1_usize << count {
        if set.is_power_of_two() {
            ways[set] = Some((alone(graph, set.trailing_zeros() as usize), 0));
            continue;
        }
        // Each way to cut the set in two, once: the first part has the lowest relation.
        let lowest = set & set.wrapping_neg();
        let mut part = (set - 1) & set;
        while part > 0 {
            if part & lowest != 0
                && neighbours[part] & (set ^ part) as Relations != 0
                && let (Some((one, _)), Some((other, _))) = (ways[part], ways[set ^ part])
            {
                pairs += 1;
                if pairs > PAIRS_MAX {
                    return None;
                }
                let (found, is_connected, is_turned) =
                    sides(graph, (part as Relations, one), ((set ^ part) as Relations, other));
                if is_connected && ways[set].is_none_or(|(known, _)| found.work < known.work) {
                    // All ways give the same rows; estimates may differ a little.
                    let rows = ways[set].map_or(found.rows, |(known, _)| known.rows);
                    ways[set] = Some((Joined { rows, ..found }, if is_turned { set ^ part } else { part }));
                }
            }
            part = (part - 1) & set;
        }
    }
    fn tree(ways: &[Option<(Joined, usize)>], set: usize) -> Option<Tree> {
        match ways.get(set).copied().flatten()? {
            (_, 0) => Some(Tree::Relation(set.trailing_zeros() as usize)),
            (_, left) => Some(Tree::Join(Box::new(tree(ways, left)?), Box::new(tree(ways, set ^ left)?))),
        }
    }
    let all = (1 << count) - 1;
    Some((tree(&ways, all)?, ways[all]?.0.work))
}

fn greedy(graph: &Graph) -> (Tree, f64) {
    let mut trees: Vec<(Tree, Relations, Joined)> =
        (0..graph.relations.len()).map(|at| (Tree::Relation(at), 1 << at, alone(graph, at))).collect();
    while trees.len() > 1 {
        let mut found: Option<(usize, usize, Joined, bool, bool)> = None;
        for (one, (_, one_set, one_joined)) in trees.iter().enumerate() {
            for (other, (_, other_set, other_joined)) in trees.iter().enumerate().skip(one + 1) {
                let (joined, is_connected, is_turned) =
                    sides(graph, (*one_set, *one_joined), (*other_set, *other_joined));
                let is_better = found.as_ref().is_none_or(|(_, _, known, was_connected, _)| {
                    (is_connected, -joined.rows) > (*was_connected, -known.rows)
                });
                if is_better {
                    found = Some((one, other, joined, is_connected, is_turned));
                }
            }
        }
        let Some((one, other, joined, _, is_turned)) = found else { break };
        let (other, one) = (trees.swap_remove(other), trees.swap_remove(one));
        let relations = one.1 | other.1;
        let (left, right) = if is_turned { (other.0, one.0) } else { (one.0, other.0) };
        trees.push((Tree::Join(Box::new(left), Box::new(right)), relations, joined));
    }
    trees.pop().map_or((Tree::Relation(0), 0.0), |(tree, _, joined)| (tree, joined.work))
}
