//! The one error that crosses crate boundaries: a ClickHouse error code and a message. The numbers and names are ClickHouse's
//! (`src/Common/ErrorCodes.cpp` names them; `system.errors` lists them), so that every client's handling keeps working.

use std::fmt;

/// A ClickHouse error code; [`ErrorCode::name`] gives its upper-case name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ErrorCode(pub i32);

macro_rules! error_codes {
    ($($number:literal $name:ident),* $(,)?) => {
        impl ErrorCode {
            $(#[doc = concat!("ClickHouse's `", stringify!($name), "` (", stringify!($number), ").")]
            pub const $name: Self = Self($number);)*

            /// Every known code with its name, ascending.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self($number), stringify!($name))),*];
        }
    };
}

error_codes! {
    0 OK, 1 UNSUPPORTED_METHOD, 2 UNSUPPORTED_PARAMETER, 3 UNEXPECTED_END_OF_FILE, 4 EXPECTED_END_OF_FILE, 6 CANNOT_PARSE_TEXT,
    7 INCORRECT_NUMBER_OF_COLUMNS, 8 THERE_IS_NO_COLUMN, 9 SIZES_OF_COLUMNS_DOESNT_MATCH, 10 NOT_FOUND_COLUMN_IN_BLOCK,
    11 POSITION_OUT_OF_BOUND, 12 PARAMETER_OUT_OF_BOUND, 13 SIZES_OF_COLUMNS_IN_TUPLE_DOESNT_MATCH, 15 DUPLICATE_COLUMN,
    16 NO_SUCH_COLUMN_IN_TABLE, 19 SIZE_OF_FIXED_STRING_DOESNT_MATCH, 20 NUMBER_OF_COLUMNS_DOESNT_MATCH,
    23 CANNOT_READ_FROM_ISTREAM, 24 CANNOT_WRITE_TO_OSTREAM, 25 CANNOT_PARSE_ESCAPE_SEQUENCE, 26 CANNOT_PARSE_QUOTED_STRING,
    27 CANNOT_PARSE_INPUT_ASSERTION_FAILED, 32 ATTEMPT_TO_READ_AFTER_EOF, 33 CANNOT_READ_ALL_DATA,
    34 TOO_MANY_ARGUMENTS_FOR_FUNCTION, 35 TOO_FEW_ARGUMENTS_FOR_FUNCTION, 36 BAD_ARGUMENTS, 37 UNKNOWN_ELEMENT_IN_AST,
    38 CANNOT_PARSE_DATE, 39 TOO_LARGE_SIZE_COMPRESSED, 40 CHECKSUM_DOESNT_MATCH, 41 CANNOT_PARSE_DATETIME,
    42 NUMBER_OF_ARGUMENTS_DOESNT_MATCH, 43 ILLEGAL_TYPE_OF_ARGUMENT, 44 ILLEGAL_COLUMN, 46 UNKNOWN_FUNCTION,
    47 UNKNOWN_IDENTIFIER, 48 NOT_IMPLEMENTED, 49 LOGICAL_ERROR, 50 UNKNOWN_TYPE, 51 EMPTY_LIST_OF_COLUMNS_QUERIED,
    52 COLUMN_QUERIED_MORE_THAN_ONCE, 53 TYPE_MISMATCH, 55 STORAGE_REQUIRES_PARAMETER, 56 UNKNOWN_STORAGE,
    57 TABLE_ALREADY_EXISTS, 58 TABLE_METADATA_ALREADY_EXISTS, 59 ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER, 60 UNKNOWN_TABLE,
    62 SYNTAX_ERROR, 63 UNKNOWN_AGGREGATE_FUNCTION, 69 ARGUMENT_OUT_OF_BOUND, 70 CANNOT_CONVERT_TYPE,
    71 CANNOT_WRITE_AFTER_END_OF_BUFFER, 72 CANNOT_PARSE_NUMBER, 73 UNKNOWN_FORMAT, 74 CANNOT_READ_FROM_FILE_DESCRIPTOR,
    75 CANNOT_WRITE_TO_FILE_DESCRIPTOR, 76 CANNOT_OPEN_FILE, 77 CANNOT_CLOSE_FILE, 79 INCORRECT_FILE_NAME, 80 INCORRECT_QUERY, 81 UNKNOWN_DATABASE,
    82 DATABASE_ALREADY_EXISTS, 83 DIRECTORY_DOESNT_EXIST, 84 DIRECTORY_ALREADY_EXISTS, 85 FORMAT_IS_NOT_SUITABLE_FOR_INPUT, 86 RECEIVED_ERROR_FROM_REMOTE_IO_SERVER, 87 FORMAT_IS_NOT_SUITABLE_FOR_OUTPUT,
    90 EMPTY_LIST_OF_COLUMNS_PASSED, 99 UNKNOWN_PACKET_FROM_CLIENT, 100 UNKNOWN_PACKET_FROM_SERVER,
    101 UNEXPECTED_PACKET_FROM_CLIENT, 102 UNEXPECTED_PACKET_FROM_SERVER, 107 FILE_DOESNT_EXIST, 108 NO_DATA_TO_INSERT,
    115 UNKNOWN_SETTING, 116 THERE_IS_NO_DEFAULT_VALUE, 117 INCORRECT_DATA, 119 ENGINE_REQUIRED, 122 INCOMPATIBLE_COLUMNS,
    124 INCORRECT_ELEMENT_OF_SET, 125 INCORRECT_RESULT_OF_SCALAR_SUBQUERY, 128 TOO_LARGE_ARRAY_SIZE, 130 CANNOT_READ_ARRAY_FROM_TEXT,
    131 TOO_LARGE_STRING_SIZE, 133 AGGREGATE_FUNCTION_DOESNT_ALLOW_PARAMETERS,
    134 PARAMETERS_TO_AGGREGATE_FUNCTIONS_MUST_BE_LITERALS, 135 ZERO_ARRAY_OR_TUPLE_INDEX, 137 UNKNOWN_ELEMENT_IN_CONFIG,
    138 EXCESSIVE_ELEMENT_IN_CONFIG, 139 NO_ELEMENTS_IN_CONFIG, 141 SAMPLING_NOT_SUPPORTED, 153 ILLEGAL_DIVISION, 156 DICTIONARIES_WAS_NOT_LOADED,
    158 TOO_MANY_ROWS, 159 TIMEOUT_EXCEEDED, 160 TOO_SLOW, 161 TOO_MANY_COLUMNS, 162 TOO_DEEP_SUBQUERIES, 164 READONLY,
    165 TOO_MANY_TEMPORARY_COLUMNS, 167 TOO_DEEP_AST, 168 TOO_BIG_AST, 169 BAD_TYPE_OF_FIELD, 170 BAD_GET,
    172 CANNOT_CREATE_DIRECTORY, 173 CANNOT_ALLOCATE_MEMORY, 174 CYCLIC_ALIASES, 179 MULTIPLE_EXPRESSIONS_FOR_ALIAS,
    180 THERE_IS_NO_PROFILE, 181 ILLEGAL_FINAL, 182 ILLEGAL_PREWHERE, 184 ILLEGAL_AGGREGATION, 190 SIZES_OF_ARRAYS_DONT_MATCH,
    191 SET_SIZE_LIMIT_EXCEEDED, 192 UNKNOWN_USER, 193 WRONG_PASSWORD, 194 REQUIRED_PASSWORD, 195 IP_ADDRESS_NOT_ALLOWED,
    198 DNS_ERROR, 199 UNKNOWN_QUOTA, 201 QUOTA_EXCEEDED, 202 TOO_MANY_SIMULTANEOUS_QUERIES, 203 NO_FREE_CONNECTION, 206 ALIAS_REQUIRED, 207 AMBIGUOUS_IDENTIFIER, 209 SOCKET_TIMEOUT, 210 NETWORK_ERROR,
    215 NOT_AN_AGGREGATE, 216 QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING, 218 TABLE_IS_DROPPED, 219 DATABASE_NOT_EMPTY,
    223 UNEXPECTED_AST_STRUCTURE, 232 NO_SUCH_DATA_PART, 233 BAD_DATA_PART_NAME, 236 ABORTED, 241 MEMORY_LIMIT_EXCEEDED, 242 TABLE_IS_READ_ONLY, 243 NOT_ENOUGH_SPACE,
    246 CORRUPTED_DATA, 248 INVALID_PARTITION_VALUE, 252 TOO_MANY_PARTS, 258 UNION_ALL_RESULT_STRUCTURES_MISMATCH, 264 INCOMPATIBLE_TYPE_OF_JOIN, 269 INFINITE_LOOP, 271 CANNOT_DECOMPRESS,
    279 ALL_CONNECTION_TRIES_FAILED, 287 UNKNOWN_FORMAT_VERSION, 290 LIMIT_EXCEEDED, 291 DATABASE_ACCESS_DENIED, 302 CHILD_WAS_NOT_EXITED_NORMALLY, 306 TOO_DEEP_RECURSION, 307 TOO_MANY_BYTES,
    318 INVALID_CONFIG_PARAMETER, 319 UNKNOWN_STATUS_OF_INSERT, 321 VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, 336 UNKNOWN_DATABASE_ENGINE, 344 SUPPORT_IS_DISABLED,
    349 CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN, 352 AMBIGUOUS_COLUMN_NAME, 353 INDEX_OF_POSITIONAL_ARGUMENT_IS_OUT_OF_RANGE,
    354 ZLIB_INFLATE_FAILED, 359 TABLE_SIZE_EXCEEDS_MAX_DROP_SIZE_LIMIT, 370 DATA_TYPE_CANNOT_BE_USED_IN_TABLES, 372 SESSION_NOT_FOUND, 373 SESSION_IS_LOCKED,
    374 INVALID_SESSION_TIMEOUT, 376 CANNOT_PARSE_UUID, 377 ILLEGAL_SYNTAX_FOR_DATA_TYPE, 378 DATA_TYPE_CANNOT_HAVE_ARGUMENTS, 384 PART_IS_TEMPORARILY_LOCKED, 386 NO_COMMON_TYPE, 387 DICTIONARY_ALREADY_EXISTS,
    390 CANNOT_GET_CREATE_TABLE_QUERY, 392 QUERY_IS_PROHIBITED, 394 QUERY_WAS_CANCELLED,
    395 FUNCTION_THROW_IF_VALUE_IS_NON_ZERO, 396 TOO_MANY_ROWS_OR_BYTES, 403 INVALID_JOIN_ON_EXPRESSION, 407 DECIMAL_OVERFLOW, 413 CANNOT_SET_SIGNAL_HANDLER,
    417 EXPECTED_ALL_OR_ANY,
    427 CANNOT_COMPILE_REGEXP, 431 ILLEGAL_SYNTAX_FOR_CODEC_TYPE, 432 UNKNOWN_CODEC, 433 ILLEGAL_CODEC_PARAMETER, 439 CANNOT_SCHEDULE_TASK, 440 INVALID_LIMIT_EXPRESSION, 446 FUNCTION_NOT_ALLOWED, 448 BROTLI_READ_FAILED, 452 SETTING_CONSTRAINT_VIOLATION,
    454 OPENSSL_ERROR, 455 SUSPICIOUS_TYPE_FOR_LOW_CARDINALITY, 456 UNKNOWN_QUERY_PARAMETER, 457 BAD_QUERY_PARAMETER, 467 CANNOT_PARSE_BOOL, 472 READONLY_SETTING,
    476 WITH_TIES_WITHOUT_ORDER_BY, 478 UNKNOWN_POLICY, 479 UNKNOWN_DISK, 481 PATH_ACCESS_DENIED, 482 DICTIONARY_ACCESS_DENIED,
    489 INCORRECT_DICTIONARY_DEFINITION, 491 UNACCEPTABLE_URL, 492 ACCESS_ENTITY_NOT_FOUND, 493 ACCESS_ENTITY_ALREADY_EXISTS,
    495 ACCESS_STORAGE_READONLY, 496 QUOTA_REQUIRES_CLIENT_KEY, 497 ACCESS_DENIED, 508 UNKNOWN_ACCESS_TYPE, 509 INVALID_GRANT, 511 UNKNOWN_ROLE,
    512 SET_NON_GRANTED_ROLE, 514 ACCESS_STORAGE_FOR_INSERTION_NOT_FOUND, 515 INCORRECT_ACCESS_ENTITY_DEFINITION, 516 AUTHENTICATION_FAILED,
    520 CANNOT_DETACH_DICTIONARY_AS_TABLE, 554 LZMA_STREAM_DECODER_FAILED, 558 EXPECTED_ALL_OR_DISTINCT, 561 ZSTD_DECODER_FAILED,
    586 CANNOT_CREATE_FILE, 594 BZIP2_STREAM_DECODER_FAILED, 598 BACKUP_ALREADY_EXISTS, 599 BACKUP_NOT_FOUND,
    600 BACKUP_VERSION_NOT_SUPPORTED, 601 BACKUP_DAMAGED, 602 NO_BASE_BACKUP, 603 WRONG_BASE_BACKUP, 605 BACKUP_ENTRY_NOT_FOUND, 606 BACKUP_IS_EMPTY,
    607 CANNOT_RESTORE_DATABASE, 608 CANNOT_RESTORE_TABLE, 618 LZ4_DECODER_FAILED, 632 UNEXPECTED_DATA_AFTER_PARSED_VALUE, 636 CANNOT_EXTRACT_TABLE_STRUCTURE,
    641 CANNOT_APPEND_TO_FILE, 647 CANNOT_BACKUP_TABLE, 652 ONLY_NULLS_WHILE_READING_SCHEMA,
    675 CANNOT_PARSE_IPV4, 676 CANNOT_PARSE_IPV6, 691 UNKNOWN_ELEMENT_OF_ENUM, 701 CLUSTER_DOESNT_EXIST, 705 TABLE_NOT_EMPTY, 715 CANNOT_DETECT_FORMAT, 745 SERVER_OVERLOADED,
    1001 STD_EXCEPTION, 1002 UNKNOWN_EXCEPTION,
}

impl ErrorCode {
    /// The upper-case name, `UNKNOWN_EXCEPTION` for a number that is not known here.
    pub fn name(self) -> &'static str {
        match Self::ALL.binary_search_by_key(&self, |(code, _)| *code) {
            Ok(at) => Self::ALL[at].1,
            Err(_) => "UNKNOWN_EXCEPTION",
        }
    }
}

/// What went wrong, in ClickHouse's terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// ClickHouse's code.
    pub code: ErrorCode,
    /// A sentence for a person, without the code and without the server's version.
    pub message: String,
    /// When it may be worth to try again, in seconds, where that is known.
    pub retry_after_s: Option<u32>,
}

/// The result of anything that can fail towards a user.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with this code and message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retry_after_s: None }
    }

    /// The same with the time after which it may be worth to try again.
    #[must_use]
    pub fn with_retry_after_s(self, seconds: u32) -> Self {
        Self { retry_after_s: Some(seconds), ..self }
    }

    /// `NOT_IMPLEMENTED`: `what` is ClickHouse's, but not here yet.
    pub fn not_implemented(what: impl fmt::Display) -> Self {
        Self::new(ErrorCode::NOT_IMPLEMENTED, format!("{what} is not implemented"))
    }

    /// `LOGICAL_ERROR`: an invariant of Squall itself does not hold.
    pub fn logical(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::LOGICAL_ERROR, message)
    }

    /// The text of [`Display`](fmt::Display) with room for a few words after it, in one piece of memory.
    pub fn text(&self) -> String {
        use fmt::Write;
        // The words around the message, the longest names of codes, and a version.
        let mut text = String::with_capacity(self.message.len() + 160);
        // Writing to a String does not fail.
        let _ = write!(text, "{self}");
        text
    }

    /// The same error with `context` before its message.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.message = format!("{context}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    /// `Code: 60. DB::Exception: message. (UNKNOWN_TABLE)`, ClickHouse's wording, which clients' drivers search.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Part by part: refusing a query in a storm should cost little, and this is written for each.
        f.write_str("Code: ")?;
        fmt::Display::fmt(&self.code.0, f)?;
        f.write_str(". DB::Exception: ")?;
        f.write_str(&self.message)?;
        f.write_str(if self.message.ends_with('.') { " (" } else { ". (" })?;
        f.write_str(self.code.name())?;
        f.write_str(")")
    }
}

impl std::error::Error for Error {}

/// Arrow reports an error only where an invariant of ours is broken (unequal lengths, offsets past 2 GiB).
impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::logical(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_sorted() {
        assert!(ErrorCode::ALL.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(ErrorCode(60).name(), "UNKNOWN_TABLE");
        assert_eq!(ErrorCode(59_999).name(), "UNKNOWN_EXCEPTION");
        let error = Error::new(ErrorCode::UNKNOWN_TABLE, "Table default.t does not exist");
        assert_eq!(error.to_string(), "Code: 60. DB::Exception: Table default.t does not exist. (UNKNOWN_TABLE)");
    }
}
