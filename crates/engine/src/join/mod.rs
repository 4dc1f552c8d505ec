//! Joins by hash. The right side's rows are collected by all workers ([`build`]), each block's keys cut by partitions of their
//! hashes; then the partitions are filled in parallel, each by one worker, into one table that is only read from there on. The
//! left side streams past it ([`probe`]); what the right side has without a partner comes last ([`unmatched`]). Where the right side
//! does not fit into memory, both sides go to disk in buckets by their keys, which are joined one by one ([`grace`]). Below other steps of
//! the left side, a filter leaves out rows that will find nothing ([`key_filter`]), and a scan of the left side passes over those
//! that lie outside of the keys' ends ([`bounded_scan`]).

mod bounded_scan;
mod build;
mod coded_probe;
mod grace;
mod key_filter;
mod matching;
mod nearest;
mod paste;
mod probe;
mod stored;
mod unmatched;

pub(crate) use bounded_scan::{BoundedScan, KeyBound};
pub(crate) use build::{Filling, JoinSink, JoinTable};
pub(crate) use grace::{BucketJoining, Grace};
pub(crate) use key_filter::{KeyFilter, KeyFilters};
pub(crate) use matching::Matching;
pub(crate) use paste::JoinPaste;
pub(crate) use probe::JoinProbe;
pub(crate) use stored::stored_right_side;
pub(crate) use unmatched::Unmatched;
