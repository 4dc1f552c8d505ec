//! By what a condition is remembered.

use std::fmt::Write;

use squall_functions::looks_up;
use squall_planner::Expression;
use squall_types::Settings;
use twox_hash::XxHash3_128;

/// A condition with longer text, as one of a long IN, is not remembered.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A condition over a table's columns: its text with all that its value for a row depends on, hashed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ConditionKey(pub u128);

impl ConditionKey {
    /// The key of a condition over a table's columns under a query's settings; `column` gives the text for a column's values in the table's
    /// parts, which is another one as soon as they may be others. `None` where equal rows may meet the condition at one time and not at
    /// another, where it may be an error, and where it is over other than columns.
    pub(crate) fn of(
        condition: &Expression,
        column: &dyn Fn(usize) -> Option<String>,
        settings: &Settings,
    ) -> Option<Self> {
        let mut text = Text(String::new());
        let mut has_columns = false;
        condition.visit_columns(&mut |_| has_columns = true);
        if !has_columns {
            return None;
        }
        text.add(condition, column)?;
        // Some functions ask settings, as those that read text do.
        for (name, value) in settings.changes() {
            write!(text, "\n{name}={value}").ok()?;
        }
        Some(Self(XxHash3_128::oneshot(text.0.as_bytes())))
    }
}

/// The text so far.
struct Text(String);

impl Write for Text {
    fn write_str(&mut self, more: &str) -> std::fmt::Result {
        if self.0.len() + more.len() > TEXT_BYTES_MAX {
            return Err(std::fmt::Error);
        }
        self.0.push_str(more);
        Ok(())
    }
}

impl Text {
    fn add(&mut self, expression: &Expression, column: &dyn Fn(usize) -> Option<String>) -> Option<()> {
        match expression {
            Expression::Column { position, data_type } => write!(self, "[{} {data_type}]", column(*position)?).ok(),
            Expression::Constant { value, data_type } => write!(self, "{value:?} {data_type}").ok(),
            Expression::Function { name, function, arguments } => {
                let properties = function.properties();
                let is_of_arguments = properties.is_deterministic && !properties.is_of_moment && !properties.may_throw;
                if !is_of_arguments || looks_up(name) {
                    return None;
                }
                write!(self, "{name} {}(", function.return_type()).ok()?;
                for argument in arguments {
                    self.add(argument, column)?;
                    self.write_str(",").ok()?;
                }
                self.write_str(")").ok()
            }
            Expression::HigherOrder { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use squall_functions::FunctionContext;
    use squall_types::{DataType, Value};

    use super::*;

    fn call(name: &str, arguments: Vec<Expression>) -> Expression {
        squall_planner::call(name, arguments, &FunctionContext::outside_queries("UTC")).unwrap()
    }

    fn text(value: &str) -> Expression {
        Expression::Constant { value: Value::from(value), data_type: DataType::String }
    }

    fn like(column: usize, pattern: &str) -> Expression {
        call("like", vec![Expression::column(column, &DataType::String), text(pattern)])
    }

    #[test]
    fn conditions_have_one_key_where_they_mean_the_same() {
        let column = |at: usize| (at < 2).then(|| format!("column {at}"));
        let settings = Settings::default();
        let key = |condition: &Expression| ConditionKey::of(condition, &column, &settings);
        assert!(key(&like(0, "%x%")).is_some());
        assert_eq!(key(&like(0, "%x%")), key(&like(0, "%x%")));
        for other in [like(1, "%x%"), like(0, "%y%"), call("not", vec![like(0, "%x%")])] {
            assert!(key(&other).is_some());
            assert_ne!(key(&other), key(&like(0, "%x%")));
        }
        let renamed = |at: usize| Some(format!("field {at}"));
        assert_ne!(ConditionKey::of(&like(0, "%x%"), &renamed, &settings), key(&like(0, "%x%")));
        let mut changed = Settings::default();
        changed.set("max_threads", "1").unwrap();
        assert_ne!(ConditionKey::of(&like(0, "%x%"), &column, &changed), key(&like(0, "%x%")));
    }

    #[test]
    fn what_may_change_or_fail_has_none() {
        let known = |at: usize| (at == 0).then(|| "column".to_owned());
        let key = |condition: &Expression| ConditionKey::of(condition, &known, &Settings::default());
        let column = || Expression::column(0, &DataType::String);
        let random = call("equals", vec![call("toString", vec![call("rand", Vec::new())]), column()]);
        let throws = call("equals", vec![call("toUInt8", vec![column()]), call("toUInt8", vec![column()])]);
        for condition in [random, throws, like(1, "a"), like(0, &"a".repeat(TEXT_BYTES_MAX)), text("a")] {
            assert_eq!(key(&condition), None);
        }
    }
}
