//! A table in the width of a terminal: long texts are cut first, the longest most; where that is not enough, columns in the middle are left
//! out. Numbers and times are never cut, since a part of one is another.

/// No text is cut below this width, as long as leaving out columns helps instead.
const TEXT_WIDTH_MIN: usize = 12;
/// What a column has beside its values: a line and a space on either side.
const MARGIN: usize = 3;

/// A column as it would be without a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// The width of its longest value and its name.
    pub width: usize,
    /// Whether its values may be cut.
    pub may_cut: bool,
}

/// The columns that are shown, each by its position and width.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fit {
    /// Those before the gap, if there is one.
    pub front: Vec<(usize, usize)>,
    /// Those behind the gap.
    pub back: Vec<(usize, usize)>,
}

impl Fit {
    /// Whether columns are left out.
    pub fn has_gap(&self, columns: usize) -> bool {
        self.front.len() + self.back.len() < columns
    }
}

/// How columns fit `width_max`, beside the `frame` that the table itself takes.
pub(crate) fn fit(columns: &[Wanted], width_max: usize, frame: usize) -> Fit {
    let room = width_max.saturating_sub(frame);
    let narrowest = |column: &Wanted| if column.may_cut { column.width.min(TEXT_WIDTH_MIN) } else { column.width };
    let mut front: Vec<usize> = Vec::new();
    let mut back: Vec<usize> = Vec::new();
    let all: usize = columns.iter().map(|column| narrowest(column) + MARGIN).sum();
    if all <= room {
        front.extend(0..columns.len());
    } else {
        // The gap is a column of its own.
        let mut left = room.saturating_sub(MARGIN + 1);
        let (mut from, mut to) = (0, columns.len());
        while from < to {
            let at = if front.len() <= back.len() { from } else { to - 1 };
            let Some(needed) = columns.get(at).map(|column| narrowest(column) + MARGIN) else { break };
            if needed > left && !(front.is_empty() && back.is_empty()) {
                break;
            }
            left = left.saturating_sub(needed);
            if at == from {
                front.push(at);
                from += 1;
            } else {
                back.push(at);
                to -= 1;
            }
        }
        back.reverse();
    }
    let shown: Vec<Wanted> = front.iter().chain(&back).filter_map(|at| columns.get(*at)).copied().collect();
    let gap = if shown.len() < columns.len() { MARGIN + 1 } else { 0 };
    let level = level(&shown, room.saturating_sub(gap));
    let width = |at: &usize| {
        let column = columns.get(*at).copied().unwrap_or(Wanted { width: 0, may_cut: false });
        (*at, if column.may_cut { column.width.min(level) } else { column.width })
    };
    Fit { front: front.iter().map(width).collect(), back: back.iter().map(width).collect() }
}

/// The greatest width to which texts can be cut so that all fits; at least one column of characters.
fn level(columns: &[Wanted], room: usize) -> usize {
    let longest = columns.iter().filter(|column| column.may_cut).map(|column| column.width).max().unwrap_or(0);
    let total = |level: usize| -> usize {
        let width = |column: &Wanted| if column.may_cut { column.width.min(level) } else { column.width };
        columns.iter().map(|column| width(column) + MARGIN).sum()
    };
    let (mut low, mut high) = (1, longest.max(1));
    while low < high {
        let middle = (low + high).div_ceil(2);
        if total(middle) <= room { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(width: usize) -> Wanted {
        Wanted { width, may_cut: true }
    }

    fn number(width: usize) -> Wanted {
        Wanted { width, may_cut: false }
    }

    #[test]
    fn what_fits_stays() {
        let fit = fit(&[number(5), text(20)], 80, 1);
        assert_eq!(fit, Fit { front: vec![(0, 5), (1, 20)], back: vec![] });
    }

    #[test]
    fn the_longest_texts_are_cut() {
        let fit = fit(&[number(10), text(100), text(20), text(300)], 80, 1);
        let widths: Vec<usize> = fit.front.iter().map(|(_, width)| *width).collect();
        assert_eq!(widths, [10, 19, 19, 19]);
    }

    #[test]
    fn columns_in_the_middle_are_left_out() {
        let columns = vec![number(20); 10];
        let fit = fit(&columns, 80, 1);
        assert_eq!(fit, Fit { front: vec![(0, 20), (1, 20)], back: vec![(9, 20)] });
        assert!(fit.has_gap(columns.len()));
        // One column is always there, however wide.
        assert_eq!(super::fit(&[number(100), number(100)], 80, 1).front, [(0, 100)]);
    }
}
