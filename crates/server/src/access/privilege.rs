//! ClickHouse 26.9's privileges: their names, the other names that GRANT takes, what each can be about, and in which group it is. A set of
//! privileges is a set of those that are no groups; a group is all that is in it.

use std::fmt;
use std::sync::LazyLock;

use squall_planner::ForeignKind;

use super::privilege_set::PrivilegeSet;

/// What a privilege can be about, at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Nothing of its own: it stands for those that are in it.
    Group,
    /// The server.
    Global,
    /// A database.
    Database,
    /// A table.
    Table,
    /// A dictionary.
    Dictionary,
    /// A view.
    View,
    /// Columns of a table.
    Column,
    /// A named collection.
    NamedCollection,
    /// A user or a role.
    UserName,
    /// A table engine.
    TableEngine,
    /// A user in whose name a view reads.
    Definer,
    /// A kind of source outside of the server.
    Source,
}

impl Level {
    /// How many names say what it is about: 0 for the server, 3 for a column.
    pub fn depth(self) -> usize {
        match self {
            Self::Group | Self::Global => 0,
            Self::Database
            | Self::NamedCollection
            | Self::UserName
            | Self::TableEngine
            | Self::Definer
            | Self::Source => 1,
            Self::Table | Self::Dictionary | Self::View => 2,
            Self::Column => 3,
        }
    }

    /// Whether it is about something that is in no database; the kinds of these things do not mix in a grant's target.
    pub fn is_parameter(self) -> bool {
        matches!(self, Self::NamedCollection | Self::UserName | Self::TableEngine | Self::Definer | Self::Source)
    }

    /// The number in `system.privileges.level`; none for groups.
    pub fn number(self) -> Option<i64> {
        match self {
            Self::Group => None,
            level => Some(level as i64 - 1),
        }
    }
}

/// One privilege as ClickHouse describes it.
#[derive(Debug)]
pub struct Description {
    /// The name, as GRANT has it.
    pub name: &'static str,
    /// Other names of it.
    pub aliases: &'static [&'static str],
    /// What it can be about.
    pub level: Level,
    /// The group that it is in; its own number where it is in none.
    pub parent: Privilege,
}

macro_rules! privileges {
    ($( $variant:ident = $name:literal, [$( $alias:literal ),*], $level:ident, $parent:ident; )*) => {
        /// A privilege, or a group of some.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs)]
        pub enum Privilege {
            $( $variant, )*
        }

        impl Privilege {
            /// All of them, in ClickHouse's order.
            pub const EVERY: &[Privilege] = &[ $( Privilege::$variant, )* ];
        }

        static DESCRIPTIONS: &[Description] = &[
            $( Description { name: $name, aliases: &[$( $alias ),*], level: Level::$level, parent: Privilege::$parent }, )*
        ];
    };
}

privileges! {
    ShowDatabases = "SHOW DATABASES", [], Database, Show;
    ShowTables = "SHOW TABLES", [], Table, Show;
    Check = "CHECK", [], Table, All;
    ShowColumns = "SHOW COLUMNS", [], Column, Show;
    ShowDictionaries = "SHOW DICTIONARIES", [], Dictionary, Show;
    Show = "SHOW", [], Group, All;
    ShowFilesystemCaches = "SHOW FILESYSTEM CACHES", [], Group, All;
    Select = "SELECT", [], Column, All;
    Insert = "INSERT", [], Column, All;
    AlterUpdate = "ALTER UPDATE", ["UPDATE"], Column, AlterTable;
    AlterDelete = "ALTER DELETE", ["DELETE"], Column, AlterTable;
    AlterAddColumn = "ALTER ADD COLUMN", ["ADD COLUMN"], Column, AlterColumn;
    AlterModifyColumn = "ALTER MODIFY COLUMN", ["MODIFY COLUMN"], Column, AlterColumn;
    AlterDropColumn = "ALTER DROP COLUMN", ["DROP COLUMN"], Column, AlterColumn;
    AlterCommentColumn = "ALTER COMMENT COLUMN", ["COMMENT COLUMN"], Column, AlterColumn;
    AlterClearColumn = "ALTER CLEAR COLUMN", ["CLEAR COLUMN"], Column, AlterColumn;
    AlterRenameColumn = "ALTER RENAME COLUMN", ["RENAME COLUMN"], Column, AlterColumn;
    AlterMaterializeColumn = "ALTER MATERIALIZE COLUMN", ["MATERIALIZE COLUMN"], Column, AlterColumn;
    AlterColumn = "ALTER COLUMN", [], Group, AlterTable;
    AlterModifyComment = "ALTER MODIFY COMMENT", ["MODIFY COMMENT"], Table, AlterTable;
    AlterModifyDatabaseComment = "ALTER MODIFY DATABASE COMMENT", ["MODIFY DATABASE COMMENT"], Database, AlterDatabase;
    AlterOrderBy = "ALTER ORDER BY", ["ALTER MODIFY ORDER BY", "MODIFY ORDER BY"], Table, AlterIndex;
    AlterSampleBy = "ALTER SAMPLE BY", ["ALTER MODIFY SAMPLE BY", "MODIFY SAMPLE BY"], Table, AlterIndex;
    AlterAddIndex = "ALTER ADD INDEX", ["ADD INDEX"], Table, AlterIndex;
    AlterDropIndex = "ALTER DROP INDEX", ["DROP INDEX"], Table, AlterIndex;
    AlterMaterializeIndex = "ALTER MATERIALIZE INDEX", ["MATERIALIZE INDEX"], Table, AlterIndex;
    AlterClearIndex = "ALTER CLEAR INDEX", ["CLEAR INDEX"], Table, AlterIndex;
    AlterIndex = "ALTER INDEX", ["INDEX"], Group, AlterTable;
    AlterAddStatistics = "ALTER ADD STATISTICS", ["ALTER ADD STATISTIC"], Table, AlterStatistics;
    AlterDropStatistics = "ALTER DROP STATISTICS", ["ALTER DROP STATISTIC"], Table, AlterStatistics;
    AlterModifyStatistics = "ALTER MODIFY STATISTICS", ["ALTER MODIFY STATISTIC"], Table, AlterStatistics;
    AlterMaterializeStatistics = "ALTER MATERIALIZE STATISTICS", ["ALTER MATERIALIZE STATISTIC"], Table, AlterStatistics;
    AlterStatistics = "ALTER STATISTICS", ["STATISTIC"], Group, AlterTable;
    AlterAddProjection = "ALTER ADD PROJECTION", ["ADD PROJECTION"], Table, AlterProjection;
    AlterDropProjection = "ALTER DROP PROJECTION", ["DROP PROJECTION"], Table, AlterProjection;
    AlterModifyProjection = "ALTER MODIFY PROJECTION", ["MODIFY PROJECTION"], Table, AlterProjection;
    AlterMaterializeProjection = "ALTER MATERIALIZE PROJECTION", ["MATERIALIZE PROJECTION"], Table, AlterProjection;
    AlterClearProjection = "ALTER CLEAR PROJECTION", ["CLEAR PROJECTION"], Table, AlterProjection;
    AlterProjection = "ALTER PROJECTION", ["PROJECTION"], Group, AlterTable;
    AlterAddConstraint = "ALTER ADD CONSTRAINT", ["ADD CONSTRAINT"], Table, AlterConstraint;
    AlterDropConstraint = "ALTER DROP CONSTRAINT", ["DROP CONSTRAINT"], Table, AlterConstraint;
    AlterModifyConstraint = "ALTER MODIFY CONSTRAINT", ["MODIFY CONSTRAINT"], Table, AlterConstraint;
    AlterConstraint = "ALTER CONSTRAINT", ["CONSTRAINT"], Group, AlterTable;
    AlterTtl = "ALTER TTL", ["ALTER MODIFY TTL", "MODIFY TTL"], Table, AlterTable;
    AlterMaterializeTtl = "ALTER MATERIALIZE TTL", ["MATERIALIZE TTL"], Table, AlterTable;
    AlterRewriteParts = "ALTER REWRITE PARTS", ["REWRITE PARTS"], Table, AlterTable;
    AlterSettings = "ALTER SETTINGS", ["ALTER SETTING", "ALTER MODIFY SETTING", "MODIFY SETTING", "RESET SETTING"], Table, AlterTable;
    AlterMovePartition = "ALTER MOVE PARTITION", ["ALTER MOVE PART", "MOVE PARTITION", "MOVE PART"], Table, AlterTable;
    AlterFetchPartition = "ALTER FETCH PARTITION", ["ALTER FETCH PART", "FETCH PARTITION"], Table, AlterTable;
    AlterFreezePartition = "ALTER FREEZE PARTITION", ["FREEZE PARTITION", "UNFREEZE"], Table, AlterTable;
    AlterUnlockSnapshot = "ALTER UNLOCK SNAPSHOT", ["UNLOCK SNAPSHOT"], Table, AlterTable;
    AlterExecute = "ALTER EXECUTE", ["ALTER TABLE EXECUTE"], Table, AlterTable;
    AlterDatabaseSettings = "ALTER DATABASE SETTINGS", ["ALTER DATABASE SETTING", "ALTER MODIFY DATABASE SETTING", "MODIFY DATABASE SETTING"], Database, AlterDatabase;
    AlterNamedCollection = "ALTER NAMED COLLECTION", [], NamedCollection, NamedCollectionAdmin;
    AlterHandler = "ALTER HANDLER", [], Global, Alter;
    AlterTable = "ALTER TABLE", [], Group, Alter;
    AlterDatabase = "ALTER DATABASE", [], Group, Alter;
    AlterViewModifyQuery = "ALTER VIEW MODIFY QUERY", ["ALTER TABLE MODIFY QUERY"], View, AlterView;
    AlterViewModifyRefresh = "ALTER VIEW MODIFY REFRESH", ["ALTER TABLE MODIFY QUERY"], View, AlterView;
    AlterViewModifySqlSecurity = "ALTER VIEW MODIFY SQL SECURITY", ["ALTER TABLE MODIFY SQL SECURITY"], View, AlterView;
    AlterView = "ALTER VIEW", [], Group, Alter;
    Alter = "ALTER", [], Group, All;
    CreateDatabase = "CREATE DATABASE", [], Database, Create;
    CreateTable = "CREATE TABLE", [], Table, Create;
    CreateView = "CREATE VIEW", [], View, Create;
    CreateDictionary = "CREATE DICTIONARY", [], Dictionary, Create;
    CreateTemporaryTable = "CREATE TEMPORARY TABLE", [], Global, CreateArbitraryTemporaryTable;
    CreateArbitraryTemporaryTable = "CREATE ARBITRARY TEMPORARY TABLE", [], Global, Create;
    CreateTemporaryView = "CREATE TEMPORARY VIEW", [], Global, Create;
    CreateFunction = "CREATE FUNCTION", [], Global, Create;
    CreateWorkload = "CREATE WORKLOAD", [], Global, Create;
    CreateResource = "CREATE RESOURCE", [], Global, Create;
    CreateNamedCollection = "CREATE NAMED COLLECTION", [], NamedCollection, NamedCollectionAdmin;
    CreateHandler = "CREATE HANDLER", [], Global, Create;
    Create = "CREATE", [], Group, All;
    DropDatabase = "DROP DATABASE", [], Database, Drop;
    DropTable = "DROP TABLE", [], Table, Drop;
    DropView = "DROP VIEW", [], View, Drop;
    DropDictionary = "DROP DICTIONARY", [], Dictionary, Drop;
    DropFunction = "DROP FUNCTION", [], Global, Drop;
    DropWorkload = "DROP WORKLOAD", [], Global, Drop;
    DropResource = "DROP RESOURCE", [], Global, Drop;
    DropNamedCollection = "DROP NAMED COLLECTION", [], NamedCollection, NamedCollectionAdmin;
    DropHandler = "DROP HANDLER", [], Global, Drop;
    Drop = "DROP", [], Group, All;
    UndropTable = "UNDROP TABLE", [], Table, All;
    Truncate = "TRUNCATE", ["TRUNCATE TABLE"], Table, All;
    Optimize = "OPTIMIZE", ["OPTIMIZE TABLE"], Table, All;
    Backup = "BACKUP", [], Table, All;
    KillQuery = "KILL QUERY", [], Global, All;
    KillTransaction = "KILL TRANSACTION", [], Global, All;
    MovePartitionBetweenShards = "MOVE PARTITION BETWEEN SHARDS", [], Global, All;
    CreateUser = "CREATE USER", [], UserName, AccessManagement;
    AlterUser = "ALTER USER", [], UserName, AccessManagement;
    DropUser = "DROP USER", [], UserName, AccessManagement;
    CreateToken = "CREATE TOKEN", [], Global, AccessManagement;
    CreateRole = "CREATE ROLE", [], UserName, AccessManagement;
    AlterRole = "ALTER ROLE", [], UserName, AccessManagement;
    DropRole = "DROP ROLE", [], UserName, AccessManagement;
    RoleAdmin = "ROLE ADMIN", [], Global, AccessManagement;
    CreateRowPolicy = "CREATE ROW POLICY", ["CREATE POLICY"], Table, AccessManagement;
    AlterRowPolicy = "ALTER ROW POLICY", ["ALTER POLICY"], Table, AccessManagement;
    DropRowPolicy = "DROP ROW POLICY", ["DROP POLICY"], Table, AccessManagement;
    CreateMaskingPolicy = "CREATE MASKING POLICY", [], Global, AccessManagement;
    AlterMaskingPolicy = "ALTER MASKING POLICY", [], Global, AccessManagement;
    DropMaskingPolicy = "DROP MASKING POLICY", [], Global, AccessManagement;
    CreateQuota = "CREATE QUOTA", [], Global, AccessManagement;
    AlterQuota = "ALTER QUOTA", [], Global, AccessManagement;
    DropQuota = "DROP QUOTA", [], Global, AccessManagement;
    CreateSettingsProfile = "CREATE SETTINGS PROFILE", ["CREATE PROFILE"], Global, AccessManagement;
    AlterSettingsProfile = "ALTER SETTINGS PROFILE", ["ALTER PROFILE"], Global, AccessManagement;
    DropSettingsProfile = "DROP SETTINGS PROFILE", ["DROP PROFILE"], Global, AccessManagement;
    AllowSqlSecurityNone = "ALLOW SQL SECURITY NONE", ["CREATE SQL SECURITY NONE", "SQL SECURITY NONE", "SECURITY NONE"], Global, AccessManagement;
    ShowUsers = "SHOW USERS", ["SHOW CREATE USER"], Global, ShowAccess;
    ShowRoles = "SHOW ROLES", ["SHOW CREATE ROLE"], Global, ShowAccess;
    ShowRowPolicies = "SHOW ROW POLICIES", ["SHOW POLICIES", "SHOW CREATE ROW POLICY", "SHOW CREATE POLICY"], Table, ShowAccess;
    ShowQuotas = "SHOW QUOTAS", ["SHOW CREATE QUOTA"], Global, ShowAccess;
    ShowSettingsProfiles = "SHOW SETTINGS PROFILES", ["SHOW PROFILES", "SHOW CREATE SETTINGS PROFILE", "SHOW CREATE PROFILE"], Global, ShowAccess;
    ShowMaskingPolicies = "SHOW MASKING POLICIES", ["SHOW CREATE MASKING POLICY"], Global, ShowAccess;
    ShowAccess = "SHOW ACCESS", [], Group, AccessManagement;
    Impersonate = "IMPERSONATE", ["EXECUTE AS"], UserName, AccessManagement;
    AccessManagement = "ACCESS MANAGEMENT", [], Group, All;
    ShowNamedCollections = "SHOW NAMED COLLECTIONS", [], NamedCollection, NamedCollectionAdmin;
    ShowNamedCollectionsSecrets = "SHOW NAMED COLLECTIONS SECRETS", [], NamedCollection, NamedCollectionAdmin;
    NamedCollection = "NAMED COLLECTION", ["NAMED COLLECTION USAGE", "USE NAMED COLLECTION"], NamedCollection, NamedCollectionAdmin;
    NamedCollectionAdmin = "NAMED COLLECTION ADMIN", ["NAMED COLLECTION CONTROL"], NamedCollection, All;
    ShowHandlers = "SHOW HANDLERS", ["SHOW HANDLER"], Global, All;
    SetDefiner = "SET DEFINER", [], Definer, All;
    TableEngine = "TABLE ENGINE", [], TableEngine, All;
    SystemShutdown = "SYSTEM SHUTDOWN", ["SYSTEM KILL", "SHUTDOWN"], Global, System;
    SystemDropDnsCache = "SYSTEM DROP DNS CACHE", ["SYSTEM CLEAR DNS CACHE", "SYSTEM DROP DNS", "DROP DNS CACHE", "DROP DNS"], Global, SystemDropCache;
    SystemDropConnectionsCache = "SYSTEM DROP CONNECTIONS CACHE", ["SYSTEM CLEAR CONNECTIONS CACHE", "DROP CONNECTIONS CACHE"], Global, SystemDropCache;
    SystemPrewarmMarkCache = "SYSTEM PREWARM MARK CACHE", ["SYSTEM PREWARM MARK", "PREWARM MARK CACHE", "PREWARM MARKS"], Global, SystemDropCache;
    SystemDropMarkCache = "SYSTEM DROP MARK CACHE", ["SYSTEM CLEAR MARK CACHE", "SYSTEM DROP MARK", "DROP MARK CACHE", "DROP MARKS"], Global, SystemDropCache;
    SystemDropIcebergMetadataCache = "SYSTEM DROP ICEBERG METADATA CACHE", ["SYSTEM CLEAR ICEBERG_METADATA_CACHE", "SYSTEM DROP ICEBERG_METADATA_CACHE"], Global, SystemDropCache;
    SystemDropPaimonMetadataCache = "SYSTEM DROP PAIMON METADATA CACHE", ["SYSTEM CLEAR PAIMON_METADATA_CACHE", "SYSTEM DROP PAIMON_METADATA_CACHE"], Global, SystemDropCache;
    SystemDropAvroSchemaCache = "SYSTEM DROP AVRO SCHEMA CACHE", ["SYSTEM CLEAR AVRO SCHEMA CACHE", "DROP AVRO SCHEMA CACHE"], Global, SystemDropCache;
    SystemDropParquetMetadataCache = "SYSTEM DROP PARQUET METADATA CACHE", ["SYSTEM DROP PARQUET_METADATA_CACHE"], Global, SystemDropCache;
    SystemDropPointInPolygonCache = "SYSTEM DROP POINT IN POLYGON CACHE", ["SYSTEM CLEAR POINT IN POLYGON CACHE", "DROP POINT IN POLYGON CACHE"], Global, SystemDropCache;
    SystemPrewarmPrimaryIndexCache = "SYSTEM PREWARM PRIMARY INDEX CACHE", ["SYSTEM PREWARM PRIMARY INDEX", "PREWARM PRIMARY INDEX CACHE", "PREWARM PRIMARY INDEX"], Global, SystemDropCache;
    SystemDropPrimaryIndexCache = "SYSTEM DROP PRIMARY INDEX CACHE", ["SYSTEM CLEAR PRIMARY INDEX CACHE", "SYSTEM DROP PRIMARY INDEX", "DROP PRIMARY INDEX CACHE", "DROP PRIMARY INDEX"], Global, SystemDropCache;
    SystemDropUncompressedCache = "SYSTEM DROP UNCOMPRESSED CACHE", ["SYSTEM CLEAR UNCOMPRESSED CACHE", "SYSTEM DROP UNCOMPRESSED", "DROP UNCOMPRESSED CACHE", "DROP UNCOMPRESSED"], Global, SystemDropCache;
    SystemDropVectorSimilarityIndexCache = "SYSTEM DROP VECTOR SIMILARITY INDEX CACHE", ["SYSTEM CLEAR VECTOR SIMILARITY INDEX CACHE", "DROP VECTOR SIMILARITY INDEX CACHE"], Global, SystemDropCache;
    SystemDropTextIndexTokensCache = "SYSTEM DROP TEXT INDEX TOKENS CACHE", ["SYSTEM CLEAR TEXT INDEX TOKENS CACHE", "DROP TEXT INDEX TOKENS CACHE"], Global, SystemDropCache;
    SystemDropTextIndexHeaderCache = "SYSTEM DROP TEXT INDEX HEADER CACHE", ["SYSTEM CLEAR TEXT INDEX HEADER CACHE", "DROP TEXT INDEX HEADER CACHE"], Global, SystemDropCache;
    SystemDropTextIndexPostingsCache = "SYSTEM DROP TEXT INDEX POSTINGS CACHE", ["SYSTEM CLEAR TEXT INDEX POSTINGS CACHE", "DROP TEXT INDEX POSTINGS CACHE"], Global, SystemDropCache;
    SystemDropTextIndexCaches = "SYSTEM DROP TEXT INDEX CACHES", ["SYSTEM CLEAR TEXT INDEX CACHES", "DROP TEXT INDEX CACHES"], Global, SystemDropCache;
    SystemDropMmapCache = "SYSTEM DROP MMAP CACHE", ["SYSTEM CLEAR MMAP CACHE", "SYSTEM DROP MMAP", "DROP MMAP CACHE", "DROP MMAP"], Global, SystemDropCache;
    SystemDropQueryConditionCache = "SYSTEM DROP QUERY CONDITION CACHE", ["SYSTEM CLEAR QUERY CONDITION CACHE", "SYSTEM DROP QUERY CONDITION", "DROP QUERY CONDITION CACHE", "DROP QUERY CONDITION"], Global, SystemDropCache;
    SystemDropEncryptionHeadersCache = "SYSTEM DROP ENCRYPTION HEADERS CACHE", ["SYSTEM CLEAR ENCRYPTION HEADERS CACHE", "SYSTEM DROP ENCRYPTION HEADERS", "DROP ENCRYPTION HEADERS CACHE", "DROP ENCRYPTION HEADERS"], Global, SystemDropCache;
    SystemDropQueryCache = "SYSTEM DROP QUERY CACHE", ["SYSTEM CLEAR QUERY CACHE", "SYSTEM DROP QUERY", "DROP QUERY CACHE", "DROP QUERY"], Global, SystemDropCache;
    SystemDropCompiledExpressionCache = "SYSTEM DROP COMPILED EXPRESSION CACHE", ["SYSTEM CLEAR COMPILED EXPRESSION CACHE", "SYSTEM DROP COMPILED EXPRESSION", "DROP COMPILED EXPRESSION CACHE", "DROP COMPILED EXPRESSIONS"], Global, SystemDropCache;
    SystemDropFilesystemCache = "SYSTEM DROP FILESYSTEM CACHE", ["SYSTEM CLEAR FILESYSTEM CACHE", "DROP FILESYSTEM CACHE"], Global, SystemDropCache;
    SystemDropDistributedCache = "SYSTEM DROP DISTRIBUTED CACHE", ["SYSTEM CLEAR DISTRIBUTED CACHE", "DROP DISTRIBUTED CACHE"], Global, SystemDropCache;
    SystemSyncFilesystemCache = "SYSTEM SYNC FILESYSTEM CACHE", ["SYSTEM REPAIR FILESYSTEM CACHE", "REPAIR FILESYSTEM CACHE", "SYNC FILESYSTEM CACHE"], Global, System;
    SystemDropPageCache = "SYSTEM DROP PAGE CACHE", ["SYSTEM CLEAR PAGE CACHE", "DROP PAGE CACHE"], Global, SystemDropCache;
    SystemDropSchemaCache = "SYSTEM DROP SCHEMA CACHE", ["SYSTEM CLEAR SCHEMA CACHE", "DROP SCHEMA CACHE"], Global, SystemDropCache;
    SystemDropFormatSchemaCache = "SYSTEM DROP FORMAT SCHEMA CACHE", ["SYSTEM CLEAR FORMAT SCHEMA CACHE", "DROP FORMAT SCHEMA CACHE"], Global, SystemDropCache;
    SystemDropS3ClientCache = "SYSTEM DROP S3 CLIENT CACHE", ["SYSTEM CLEAR S3 CLIENT CACHE", "SYSTEM DROP S3 CLIENT", "DROP S3 CLIENT CACHE"], Global, SystemDropCache;
    SystemDropCache = "SYSTEM DROP CACHE", ["DROP CACHE"], Group, System;
    SystemReloadConfig = "SYSTEM RELOAD CONFIG", ["RELOAD CONFIG"], Global, SystemReload;
    SystemReloadUsers = "SYSTEM RELOAD USERS", ["RELOAD USERS"], Global, SystemReload;
    SystemReloadDictionary = "SYSTEM RELOAD DICTIONARY", ["SYSTEM RELOAD DICTIONARIES", "RELOAD DICTIONARY", "RELOAD DICTIONARIES", "SYSTEM UNLOAD DICTIONARY", "SYSTEM UNLOAD DICTIONARIES", "UNLOAD DICTIONARY", "UNLOAD DICTIONARIES"], Global, SystemReload;
    SystemReloadModel = "SYSTEM RELOAD MODEL", ["SYSTEM RELOAD MODELS", "RELOAD MODEL", "RELOAD MODELS"], Global, SystemReload;
    SystemReloadFunction = "SYSTEM RELOAD FUNCTION", ["SYSTEM RELOAD FUNCTIONS", "RELOAD FUNCTION", "RELOAD FUNCTIONS"], Global, SystemReload;
    SystemReloadEmbeddedDictionaries = "SYSTEM RELOAD EMBEDDED DICTIONARIES", ["RELOAD EMBEDDED DICTIONARIES"], Global, SystemReload;
    SystemReloadAsynchronousMetrics = "SYSTEM RELOAD ASYNCHRONOUS METRICS", ["RELOAD ASYNCHRONOUS METRICS"], Global, SystemReload;
    SystemReconnectZookeeper = "SYSTEM RECONNECT ZOOKEEPER", ["RECONNECT ZOOKEEPER"], Global, System;
    SystemReload = "SYSTEM RELOAD", [], Group, System;
    SystemRestartDisk = "SYSTEM RESTART DISK", [], Global, System;
    SystemWaitBlobsCleanup = "SYSTEM WAIT BLOBS CLEANUP", [], Global, System;
    SystemMerges = "SYSTEM MERGES", ["SYSTEM STOP MERGES", "SYSTEM START MERGES", "STOP MERGES", "START MERGES"], Table, System;
    SystemTtlMerges = "SYSTEM TTL MERGES", ["SYSTEM STOP TTL MERGES", "SYSTEM START TTL MERGES", "STOP TTL MERGES", "START TTL MERGES"], Table, System;
    SystemFetches = "SYSTEM FETCHES", ["SYSTEM STOP FETCHES", "SYSTEM START FETCHES", "STOP FETCHES", "START FETCHES"], Table, System;
    SystemMoves = "SYSTEM MOVES", ["SYSTEM STOP MOVES", "SYSTEM START MOVES", "STOP MOVES", "START MOVES"], Table, System;
    SystemPullingReplicationLog = "SYSTEM PULLING REPLICATION LOG", ["SYSTEM STOP PULLING REPLICATION LOG", "SYSTEM START PULLING REPLICATION LOG"], Table, System;
    SystemCleanup = "SYSTEM CLEANUP", ["SYSTEM STOP CLEANUP", "SYSTEM START CLEANUP"], Table, System;
    SystemViews = "SYSTEM VIEWS", ["SYSTEM REFRESH VIEW", "SYSTEM START VIEWS", "SYSTEM STOP VIEWS", "SYSTEM START VIEW", "SYSTEM STOP VIEW", "SYSTEM PAUSE VIEWS", "SYSTEM PAUSE VIEW", "SYSTEM CANCEL VIEW", "REFRESH VIEW", "START VIEWS", "STOP VIEWS", "START VIEW", "STOP VIEW", "PAUSE VIEWS", "PAUSE VIEW", "CANCEL VIEW"], View, SystemBackground;
    SystemStreamingEngines = "SYSTEM STREAMING ENGINES", [], Table, SystemBackground;
    SystemBackground = "SYSTEM BACKGROUND", [], Group, System;
    SystemDistributedSends = "SYSTEM DISTRIBUTED SENDS", ["SYSTEM STOP DISTRIBUTED SENDS", "SYSTEM START DISTRIBUTED SENDS", "STOP DISTRIBUTED SENDS", "START DISTRIBUTED SENDS"], Table, SystemSends;
    SystemReplicatedSends = "SYSTEM REPLICATED SENDS", ["SYSTEM STOP REPLICATED SENDS", "SYSTEM START REPLICATED SENDS", "STOP REPLICATED SENDS", "START REPLICATED SENDS"], Table, SystemSends;
    SystemSends = "SYSTEM SENDS", ["SYSTEM STOP SENDS", "SYSTEM START SENDS", "STOP SENDS", "START SENDS"], Group, System;
    SystemReplicationQueues = "SYSTEM REPLICATION QUEUES", ["SYSTEM STOP REPLICATION QUEUES", "SYSTEM START REPLICATION QUEUES", "STOP REPLICATION QUEUES", "START REPLICATION QUEUES"], Table, System;
    SystemVirtualPartsUpdate = "SYSTEM VIRTUAL PARTS UPDATE", ["SYSTEM STOP VIRTUAL PARTS UPDATE", "SYSTEM START VIRTUAL PARTS UPDATE", "STOP VIRTUAL PARTS UPDATE", "START VIRTUAL PARTS UPDATE"], Table, System;
    SystemReduceBlockingParts = "SYSTEM REDUCE BLOCKING PARTS", ["SYSTEM STOP REDUCE BLOCKING PARTS", "SYSTEM START REDUCE BLOCKING PARTS", "STOP REDUCE BLOCKING PARTS", "START REDUCE BLOCKING PARTS"], Table, System;
    SystemDropReplica = "SYSTEM DROP REPLICA", ["DROP REPLICA"], Table, System;
    SystemSyncReplica = "SYSTEM SYNC REPLICA", ["SYNC REPLICA"], Table, System;
    SystemReplicaReadiness = "SYSTEM REPLICA READINESS", ["SYSTEM REPLICA READY", "SYSTEM REPLICA UNREADY"], Global, System;
    SystemRestartReplica = "SYSTEM RESTART REPLICA", ["RESTART REPLICA"], Table, System;
    SystemRestoreReplica = "SYSTEM RESTORE REPLICA", ["RESTORE REPLICA"], Table, System;
    SystemRestoreDatabaseReplica = "SYSTEM RESTORE DATABASE REPLICA", ["RESTORE DATABASE REPLICA"], Table, System;
    SystemWaitLoadingParts = "SYSTEM WAIT LOADING PARTS", ["WAIT LOADING PARTS"], Table, System;
    SystemWaitQueryRunner = "SYSTEM WAIT QUERY RUNNER", ["WAIT QUERY RUNNER"], Table, System;
    SystemSyncDatabaseReplica = "SYSTEM SYNC DATABASE REPLICA", ["SYNC DATABASE REPLICA"], Database, System;
    SystemSyncTransactionLog = "SYSTEM SYNC TRANSACTION LOG", ["SYNC TRANSACTION LOG"], Global, System;
    SystemSyncFileCache = "SYSTEM SYNC FILE CACHE", ["SYNC FILE CACHE"], Global, System;
    SystemFlushDistributed = "SYSTEM FLUSH DISTRIBUTED", ["FLUSH DISTRIBUTED"], Table, SystemFlush;
    SystemFlushLogs = "SYSTEM FLUSH LOGS", ["FLUSH LOGS"], Global, SystemFlush;
    SystemFlushAsyncInsertQueue = "SYSTEM FLUSH ASYNC INSERT QUEUE", ["FLUSH ASYNC INSERT QUEUE"], Global, SystemFlush;
    SystemFlushObjectStorageQueue = "SYSTEM FLUSH OBJECT STORAGE QUEUE", ["FLUSH OBJECT STORAGE QUEUE"], Table, SystemFlush;
    SystemFlush = "SYSTEM FLUSH", [], Group, System;
    SystemThreadFuzzer = "SYSTEM THREAD FUZZER", ["SYSTEM START THREAD FUZZER", "SYSTEM STOP THREAD FUZZER", "START THREAD FUZZER", "STOP THREAD FUZZER"], Global, System;
    SystemUnfreeze = "SYSTEM UNFREEZE", [], Global, System;
    SystemUnlockSnapshot = "SYSTEM UNLOCK SNAPSHOT", ["SYSTEM UNLOCK_SNAPSHOT"], Global, System;
    SystemFailpoint = "SYSTEM FAILPOINT", ["SYSTEM ENABLE FAILPOINT", "SYSTEM DISABLE FAILPOINT", "SYSTEM WAIT FAILPOINT"], Global, System;
    SystemMemory = "SYSTEM MEMORY", ["SYSTEM ALLOCATE MEMORY", "SYSTEM FREE MEMORY"], Global, System;
    SystemListen = "SYSTEM LISTEN", ["SYSTEM START LISTEN", "SYSTEM STOP LISTEN"], Global, System;
    SystemJemalloc = "SYSTEM JEMALLOC", ["SYSTEM JEMALLOC PURGE", "SYSTEM JEMALLOC ENABLE PROFILE", "SYSTEM JEMALLOC DISABLE PROFILE", "SYSTEM JEMALLOC FLUSH PROFILE"], Global, System;
    SystemLoadPrimaryKey = "SYSTEM LOAD PRIMARY KEY", [], Table, System;
    SystemUnloadPrimaryKey = "SYSTEM UNLOAD PRIMARY KEY", [], Table, System;
    SystemInstrumentAdd = "SYSTEM INSTRUMENT ADD", [], Global, System;
    SystemInstrumentRemove = "SYSTEM INSTRUMENT REMOVE", [], Global, System;
    SystemResetDdlWorker = "SYSTEM RESET DDL WORKER", ["RESET DDL WORKER"], Global, System;
    System = "SYSTEM", [], Group, All;
    DictGet = "dictGet", ["dictHas", "dictGetHierarchy", "dictGetRoot", "dictGetChildren", "dictGetDescendants", "dictIsIn"], Dictionary, All;
    DisplaySecretsInShowAndSelect = "displaySecretsInShowAndSelect", [], Global, All;
    AddressToLine = "addressToLine", [], Global, Introspection;
    AddressToLineWithInlines = "addressToLineWithInlines", [], Global, Introspection;
    AddressToSymbol = "addressToSymbol", [], Global, Introspection;
    Demangle = "demangle", [], Global, Introspection;
    Introspection = "INTROSPECTION", ["INTROSPECTION FUNCTIONS"], Group, All;
    Read = "READ", ["SOURCE READ"], Source, All;
    Write = "WRITE", ["SOURCE WRITE"], Source, All;
    Cluster = "CLUSTER", [], Global, All;
    File = "FILE", [], Global, All;
    Url = "URL", [], Global, All;
    Remote = "REMOTE", [], Global, All;
    Mongo = "MONGO", [], Global, All;
    Redis = "REDIS", [], Global, All;
    Mysql = "MYSQL", [], Global, All;
    Postgres = "POSTGRES", [], Global, All;
    Sqlite = "SQLITE", [], Global, All;
    Odbc = "ODBC", [], Global, All;
    Jdbc = "JDBC", [], Global, All;
    Hdfs = "HDFS", [], Global, All;
    S3 = "S3", [], Global, All;
    Hive = "HIVE", [], Global, All;
    Azure = "AZURE", [], Global, All;
    Kafka = "KAFKA", [], Global, All;
    Nats = "NATS", [], Global, All;
    Rabbitmq = "RABBITMQ", [], Global, All;
    Ytsaurus = "YTSAURUS", [], Global, All;
    ArrowFlight = "ARROW FLIGHT", [], Global, All;
    Bigquery = "BIGQUERY", [], Global, All;
    Disk = "DISK", [], Global, All;
    Sources = "SOURCES", [], Global, All;
    All = "ALL", ["ALL PRIVILEGES"], Group, All;
}

/// Of each privilege, all that it stands for.
static CONTENTS: LazyLock<Vec<PrivilegeSet>> = LazyLock::new(|| {
    let mut contents = vec![PrivilegeSet::default(); DESCRIPTIONS.len()];
    for privilege in Privilege::EVERY {
        if privilege.level() == Level::Group {
            continue;
        }
        let (mut at, mut steps) = (*privilege, 0);
        loop {
            if let Some(set) = contents.get_mut(at as usize) {
                set.insert(*privilege);
            }
            let parent = at.parent();
            // The table is a tree; a mistake in it must not be a loop.
            if parent == at || steps > DESCRIPTIONS.len() {
                break;
            }
            (at, steps) = (parent, steps + 1);
        }
    }
    contents
});

impl Privilege {
    /// What ClickHouse says of it.
    pub fn description(self) -> &'static Description {
        &DESCRIPTIONS[self as usize]
    }

    /// The name.
    pub fn name(self) -> &'static str {
        self.description().name
    }

    /// What it can be about.
    pub fn level(self) -> Level {
        self.description().level
    }

    /// The group that it is in.
    pub fn parent(self) -> Self {
        self.description().parent
    }

    /// All that it stands for: itself, or what is in the group.
    pub fn set(self) -> PrivilegeSet {
        CONTENTS.get(self as usize).copied().unwrap_or_default()
    }

    /// The privilege of a name, in any case; `NONE` and its like are none.
    pub fn named(name: &str) -> Option<Self> {
        let is_named = |privilege: &&Self| {
            let description = privilege.description();
            description.name.eq_ignore_ascii_case(name)
                || description.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
        };
        Self::EVERY.iter().find(is_named).copied()
    }

    /// The kind of source that a privilege of older versions names: `GRANT URL ON *.*` is `GRANT READ, WRITE ON URL`.
    pub fn names_source(self) -> bool {
        (Self::File as usize..=Self::Disk as usize).contains(&(self as usize))
    }
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What allows to ask servers of a kind.
impl From<ForeignKind> for Privilege {
    fn from(kind: ForeignKind) -> Self {
        match kind {
            ForeignKind::PostgreSql => Self::Postgres,
            ForeignKind::MySql => Self::Mysql,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_what_is_in_them() {
        assert!(Privilege::EVERY.len() <= PrivilegeSet::CAPACITY);
        assert!(Privilege::Alter.set().contains(Privilege::AlterDropColumn.set()));
        assert!(!Privilege::Alter.set().contains(Privilege::Select.set()));
        assert!(PrivilegeSet::all().contains(Privilege::SystemShutdown.set()));
        let alter = Privilege::Alter.set().minus(Privilege::AlterDelete.set()).to_string();
        assert!(
            alter.starts_with("ALTER HANDLER, ALTER UPDATE, ALTER COLUMN, ALTER MODIFY COMMENT, ALTER INDEX"),
            "{alter}"
        );
        assert_eq!(Privilege::CreateArbitraryTemporaryTable.set().to_string(), "CREATE ARBITRARY TEMPORARY TABLE");
    }

    #[test]
    fn names_are_found_in_any_case() {
        for (name, privilege) in [
            ("select", Privilege::Select),
            ("DICTGET", Privilege::DictGet),
            ("dictHas", Privilege::DictGet),
            ("ALL PRIVILEGES", Privilege::All),
            ("SHUTDOWN", Privilege::SystemShutdown),
        ] {
            assert_eq!(Privilege::named(name), Some(privilege));
        }
        assert_eq!(Privilege::named("NONE"), None);
    }
}
