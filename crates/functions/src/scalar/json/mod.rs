//! JSON in strings: values by path as typed columns (`JSONExtract*`), SQL's paths (`JSON_VALUE`), the searches that parse nothing
//! (`simpleJSON*`), and JSON of values. `simd-json` parses; everything works on its tape.

mod column;
mod extract;
mod keys;
pub(crate) mod make;
mod simple;
mod standard;
mod steps;

use super::simple::Function;
use crate::function::ScalarFunction;

macro_rules! either_case {
    ($($name:literal => $resolve:path),* $(,)?) => {
        &[
            $(&Function::new(concat!("JSON", $name), $resolve)
                .without_dictionary()
                .with_nullable_result()
                .never_throws(),
            &Function::new(concat!("JSON", $name, "CaseInsensitive"), $resolve)
                .without_dictionary()
                .with_nullable_result()
                .never_throws(),)*
        ]
    };
}

/// Functions whose keys are compared as they are, or without regard to ASCII case.
pub(crate) const EITHER_CASE: &[&dyn ScalarFunction] = either_case!(
    "Extract" => extract::resolve,
    "ExtractArrayRaw" => keys::resolve_array_raw,
    "ExtractBool" => extract::resolve_bool,
    "ExtractFloat" => extract::resolve_float,
    "ExtractInt" => extract::resolve_int,
    "ExtractKeys" => keys::resolve_keys,
    "ExtractKeysAndValues" => keys::resolve_keys_and_values,
    "ExtractKeysAndValuesRaw" => keys::resolve_keys_and_values_raw,
    "ExtractRaw" => extract::resolve_raw,
    "ExtractString" => extract::resolve_string,
    "ExtractUInt" => extract::resolve_uint,
);

/// The rest of this family.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("JSONArrayLength", keys::resolve_array_length).never_throws(),
    &Function::new("JSONHas", keys::resolve_has).without_dictionary().never_throws(),
    &Function::new("JSONKey", keys::resolve_key).without_dictionary().never_throws(),
    &Function::new("JSONLength", keys::resolve_length).without_dictionary().never_throws(),
    &Function::new("JSONMergePatch", make::resolve_merge_patch),
    &Function::new("JSONType", keys::resolve_type).without_dictionary().never_throws(),
    &Function::new("JSON_EXISTS", standard::resolve_exists),
    &Function::new("JSON_QUERY", standard::resolve_query),
    &Function::new("JSON_VALUE", standard::resolve_value),
    &Function::new("isValidJSON", keys::resolve_is_valid).without_dictionary().never_throws(),
    &Function::new("prettyPrintJSON", make::resolve_pretty),
    &Function::new("simpleJSONExtractBool", simple::resolve_bool).never_throws(),
    &Function::new("simpleJSONExtractFloat", simple::resolve_float).never_throws(),
    &Function::new("simpleJSONExtractInt", simple::resolve_int).never_throws(),
    &Function::new("simpleJSONExtractRaw", simple::resolve_raw).never_throws(),
    &Function::new("simpleJSONExtractString", simple::resolve_string).never_throws(),
    &Function::new("simpleJSONExtractUInt", simple::resolve_uint).never_throws(),
    &Function::new("simpleJSONHas", simple::resolve_has).never_throws(),
    &Function::new("toJSONString", make::resolve_to_json).never_throws(),
];
