//! Values that stand for `{name}` in a scenario's texts: the combinations of a matrix, and filling them in.

use std::collections::BTreeMap;

use super::scenario::Scalar;

/// Values by their names.
pub type Values = BTreeMap<String, String>;

/// Every combination of a matrix's values, each beside `first`; the last name changes fastest.
pub fn combinations(first: Values, matrix: &BTreeMap<String, Vec<Scalar>>) -> Vec<Values> {
    let mut combinations = vec![first];
    for (name, values) in matrix {
        combinations = combinations
            .iter()
            .flat_map(|combination| {
                values.iter().map(move |value| {
                    let mut combination = combination.clone();
                    combination.insert(name.clone(), value.to_string());
                    combination
                })
            })
            .collect();
    }
    combinations
}

/// Replaces `{name}` by its value; other braces stay.
pub fn fill(text: &str, values: &Values) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_in() {
        let values = Values::from([("rows".to_owned(), "7".to_owned())]);
        assert_eq!(fill("{rows} {x:UInt8} {'a':1}", &values), "7 {x:UInt8} {'a':1}");
    }

    #[test]
    fn matrices_are_gone_through_in_order() {
        let matrix = BTreeMap::from([
            ("a".to_owned(), vec![Scalar::Integer(1), Scalar::Integer(2)]),
            ("b".to_owned(), vec![Scalar::Bool(true), Scalar::Text("x".to_owned())]),
        ]);
        let filled: Vec<String> =
            combinations(Values::new(), &matrix).iter().map(|values| fill("{a}{b}", values)).collect();
        assert_eq!(filled, ["11", "1x", "21", "2x"]);
        assert_eq!(combinations(Values::new(), &BTreeMap::new()), [Values::new()]);
    }
}
