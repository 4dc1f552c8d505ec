//! Arguments of functions that take names: `f(collection, key = value)` or `f('a', 'b', key = value)`.

use squall_sql::ast::{Literal, SettingValue};
use squall_types::{Error, ErrorCode, Result, Value};

use crate::access::Privilege;
use crate::session::Session;

/// A call's arguments.
#[derive(Default)]
pub(super) struct Arguments {
    /// Whether the first argument is the name of a collection.
    pub is_collection: bool,
    /// Those with names, the collection's first: later ones override them.
    pub named: Vec<(String, Value)>,
    /// Those without.
    pub plain: Vec<Value>,
    /// `headers('name' = 'value', …)`.
    pub headers: Vec<(Value, Value)>,
}

impl Arguments {
    /// What arguments mean, those with names as [`named_argument`](squall_planner::named_argument) gives them.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for arguments without names after a collection; `ACCESS_DENIED`, `NAMED_COLLECTION_DOESNT_EXIST`.
    pub fn of(session: &Session, arguments: &[Value]) -> Result<Self> {
        let mut found = Self::default();
        for (at, argument) in arguments.iter().enumerate() {
            match argument {
                Value::Map(headers) => found.headers.extend(headers.iter().cloned()),
                Value::Tuple(parts) => match &parts[..] {
                    [Value::String(name)] if at == 0 => {
                        found.is_collection = true;
                        found.named = entries(session, &String::from_utf8_lossy(name))?;
                    }
                    [name] => found.plain.push(name.clone()),
                    [Value::String(name), value] => {
                        found.named.push((String::from_utf8_lossy(name).into_owned(), value.clone()));
                    }
                    _ => return Err(Error::logical("a tuple in the place of an argument")),
                },
                argument => found.plain.push(argument.clone()),
            }
        }
        if found.is_collection && !found.plain.is_empty() {
            let message = "After a named collection arguments have names: key = value";
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        Ok(found)
    }
}

/// The entries of a named collection.
fn entries(session: &Session, name: &str) -> Result<Vec<(String, Value)>> {
    session.access.check(Privilege::NamedCollection, &[name])?;
    let Some(collection) = session.server.objects.collection(name) else {
        let message = format!("There is no named collection `{name}`");
        return Err(Error::new(ErrorCode::NAMED_COLLECTION_DOESNT_EXIST, message));
    };
    let entry = |setting: &squall_sql::ast::Setting| {
        let value = match &setting.value {
            SettingValue::Literal(Literal::String(bytes)) => Value::string(bytes),
            SettingValue::Literal(Literal::UInt64(number)) => Value::UInt64(*number),
            SettingValue::Literal(Literal::Bool(flag)) => Value::Bool(*flag),
            _ => return Err(bad_value(&setting.name)),
        };
        Ok((setting.name.clone(), value))
    };
    collection.entries.iter().map(|of| entry(&of.setting)).collect()
}

/// A number, also as text.
///
/// # Errors
/// `BAD_ARGUMENTS`.
pub(super) fn number(name: &str, value: &Value) -> Result<u64> {
    match value {
        Value::UInt64(number) => Ok(*number),
        Value::String(text) => String::from_utf8_lossy(text).parse().map_err(|_| bad_value(name)),
        _ => Err(bad_value(name)),
    }
}

/// A flag, also as text or number.
///
/// # Errors
/// `BAD_ARGUMENTS`.
pub(super) fn flag(name: &str, value: &Value) -> Result<bool> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) if text.eq_ignore_ascii_case(b"true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case(b"false") => Ok(false),
        value => Ok(number(name, value)? != 0),
    }
}

/// The value of an argument with a name is not what it must be.
pub(super) fn bad_value(name: &str) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, format!("The value of `{name}` is not of its type"))
}
