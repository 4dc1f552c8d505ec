//! Functions whose result is a list of the values: `groupArray` and its kin.

mod distinct_values;
pub(super) mod group_array;
pub(super) mod group_array_insert_at;
pub(super) mod group_array_intersect;
pub(super) mod group_array_moving;
pub(super) mod group_array_pick;
pub(super) mod group_concat;
pub(super) mod group_uniq_array;
pub(super) mod pcg;
