//! What somebody may do with what: a tree of databases, tables and columns, with privileges at each. Names that a `*` follows stand for every
//! name that begins so. A grant holds for all below it, a revoke takes from all below it, and the latest one counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::privilege::Privilege;
use super::privilege_set::PrivilegeSet;

/// What a grant is about: nothing is the server, then a database (or what else has a name of its own), a table, a column.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Target {
    /// The names, at most three.
    pub path: Vec<Arc<str>>,
    /// Whether the last one stands for all that begin so.
    pub is_prefix: bool,
}

impl Target {
    /// The target of these names.
    pub fn new(path: &[&str]) -> Self {
        Self { path: path.iter().map(|name| Arc::from(*name)).collect(), is_prefix: false }
    }

    /// All names that begin as the last one does.
    #[must_use]
    pub fn prefix(mut self) -> Self {
        self.is_prefix = true;
        self
    }
}

/// Privileges, and those of them that may be passed on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Granted {
    /// What may be done.
    pub privileges: PrivilegeSet,
    /// What may be granted to others.
    pub with_option: PrivilegeSet,
}

/// What is done to the rights of a target and of all below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// GRANT, perhaps `WITH GRANT OPTION`.
    Grant(PrivilegeSet, bool),
    /// REVOKE.
    Revoke(PrivilegeSet),
    /// `REVOKE GRANT OPTION FOR`.
    RevokeOption(PrivilegeSet),
}

impl Granted {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Grant(set, with_option) => {
                self.privileges = self.privileges.or(set);
                if with_option {
                    self.with_option = self.with_option.or(set);
                }
            }
            Change::Revoke(set) => {
                self.privileges = self.privileges.minus(set);
                self.with_option = self.with_option.minus(set);
            }
            Change::RevokeOption(set) => self.with_option = self.with_option.minus(set),
        }
    }
}

/// A part of the tree.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Node {
    granted: Granted,
    exact: BTreeMap<Arc<str>, Node>,
    /// By the beginning of names. What is below a database of which only the beginning is known has no rights of its own.
    prefixes: BTreeMap<Arc<str>, Granted>,
}

impl Node {
    fn inheriting(granted: Granted) -> Self {
        Self { granted, ..Self::default() }
    }

    /// What holds for a name about which nothing else is said.
    fn inherited(&self, name: &str) -> Granted {
        let mut longest =
            self.prefixes.iter().filter(|(prefix, _)| name.starts_with(&***prefix)).map(|(_, granted)| granted);
        longest.next_back().copied().unwrap_or(self.granted)
    }

    /// What a prefix would have, were it not there.
    fn inherited_by_prefix(&self, name: &str) -> Granted {
        let mut shorter = self.prefixes.iter().filter(|(prefix, _)| &***prefix != name && name.starts_with(&***prefix));
        shorter.next_back().map(|(_, granted)| *granted).unwrap_or(self.granted)
    }

    fn apply_to_all(&mut self, change: Change) {
        self.granted.apply(change);
        self.prefixes.values_mut().for_each(|granted| granted.apply(change));
        self.exact.values_mut().for_each(|child| child.apply_to_all(change));
    }

    fn change(&mut self, path: &[Arc<str>], is_prefix: bool, change: Change) {
        match path {
            [] => self.apply_to_all(change),
            [name] if is_prefix => {
                let inherited = self.inherited_by_prefix(name);
                self.prefixes.entry(name.clone()).or_insert(inherited);
                let begins = |known: &Arc<str>| known.starts_with(&**name);
                self.prefixes.iter_mut().filter(|(known, _)| begins(known)).for_each(|(_, own)| own.apply(change));
                self.exact.iter_mut().filter(|(known, _)| begins(known)).for_each(|(_, own)| own.apply_to_all(change));
            }
            [name, rest @ ..] => {
                let inherited = self.inherited(name);
                let child = self.exact.entry(name.clone()).or_insert_with(|| Self::inheriting(inherited));
                child.change(rest, is_prefix, change);
            }
        }
        self.forget_what_is_said_elsewhere();
    }

    /// Removes what would hold without it, too.
    fn forget_what_is_said_elsewhere(&mut self) {
        self.exact.values_mut().for_each(Self::forget_what_is_said_elsewhere);
        // The longest first: what a longer prefix says may follow from a shorter one once another has gone.
        let needless: Vec<Arc<str>> = self
            .prefixes
            .iter()
            .filter(|(name, granted)| self.inherited_by_prefix(name) == **granted)
            .map(|(name, _)| name.clone())
            .collect();
        for name in needless {
            if self.prefixes.get(&name) == Some(&self.inherited_by_prefix(&name)) {
                self.prefixes.remove(&name);
            }
        }
        let is_plain = |node: &Self| node.exact.is_empty() && node.prefixes.is_empty();
        let needless: Vec<Arc<str>> = self
            .exact
            .iter()
            .filter(|(name, child)| is_plain(child) && self.inherited(name) == child.granted)
            .map(|(name, _)| name.clone())
            .collect();
        needless.iter().for_each(|name| _ = self.exact.remove(name));
    }

    /// What holds at a path itself.
    fn at(&self, path: &[&str]) -> Granted {
        match path {
            [] => self.granted,
            [name, rest @ ..] => match self.exact.get(*name) {
                Some(child) => child.at(rest),
                None => self.inherited(name),
            },
        }
    }

    /// What holds at a path, which begins at a depth, and for all below it: a privilege that is about tables at most has nothing to do with
    /// columns.
    fn throughout(&self, path: &[&str], depth: usize) -> PrivilegeSet {
        match path {
            [name, rest @ ..] => match self.exact.get(*name) {
                Some(child) => child.throughout(rest, depth + 1),
                None => self.inherited(name).privileges,
            },
            [] => {
                let own = self.granted.privileges;
                let prefixes = self.prefixes.values().map(|granted| granted.privileges);
                let children = self.exact.values().map(|child| child.throughout(&[], depth + 1));
                let below = prefixes.chain(children).fold(own, |held, below| held.and(below));
                if below == own { own } else { below.or(own.and(PrivilegeSet::about_at_most(depth))) }
            }
        }
    }

    /// Calls `visit` with everything that holds at a path and below it, until it says that it is enough.
    fn any(&self, path: &[&str], is_prefix: bool, visit: &mut dyn FnMut(&Granted) -> bool) -> bool {
        match path {
            [] => {
                visit(&self.granted)
                    || self.prefixes.values().any(&mut *visit)
                    || self.exact.values().any(|child| child.any(&[], false, visit))
            }
            [name] if is_prefix => {
                visit(&self.prefixes.get(*name).copied().unwrap_or_else(|| self.inherited_by_prefix(name)))
                    || self.prefixes.iter().any(|(known, granted)| known.starts_with(name) && visit(granted))
                    || self.exact.iter().any(|(known, child)| known.starts_with(name) && child.any(&[], false, visit))
            }
            [name, rest @ ..] => match self.exact.get(*name) {
                Some(child) => child.any(rest, is_prefix, visit),
                None => visit(&self.inherited(name)),
            },
        }
    }

    fn add(&mut self, other: &Self) {
        // Both trees get the same names first, so that what one inherits is added to what the other says.
        for name in other.prefixes.keys() {
            let inherited = self.inherited_by_prefix(name);
            self.prefixes.entry(name.clone()).or_insert(inherited);
        }
        for name in other.exact.keys() {
            let inherited = self.inherited(name);
            self.exact.entry(name.clone()).or_insert_with(|| Self::inheriting(inherited));
        }
        for (name, child) in &mut self.exact {
            match other.exact.get(name) {
                Some(of_other) => child.add(of_other),
                None => child.add(&Self::inheriting(other.inherited(name))),
            }
        }
        for (name, granted) in &mut self.prefixes {
            let of_other = other.prefixes.get(name).copied().unwrap_or_else(|| other.inherited_by_prefix(name));
            granted.apply(Change::Grant(of_other.privileges, false));
            granted.apply(Change::Grant(of_other.with_option, true));
        }
        self.granted.apply(Change::Grant(other.granted.privileges, false));
        self.granted.apply(Change::Grant(other.granted.with_option, true));
    }

    fn statements(&self, path: &mut Vec<Arc<str>>, found: &mut Vec<Said>) {
        enum Child<'a> {
            Prefix(&'a Granted),
            Exact(&'a Node),
        }
        let mut children: Vec<(&Arc<str>, Child<'_>)> =
            self.prefixes.iter().map(|(name, granted)| (name, Child::Prefix(granted))).collect();
        children.extend(self.exact.iter().map(|(name, node)| (name, Child::Exact(node))));
        children.sort_by_key(|(name, _)| *name);
        for (name, child) in children {
            path.push(name.clone());
            match child {
                Child::Prefix(granted) => {
                    let target = Target { path: path.clone(), is_prefix: true };
                    say(&target, self.inherited_by_prefix(name), *granted, found);
                }
                Child::Exact(node) => {
                    let target = Target { path: path.clone(), is_prefix: false };
                    say(&target, self.inherited(name), node.granted, found);
                    node.statements(path, found);
                }
            }
            path.pop();
        }
    }
}

fn say(target: &Target, inherited: Granted, granted: Granted, found: &mut Vec<Said>) {
    let lost = inherited.privileges.minus(granted.privileges);
    let with_option = granted.with_option.minus(inherited.with_option);
    let changes = [
        Change::Revoke(lost),
        Change::RevokeOption(inherited.with_option.minus(granted.with_option).minus(lost)),
        Change::Grant(granted.privileges.minus(inherited.privileges).minus(with_option), false),
        Change::Grant(with_option, true),
    ];
    for change in changes {
        let (Change::Grant(set, _) | Change::Revoke(set) | Change::RevokeOption(set)) = change;
        if !set.is_empty() {
            found.push(Said { target: target.clone(), change });
        }
    }
}

/// A GRANT or REVOKE that is part of what makes rights again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    /// What it is about.
    pub target: Target,
    /// What it does.
    pub change: Change,
}

/// What somebody may do.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Rights {
    root: Node,
}

impl Rights {
    /// Everything, and to pass it on.
    pub fn everything() -> Self {
        let mut rights = Self::default();
        rights.change(&Target::default(), Change::Grant(PrivilegeSet::all(), true));
        rights
    }

    /// Grants or revokes.
    pub fn change(&mut self, target: &Target, change: Change) {
        self.root.change(&target.path, target.is_prefix, change);
    }

    /// Whether nothing may be done.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether privileges hold for all that is not said otherwise, and nothing is said otherwise.
    pub fn has_everywhere(&self, set: PrivilegeSet) -> bool {
        self.root.granted.privileges.contains(set) && self.root.exact.is_empty() && self.root.prefixes.is_empty()
    }

    /// What may be done with this thing itself, whatever holds for what is in it.
    pub fn at(&self, path: &[&str]) -> Granted {
        self.root.at(path)
    }

    /// What may be done with this thing and, as far as a privilege can be about less, with all that is in it.
    pub fn throughout(&self, path: &[&str]) -> PrivilegeSet {
        self.root.throughout(path, 0)
    }

    /// Whether one of some privileges is there for a thing or for something in it.
    pub fn has_any(&self, path: &[&str], set: PrivilegeSet) -> bool {
        self.root.any(path, false, &mut |granted| granted.privileges.intersects(set))
    }

    /// Whether one of some privileges is there for a thing and for all that is in it.
    pub fn has_some_everywhere(&self, path: &[&str], set: PrivilegeSet) -> bool {
        !self.root.any(path, false, &mut |granted| !granted.privileges.intersects(set))
    }

    /// Whether privileges are there for a target and for all that is in it.
    pub fn covers(&self, target: &Target, set: PrivilegeSet, with_option: bool) -> bool {
        let path: Vec<&str> = target.path.iter().map(|name| &**name).collect();
        let lacks = &mut |granted: &Granted| {
            let held = if with_option { granted.with_option } else { granted.privileges };
            !held.contains(set)
        };
        !self.root.any(&path, target.is_prefix, lacks)
    }

    /// What somebody may do who has both.
    pub fn add(&mut self, other: &Self) {
        self.root.add(&other.root);
        self.root.forget_what_is_said_elsewhere();
    }

    /// The part of these rights that may be passed on.
    #[must_use]
    pub fn passable(&self) -> Self {
        fn keep(node: &mut Node) {
            let only = |granted: &mut Granted| granted.privileges = granted.with_option;
            only(&mut node.granted);
            node.prefixes.values_mut().for_each(only);
            node.exact.values_mut().for_each(keep);
        }
        let mut passable = self.clone();
        keep(&mut passable.root);
        passable.root.forget_what_is_said_elsewhere();
        passable
    }

    /// The rights that both have.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        let mut common = Self::default();
        let mut at = |target: &Target| {
            let path: Vec<&str> = target.path.iter().map(|name| &**name).collect();
            let of = |rights: &Self| match (target.is_prefix, path.split_last()) {
                (true, Some((name, above))) => rights.of_prefix(above, name),
                _ => rights.at(&path),
            };
            let (left, right) = (of(self), of(other));
            let both = left.privileges.and(right.privileges);
            common.change(target, Change::Revoke(PrivilegeSet::all()));
            common.change(target, Change::Grant(both, false));
            common.change(target, Change::Grant(left.with_option.and(right.with_option), true));
        };
        at(&Target::default());
        let mut targets: Vec<Target> =
            self.statements().into_iter().chain(other.statements()).map(|said| said.target).collect();
        // What is about more comes before what is about less, which it would overwrite.
        targets.sort_by_key(|target| (target.path.len(), !target.is_prefix, target.path.clone()));
        targets.dedup();
        targets.iter().for_each(&mut at);
        common
    }

    fn of_prefix(&self, above: &[&str], name: &str) -> Granted {
        let mut node = &self.root;
        for name in above {
            match node.exact.get(*name) {
                Some(child) => node = child,
                None => return node.inherited(name),
            }
        }
        node.prefixes.get(name).copied().unwrap_or_else(|| node.inherited_by_prefix(name))
    }

    /// The fewest GRANTs and REVOKEs that make these rights of none, in an order in which they may be said.
    pub fn statements(&self) -> Vec<Said> {
        let mut found = Vec::new();
        say(&Target::default(), Granted::default(), self.root.granted, &mut found);
        self.root.statements(&mut Vec::new(), &mut found);
        found
    }

    /// Whether a source of a kind may be read or written.
    pub fn has_source(&self, privilege: Privilege, kind: &str) -> bool {
        self.at(&[kind]).privileges.contains(privilege.set())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SELECT: Privilege = Privilege::Select;
    const NAMES: [&str; 5] = ["a", "ab", "abc", "b", ""];

    fn grant(privilege: Privilege) -> Change {
        Change::Grant(privilege.set(), false)
    }

    fn revoke(privilege: Privilege) -> Change {
        Change::Revoke(privilege.set())
    }

    fn has(rights: &Rights, path: &[&str]) -> bool {
        rights.at(path).privileges.contains(SELECT.set())
    }

    #[test]
    fn the_latest_and_nearest_counts() {
        let mut rights = Rights::default();
        rights.change(&Target::default(), grant(SELECT));
        rights.change(&Target::new(&["d"]), revoke(SELECT));
        rights.change(&Target::new(&["d", "t"]), grant(SELECT));
        rights.change(&Target::new(&["d", "t", "x"]), revoke(SELECT));
        assert!(has(&rights, &["e", "t"]) && !has(&rights, &["d", "u"]));
        assert!(has(&rights, &["d", "t"]) && has(&rights, &["d", "t", "y"]) && !has(&rights, &["d", "t", "x"]));
        assert_eq!(rights.statements().len(), 4);
        assert!(!rights.covers(&Target::new(&["d", "t"]), SELECT.set(), false));
        assert!(rights.covers(&Target::new(&["e"]), SELECT.set(), false));
        assert!(rights.has_any(&["d"], SELECT.set()));
        rights.change(&Target::new(&["d"]), grant(SELECT));
        assert_eq!(rights.statements().len(), 1);
    }

    #[test]
    fn prefixes_stand_for_what_begins_so() {
        let mut rights = Rights::default();
        rights.change(&Target::new(&["abc"]).prefix(), grant(SELECT));
        rights.change(&Target::new(&["abcd"]).prefix(), grant(SELECT));
        rights.change(&Target::new(&["abcde"]), revoke(SELECT));
        assert!(has(&rights, &["abc"]) && has(&rights, &["abcx", "t"]) && !has(&rights, &["ab"]));
        assert!(!has(&rights, &["abcde"]) && has(&rights, &["abcdef"]));
        assert_eq!(rights.statements().len(), 2);
    }

    /// The meaning, written down as simply as can be: of the statements about a thing, the latest counts.
    fn means(said: &[(Target, Change)], path: &[&str]) -> Granted {
        let is_about = |target: &Target| {
            let Some((last, above)) = target.path.split_last() else { return true };
            target.path.len() <= path.len()
                && above.iter().zip(path).all(|(name, at)| **name == **at)
                && path
                    .get(above.len())
                    .is_some_and(|at| if target.is_prefix { at.starts_with(&**last) } else { **last == **at })
        };
        let mut granted = Granted::default();
        said.iter().filter(|(target, _)| is_about(target)).for_each(|(_, change)| granted.apply(*change));
        granted
    }

    fn target() -> impl Strategy<Value = Target> {
        let name = prop::sample::select(&NAMES[..4]);
        (prop::collection::vec(name, 0..=3), any::<bool>()).prop_map(|(path, is_prefix)| {
            let is_prefix = is_prefix && (1..=2).contains(&path.len());
            Target { is_prefix, ..Target::new(&path) }
        })
    }

    fn change() -> impl Strategy<Value = Change> {
        let privileges = prop::collection::vec(
            prop::sample::select(&[SELECT, Privilege::Insert, Privilege::DropTable, Privilege::Alter][..]),
            1..3,
        );
        (privileges, 0..4).prop_map(|(privileges, kind)| {
            let set = privileges.into_iter().collect();
            match kind {
                0 => Change::Grant(set, false),
                1 => Change::Grant(set, true),
                2 => Change::Revoke(set),
                _ => Change::RevokeOption(set),
            }
        })
    }

    fn paths() -> Vec<Vec<&'static str>> {
        let mut all = vec![Vec::new()];
        for first in NAMES {
            all.push(vec![first]);
            for second in NAMES {
                all.push(vec![first, second]);
                all.extend(NAMES.iter().map(|third| vec![first, second, *third]));
            }
        }
        all
    }

    fn made_of(said: &[(Target, Change)]) -> Rights {
        let mut rights = Rights::default();
        said.iter().for_each(|(target, change)| rights.change(target, *change));
        rights
    }

    proptest! {
        #[test]
        fn rights_are_what_was_said(said in prop::collection::vec((target(), change()), 0..12)) {
            let rights = made_of(&said);
            for path in paths() {
                prop_assert_eq!(rights.at(&path), means(&said, &path), "{:?}", path);
            }
        }

        #[test]
        fn statements_make_the_same_rights_again(said in prop::collection::vec((target(), change()), 0..12)) {
            let rights = made_of(&said);
            let again: Vec<_> = rights.statements().into_iter().map(|said| (said.target, said.change)).collect();
            let made = made_of(&again);
            prop_assert_eq!(&made, &rights);
        }

        #[test]
        fn sums_and_common_rights(
            left in prop::collection::vec((target(), change()), 0..8),
            right in prop::collection::vec((target(), change()), 0..8),
        ) {
            let (left, right) = (made_of(&left), made_of(&right));
            let mut sum = left.clone();
            sum.add(&right);
            let common = left.common(&right);
            for path in paths() {
                let (l, r) = (left.at(&path), right.at(&path));
                prop_assert_eq!(sum.at(&path).privileges, l.privileges.or(r.privileges), "{:?}", path);
                prop_assert_eq!(sum.at(&path).with_option, l.with_option.or(r.with_option), "{:?}", path);
                prop_assert_eq!(common.at(&path).privileges, l.privileges.and(r.privileges), "{:?}", path);
            }
        }
    }
}
