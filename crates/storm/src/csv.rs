//! Comma-separated values as RFC 4180 has them: what the suite writes, and reads again to go on where it
//! stopped, and what the analytical workloads write.

/// Appends a record.
pub fn put_record<'a>(fields: impl IntoIterator<Item = &'a str>, out: &mut String) {
    for (position, field) in fields.into_iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        if field.contains([',', '"', '\n', '\r']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(field);
        }
    }
    out.push('\n');
}

/// Reads all records. A last one without a line break was not written to its end and is left out.
pub fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = Vec::new();
    let (mut record, mut field, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '"' if is_quoted && rest.peek() == Some(&'"') => field.extend(rest.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(std::mem::take(&mut field)),
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            other => field.push(other),
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(table in prop::collection::vec(prop::collection::vec("[a,\"\n é]{0,5}", 1..4), 0..5)) {
            let mut text = String::new();
            for record in &table {
                put_record(record.iter().map(String::as_str), &mut text);
            }
            prop_assert_eq!(records(&text), table.clone());
            text.push_str("half,a reco");
            prop_assert_eq!(records(&text), table);
        }
    }
}
