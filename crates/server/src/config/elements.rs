//! The elements of config.xml that ClickHouse knows and that nothing in Squall reads, each with what becomes of it and why. What is read is
//! said where it is read: in `mod`, `server_settings` and `system_logs`. An element that is in neither is unknown.

use super::element::Element;
use super::findings::Verdict;
use Verdict::Harmless;

/// What becomes of an element that nothing reads; `None` where ClickHouse does not know it either.
pub(super) fn verdict(element: &Element) -> Option<Verdict> {
    let group = GROUPS.iter().find(|group| group.names.contains(&element.name.as_str()))?;
    Some((group.verdict)(element))
}

/// Elements of which the same is to be said.
struct Group {
    verdict: fn(&Element) -> Verdict,
    names: &'static [&'static str],
}

/// Whether an element asks for anything: `0` and `false` do not.
fn is_set(element: &Element) -> bool {
    !element.children.is_empty() || !matches!(element.trimmed(), "" | "0" | "false" | "no" | "off")
}

/// For what an operator notices to be missing.
fn missing(element: &Element, why: &'static str) -> Verdict {
    if is_set(element) { Verdict::Missing(why) } else { Harmless("asks for nothing") }
}

/// For what keeps somebody from something.
fn guard(guards: bool, why: &'static str) -> Verdict {
    if guards { Verdict::Stops(why) } else { Harmless("forbids nothing") }
}

/// Data are in `path` alone, and nothing there is encrypted.
fn storage_configuration(element: &Element) -> Verdict {
    let disks = element.child("disks").map(|disks| disks.children.as_slice()).unwrap_or_default();
    let is_encrypted = |disk: &Element| disk.child("type").is_some_and(|kind| kind.trimmed() == "encrypted");
    if disks.iter().any(is_encrypted) {
        return Verdict::Stops("there are no encrypted disks: data would lie readable in <path>");
    }
    missing(element, "disks are for backups alone: tables lie in <path>")
}

#[rustfmt::skip]
const GROUPS: &[Group] = &[
    Group {
        verdict: |element| guard(is_set(element), "a key for encryption is given, and nothing would be encrypted with it"),
        names: &["encryption_codecs"],
    },
    Group { verdict: storage_configuration, names: &["storage_configuration"] },
    Group {
        verdict: |element| guard(is_set(element), "requests to other servers would go past the proxy"),
        names: &["proxy"],
    },
    Group {
        verdict: |element| guard(is_set(element), "passwords would not be held to these rules"),
        names: &["password_complexity"],
    },
    Group {
        verdict: |element| guard(!is_set(element), "users could come in as this forbids"),
        names: &[
            "allow_implicit_no_password", "allow_plaintext_password",
        ],
    },
    Group {
        verdict: |element| guard(is_set(element), "a named collection's secrets would not be encrypted"),
        names: &["named_collections_storage"],
    },
    Group {
        verdict: |element| guard(is_set(element), "clients' information would not be checked"),
        names: &["validate_tcp_client_information"],
    },
    Group {
        verdict: |element| guard(!is_set(element), "names would be resolved to addresses that this forbids"),
        names: &["dns_allow_resolve_names_to_ipv4", "dns_allow_resolve_names_to_ipv6"],
    },
    Group {
        verdict: |element| missing(element, "this log is not kept"),
        names: &[
            "aggregated_zookeeper_log", "asynchronous_insert_log", "azure_queue_log", "background_schedule_pool_log",
            "backup_log", "blob_storage_log", "crash_log", "error_log", "histogram_metric_log", "iceberg_metadata_log",
            "jemalloc_collect_global_profile_samples_in_trace_log", "latency_log", "opentelemetry_span_log",
            "processors_profile_log", "query_metric_log", "query_views_log", "s3queue_log", "session_log",
            "transactions_info_log", "zookeeper_connection_log", "zookeeper_log",
        ],
    },
    Group {
        verdict: |element| missing(element, "this port is not listened on"),
        names: &[
            "arrowflight_port", "grpc_port", "mysql_port", "postgresql_port", "protocols", "tcp_ssh_port",
            "tcp_with_proxy_port",
        ],
    },
    Group {
        verdict: |element| missing(element, "there are no replicas and there is no keeper"),
        names: &[
            "allow_experimental_cluster_discovery", "clusters_discovery", "keeper_hosts", "keeper_server",
            "series_keeper_path", "zookeeper",
        ],
    },
    Group { verdict: |element| missing(element, "nobody can log in by it"), names: &["kerberos", "ldap_servers"] },
    Group { verdict: |element| missing(element, "users are not kept there"), names: &["access_control_path"] },
    Group { verdict: |element| missing(element, "there are no named collections"), names: &["named_collections"] },
    Group { verdict: |element| missing(element, "these statements are not run"), names: &["startup_scripts"] },
    Group { verdict: |element| missing(element, "the server's own work has no profile"), names: &["system_profile"] },
    Group { verdict: |element| missing(element, "tables do not begin with these settings"), names: &["merge_tree"] },
    Group { verdict: |element| missing(element, "parts are compressed with zstd"), names: &["compression"] },
    Group { verdict: |element| missing(element, "nothing is sent to Graphite"), names: &["graphite"] },
    Group {
        verdict: |element| missing(element, "dropped tables are removed at once"),
        names: &["database_atomic_delay_before_drop_table_sec"],
    },
    Group {
        verdict: |element| missing(element, "bandwidth is not limited"),
        names: &[
            "max_backup_bandwidth_for_server", "max_distributed_cache_read_bandwidth_for_server",
            "max_distributed_cache_write_bandwidth_for_server", "max_local_read_bandwidth_for_server",
            "max_local_write_bandwidth_for_server", "max_merges_bandwidth_for_server", "max_mutations_bandwidth_for_server",
            "max_remote_read_network_bandwidth_for_server", "max_remote_write_network_bandwidth_for_server",
            "max_replicated_fetches_network_bandwidth_for_server", "max_replicated_sends_network_bandwidth_for_server",
        ],
    },
    Group {
        verdict: |element| missing(element, "this number is not limited"),
        names: &[
            "max_database_num_to_throw", "max_dictionary_num_to_throw", "max_materialized_views_count_for_table",
            "max_named_collection_num_to_throw", "max_replicated_table_num_to_throw", "max_table_num_to_throw",
            "max_view_num_to_throw",
        ],
    },
    Group {
        verdict: |element| missing(element, "nobody is warned of it"),
        names: &[
            "max_database_num_to_warn", "max_dictionary_num_to_warn", "max_named_collection_num_to_warn",
            "max_part_num_to_warn", "max_pending_mutations_execution_time_to_warn", "max_pending_mutations_to_warn",
            "max_table_num_to_warn", "max_view_num_to_warn",
        ],
    },
    Group {
        verdict: |element| missing(element, "connections are not closed for it"),
        names: &[
            "max_os_cpu_wait_time_ratio_to_drop_connection", "min_os_cpu_wait_time_ratio_to_drop_connection",
            "tcp_close_connection_after_queries_num", "tcp_close_connection_after_queries_seconds",
        ],
    },
    Group {
        verdict: |element| missing(element, "temporary data lie in <tmp_path>"),
        names: &[
            "temporary_data_in_cache", "temporary_data_in_distributed_cache",
            "tmp_policy",
        ],
    },
    Group {
        verdict: |element| missing(element, "merges are not held to it"),
        names: &[
            "merges_mutations_memory_usage_soft_limit", "merges_mutations_memory_usage_to_ram_ratio",
        ],
    },
    Group {
        verdict: |element| missing(element, "addresses of the server's own code are shown to whoever may see stacks"),
        names: &["show_addresses_in_stack_traces"],
    },
    Group {
        verdict: |element| missing(element, "the system decides"),
        names: &[
            "core_dump", "oom_score", "os_threads_nice_value_distributed_cache_tcp_handler",
            "os_threads_nice_value_merge_mutate", "os_threads_nice_value_zookeeper_client_send_receive",
        ],
    },
    Group {
        verdict: |element| missing(element, "there are no executable or WebAssembly functions"),
        names: &[
            "dynamic_user_defined_executable_functions_path", "user_defined_executable_functions_config",
        ],
    },
    Group {
        verdict: |element| missing(element, "settings of such names are refused"),
        names: &["custom_settings_prefixes"],
    },
    Group {
        verdict: |element| missing(element, "no library is loaded for dictionaries"),
        names: &["dictionaries_lib_path"],
    },
    Group {
        verdict: |element| missing(element, "this limit is a setting of profiles"),
        names: &["max_concurrent_queries_for_user"],
    },
    Group {
        verdict: |element| missing(element, "arrays may become as long as memory lets"),
        names: &[
            "aggregate_function_group_array_action_when_limit_is_reached",
            "aggregate_function_group_array_max_element_size",
        ],
    },
    Group {
        verdict: |element| missing(element, "no page shows dashboards from it"),
        names: &["dashboards", "play_ui_connection_url"],
    },
    Group {
        verdict: |_| Harmless("a cache that only makes ClickHouse faster"),
        names: &[
            "cache_size_to_ram_max_ratio", "compiled_expression_cache_elements_size", "compiled_expression_cache_size",
            "custom_cached_disks_base_directory", "distributed_cache_apply_throttling_settings_from_client",
            "distributed_cache_keep_up_free_connections_ratio", "distributed_cache_write_pool_size",
            "dns_cache_max_entries", "drop_distributed_cache_pool_size", "drop_distributed_cache_queue_size",
            "enable_read_through_distributed_cache", "enable_write_through_distributed_cache",
            "encryption_header_cache_policy", "encryption_header_cache_size", "encryption_header_cache_size_ratio",
            "filesystem_caches_path", "iceberg_metadata_files_cache_max_entries", "iceberg_metadata_files_cache_policy",
            "iceberg_metadata_files_cache_size", "iceberg_metadata_files_cache_size_ratio", "index_mark_cache_policy",
            "index_mark_cache_prewarm_ratio", "index_mark_cache_size", "index_mark_cache_size_ratio",
            "index_uncompressed_cache_policy", "index_uncompressed_cache_size", "index_uncompressed_cache_size_ratio",
            "mark_cache_policy", "mark_cache_prewarm_ratio", "mark_cache_size", "mark_cache_size_ratio", "max_entries_for_hash_table_stats",
            "mmap_cache_size", "page_cache_free_memory_ratio", "page_cache_history_window_ms", "page_cache_max_size",
            "page_cache_min_size", "page_cache_policy", "page_cache_shards", "page_cache_size_ratio",
            "paimon_metadata_files_cache_max_entries", "paimon_metadata_files_cache_policy",
            "paimon_metadata_files_cache_size", "paimon_metadata_files_cache_size_ratio",
            "parquet_metadata_cache_max_entries", "parquet_metadata_cache_policy", "parquet_metadata_cache_size",
            "parquet_metadata_cache_size_ratio", "point_in_polygon_cache_size", "primary_index_cache_policy",
            "primary_index_cache_prewarm_ratio", "primary_index_cache_size", "primary_index_cache_size_ratio",
            "query_cache", "query_condition_cache_policy", "query_condition_cache_size_ratio",
            "s3_credentials_provider_max_cache_size", "text_index_header_cache_max_entries",
            "text_index_header_cache_policy", "text_index_header_cache_size", "text_index_header_cache_size_ratio",
            "text_index_postings_cache_max_entries", "text_index_postings_cache_policy", "text_index_postings_cache_size",
            "text_index_postings_cache_size_ratio", "text_index_tokens_cache_max_entries", "text_index_tokens_cache_policy",
            "text_index_tokens_cache_size", "text_index_tokens_cache_size_ratio", "uncompressed_cache_policy",
            "uncompressed_cache_size_ratio", "unique_key_bitmap_cache_policy", "unique_key_bitmap_cache_size_bytes",
            "unique_key_bitmap_cache_size_ratio", "unique_key_index_cache_policy", "unique_key_index_cache_size_bytes",
            "unique_key_index_cache_size_ratio", "use_separate_cache_arena", "vector_similarity_index_cache_max_entries",
            "vector_similarity_index_cache_policy", "vector_similarity_index_cache_size",
            "vector_similarity_index_cache_size_ratio",
        ],
    },
    Group {
        verdict: |_| Harmless("threads are shared by all work here"),
        names: &[
            "async_insert_threads", "background_buffer_flush_schedule_pool_size", "background_common_pool_size",
            "background_distributed_schedule_pool_size", "background_fetches_pool_size",
            "background_merges_mutations_concurrency_ratio", "background_merges_mutations_scheduling_policy",
            "background_message_broker_schedule_pool_size", "background_move_pool_size", "background_pool_size",
            "background_schedule_pool_initial_size", "background_schedule_pool_max_parallel_tasks_per_type_ratio",
            "background_schedule_pool_size", "background_streaming_schedule_pool_size", "backup_threads",
            "backups_io_thread_pool_queue_size", "concurrent_threads_lazy_allocation", "cpu_slot_preemption",
            "cpu_slot_preemption_timeout_ms", "cpu_slot_quantum_ns", "database_catalog_drop_table_concurrency",
            "database_catalog_shutdown_table_concurrency", "enable_silk_runtime", "format_parsing_thread_pool_queue_size",
            "iceberg_background_schedule_pool_size", "iceberg_catalog_threadpool_pool_size",
            "iceberg_catalog_threadpool_queue_size", "iceberg_compaction_threadpool_pool_size",
            "iceberg_compaction_threadpool_queue_size", "iceberg_manifest_decode_thread_pool_queue_size",
            "iceberg_scheduler_compaction_threadpool_pool_size", "iceberg_scheduler_compaction_threadpool_queue_size",
            "io_thread_pool_queue_size", "load_marks_threadpool_pool_size", "load_marks_threadpool_queue_size",
            "max_active_parts_loading_thread_pool_size", "max_backups_io_thread_pool_free_size",
            "max_backups_io_thread_pool_size", "max_build_vector_similarity_index_thread_pool_size",
            "max_database_replicated_create_table_thread_pool_size", "max_fetch_partition_thread_pool_size",
            "max_format_parsing_thread_pool_free_size", "max_format_parsing_thread_pool_size",
            "max_iceberg_manifest_decode_thread_pool_free_size", "max_iceberg_manifest_decode_thread_pool_size",
            "max_io_thread_pool_free_size", "max_io_thread_pool_size", "max_outdated_parts_loading_thread_pool_size",
            "max_parts_cleaning_thread_pool_size", "max_prefixes_deserialization_thread_pool_free_size",
            "max_prefixes_deserialization_thread_pool_size", "max_remote_read_connections",
            "max_snapshot_commit_thread_pool_free_size", "max_snapshot_commit_thread_pool_size",
            "max_unexpected_parts_loading_thread_pool_size", "parts_killer_pool_size", "prefetch_threadpool_pool_size",
            "prefetch_threadpool_queue_size", "prefixes_deserialization_thread_pool_thread_pool_queue_size",
            "restore_threads", "snapshot_cleaner_pool_size", "tables_loader_background_pool_size",
            "tables_loader_foreground_pool_size", "threadpool_local_fs_reader_pool_size",
            "threadpool_local_fs_reader_queue_size", "threadpool_remote_fs_reader_pool_size",
            "threadpool_remote_fs_reader_queue_size", "threadpool_writer_pool_size", "threadpool_writer_queue_size",
        ],
    },
    Group {
        verdict: |_| Harmless("of ClickHouse's allocator and memory workers"),
        names: &[
            "allow_use_jemalloc_memory", "cgroups_memory_usage_observer_wait_time", "jemalloc_enable_background_threads",
            "jemalloc_enable_global_profiler", "jemalloc_flush_profile_interval_bytes",
            "jemalloc_flush_profile_on_memory_exceeded", "jemalloc_flush_profile_on_memory_exceeded_interval",
            "jemalloc_max_background_threads_num", "jemalloc_merge_tree_arenas", "jemalloc_profiler_sampling_rate",
            "max_per_cpu_untracked_memory", "memory_worker_correct_memory_tracker",
            "memory_worker_decay_adjustment_period_ms", "memory_worker_dynamic_hard_limit", "memory_worker_period_ms",
            "memory_worker_purge_total_memory_threshold_ratio",
            "memory_worker_rss_speculative_reserve_ratio", "memory_worker_use_cgroup",
            "min_allocation_size_to_throw_on_memory_limit", "mlock_executable",
            "mlock_executable_min_total_memory_amount_bytes", "oom_canary_enable", "oom_canary_initial_backoff_seconds",
            "oom_canary_max_backoff_seconds", "oom_canary_max_rapid_relaunches", "oom_canary_relaunch", "oom_canary_size",
            "per_cpu_untracked_memory_thread_buffer", "reader_executor_memory_pressure_critical_level_pct",
            "reader_executor_memory_pressure_elevated_level_pct", "reader_executor_memory_pressure_high_level_pct",
            "remap_executable", "total_memory_profiler_sample_max_allocation_size",
            "total_memory_profiler_sample_min_allocation_size", "total_memory_profiler_step",
            "total_memory_tracker_sample_probability", "user_profile_events_per_cpu",
            "users_to_ignore_early_memory_limit_check",
        ],
    },
    Group {
        verdict: |_| Harmless("of ports that are not listened on"),
        names: &[
            "arrowflight", "grpc", "mysql_require_secure_transport", "postgresql_require_secure_transport", "ssh_server",
        ],
    },
    Group {
        verdict: |_| Harmless("of replicas, which there are none of"),
        names: &[
            "database_replicated_allow_detach_permanently", "database_replicated_drop_broken_tables",
            "default_replica_name", "default_replica_path", "distributed_ddl", "distributed_ddl_use_initial_user_and_roles",
            "enforce_keeper_component_tracking", "interserver_http_credentials", "interserver_http_host",
            "interserver_http_port", "interserver_https_host", "interserver_https_port", "interserver_listen_host",
            "interserver_tables_status_require_auth", "keeper_multiread_batch_size", "max_zookeeper_pooled_connections",
            "replica_group_name", "replicated_fetches_http_connection_timeout", "replicated_fetches_http_receive_timeout",
            "replicated_fetches_http_send_timeout", "replicated_merge_tree", "use_minimalistic_part_header_in_zookeeper",
            "use_shared_merge_tree_log_pipeline", "workload_zookeeper_path", "zookeeper_path",
        ],
    },
    Group {
        verdict: |_| Harmless("of engines and sources whose use is refused"),
        names: &[
            "enable_azure_sdk_logging", "google_protos_path", "graphite_rollup", "graphite_rollup_example", "hdfs",
            "jdbc_bridge", "kafka", "message_queue_disable_insertion", "nats", "odbc_bridge", "rabbitmq", "rocksdb",
            "s3_allow_server_credentials_for_system_table_disks", "s3_load_table_anonymously_if_credentials_restricted",
            "s3_max_redirects", "s3_retry_attempts", "s3queue_disable_streaming", "table_function_remote_proxy",
            "url_scheme_mappers",
        ],
    },
    Group {
        verdict: |_| Harmless("of functions whose use is refused"),
        names: &[
            "allow_experimental_executable_udf_drivers", "allow_experimental_webassembly_udf",
            "builtin_dictionaries_reload_interval", "user_defined_path", "webassembly_udf_engine",
        ],
    },
    Group {
        verdict: |_| Harmless("of pages that there are not"),
        names: &[
            "allow_experimental_webterminal", "enable_webterminal", "http_allow_path_requests", "max_http_index_page_size",
            "webterminal_allowed_origins",
        ],
    },
    Group {
        verdict: |_| Harmless("of connections to other servers, which are few and short here"),
        names: &[
            "dictionary_background_reconnect_interval", "disable_internal_dns_cache", "disk_connections_hard_limit",
            "disk_connections_rcvbuf", "disk_connections_sndbuf", "disk_connections_soft_limit",
            "disk_connections_store_limit", "disk_connections_warn_limit", "dns_cache_update_period",
            "dns_max_consecutive_failures", "http_connections_hard_limit", "http_connections_rcvbuf",
            "http_connections_sndbuf", "http_connections_soft_limit", "http_connections_store_limit",
            "http_connections_warn_limit", "storage_connections_hard_limit", "storage_connections_rcvbuf",
            "storage_connections_sndbuf", "storage_connections_soft_limit", "storage_connections_store_limit",
            "storage_connections_warn_limit",
        ],
    },
    Group {
        verdict: |_| Harmless("of disks other than the one of path"),
        names: &[
            "allowed_disks_for_table_engines", "disk_transaction_wait_for_blob_removal", "max_held_snapshots",
            "parts_kill_delay_period", "parts_kill_delay_period_random_add", "parts_killer_max_condemned_parts_per_batch",
            "snapshot_cleaner_period", "storage_metadata_write_full_object_key", "storage_shared_set_join_use_inner_uuid",
        ],
    },
    Group {
        verdict: |_| Harmless("of workloads, which CREATE WORKLOAD refuses"),
        names: &[
            "merge_workload", "mutation_workload", "throw_on_unknown_workload", "workload_path",
        ],
    },
    Group {
        verdict: |_| Harmless("nothing is sent to anybody"),
        names: &[
            "crash_reports", "license_public_key_for_testing", "send_crash_reports", "show_license_expiration_warnings",
        ],
    },
    Group {
        verdict: |_| Harmless("of ways of authentication that CREATE USER refuses"),
        names: &[
            "default_password_type", "max_authentication_methods_per_user",
        ],
    },
    Group { verdict: |_| Harmless("secrets are never shown"), names: &["display_secrets_in_show_and_select"] },
    Group {
        verdict: |_| Harmless("of metrics and profiles that are not taken"),
        names: &[
            "asynchronous_heavy_metrics_update_period_s", "asynchronous_metrics_enable_heavy_metrics",
            "asynchronous_metrics_keeper_metrics_only", "asynchronous_metrics_key_values_mode",
            "global_profiler_cpu_time_period_ns", "global_profiler_real_time_period_ns", "os_collect_psi_metrics",
        ],
    },
    Group {
        verdict: |_| Harmless("of how and when ClickHouse loads and stops"),
        names: &[
            "async_insert_queue_flush_on_shutdown", "async_load_databases", "async_load_system_database",
            "database_catalog_drop_error_cooldown_sec", "database_catalog_unused_dir_cleanup_period_sec",
            "database_catalog_unused_dir_hide_timeout_sec", "database_catalog_unused_dir_rm_timeout_sec",
            "prepare_system_log_tables_on_startup", "shutdown_wait_backups_and_restores", "startup_mv_delay_ms",
            "wait_dictionaries_load_at_startup",
        ],
    },
    Group {
        verdict: |_| Harmless("of ClickHouse's own development and tests"),
        names: &[
            "abort_on_logical_error", "allow_feature_tier", "cannot_allocate_thread_fault_injection_probability",
            "dead_letter_queue", "ignore_empty_sql_security_in_create_view_query", "insert_deduplication_version",
            "process_query_plan_packet", "skip_binary_checksum_checks", "skip_check_for_incorrect_settings",
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn said(xml: &str) -> Verdict {
        verdict(&Element::parse("config.xml", xml).unwrap()).unwrap()
    }

    #[test]
    fn each_name_is_there_once() {
        let mut names: Vec<&str> = GROUPS.iter().flat_map(|group| group.names).copied().collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(verdict(&Element::parse("config.xml", "<htpp_port/>").unwrap()).is_none());
    }

    #[test]
    fn what_guards_stops_and_only_where_it_guards() {
        for (xml, stops) in [
            ("<encryption_codecs/>", false),
            ("<encryption_codecs><aes_128_gcm_siv><key_hex>00</key_hex></aes_128_gcm_siv></encryption_codecs>", true),
            ("<allow_plaintext_password>1</allow_plaintext_password>", false),
            ("<allow_plaintext_password>0</allow_plaintext_password>", true),
            ("<storage_configuration><disks><d><type>local</type></d></disks></storage_configuration>", false),
            ("<storage_configuration><disks><d><type>encrypted</type></d></disks></storage_configuration>", true),
            ("<mysql_port>9004</mysql_port>", false),
        ] {
            assert_eq!(matches!(said(xml), Verdict::Stops(_)), stops, "{xml}");
        }
        assert!(matches!(said("<mysql_port>9004</mysql_port>"), Verdict::Missing(_)));
        assert!(matches!(said("<mysql_port>0</mysql_port>"), Harmless(_)));
        assert!(matches!(said("<jemalloc_merge_tree_arenas>1</jemalloc_merge_tree_arenas>"), Harmless(_)));
    }
}
