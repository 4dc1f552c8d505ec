//! What values JSON may have for those of a column, beside the usual ones.

use crate::settings::Settings;

/// Settings of how values of JSON are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::struct_excessive_bools)] // Each is a setting of ClickHouse's.
pub struct JsonRules {
    /// `input_format_json_named_tuples_as_objects`.
    pub named_tuples_as_objects: bool,
    /// `input_format_json_defaults_for_missing_elements_in_named_tuple`.
    pub defaults_for_missing_elements: bool,
    /// `input_format_json_ignore_unknown_keys_in_named_tuple`.
    pub ignores_unknown_keys: bool,
    /// `input_format_json_map_as_array_of_tuples`.
    pub maps_as_arrays: bool,
    /// `input_format_json_read_bools_as_numbers`.
    pub bools_as_numbers: bool,
    /// `input_format_json_empty_as_default`.
    pub empty_as_default: bool,
    /// `input_format_json_read_bools_as_strings`.
    pub bools_as_strings: bool,
    /// `input_format_json_read_numbers_as_strings`.
    pub numbers_as_strings: bool,
    /// `input_format_json_read_arrays_as_strings`.
    pub arrays_as_strings: bool,
    /// `input_format_json_read_objects_as_strings`.
    pub objects_as_strings: bool,
}

impl Default for JsonRules {
    /// ClickHouse's defaults.
    fn default() -> Self {
        Self {
            named_tuples_as_objects: true,
            defaults_for_missing_elements: true,
            ignores_unknown_keys: true,
            maps_as_arrays: false,
            bools_as_numbers: true,
            empty_as_default: false,
            bools_as_strings: true,
            numbers_as_strings: true,
            arrays_as_strings: true,
            objects_as_strings: true,
        }
    }
}

impl JsonRules {
    /// What settings say.
    pub fn of(settings: &Settings) -> Self {
        Self {
            named_tuples_as_objects: settings.input_format_json_named_tuples_as_objects,
            defaults_for_missing_elements: settings.input_format_json_defaults_for_missing_elements_in_named_tuple,
            ignores_unknown_keys: settings.input_format_json_ignore_unknown_keys_in_named_tuple,
            maps_as_arrays: settings.input_format_json_map_as_array_of_tuples,
            bools_as_numbers: settings.input_format_json_read_bools_as_numbers,
            empty_as_default: settings.input_format_json_empty_as_default,
            bools_as_strings: settings.input_format_json_read_bools_as_strings,
            numbers_as_strings: settings.input_format_json_read_numbers_as_strings,
            arrays_as_strings: settings.input_format_json_read_arrays_as_strings,
            objects_as_strings: settings.input_format_json_read_objects_as_strings,
        }
    }

    /// Whether a string takes a value of any kind as its text.
    pub fn all_as_strings(self) -> bool {
        self.bools_as_strings && self.numbers_as_strings && self.arrays_as_strings && self.objects_as_strings
    }

    /// Whether a string takes the text of a value that begins like this and is no string.
    pub fn takes_as_string(self, first: Option<u8>) -> bool {
        match first {
            Some(b'{') => self.objects_as_strings,
            Some(b'[') => self.arrays_as_strings,
            Some(b't' | b'f') => self.bools_as_strings,
            _ => self.numbers_as_strings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_settings() {
        assert_eq!(JsonRules::default(), JsonRules::of(&Settings::default()));
    }
}
