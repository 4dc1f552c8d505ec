//! Regions of the Earth that lie in one another, and their names: the files of an embedded dictionary.

use std::collections::HashMap;
use std::sync::Arc;

/// What kind of place a region is, by its number in the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionKind {
    /// 1.
    Continent,
    /// 3.
    Country,
    /// 4.
    District,
    /// 5.
    Area,
    /// 6.
    City,
}

impl RegionKind {
    fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Continent),
            3 => Some(Self::Country),
            4 => Some(Self::District),
            5 => Some(Self::Area),
            6 => Some(Self::City),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Region {
    parent: u32,
    kind: Option<RegionKind>,
    population: u32,
}

/// A hierarchy of regions.
#[derive(Clone, Debug, Default)]
pub struct Regions(HashMap<u32, Region>);

/// Regions above one another, at most: a circle ends here.
const DEPTH_MAX: usize = 100;

impl Regions {
    /// The regions of a file: a line for each, with its number, that of the region around it, its kind and maybe its population, between
    /// tabs. Lines that say something else are left out.
    pub fn parse(text: &str) -> Self {
        let region = |line: &str| {
            let mut fields = line.split('\t');
            let mut next = || fields.next().map(str::trim);
            let (id, parent, kind) = (next()?.parse().ok()?, next()?.parse().ok()?, next()?.parse().ok()?);
            let population = next().and_then(|field| field.parse().ok()).unwrap_or(0);
            Some((id, Region { parent, kind: RegionKind::of(kind), population }))
        };
        Self(text.lines().filter_map(region).collect())
    }

    /// The numbers from a region to the outermost one around it; none of a region that is not there.
    pub fn chain(&self, id: u32) -> impl Iterator<Item = u32> {
        let found = |id: &u32| *id != 0 && self.0.contains_key(id);
        let first = Some(id).filter(found);
        std::iter::successors(first, move |id| self.0.get(id).map(|region| region.parent).filter(found)).take(DEPTH_MAX)
    }

    fn of_kind(&self, id: u32, kind: RegionKind) -> impl Iterator<Item = u32> {
        self.chain(id).filter(move |id| self.0.get(id).is_some_and(|region| region.kind == Some(kind)))
    }

    /// The innermost region of a kind that a region is or lies in; 0 where there is none.
    pub fn around(&self, id: u32, kind: RegionKind) -> u32 {
        self.of_kind(id, kind).next().unwrap_or(0)
    }

    /// The outermost continent; 0 where there is none.
    pub fn top_continent(&self, id: u32) -> u32 {
        self.of_kind(id, RegionKind::Continent).last().unwrap_or(0)
    }

    /// People of a region; 0 where nobody has counted them.
    pub fn population(&self, id: u32) -> u32 {
        self.0.get(&id).map_or(0, |region| region.population)
    }
}

/// Names of regions in one language.
pub type RegionNames = HashMap<u32, Arc<str>>;

/// The names of a file: a line for each region, with its number and its name between tabs.
pub fn parse_region_names(text: &str) -> RegionNames {
    let name = |line: &str| {
        let (id, name) = line.split_once('\t')?;
        Some((id.trim().parse().ok()?, name.split('\t').next()?.into()))
    };
    text.lines().filter_map(name).collect()
}

/// All that the configuration names: hierarchies by their keys, and names by languages.
#[derive(Clone, Debug, Default)]
pub struct EmbeddedRegions {
    /// The main hierarchy has no key.
    pub hierarchies: HashMap<String, Arc<Regions>>,
    /// By two letters, as `en`.
    pub names: HashMap<String, RegionNames>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_lie_in_one_another() {
        let regions = Regions::parse("1\t0\t0\n10\t1\t1\t600\n2\t10\t3\t330\n5\t2\t6\t1\nnot a line\n7\t7\t6");
        assert_eq!(regions.chain(5).collect::<Vec<_>>(), [5, 2, 10, 1]);
        assert_eq!(regions.around(5, RegionKind::Country), 2);
        assert_eq!(regions.around(2, RegionKind::City), 0);
        assert_eq!(regions.top_continent(5), 10);
        assert_eq!(regions.population(2), 330);
        assert_eq!(regions.chain(7).count(), DEPTH_MAX);
    }
}
