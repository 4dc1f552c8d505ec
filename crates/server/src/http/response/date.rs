//! The `Date` of responses, laid out once a second and not for each of a hundred thousand.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

thread_local! {
    /// The second since the epoch, and its text.
    static LAST: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
}

/// Appends a time as HTTP writes it.
pub(in crate::http) fn append(now: SystemTime, out: &mut Vec<u8>) {
    let second = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    LAST.with_borrow_mut(|(last, text)| {
        if *last != second || text.is_empty() {
            *last = second;
            *text = httpdate::fmt_http_date(now);
        }
        out.extend_from_slice(text.as_bytes());
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_second_has_its_text() {
        let mut out = Vec::new();
        for seconds in [784_111_777, 784_111_777, 784_111_778] {
            append(UNIX_EPOCH + Duration::from_secs(seconds), &mut out);
            out.push(b'|');
        }
        let text = "Sun, 06 Nov 1994 08:49:37 GMT|Sun, 06 Nov 1994 08:49:37 GMT|Sun, 06 Nov 1994 08:49:38 GMT|";
        assert_eq!(String::from_utf8_lossy(&out), text);
    }
}
