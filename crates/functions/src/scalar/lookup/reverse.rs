//! `dictGetKeys`: the keys of the rows whose attribute has a value.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_types::binary::put_value;
use squall_types::{
    CastMode, CastOptions, Column, ColumnBuilder, DataType, Error, ErrorCode, Result, Value, checkpoint,
};

use super::{Bound, check_count, dictionary};
use crate::lookup::KeyedRows;
use crate::scalar::simple::{Call, argument};

/// The keys by the bytes of an attribute's values.
type Keys = Arc<HashMap<Box<[u8]>, Vec<Value>>>;

/// The keys of the rows that are there, looked up once.
#[derive(Default)]
struct Known(Mutex<Option<(Arc<[Column]>, Keys)>>);

impl Known {
    fn get(&self, rows: &dyn KeyedRows, position: usize) -> Result<Keys> {
        let (columns, attributes) = rows.all()?;
        let mut known = self.0.lock();
        if let Some((of, keys)) = &*known
            && Arc::ptr_eq(of, &attributes)
        {
            return Ok(keys.clone());
        }
        let values = attributes.get(position).ok_or_else(|| Error::logical("an attribute that is not there"))?;
        let mut keys: HashMap<Box<[u8]>, Vec<Value>> = HashMap::new();
        for row in 0..values.rows() {
            checkpoint(256)?;
            let mut bytes = Vec::new();
            put_value(&values.value(row), values.data_type(), &mut bytes)?;
            let key = match &columns[..] {
                [one] => one.value(row),
                several => Value::Tuple(several.iter().map(|column| column.value(row)).collect()),
            };
            keys.entry(bytes.into()).or_default().push(key);
        }
        let keys = Arc::new(keys);
        *known = Some((attributes, keys.clone()));
        Ok(keys)
    }
}

/// `dictGetKeys(dictionary, attribute, value)`.
pub(super) fn resolve(call: &Call<'_>) -> Bound {
    check_count(call, 3)?;
    let rows = dictionary(call)?;
    let name = call.constant(1).and_then(Value::as_str).ok_or_else(|| call.illegal(1))?;
    let position = rows.attributes().iter().position(|attribute| &*attribute.name == name);
    let position =
        position.ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, format!("No such attribute '{name}'")))?;
    let key = match rows.keys() {
        [(_, data_type)] => data_type.clone(),
        several => DataType::tuple(several.iter().map(|(_, data_type)| data_type.clone())),
    };
    let wanted = rows.attributes()[position].data_type.clone();
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    let (result, known) = (DataType::array(key), Known::default());
    call.bind(result.clone(), move |arguments, count| {
        let keys = known.get(&*rows, position)?;
        let values = squall_types::cast(&argument(arguments, 2)?.materialize()?, &wanted, &options)?;
        let mut builder = ColumnBuilder::new(result.clone());
        for row in 0..count {
            checkpoint(128)?;
            let mut bytes = Vec::new();
            put_value(&values.value(row), &wanted, &mut bytes)?;
            let found = keys.get(&bytes[..]).map_or(&[][..], Vec::as_slice);
            builder.append(&Value::Array(found.iter().cloned().collect()))?;
        }
        builder.finish()
    })
}
