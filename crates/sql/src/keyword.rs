//! Keywords. None is reserved: what a word means is decided where it stands. Each word of a text is looked up once, by a hash
//! table that is built at compile time.

macro_rules! keywords {
    ($($word:ident)*) => {
        /// A word that the grammar knows; `NONE` for all others.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "keywords are written as SQL writes them")]
        #[repr(u16)]
        pub(crate) enum Keyword { NONE, $($word,)* }

        const WORDS: &[(&str, Keyword)] = &[$((stringify!($word), Keyword::$word),)*];

        impl Keyword {
            /// The word in upper case.
            pub(crate) fn text(self) -> &'static str {
                match self { Keyword::NONE => "", $(Keyword::$word => stringify!($word),)* }
            }
        }
    };
}

keywords! {
    ABI ACCESS ADD ADDRESS ADMIN AFTER ALGORITHM ALIAS ALL ALLOWED_LATENESS ALTER ANALYZE AND ANTI ANY APPEND APPLY ARGUMENTS ARRAY AS ASC ASCENDING
    ASOF ASSUME AST ASYNC AT ATTACH AUTHENTICATION AUTO_INCREMENT
    BACKUP BEGIN BETWEEN BIDIRECTIONAL BOTH BY BYTE
    CACHE CACHES CASCADE CASE CAST CHANGEABLE_IN_READONLY CHANGED CHAR CHARACTER CHECK CLEANUP CLEAR CLONE CLUSTER CLUSTERS CN CODEC COLLATE COLLECTION
    COLUMN COLUMNS COMMENT COMMIT COMPRESSION CONST CONSTRAINT CREATE CROSS CUBE CURRENT CURRENT_USER CURRENTUSER
    D DATA DATABASE DATABASES DATE DATEADD DATEDIFF DATESUB DATE_ADD DATE_DIFF DATE_SUB DAY DAYS DD DEDUPLICATE DEFAULT DEFINER DELAY DELETE DELETED
    DEPENDS DESC DESCENDING DESCRIBE DETACH DETACHED DICTIONARIES DICTIONARY DISALLOWED DISK DISTINCT DIV DOUBLE DROP DRY
    ELSE EMPTY ENABLED END ENFORCED ENGINE ENGINES ENUM EPHEMERAL ESTIMATE EVENT EVENTS EVERY EXCEPT EXCHANGE EXECUTE EXISTS EXPLAIN EXPORT EXPRESSION
    EXTENDED EXTERNAL EXTRACT
    FALSE FETCH FIELDS FILESYSTEM FILL FILTER FINAL FIRST FOLLOWING FOR FORCE FOREIGN FORGET FORMAT FREEZE FROM FULL FUNCTION FUNCTIONS
    GEOMETRY GLOBAL GRANT GRANTEES GRANTS GRANULARITY GROUP GROUPING GROUPS
    H HASH HAVING HH HIERARCHICAL HIGH HOST HOUR HOURS HTTP
    ID IDENTIFIED IF IGNORE ILIKE IMPLICIT IN INDEX INDEXES INDICES INF INFILE INFINITY INHERIT INJECTIVE INNER INSERT INT INTEGER INTERPOLATE INTERSECT
    INTERVAL INTO INVISIBLE INVOKER IP IS IS_OBJECT_ID
    JOIN JWT
    KERBEROS KEY KEYED KEYS KILL KIND
    LANGUAGE LARGE LAST LAYOUT LDAP LEADING LEFT LESS LEVEL LIFETIME LIGHTWEIGHT LIKE LIMIT LIMITS LINEAR LIST LIVE LOCAL LTRIM
    M MASK MASKING MASTER MATCH MATERIALIZE MATERIALIZED MAX MCS MEMORY MERGES METHODS MI MICROSECOND MICROSECONDS MILLISECOND MILLISECONDS MIN MINUTE
    MINUTES MM MOD MODIFY MONTH MONTHS MOVE MS MUTATION
    N NAME NAMED NAN NANOSECOND NANOSECONDS NATIONAL NATURAL NCHAR NEW NEXT NO NOT NO_PASSWORD NS NULL NULLS NVARCHAR
    OBJECT OF OFFSET ON ONLY OPTIMIZE OPTION OR ORDER OUTER OUTFILE OVER OVERLAY OVERRIDABLE OVERRIDE
    PARALLEL PART PARTIAL PARTITION PARTITIONS PARTS PART_MOVE_TO_SHARD PASSWORD PASTE PATCHES PERIODIC PERMANENTLY PERMISSIVE PERSISTENT PIPELINE
    PLACING PLAN PLAINTEXT_PASSWORD POLICIES POLICY POPULATE POSITION PRECEDING PRECISION PREWHERE PRIMARY PRIORITY PRIVILEGES PROCESSLIST PROFILE PROFILES PROJECTION
    PROTOBUF PULL
    Q QQ QUALIFY QUARTER QUARTERS QUERY QUOTA QUOTAS
    RANDOMIZE RANDOMIZED RANGE READ READONLY REALM RECOMPRESS RECURSIVE REFERENCES REFRESH REGEXP REMOVE RENAME REPLACE REPLICATED RESET
    RESERVATION RESOURCE RESPECT RESTORE RESTRICT RESTRICTIVE RESUME RETURNS REVOKE REWRITE RIGHT ROLE ROLES ROLLBACK ROLLUP ROW ROWS RTRIM RUN
    S SALT SAMPLE SAN SCHEME SECOND SECONDS SECURITY SELECT SEMI SERVER SET SETS SETTING SETTINGS SHARD SHOW SIGNED SIMPLE SKIP SNAPSHOT SOME SOURCE SPATIAL
    SQL SQL_TSI_DAY SQL_TSI_HOUR SQL_TSI_MICROSECOND SQL_TSI_MILLISECOND SQL_TSI_MINUTE SQL_TSI_MONTH SQL_TSI_NANOSECOND SQL_TSI_QUARTER SQL_TSI_SECOND
    SQL_TSI_WEEK SQL_TSI_YEAR SS SSH_KEY SSL_CERTIFICATE STALENESS START STATISTICS STDOUT STEP STORAGE STRICT STRICTLY_ASCENDING SUBPARTITION SUBPARTITIONS
    SUBSTR SUBSTRING SYNC SYNTAX SYSTEM
    TABLE TABLES TEMPORARY TEST THAN THEN THREAD TIES TIME TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TIMESTAMPSUB TIMESTAMP_ADD TIMESTAMP_DIFF TIMESTAMP_SUB TO TOP TOTALS
    TRACKING TRAILING TRANSACTION TREE TRIGGER TRIM TRUE TRUNCATE TTL TYPE
    UNBOUNDED UNDROP UNFREEZE UNION UNIQUE UNKNOWN UNSIGNED UNTIL UPDATE URL USE USER USERS USING UUID
    VALID VALUES VARYING VIEW VISIBLE VOLUME
    W WATCH WATERMARK WEEK WEEKS WHEN WHERE WINDOW WITH WK WORK WORKER WORKLOAD WRITABLE WRITE WW
    YEAR YEARS YY YYYY ZONE QQQQ
    BCRYPT_HASH BCRYPT_PASSWORD DOUBLE_SHA1_HASH DOUBLE_SHA1_PASSWORD SCRAM_SHA256_HASH SCRAM_SHA256_PASSWORD SHA256_HASH SHA256_PASSWORD
}

const SLOTS: usize = 2048;
const LONGEST: usize = 24;

const fn upper(byte: u8) -> u8 {
    byte.to_ascii_uppercase()
}

/// Mixes the length and up to five bytes, which is enough to keep the table's chains short.
const fn slot(word: &[u8]) -> usize {
    let n = word.len();
    let mut hash = n as u32;
    hash = hash.wrapping_mul(31).wrapping_add(upper(word[0]) as u32);
    hash = hash.wrapping_mul(31).wrapping_add(upper(word[n / 2]) as u32);
    hash = hash.wrapping_mul(31).wrapping_add(upper(word[n - 1]) as u32);
    hash = hash.wrapping_mul(31).wrapping_add(upper(word[n / 4]) as u32);
    hash = hash.wrapping_mul(31).wrapping_add(upper(word[n - 1 - n / 4]) as u32);
    (hash.wrapping_mul(0x9E37_79B1) >> 16) as usize % SLOTS
}

/// For each slot one more than the index into `WORDS`, or 0; collisions go to the next slots.
static TABLE: [u16; SLOTS] = {
    let mut table = [0u16; SLOTS];
    let mut index = 0;
    while index < WORDS.len() {
        let mut at = slot(WORDS[index].0.as_bytes());
        while table[at] != 0 {
            at = (at + 1) % SLOTS;
        }
        table[at] = index as u16 + 1;
        index += 1;
    }
    table
};

/// The keyword that `word` is, in whatever case.
pub(crate) fn keyword(word: &[u8]) -> Keyword {
    if word.is_empty() || word.len() > LONGEST {
        return Keyword::NONE;
    }
    let mut at = slot(word);
    loop {
        let index = TABLE.get(at).copied().unwrap_or(0) as usize;
        let Some((text, keyword)) = index.checked_sub(1).and_then(|i| WORDS.get(i)) else { return Keyword::NONE };
        if text.as_bytes().eq_ignore_ascii_case(word) {
            return *keyword;
        }
        at = (at + 1) % SLOTS;
    }
}

/// All keywords in upper case, for whoever completes what people type.
pub fn keywords() -> impl Iterator<Item = &'static str> {
    WORDS.iter().map(|(word, _)| *word)
}

/// Whether a word is a keyword, in whatever case.
pub fn is_keyword(word: &str) -> bool {
    keyword(word.as_bytes()) != Keyword::NONE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_in_any_case() {
        for (text, expected) in WORDS {
            assert!(text.len() <= LONGEST);
            assert_eq!(keyword(text.to_ascii_lowercase().as_bytes()), *expected, "{text}");
        }
        assert_eq!(keyword(b"selec"), Keyword::NONE);
        assert_eq!(keyword(b"none"), Keyword::NONE);
    }
}
