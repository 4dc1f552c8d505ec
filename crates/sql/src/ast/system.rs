//! SYSTEM: the command, what it acts on, and its options.

use super::{Literal, OnCluster, TableName};

/// `SYSTEM command [ON CLUSTER c] [target] …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct System {
    /// Which command.
    pub command: SystemCommand,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// The table (or dictionary, view, replica) or tables that it acts on.
    pub tables: Vec<TableName>,
    /// What follows: constants and words, in the order written, for the command to understand.
    pub arguments: Vec<SystemArgument>,
}

/// A word or a constant after a SYSTEM command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SystemArgument {
    /// A keyword, in upper case.
    Keyword(String),
    /// A name: a failpoint, a model, a log.
    Name(String),
    /// A constant.
    Literal(Literal),
}

macro_rules! system_commands {
    ($( $variant:ident = $text:literal, $target:ident; )*) => {
        /// The commands of SYSTEM. `DROP … CACHE` is the older name of `CLEAR … CACHE` and is read as it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SystemCommand {
            $(
                #[doc = concat!("`SYSTEM ", $text, "`.")]
                $variant,
            )*
        }

        impl SystemCommand {
            /// All of them; of two that begin alike, the longer comes first.
            pub const ALL: &[SystemCommand] = &[ $( SystemCommand::$variant, )* ];

            /// The words after `SYSTEM`.
            pub fn keywords(self) -> &'static str {
                match self { $( SystemCommand::$variant => $text, )* }
            }

            /// What may follow the words.
            pub fn target(self) -> SystemTarget {
                match self { $( SystemCommand::$variant => SystemTarget::$target, )* }
            }
        }
    };
}

/// What may follow the words of a SYSTEM command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SystemTarget {
    /// Nothing.
    None,
    /// A table.
    Table,
    /// A table, or nothing: then all.
    OptionalTable,
    /// Any number of tables, or names of logs.
    OptionalTables,
    /// Words and constants of the command's own.
    Arguments,
}

system_commands! {
    Shutdown = "SHUTDOWN", None;
    Kill = "KILL", None;
    Suspend = "SUSPEND FOR", Arguments;
    ClearDnsCache = "CLEAR DNS CACHE", None;
    ClearConnectionsCache = "CLEAR CONNECTIONS CACHE", None;
    ClearMarkCache = "CLEAR MARK CACHE", None;
    ClearPrimaryIndexCache = "CLEAR PRIMARY INDEX CACHE", None;
    ClearIndexMarkCache = "CLEAR INDEX MARK CACHE", None;
    ClearIndexUncompressedCache = "CLEAR INDEX UNCOMPRESSED CACHE", None;
    ClearUncompressedCache = "CLEAR UNCOMPRESSED CACHE", None;
    ClearVectorSimilarityIndexCache = "CLEAR VECTOR SIMILARITY INDEX CACHE", None;
    ClearTextIndexDictionaryCache = "CLEAR TEXT INDEX DICTIONARY CACHE", None;
    ClearTextIndexTokensCache = "CLEAR TEXT INDEX TOKENS CACHE", None;
    ClearTextIndexHeaderCache = "CLEAR TEXT INDEX HEADER CACHE", None;
    ClearTextIndexPostingsCache = "CLEAR TEXT INDEX POSTINGS CACHE", None;
    ClearTextIndexCaches = "CLEAR TEXT INDEX CACHES", None;
    ClearMmapCache = "CLEAR MMAP CACHE", None;
    ClearQueryConditionCache = "CLEAR QUERY CONDITION CACHE", None;
    ClearQueryCache = "CLEAR QUERY CACHE", Arguments;
    ClearCompiledExpressionCache = "CLEAR COMPILED EXPRESSION CACHE", None;
    ClearIcebergMetadataCache = "CLEAR ICEBERG METADATA CACHE", None;
    ClearParquetMetadataCache = "CLEAR PARQUET METADATA CACHE", None;
    ClearFilesystemCache = "CLEAR FILESYSTEM CACHE", Arguments;
    ClearDistributedCache = "CLEAR DISTRIBUTED CACHE", Arguments;
    ClearDiskMetadataCache = "CLEAR DISK METADATA CACHE", Arguments;
    ClearPageCache = "CLEAR PAGE CACHE", None;
    ClearSchemaCache = "CLEAR SCHEMA CACHE", Arguments;
    ClearFormatSchemaCache = "CLEAR FORMAT SCHEMA CACHE", Arguments;
    ClearS3ClientCache = "CLEAR S3 CLIENT CACHE", None;
    ClearCatalogCache = "CLEAR CATALOG CACHE", None;
    DropReplica = "DROP REPLICA", Arguments;
    DropDatabaseReplica = "DROP DATABASE REPLICA", Arguments;
    SyncFilesystemCache = "SYNC FILESYSTEM CACHE", Arguments;
    SyncFileCache = "SYNC FILE CACHE", None;
    SyncTransactionLog = "SYNC TRANSACTION LOG", None;
    SyncDatabaseReplica = "SYNC DATABASE REPLICA", Arguments;
    SyncReplica = "SYNC REPLICA", Table;
    RestartReplicas = "RESTART REPLICAS", None;
    RestartReplica = "RESTART REPLICA", Table;
    RestartDisk = "RESTART DISK", Arguments;
    RestoreReplica = "RESTORE REPLICA", Table;
    RestoreDatabaseReplica = "RESTORE DATABASE REPLICA", Arguments;
    WaitLoadingParts = "WAIT LOADING PARTS", Table;
    WaitFailpoint = "WAIT FAILPOINT", Arguments;
    WaitView = "WAIT VIEW", Table;
    WaitBlobsCleanup = "WAIT BLOBS CLEANUP", Arguments;
    ReloadDictionaries = "RELOAD DICTIONARIES", None;
    ReloadDictionary = "RELOAD DICTIONARY", Table;
    ReloadModels = "RELOAD MODELS", None;
    ReloadModel = "RELOAD MODEL", Arguments;
    ReloadFunctions = "RELOAD FUNCTIONS", None;
    ReloadFunction = "RELOAD FUNCTION", Arguments;
    ReloadEmbeddedDictionaries = "RELOAD EMBEDDED DICTIONARIES", None;
    ReloadConfig = "RELOAD CONFIG", None;
    ReloadUsers = "RELOAD USERS", None;
    ReloadAsynchronousMetrics = "RELOAD ASYNCHRONOUS METRICS", None;
    ReloadDeltaKernelTracing = "RELOAD DELTA KERNEL TRACING", Arguments;
    FlushDistributed = "FLUSH DISTRIBUTED", Table;
    FlushLogs = "FLUSH LOGS", OptionalTables;
    FlushAsyncInsertQueue = "FLUSH ASYNC INSERT QUEUE", OptionalTables;
    StopDistributedSends = "STOP DISTRIBUTED SENDS", OptionalTable;
    StartDistributedSends = "START DISTRIBUTED SENDS", OptionalTable;
    StopMerges = "STOP MERGES", Arguments;
    StartMerges = "START MERGES", Arguments;
    StopTtlMerges = "STOP TTL MERGES", OptionalTable;
    StartTtlMerges = "START TTL MERGES", OptionalTable;
    StopMoves = "STOP MOVES", Arguments;
    StartMoves = "START MOVES", Arguments;
    StopFetches = "STOP FETCHES", OptionalTable;
    StartFetches = "START FETCHES", OptionalTable;
    StopReplicatedSends = "STOP REPLICATED SENDS", OptionalTable;
    StartReplicatedSends = "START REPLICATED SENDS", OptionalTable;
    StopReplicationQueues = "STOP REPLICATION QUEUES", OptionalTable;
    StartReplicationQueues = "START REPLICATION QUEUES", OptionalTable;
    StopReplicatedDdlQueries = "STOP REPLICATED DDL QUERIES", None;
    StartReplicatedDdlQueries = "START REPLICATED DDL QUERIES", None;
    StopVirtualPartsUpdate = "STOP VIRTUAL PARTS UPDATE", OptionalTable;
    StartVirtualPartsUpdate = "START VIRTUAL PARTS UPDATE", OptionalTable;
    StopReduceBlockingParts = "STOP REDUCE BLOCKING PARTS", OptionalTable;
    StartReduceBlockingParts = "START REDUCE BLOCKING PARTS", OptionalTable;
    StopPullingReplicationLog = "STOP PULLING REPLICATION LOG", OptionalTable;
    StartPullingReplicationLog = "START PULLING REPLICATION LOG", OptionalTable;
    StopCleanup = "STOP CLEANUP", OptionalTable;
    StartCleanup = "START CLEANUP", OptionalTable;
    StopListen = "STOP LISTEN", Arguments;
    StartListen = "START LISTEN", Arguments;
    StopReplicatedView = "STOP REPLICATED VIEW", Table;
    StartReplicatedView = "START REPLICATED VIEW", Table;
    StopViews = "STOP VIEWS", None;
    StartViews = "START VIEWS", None;
    StopView = "STOP VIEW", Table;
    StartView = "START VIEW", Table;
    PauseViews = "PAUSE VIEWS", None;
    PauseView = "PAUSE VIEW", Table;
    ResumeViews = "RESUME VIEWS", None;
    ResumeView = "RESUME VIEW", Table;
    CancelView = "CANCEL VIEW", Table;
    RefreshView = "REFRESH VIEW", Table;
    TestView = "TEST VIEW", Arguments;
    LoadPrimaryKey = "LOAD PRIMARY KEY", OptionalTable;
    UnloadPrimaryKey = "UNLOAD PRIMARY KEY", OptionalTable;
    PrewarmMarkCache = "PREWARM MARK CACHE", Table;
    PrewarmPrimaryIndexCache = "PREWARM PRIMARY INDEX CACHE", Table;
    StopThreadFuzzer = "STOP THREAD FUZZER", None;
    StartThreadFuzzer = "START THREAD FUZZER", None;
    Unfreeze = "UNFREEZE WITH NAME", Arguments;
    EnableFailpoint = "ENABLE FAILPOINT", Arguments;
    DisableFailpoint = "DISABLE FAILPOINT", Arguments;
    NotifyFailpoint = "NOTIFY FAILPOINT", Arguments;
    AllocateMemory = "ALLOCATE MEMORY", Arguments;
    FreeMemory = "FREE MEMORY", None;
    ResetCoverage = "RESET COVERAGE", None;
    ResetDdlWorker = "RESET DDL WORKER", None;
    UnlockSnapshot = "UNLOCK SNAPSHOT", Arguments;
    InstrumentAdd = "INSTRUMENT ADD", Arguments;
    InstrumentRemove = "INSTRUMENT REMOVE", Arguments;
    ReconnectZookeeper = "RECONNECT ZOOKEEPER", None;
    JemallocPurge = "JEMALLOC PURGE", None;
    JemallocEnableProfile = "JEMALLOC ENABLE PROFILE", None;
    JemallocDisableProfile = "JEMALLOC DISABLE PROFILE", None;
    JemallocFlushProfile = "JEMALLOC FLUSH PROFILE", None;
}
