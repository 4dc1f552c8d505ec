//! `toYear(day) = 1997` is `day >= '1997-01-01' AND day < '1998-01-01'`: a function of a date or time that never decreases is compared with
//! a constant by comparing its argument with the ends of the constant's preimage. So no row's value is computed, zones and parts are left
//! out by the column's own least and greatest values, and the planner knows how many rows there are.

use arrow_array::types::{Int32Type, UInt16Type, UInt32Type};
use squall_functions::FunctionContext;
use squall_types::{Column, DataType, Result, Value};

use super::call;
use crate::evaluate::{Columns, evaluate};
use crate::expression::Expression;
use crate::plan::{Inequality, Plan};

/// Values that are asked about at once.
const VALUES_AT_ONCE: i64 = 255;

pub(super) fn apply(plan: &mut Plan, functions: &FunctionContext) -> Result<()> {
    plan.try_for_each_input(|input| apply(input, functions))?;
    match plan {
        Plan::Filter { predicate, .. } => rewrite(predicate, functions),
        Plan::Scan(scan) => scan.predicate.iter_mut().try_for_each(|predicate| rewrite(predicate, functions)),
        _ => Ok(()),
    }
}

fn rewrite(expression: &mut Expression, functions: &FunctionContext) -> Result<()> {
    expression.children_mut().iter_mut().try_for_each(|child| rewrite(child, functions))?;
    let Expression::Function { name, function, arguments } = &*expression else { return Ok(()) };
    let [left, right] = &arguments[..] else { return Ok(()) };
    let is_equality = &**name == "equals";
    let inequality = Inequality::of_function(name);
    let (image, constant, inequality) = match (left, right) {
        (image @ Expression::Function { .. }, constant @ Expression::Constant { .. }) => (image, constant, inequality),
        (constant @ Expression::Constant { .. }, image @ Expression::Function { .. }) => {
            (image, constant, inequality.map(Inequality::mirrored))
        }
        _ => return Ok(()),
    };
    if !is_equality && inequality.is_none() {
        return Ok(());
    }
    let Some(image) = Image::of(image) else { return Ok(()) };
    let compare = |comparison: &str, value: &Value| {
        let end = Expression::Constant { value: value.clone(), data_type: image.domain.data_type.clone() };
        call(comparison, vec![image.operand.clone(), end], functions)
    };
    // The first value whose image is not less than the constant, and the first one whose image is greater.
    let least = || image.first_where("greaterOrEquals", constant, functions);
    let beyond = || image.first_where("greater", constant, functions);
    let compared = match inequality {
        Some(Inequality::Less) => least()?.map(|end| compare("less", &end)),
        Some(Inequality::GreaterOrEquals) => least()?.map(|end| compare("greaterOrEquals", &end)),
        Some(Inequality::LessOrEquals) => beyond()?.map(|end| compare("less", &end)),
        Some(Inequality::Greater) => beyond()?.map(|end| compare("greaterOrEquals", &end)),
        None => match (least()?, beyond()?) {
            (Some(first), Some(end)) if first != end => Some(
                compare("greaterOrEquals", &first)
                    .and_then(|first| call("and", vec![first, compare("less", &end)?], functions)),
            ),
            _ => None,
        },
    };
    if let Some(compared) = compared.transpose()?
        && compared.data_type() == function.return_type()
    {
        *expression = compared;
    }
    Ok(())
}

/// The values of a type, as the integers that they are stored as.
struct Domain {
    data_type: DataType,
    first: i64,
    last: i64,
}

impl Domain {
    /// Of a type of dates or times that has few enough values to search all of them.
    fn of(data_type: &DataType) -> Option<Self> {
        let (first, last) = match data_type.inner() {
            DataType::Date => (0, u16::MAX.into()),
            DataType::Date32 => (squall_types::calendar::DATE32_MIN.into(), squall_types::calendar::DATE32_MAX.into()),
            DataType::DateTime(_) => (0, u32::MAX.into()),
            _ => return None,
        };
        Some(Self { data_type: data_type.inner().clone(), first, last })
    }

    fn column(&self, values: &[i64]) -> Column {
        let data_type = self.data_type.clone();
        match self.data_type {
            DataType::Date => {
                Column::from_primitive::<UInt16Type>(data_type, values.iter().map(|v| *v as u16).collect())
            }
            DataType::Date32 => {
                Column::from_primitive::<Int32Type>(data_type, values.iter().map(|v| *v as i32).collect())
            }
            _ => Column::from_primitive::<UInt32Type>(data_type, values.iter().map(|v| *v as u32).collect()),
        }
    }
}

/// A call that never decreases while one argument grows, the others being constants.
struct Image<'a> {
    name: &'a str,
    arguments: &'a [Expression],
    /// Which of the arguments grows.
    position: usize,
    operand: &'a Expression,
    domain: Domain,
}

impl<'a> Image<'a> {
    fn of(expression: &'a Expression) -> Option<Self> {
        let Expression::Function { name, function, arguments } = expression else { return None };
        let properties = function.properties();
        let monotonic = properties.monotonic.filter(|monotonic| !monotonic.decreases && monotonic.is_everywhere())?;
        let position = monotonic.argument;
        let operand = arguments.get(position)?;
        let are_constants =
            arguments.iter().enumerate().all(|(at, argument)| at == position || argument.constant().is_some());
        let holds = properties.is_deterministic
            && !properties.may_throw
            && are_constants
            && matches!(operand, Expression::Column { .. });
        let domain = Domain::of(operand.data_type())?;
        holds.then_some(Self { name, arguments, position, operand, domain })
    }

    /// The first value of which a comparison of its image with a constant is true; `None` where it is of all, or of none.
    fn first_where(
        &self,
        comparison: &str,
        constant: &Expression,
        functions: &FunctionContext,
    ) -> Result<Option<Value>> {
        // The operand may be NULL, which the values that are asked about are not.
        let of_domain = Expression::Column { position: 0, data_type: self.domain.data_type.clone() };
        let mut arguments = self.arguments.to_vec();
        arguments[self.position] = of_domain;
        let holds = call(comparison, vec![call(self.name, arguments, functions)?, constant.clone()], functions)?;
        let holds = |values: &[i64]| truths(&holds, &self.domain.column(values), values.len());
        let (mut first, mut last) = (self.domain.first, self.domain.last);
        let ends = holds(&[first, last])?;
        if ends != [false, true] {
            return Ok(None);
        }
        // It is false of `first` and true of `last`.
        while last - first > 1 {
            let step = (last - first).div_euclid(VALUES_AT_ONCE + 1).max(1);
            let values: Vec<i64> = (1..=VALUES_AT_ONCE).map(|at| first + at * step).filter(|v| *v < last).collect();
            let found = holds(&values)?.iter().position(|is_true| *is_true);
            match found {
                Some(0) => last = values[0],
                Some(at) => (first, last) = (values[at - 1], values[at]),
                None => first = values.last().copied().unwrap_or(first),
            }
        }
        Ok(Some(self.domain.column(&[last]).value(0)))
    }
}

/// Of which values of the only column an expression is true.
fn truths(expression: &Expression, column: &Column, rows: usize) -> Result<Vec<bool>> {
    let result = evaluate(expression, &OneColumn { column, rows })?;
    Ok((0..rows).map(|row| result.value(row).as_f64().is_some_and(|number| number != 0.0)).collect())
}

/// The only column of an expression, by whatever position.
struct OneColumn<'a> {
    column: &'a Column,
    rows: usize,
}

impl Columns for OneColumn<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn column(&self, _position: usize) -> Result<Column> {
        Ok(self.column.clone())
    }
}
