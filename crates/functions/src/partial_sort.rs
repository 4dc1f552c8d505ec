//! The order in which ClickHouse gives equal elements of a partial sort: Floyd and Rivest's selection (*Expected time bounds for
//! selection*, 1975), then a sort of what is before the selected element.

/// Intervals longer than this are first narrowed by a sample.
const SAMPLED_FROM: usize = 600;

/// Brings the first `count` elements of an order to the front, sorted.
pub(crate) fn partial_sort<T>(elements: &mut [T], count: usize, precedes: &impl Fn(&T, &T) -> bool) {
    let Some(last) = count.min(elements.len()).checked_sub(1) else { return };
    select(elements, last, precedes);
    elements[..last].sort_by(|left, right| match (precedes(left, right), precedes(right, left)) {
        (true, _) => std::cmp::Ordering::Less,
        (_, true) => std::cmp::Ordering::Greater,
        _ => std::cmp::Ordering::Equal,
    });
}

/// Brings the element that is at `wanted` in the order there, those before it to its left.
pub(crate) fn select<T>(elements: &mut [T], wanted: usize, precedes: &impl Fn(&T, &T) -> bool) {
    if let Some(last) = elements.len().checked_sub(1) {
        select_within(elements, 0, last, wanted, precedes);
    }
}

/// The same within an interval, which has the wanted element.
fn select_within<T>(
    elements: &mut [T],
    mut left: usize,
    mut right: usize,
    wanted: usize,
    precedes: &impl Fn(&T, &T) -> bool,
) {
    while right > left {
        if right - left > SAMPLED_FROM {
            let (from, to) = sample(left, right, wanted);
            select_within(elements, from, to, wanted, precedes);
        }
        let (mut low, mut high) = (left, right);
        elements.swap(left, wanted);
        // The pivot is at the left end; the first exchange below brings it to the end that it is compared from.
        let is_swapped = precedes(&elements[left], &elements[right]);
        if is_swapped {
            elements.swap(left, right);
        }
        let pivot = if is_swapped { left } else { right };
        while low < high {
            elements.swap(low, high);
            low += 1;
            high -= 1;
            while precedes(&elements[low], &elements[pivot]) {
                low += 1;
            }
            while precedes(&elements[pivot], &elements[high]) {
                high -= 1;
            }
        }
        if is_swapped {
            elements.swap(left, high);
        } else {
            high += 1;
            elements.swap(right, high);
        }
        if high <= wanted {
            left = high + 1;
        }
        if wanted <= high {
            let Some(before) = high.checked_sub(1) else { return };
            right = before;
        }
    }
}

/// The interval in which the wanted element of a long one almost surely is.
fn sample(left: usize, right: usize, wanted: usize) -> (usize, usize) {
    let (count, place) = ((right - left + 1) as f64, (wanted - left + 1) as f64);
    let log = count.ln();
    let size = 0.5 * (2.0 * log / 3.0).exp();
    let deviation = 0.5 * (log * size * (count - size) / count).sqrt();
    let deviation = if place < count / 2.0 { -deviation } else { deviation };
    let wanted_at = wanted as f64;
    let from = (wanted_at - place * size / count + deviation).max(left as f64);
    let to = (wanted_at + (count - place) * size / count + deviation).min(right as f64);
    (from as usize, to as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_sorted() {
        for (length, count) in [(0_usize, 3), (1, 1), (7, 3), (40, 40), (1000, 10), (5000, 4999)] {
            let mut elements: Vec<usize> = (0..length).map(|at| at * 7919 % 1013).collect();
            let mut expected = elements.clone();
            expected.sort_unstable();
            partial_sort(&mut elements, count, &|left, right| left < right);
            assert_eq!(elements[..count.min(length)], expected[..count.min(length)]);
        }
    }
}
