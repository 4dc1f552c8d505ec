//! Fields of a schema's messages: which of them a column's name means, and how their values are laid out.

use protox::prost_reflect::{Cardinality, FieldDescriptor, Kind, MessageDescriptor, Syntax};

use crate::protobuf::plan::Purpose;
use crate::protobuf::wire::Scalar;

/// A letter of a name as names are compared.
pub(super) fn fold(byte: u8) -> u8 {
    match byte.to_ascii_lowercase() {
        b'.' => b'_',
        byte => byte,
    }
}

pub(super) fn is_same(left: &str, right: &str) -> bool {
    left.len() == right.len() && left.bytes().zip(right.bytes()).all(|(left, right)| fold(left) == fold(right))
}

/// What follows in a name that begins with another.
fn after<'a>(name: &'a str, begin: &str) -> Option<&'a str> {
    is_same(name.get(..begin.len())?, begin).then(|| name.get(begin.len()..)).flatten()
}

/// Whether a message is one of Google's around a single value.
pub(super) fn is_wrapper_message(message: &MessageDescriptor) -> bool {
    const WRAPPERS: [&str; 9] = ["Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "String", "Bytes", "Bool"];
    message
        .full_name()
        .strip_prefix("google.protobuf.")
        .and_then(|name| name.strip_suffix("Value"))
        .is_some_and(|name| WRAPPERS.contains(&name))
}

pub(super) fn message_of(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    match field.kind() {
        Kind::Message(message) => Some(message),
        _ => None,
    }
}

pub(super) fn is_wrapper(field: &FieldDescriptor) -> bool {
    message_of(field).is_some_and(|message| is_wrapper_message(&message))
}

/// The fields of a message in the order in which the schema has them.
pub(super) fn declared_fields(message: &MessageDescriptor) -> Vec<FieldDescriptor> {
    let numbers = message.descriptor_proto().field.iter().filter_map(|field| u32::try_from(field.number()).ok());
    numbers.filter_map(|number| message.get_field(number)).collect()
}

pub(super) fn field_names(message: &MessageDescriptor) -> String {
    declared_fields(message).iter().map(|field| field.name().to_owned()).collect::<Vec<_>>().join(", ")
}

/// What a column's name has behind a field's; nothing where they are the same.
pub(super) fn suffix<'a>(column: &'a str, field: &FieldDescriptor) -> Option<&'a str> {
    let in_map: &[&str] = match (field.parent_message().is_map_entry(), field.number()) {
        (true, 1) => &["keys", "key"],
        (true, 2) => &["values", "value"],
        _ => &[],
    };
    let begin = in_map.iter().find_map(|name| after(column, name));
    let rest = begin.or_else(|| after(column, field.name()))?;
    let inner = rest.strip_prefix(['.', '_']).filter(|inner| !inner.is_empty() && message_of(field).is_some());
    if rest.is_empty() { Some(rest) } else { inner }
}

/// The fields that a column may go into, each with what its name has behind the field's.
pub(super) fn candidates(
    column: &str,
    message: &MessageDescriptor,
    purpose: Purpose,
) -> Vec<(FieldDescriptor, String)> {
    let fields = declared_fields(message);
    let same = fields.iter().find(|field| suffix(column, field) == Some(""));
    if let Some(field) = same {
        let value = message_of(field).filter(|message| purpose.unwraps && is_wrapper_message(message));
        let value = value.and_then(|message| message.fields().next()).map(|value| value.name().to_owned());
        return vec![(field.clone(), value.unwrap_or_default())];
    }
    let mut found: Vec<(FieldDescriptor, String)> = fields
        .iter()
        .filter_map(|field| suffix(column, field).map(|suffix| (field.clone(), suffix.to_owned())))
        .collect();
    found.sort_by_key(|(_, suffix)| suffix.len());
    found
}

/// Whether a field's values are written as one. The library says so before it has read the field's options.
pub(super) fn is_packed(field: &FieldDescriptor) -> bool {
    let chosen = field.field_descriptor_proto().options.as_ref().and_then(|options| options.packed);
    let is_packable = Scalar::of(&field.kind()).is_some_and(|scalar| !scalar.is_bytes());
    field.is_list() && is_packable && chosen.unwrap_or_else(|| field.parent_file().syntax() == Syntax::Proto3)
}

/// Whether a value that is none is left out of a field.
pub(super) fn skips_default(field: &FieldDescriptor, unwraps: bool) -> bool {
    if field.cardinality() != Cardinality::Optional || field.parent_message().is_map_entry() {
        return false;
    }
    if unwraps && is_wrapper(field) {
        return false;
    }
    message_of(field).is_some() || !field.supports_presence()
}
