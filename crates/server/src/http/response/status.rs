//! Which HTTP status an error gets. The table is ClickHouse's, so that proxies and drivers retry what they retried before.

use hyper::StatusCode;
use squall_types::ErrorCode;

/// The status of a response that carries this error.
pub fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::REQUIRED_PASSWORD => StatusCode::UNAUTHORIZED,
        ErrorCode::UNKNOWN_USER
        | ErrorCode::WRONG_PASSWORD
        | ErrorCode::AUTHENTICATION_FAILED
        | ErrorCode::ACCESS_DENIED => StatusCode::FORBIDDEN,
        ErrorCode::BAD_ARGUMENTS
        | ErrorCode::CANNOT_PARSE_TEXT
        | ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE
        | ErrorCode::CANNOT_PARSE_QUOTED_STRING
        | ErrorCode::CANNOT_PARSE_DATE
        | ErrorCode::CANNOT_PARSE_DATETIME
        | ErrorCode::CANNOT_PARSE_NUMBER
        | ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED
        | ErrorCode::DUPLICATE_COLUMN
        | ErrorCode::ILLEGAL_COLUMN
        | ErrorCode::THERE_IS_NO_COLUMN
        | ErrorCode::UNKNOWN_ELEMENT_IN_AST
        | ErrorCode::TOO_DEEP_AST
        | ErrorCode::TOO_BIG_AST
        | ErrorCode::UNEXPECTED_AST_STRUCTURE
        | ErrorCode::VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
        | ErrorCode::SYNTAX_ERROR
        | ErrorCode::INCORRECT_DATA
        | ErrorCode::TYPE_MISMATCH => StatusCode::BAD_REQUEST,
        ErrorCode::UNKNOWN_TABLE
        | ErrorCode::UNKNOWN_FUNCTION
        | ErrorCode::UNKNOWN_IDENTIFIER
        | ErrorCode::UNKNOWN_TYPE
        | ErrorCode::UNKNOWN_STORAGE
        | ErrorCode::UNKNOWN_DATABASE
        | ErrorCode::UNKNOWN_SETTING
        | ErrorCode::UNKNOWN_AGGREGATE_FUNCTION
        | ErrorCode::UNKNOWN_FORMAT
        | ErrorCode::UNKNOWN_DATABASE_ENGINE
        | ErrorCode::UNKNOWN_ROLE => StatusCode::NOT_FOUND,
        ErrorCode::NOT_IMPLEMENTED => StatusCode::NOT_IMPLEMENTED,
        ErrorCode::SOCKET_TIMEOUT | ErrorCode::CANNOT_OPEN_FILE | ErrorCode::CANNOT_SCHEDULE_TASK => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        ErrorCode::TIMEOUT_EXCEEDED => StatusCode::REQUEST_TIMEOUT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_clickhouses_statuses() {
        for (code, status) in [
            (ErrorCode::SYNTAX_ERROR, 400),
            (ErrorCode::REQUIRED_PASSWORD, 401),
            (ErrorCode::AUTHENTICATION_FAILED, 403),
            (ErrorCode::UNKNOWN_TABLE, 404),
            (ErrorCode::TIMEOUT_EXCEEDED, 408),
            (ErrorCode::READONLY, 500),
            (ErrorCode::TOO_MANY_SIMULTANEOUS_QUERIES, 500),
            (ErrorCode::NOT_IMPLEMENTED, 501),
            (ErrorCode::SOCKET_TIMEOUT, 503),
        ] {
            assert_eq!(status_of(code).as_u16(), status, "{}", code.name());
        }
    }
}
