//! Random UUIDs: version 4, and version 7, which begins with the time.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::FixedSizeBinaryArray;
use squall_types::{Column, DataType, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::Call;

use super::generator::Generator;

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=1)?;
    let timed = call.name == "generateUUIDv7";
    call.bind(DataType::UUID, move |_, rows| {
        let mut generator = Generator::of_thread();
        let milliseconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        // A counter in the bits behind the time keeps the UUIDs of a block in order.
        let mut counter = generator.next() >> 54;
        let mut bytes = Vec::with_capacity(16 * rows);
        for _ in 0..rows {
            let mut bits = u128::from(generator.next()) << 64 | u128::from(generator.next());
            if timed {
                let time = milliseconds + u128::from(counter >> 12);
                bits = bits & u128::from(u64::MAX) | time << 80 | u128::from(counter & 0xFFF) << 64;
                counter += 1;
            }
            let version = if timed { 7 } else { 4 };
            bits = bits & !(0xF << 76) | version << 76;
            bits = bits & !(0x3 << 62) | 0x2 << 62;
            bytes.extend(bits.to_be_bytes());
        }
        let array = FixedSizeBinaryArray::try_new(16, bytes.into(), None)?;
        Ok(Column::new(DataType::UUID, Arc::new(array)))
    })
}
