//! What work in the background has in common: nobody waits for it, and it wakes nobody where there is nothing to do.

use std::time::{Duration, Instant};

use squall_types::Settings;

/// Settings under which something runs that nobody waits for. Where others have taken the memory it fails at once and is tried again, rather
/// than wait for a place among them.
pub(crate) fn background_settings(own: &Settings) -> Settings {
    let mut settings = own.clone();
    settings.max_execution_time = Duration::ZERO;
    settings.max_execution_speed = 0;
    settings.max_execution_speed_bytes = 0;
    settings.min_execution_speed = 0;
    settings.min_execution_speed_bytes = 0;
    settings.memory_usage_overcommit_max_wait_microseconds = 0;
    settings.log_query_threads = false;
    settings
}

/// Waits until a time; for ever where there is none.
pub(crate) async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}
