//! What is made of the results alone: arrays of them, their sum.

use squall_types::DataType;

use super::{Call, Finish};
use crate::function::Argument;
use crate::registry::resolve_scalar;

type Settled = squall_types::Result<Finish>;

/// `arrayMap`: the results as they are.
pub(super) fn map(call: &Call<'_>) -> Settled {
    let item = call.result.clone();
    Finish::new(DataType::array(item.clone()), move |applied| applied.arrays.arrays(&item, &applied.results))
}

/// `arraySum(lambda, array)` is `arraySum` of the array of results.
pub(super) fn by_form_without(call: &Call<'_>) -> Settled {
    let item = call.result.clone();
    let function = resolve_scalar(call.name, &[Argument::of(DataType::array(item.clone()))], call.context)?;
    Finish::new(function.return_type().clone(), move |applied| {
        let arrays = applied.arrays.arrays(&item, &applied.results)?;
        function.execute(&[arrays], applied.arrays.rows())
    })
}
