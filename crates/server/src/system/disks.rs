//! `system.disks` and `system.storage_policies`: there is one disk, the data folder, and one policy of it.

use std::sync::{Arc, Weak};

use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, number, text, texts};
use crate::asynchronous_metrics::disk_space;
use crate::server::Server;

/// The name of the disk, and of the policy.
const DEFAULT: &str = "default";

/// The disk as it is now.
struct Disk {
    path: String,
    free: u64,
    total: u64,
}

pub(super) fn disks(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let rows = move || {
        let path = upgrade(&server)?.config.load().path.clone();
        let (free, total) = disk_space(&path).map_or((0, 0), |space| (space.available, space.capacity));
        Ok(vec![Disk { path: format!("{}/", path.display()), free, total }])
    };
    let table = SystemTable::new("disks", rows)
        .constant("name", "String", text(DEFAULT))
        .column("path", "String", |disk: &Disk| text(&disk.path))
        .column("free_space", "UInt64", |disk| number(disk.free))
        .column("total_space", "UInt64", |disk| number(disk.total))
        .column("unreserved_space", "UInt64", |disk| number(disk.free))
        .constant("keep_free_space", "UInt64", number(0_u64))
        .constant("type", "String", text("Local"))
        .constant("object_storage_type", "String", text("None"))
        .constant("metadata_type", "String", text("None"))
        .constant("is_encrypted", "UInt8", flag(false))
        .constant("is_read_only", "UInt8", flag(false))
        .constant("is_write_once", "UInt8", flag(false))
        .constant("is_remote", "UInt8", flag(false))
        .constant("is_broken", "UInt8", flag(false))
        .constant("cache_path", "String", text(""));
    Arc::new(table)
}

pub(super) fn storage_policies() -> Arc<dyn Table> {
    let kinds = "Enum8('JBOD' = 0, 'SINGLE_DISK' = 1, 'UNKNOWN' = 2)";
    let balancing = "Enum8('ROUND_ROBIN' = 0, 'LEAST_USED' = 1)";
    let table = SystemTable::new("storage_policies", || Ok(vec![()]))
        .constant("policy_name", "String", text(DEFAULT))
        .constant("volume_name", "String", text(DEFAULT))
        .constant("volume_priority", "UInt64", number(1_u64))
        .constant("disks", "Array(String)", texts([DEFAULT]))
        .constant("volume_type", kinds, Value::Int64(0))
        .constant("max_data_part_size", "UInt64", number(0_u64))
        .constant("move_factor", "Float32", Value::Float64(0.0))
        .constant("prefer_not_to_merge", "UInt8", flag(false))
        .constant("perform_ttl_move_on_insert", "UInt8", flag(true))
        .constant("load_balancing", balancing, Value::Int64(0));
    Arc::new(table)
}
