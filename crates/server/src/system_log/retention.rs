//! Which parts of a log's table are to go, and which small ones are to become one. Pure: parts, limits and the time come in, names go
//! out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use squall_storage::{Candidate, MergeLimits, PartInfo, select_merge};

/// How many times as large as its largest part the result of a merge is. A row is rewritten each time its part grows sixteenfold.
const BASE: f64 = 16.0;
/// The most parts of one merge.
const PARTS_MERGED: usize = 64;
/// The part of the bytes that are kept which one part may have at most: the oldest goes whole.
const BYTES_PART: u64 = 16;
/// The most rows of a part that merging makes.
const MERGED_ROWS_MAX: u64 = 2 << 20;

/// How much of a log is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retention {
    /// `ttl`: rows older than this go, a part at a time.
    pub age_max: Option<Duration>,
    /// Bytes on disk; the oldest parts go first.
    pub bytes_max: u64,
}

/// What is to be done with the parts of a table.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct Upkeep {
    /// Parts to take out.
    pub drop: Vec<Arc<str>>,
    /// Parts to make one of, group by group.
    pub merge: Vec<Vec<Arc<str>>>,
}

/// Decides, `now` being in seconds since the epoch.
pub fn upkeep(parts: &[PartInfo], retention: &Retention, now: u32) -> Upkeep {
    let mut by_age: Vec<&PartInfo> = parts.iter().collect();
    by_age.sort_by_key(|part| (part.times.map_or(0, |(_, last)| last), first_block(&part.name)));
    let mut bytes: u64 = parts.iter().map(|part| part.bytes_on_disk).sum();
    let oldest = retention.age_max.map(|age| u64::from(now).saturating_sub(age.as_secs()));
    let mut upkeep = Upkeep::default();
    let mut kept: BTreeMap<&str, Vec<&PartInfo>> = BTreeMap::new();
    for part in by_age {
        let is_old = matches!((part.times, oldest), (Some((_, last)), Some(oldest)) if u64::from(last) < oldest);
        if is_old || bytes > retention.bytes_max {
            bytes -= part.bytes_on_disk;
            upkeep.drop.push(part.name.clone());
        } else {
            kept.entry(&part.partition_id).or_default().push(part);
        }
    }
    for mut parts in kept.into_values() {
        parts.sort_by_key(|part| first_block(&part.name));
        let candidate = |part: &&PartInfo| Candidate {
            bytes: part.bytes_on_disk,
            group_bytes: part.bytes_on_disk,
            rows: part.rows,
            age: Duration::ZERO,
        };
        let candidates: Vec<Candidate> = parts.iter().map(candidate).collect();
        let bytes = retention.bytes_max / BYTES_PART;
        let limits = MergeLimits { bytes, group_bytes: bytes, rows: MERGED_ROWS_MAX, parts: PARTS_MERGED, base: BASE };
        if let Some((range, _)) = select_merge(&candidates, candidates.len(), &limits) {
            let group = parts.get(range).unwrap_or_default();
            upkeep.merge.push(group.iter().map(|part| part.name.clone()).collect());
        }
    }
    upkeep
}

fn first_block(name: &str) -> u64 {
    name.rsplit('_').nth(2).and_then(|block| block.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, rows: u64, last: u32) -> PartInfo {
        PartInfo {
            name: name.into(),
            partition_id: name.split('_').next().unwrap().into(),
            partition: "".into(),
            rows,
            bytes_on_disk: 100,
            value_bytes: 300,
            part_type: "Compact",
            marks: 1,
            primary_key_bytes: 0,
            path: Default::default(),
            ttl: Vec::new(),
            codec: None,
            times: Some((last.saturating_sub(7), last)),
            partition_dates: None,
            partition_times: None,
            deleted_rows: 0,
        }
    }

    fn retention(age_max: u64, bytes_max: u64) -> Retention {
        Retention { age_max: Some(Duration::from_secs(age_max)), bytes_max }
    }

    #[test]
    fn old_parts_go_whole() {
        let parts = [part("1_1_1_0", 1, 100), part("1_2_2_0", 1, 200)];
        let drop = |retention| upkeep(&parts, &retention, 300).drop;
        assert!(drop(retention(200, 1000)).is_empty());
        assert_eq!(*drop(retention(199, 1000)), ["1_1_1_0".into()]);
        assert_eq!(*drop(retention(1000, 100)), ["1_1_1_0".into()]);
        assert_eq!(drop(retention(1, 0)).len(), 2);
        assert!(drop(Retention { age_max: None, bytes_max: 1000 }).is_empty());
    }

    #[test]
    fn parts_of_a_partition_become_one() {
        let mut parts: Vec<PartInfo> = (1..=33).map(|at| part(&format!("1_{at}_{at}_0"), 10, at)).collect();
        parts.extend((1..8).map(|at| part(&format!("2_{at}_{at}_0"), 10, at)));
        let merge = upkeep(&parts, &retention(1000, 1 << 30), 40).merge;
        assert_eq!(merge.len(), 1);
        assert_eq!((merge[0].len(), &*merge[0][0]), (33, "1_1_1_0"));
        let large: Vec<PartInfo> = (1..=16).map(|at| part(&format!("1_{at}_{at}_0"), 1 << 21, at)).collect();
        assert!(upkeep(&large, &retention(1000, 1 << 30), 40).merge.is_empty());
    }

    #[test]
    fn parts_stay_few() {
        // Flushed every 7.5 seconds: simulated, as the names tell it.
        let mut parts: Vec<PartInfo> = Vec::new();
        for block in 0..20_000_u32 {
            parts.push(part(&format!("1_{block}_{block}_0"), 8, block));
            for group in upkeep(&parts, &retention(u64::MAX, u64::MAX), block).merge {
                let merged: Vec<PartInfo> = parts.iter().filter(|part| group.contains(&part.name)).cloned().collect();
                parts.retain(|part| !group.contains(&part.name));
                let name = format!("1_{}_{block}_1", first_block(&merged[0].name));
                parts.push(part(&name, merged.iter().map(|part| part.rows).sum(), block));
            }
            assert!(parts.len() <= 80);
        }
    }
}
