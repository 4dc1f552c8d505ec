//! Which column goes into which field: found once for a schema and columns, for reading as for writing.
//!
//! A column belongs to the field of its name, whatever the case of letters; a point in it is as good as an underscore. Where no field has
//! its name, it may belong into the message of a field with which its name begins: `a_b` or `a.b` is the field `b` of the message `a`.

use std::collections::HashMap;

use protox::prost_reflect::{Cardinality, FieldDescriptor, MessageDescriptor};
use squall_types::{DataType, Error, ErrorCode, Result, TupleElement, checkpoint};

use crate::protobuf::field::{
    candidates, declared_fields, field_names, is_packed, is_same, is_wrapper, is_wrapper_message, message_of,
    skips_default,
};
use crate::protobuf::leaf::{Leaf, bare, incompatible, leaf};
use crate::protobuf::wire::Scalar;

/// Messages within messages that a plan goes into.
const DEPTH_MAX: usize = 200;
/// Messages that are tried for columns: names that could mean very many are refused.
const TRIES_MAX: usize = 20_000;

/// A message whose fields are columns of one list.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// By their numbers.
    pub fields: Vec<Field>,
    /// The columns that tell which field of a oneof there is.
    pub presences: Vec<usize>,
    /// The columns that nothing in the message is for.
    pub missing: Vec<usize>,
}

impl Message {
    /// The field with a number, and its place. Fields mostly come in the order of their numbers: `next` is where the one after the last
    /// would be.
    #[inline]
    pub fn find(&self, number: u32, next: &mut usize) -> Option<(usize, &Field)> {
        if let Some(field) = self.fields.get(*next)
            && field.number == number
        {
            *next += 1;
            return Some((*next - 1, field));
        }
        let last = next.checked_sub(1).filter(|last| self.fields.get(*last).is_some_and(|f| f.number == number));
        let found = || self.fields.binary_search_by_key(&number, |field| field.number).ok();
        let at = last.or_else(found)?;
        *next = at + 1;
        self.fields.get(at).map(|field| (at, field))
    }
}

/// A field that there are columns for.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub number: u32,
    /// The columns: several of a message, otherwise one.
    pub columns: Vec<usize>,
    /// The type of a field that is no message.
    pub scalar: Option<Scalar>,
    /// Whether its values are written as one.
    pub is_packed: bool,
    /// The column that tells whether it was this field of a oneof.
    pub presence: Option<usize>,
    pub shape: Shape,
}

impl Field {
    /// The column's values where they are nothing but single ones.
    #[inline(always)]
    pub fn plain_leaf(&self) -> Option<&Leaf> {
        match &self.shape {
            Shape::Leaf(leaf) if self.presence.is_none() => Some(leaf),
            _ => None,
        }
    }

    /// The first column.
    #[inline]
    pub fn column(&self) -> usize {
        self.columns.first().copied().unwrap_or(0)
    }
}

/// How a column is one or more values of a field.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Leaf(Box<Leaf>),
    Nullable(Box<Shape>),
    LowCardinality(Box<Shape>),
    /// An array: a value for each item.
    Repeated(Box<Shape>),
    /// A map: a message for each entry, with the keys and the values as columns.
    Map(Box<Nested>),
    /// A tuple: a value for each element.
    InOrder(Vec<Shape>),
    /// A tuple: a message, with the elements as columns.
    Tuple(Box<Nested>),
    /// A message with this one column.
    Inside(Box<Nested>),
    /// A message with columns of the list that the field's own message is of.
    Columns(Box<Nested>),
    /// Arrays of that list: a message for each item.
    Items(Box<Nested>),
}

/// A message in a field.
#[derive(Clone, Debug)]
pub(super) struct Nested {
    pub number: u32,
    pub is_group: bool,
    /// Whether it is left out where nothing is in it.
    pub skips_empty: bool,
    /// Whether it is one of Google's around a single value, and treated as that: NULL is one that is not there.
    pub is_wrapper: bool,
    pub message: Message,
}

/// What a plan is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose {
    pub is_output: bool,
    /// Whether Google's messages around single values are treated as those.
    pub unwraps: bool,
    /// Whether columns tell which field of a oneof there is.
    pub has_presences: bool,
}

/// A column of a list.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    data_type: DataType,
    /// Its place in the list.
    place: usize,
}

/// The plan of a message for columns.
///
/// # Errors
/// `NO_COLUMNS_SERIALIZED_TO_PROTOBUF_FIELDS` where nothing fits, and what ClickHouse says of columns that fit in name only.
pub(super) fn plan<'a>(
    columns: impl Iterator<Item = (&'a str, &'a DataType)>,
    message: &MessageDescriptor,
    purpose: Purpose,
) -> Result<Message> {
    let columns: Vec<Named> = columns
        .enumerate()
        .map(|(place, (name, data_type))| Named { name: name.to_owned(), data_type: data_type.clone(), place })
        .collect();
    let mut planner = Planner { purpose, tries: 0, depth: 0 };
    planner.message(&columns, message)?.ok_or_else(|| {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        Error::new(
            ErrorCode::NO_COLUMNS_SERIALIZED_TO_PROTOBUF_FIELDS,
            format!(
                "Not found matches between the names of the columns ({}) and the fields ({}) of the message '{}' in the protobuf schema",
                names.join(", "),
                field_names(message),
                message.full_name()
            ),
        )
    })
}

struct Planner {
    purpose: Purpose,
    tries: usize,
    depth: usize,
}

impl Planner {
    /// The message with those columns that go into it; `None` where none does.
    fn message(&mut self, columns: &[Named], message: &MessageDescriptor) -> Result<Option<Message>> {
        checkpoint(1000)?;
        self.tries += 1;
        self.depth += 1;
        if self.depth > DEPTH_MAX || self.tries > TRIES_MAX {
            let message = format!("Columns could go into the message '{}' in too many ways", message.full_name());
            return Err(Error::new(ErrorCode::TOO_DEEP_RECURSION, message));
        }
        let planned = self.fields(columns, message);
        self.depth -= 1;
        let mut fields = planned?;
        if self.purpose.is_output
            && let Some(field) = declared_fields(message).iter().find(|field| {
                field.cardinality() == Cardinality::Required && !fields.iter().any(|(known, _)| known == *field)
            })
        {
            return Err(Error::new(
                ErrorCode::NO_COLUMN_SERIALIZED_TO_REQUIRED_PROTOBUF_FIELD,
                format!("Field '{}' is required to be set", field.full_name()),
            ));
        }
        if fields.is_empty() {
            return Ok(None);
        }
        let used: Vec<usize> = fields.iter().flat_map(|(_, field)| field.columns.iter().copied()).collect();
        let presences = self.presences(columns, message, &used, &mut fields)?;
        let mut fields: Vec<Field> = fields.into_iter().map(|(_, field)| field).collect();
        fields.sort_by_key(|field| field.number);
        let missing = columns.iter().map(|column| column.place);
        let missing = missing.filter(|place| !used.contains(place) && !presences.contains(place)).collect();
        Ok(Some(Message { fields, presences, missing }))
    }

    /// The columns that tell which field of a oneof there is.
    fn presences(
        &self,
        columns: &[Named],
        message: &MessageDescriptor,
        used: &[usize],
        fields: &mut [(FieldDescriptor, Field)],
    ) -> Result<Vec<usize>> {
        let mut presences = Vec::new();
        for oneof in message.oneofs().filter(|_| self.purpose.has_presences) {
            let is_its = |column: &&Named| is_same(&column.name, oneof.name()) && !used.contains(&column.place);
            let Some(column) = columns.iter().find(is_its) else { continue };
            let numbers = oneof.fields().map(|field| field.number());
            let numbers: Vec<u32> =
                numbers.filter(|number| fields.iter().any(|(field, _)| field.number() == *number)).collect();
            let is_fit = match bare(&column.data_type) {
                DataType::Enum8(values) | DataType::Enum16(values) => {
                    let is_value =
                        |number: u32| i16::try_from(number).is_ok_and(|number| values.name(number).is_some());
                    is_value(0) && numbers.iter().all(|number| is_value(*number))
                }
                other => matches!(
                    other,
                    DataType::Int8
                        | DataType::Int16
                        | DataType::Int32
                        | DataType::Int64
                        | DataType::UInt8
                        | DataType::UInt16
                        | DataType::UInt32
                        | DataType::UInt64
                ),
            };
            if !is_fit {
                return Err(Error::new(
                    ErrorCode::DATA_TYPE_INCOMPATIBLE_WITH_PROTOBUF_FIELD,
                    format!(
                        "Column `{}` is not suitable as OneOf presence indicator. Ensure that the Enum contains the value 0 (which \
                         indicates an omitted element) and the tag number of every oneof case that has a matching column",
                        column.name
                    ),
                ));
            }
            for (_, field) in fields.iter_mut().filter(|(field, _)| numbers.contains(&field.number())) {
                field.presence = Some(column.place);
            }
            presences.push(column.place);
        }
        Ok(presences)
    }

    fn fields(&mut self, columns: &[Named], message: &MessageDescriptor) -> Result<Vec<(FieldDescriptor, Field)>> {
        let mut fields: Vec<(FieldDescriptor, Field)> = Vec::new();
        let mut names: HashMap<u32, String> = HashMap::new();
        for (at, column) in columns.iter().enumerate() {
            let is_used = |fields: &[(FieldDescriptor, Field)], column: &Named| {
                fields.iter().any(|(_, field)| field.columns.contains(&column.place))
            };
            if is_used(&fields, column) {
                continue;
            }
            let mut found = None;
            let candidates = candidates(&column.name, message, self.purpose);
            for (field, suffix) in candidates {
                if suffix.is_empty() {
                    let is_repeated = field.cardinality() == Cardinality::Repeated;
                    if let Some(shape) = self.shape(&column.name, &column.data_type, &field, is_repeated)? {
                        found = Some((field, vec![column.place], shape));
                    }
                    break;
                }
                let Some(inner) = message_of(&field) else { continue };
                let others = columns.iter().skip(at + 1).filter(|other| !is_used(&fields, other));
                let others = others.filter_map(|other| {
                    let mut suffix = crate::protobuf::field::suffix(&other.name, &field)?;
                    if suffix.is_empty() && self.purpose.unwraps && is_wrapper_message(&inner) {
                        suffix = "value";
                    }
                    Some(Named { name: suffix.to_owned(), ..other.clone() })
                });
                let mut nested = vec![Named { name: suffix, ..column.clone() }];
                nested.extend(others);
                if let Some((columns, shape)) = self.nested(&nested, &field, &inner)? {
                    found = Some((field, columns, shape));
                    break;
                }
            }
            let Some((field, places, shape)) = found else { continue };
            if let Some(before) = names.insert(field.number(), column.name.clone()) {
                return Err(Error::new(
                    ErrorCode::MULTIPLE_COLUMNS_SERIALIZED_TO_SAME_PROTOBUF_FIELD,
                    format!(
                        "Multiple columns (`{before}`, `{}`) cannot be serialized to a single protobuf field '{}'",
                        column.name,
                        field.full_name()
                    ),
                ));
            }
            let planned = Field {
                number: field.number(),
                columns: places,
                scalar: Scalar::of(&field.kind()),
                is_packed: is_packed(&field),
                presence: None,
                shape,
            };
            fields.push((field, planned));
        }
        Ok(fields)
    }

    /// The message of a field with columns of the list that its own message is of: those that go into it.
    fn nested(
        &mut self,
        columns: &[Named],
        field: &FieldDescriptor,
        inner: &MessageDescriptor,
    ) -> Result<Option<(Vec<usize>, Shape)>> {
        let item = |column: &Named| match bare(&column.data_type) {
            DataType::Array(item) => Some(Named { data_type: (**item).clone(), ..column.clone() }),
            _ => None,
        };
        let is_repeated = field.cardinality() == Cardinality::Repeated;
        let items: Vec<Named> = columns.iter().filter(|_| is_repeated).filter_map(item).collect();
        let used = |message: &Message| {
            let presences = message.presences.iter().copied();
            message.fields.iter().flat_map(|field| field.columns.iter().copied()).chain(presences).collect()
        };
        // All are arrays: a message for each item.
        if items.len() == columns.len()
            && let Some(mut message) = self.message(&items, inner)?
        {
            message.missing.clear();
            let used = used(&message);
            return Ok(Some((used, Shape::Items(Box::new(self.in_field(field, message))))));
        }
        match self.message(columns, inner) {
            Ok(Some(mut message)) => {
                message.missing.clear();
                let used = used(&message);
                return Ok(Some((used, Shape::Columns(Box::new(self.in_field(field, message))))));
            }
            Ok(None) => {}
            Err(error) if error.code == ErrorCode::PROTOBUF_FIELD_NOT_REPEATED && !items.is_empty() => {}
            Err(error) => return Err(error),
        }
        if items.is_empty() || items.len() == columns.len() {
            return Ok(None);
        }
        Ok(self.message(&items, inner)?.map(|mut message| {
            message.missing.clear();
            let used = used(&message);
            (used, Shape::Items(Box::new(self.in_field(field, message))))
        }))
    }

    fn in_field(&self, field: &FieldDescriptor, message: Message) -> Nested {
        Nested {
            number: field.number(),
            is_group: field.is_group(),
            skips_empty: skips_default(field, self.purpose.unwraps),
            is_wrapper: self.purpose.unwraps && is_wrapper(field),
            message,
        }
    }

    /// How a column is a field's values; `None` where it is none of its names.
    fn shape(
        &mut self,
        column: &str,
        data_type: &DataType,
        field: &FieldDescriptor,
        may_repeat: bool,
    ) -> Result<Option<Shape>> {
        let boxed = |shape: Option<Shape>, wrap: fn(Box<Shape>) -> Shape| Ok(shape.map(|shape| wrap(Box::new(shape))));
        match data_type {
            DataType::Named(named) => self.shape(column, named.values(), field, may_repeat),
            DataType::SimpleAggregateFunction(simple) => self.shape(column, simple.values(), field, may_repeat),
            DataType::Nullable(inner) => boxed(self.shape(column, inner, field, may_repeat)?, Shape::Nullable),
            DataType::LowCardinality(inner) => {
                let inner = inner.remove_nullable();
                boxed(self.shape(column, &inner, field, may_repeat)?, Shape::LowCardinality)
            }
            DataType::Array(_) | DataType::Map(..) if !may_repeat => self.inside(column, data_type, field),
            DataType::Array(item) => boxed(self.shape(column, item, field, false)?, Shape::Repeated),
            DataType::Map(key, value) => {
                let entry = [("keys", key), ("values", value)];
                let entry = entry.map(|(name, data_type)| TupleElement {
                    name: Some(name.into()),
                    data_type: (**data_type).clone(),
                });
                match self.tuple(column, &entry, data_type, field, false)? {
                    Some(Shape::Tuple(nested)) => Ok(Some(Shape::Map(nested))),
                    _ => Err(incompatible(column, data_type, field)),
                }
            }
            DataType::Tuple(elements) => self.tuple(column, elements, data_type, field, may_repeat),
            other => leaf(column, other, field).map(|leaf| Some(Shape::Leaf(Box::new(leaf)))),
        }
    }

    /// An array of a value that is not repeated: the only field of a message.
    fn inside(&mut self, column: &str, data_type: &DataType, field: &FieldDescriptor) -> Result<Option<Shape>> {
        let message = message_of(field).filter(|message| message.fields().len() == 1);
        if let Some(message) = message
            && let Some(only) = message.fields().next()
        {
            let columns = [Named { name: only.name().to_owned(), data_type: data_type.clone(), place: 0 }];
            let message = self.message(&columns, &message)?;
            return Ok(message.map(|message| Shape::Inside(Box::new(self.in_field(field, message)))));
        }
        Err(not_repeated(column, field))
    }

    fn tuple(
        &mut self,
        column: &str,
        elements: &[TupleElement],
        data_type: &DataType,
        field: &FieldDescriptor,
        may_repeat: bool,
    ) -> Result<Option<Shape>> {
        let Some(message) = message_of(field) else {
            if !may_repeat && elements.len() > 1 {
                return Err(not_repeated(column, field));
            }
            let mut shapes = Vec::new();
            for element in elements {
                match self.shape(column, &element.data_type, field, false)? {
                    Some(shape) => shapes.push(shape),
                    None => return Ok(None),
                }
            }
            return Ok(Some(Shape::InOrder(shapes)));
        };
        let declared = declared_fields(&message);
        let is_named = elements.iter().all(|element| element.name.is_some());
        if !is_named && declared.len() != elements.len() {
            return Err(Error::new(
                ErrorCode::NO_COLUMNS_SERIALIZED_TO_PROTOBUF_FIELDS,
                format!(
                    "The number of fields in Protobuf message ({}) is not equal to the number of elements in unnamed Tuple ({})",
                    declared.len(),
                    elements.len()
                ),
            ));
        }
        let columns: Vec<Named> = elements
            .iter()
            .enumerate()
            .map(|(place, element)| {
                let by_place = || declared.get(place).map(|field| field.name().to_owned()).unwrap_or_default();
                let name = element.name.as_deref().filter(|_| is_named).map_or_else(by_place, str::to_owned);
                Named { name, data_type: element.data_type.clone(), place }
            })
            .collect();
        match self.message(&columns, &message)? {
            Some(message) => Ok(Some(Shape::Tuple(Box::new(self.in_field(field, message))))),
            None => Err(Error::new(
                ErrorCode::NO_COLUMNS_SERIALIZED_TO_PROTOBUF_FIELDS,
                format!(
                    "Not found matches between the names of the tuple's elements of {data_type} and the fields ({}) of the message '{}' \
                     in the protobuf schema",
                    field_names(&message),
                    message.full_name()
                ),
            )),
        }
    }
}

fn not_repeated(column: &str, field: &FieldDescriptor) -> Error {
    let name = field.full_name();
    let message = if field.cardinality() == Cardinality::Repeated {
        format!(
            "The field '{name}' is repeated but the level of repeatedness is not enough to serialize a multidimensional array from \
             the column `{column}`. It's recommended to make the parent field repeated as well"
        )
    } else {
        format!("The field '{name}' must be repeated in the protobuf schema to match the column `{column}`")
    };
    Error::new(ErrorCode::PROTOBUF_FIELD_NOT_REPEATED, message)
}
