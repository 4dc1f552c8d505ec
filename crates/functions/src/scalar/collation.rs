//! The collations of ClickHouse: the names that `COLLATE` takes, and the bytes by which texts are in the order of a language.
//!
//! A name may go on with settings as Unicode writes them (`de-u-kn-true-ks-level2`). The order is that of `icu_collator`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, ListArray, StructArray};
use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, MaxVariable, Strength};
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use super::simple::{Call, Function, argument, string_column};
use crate::function::{BoundFunction, ScalarFunction};

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[&Function::new("__collationKey", resolve).never_throws()];

/// The languages with an order of their own, and what they are called in English.
pub const COLLATIONS: &[(&str, &str)] = &[
    ("af", "Afrikaans"),
    ("am", "Amharic"),
    ("ar", "Arabic"),
    ("ar_SA", "Arabic"),
    ("as", "Assamese"),
    ("az", "Azerbaijani"),
    ("be", "Belarusian"),
    ("bg", "Bulgarian"),
    ("blo", "Anii"),
    ("bn", "Bangla"),
    ("bo", "Tibetan"),
    ("br", "Breton"),
    ("bs", "Bosnian"),
    ("bs_Cyrl", "Bosnian"),
    ("ca", "Catalan"),
    ("ceb", "Cebuano"),
    ("chr", "Cherokee"),
    ("cs", "Czech"),
    ("cy", "Welsh"),
    ("da", "Danish"),
    ("de", "German"),
    ("de_AT", "German"),
    ("dsb", "Lower Sorbian"),
    ("dz", "Dzongkha"),
    ("ee", "Ewe"),
    ("el", "Greek"),
    ("en", "English"),
    ("en_US", "English"),
    ("en_US_POSIX", "English"),
    ("eo", "Esperanto"),
    ("es", "Spanish"),
    ("et", "Estonian"),
    ("fa", "Persian"),
    ("fa_AF", "Persian"),
    ("ff", "Fula"),
    ("ff_Adlm", "Fula"),
    ("fi", "Finnish"),
    ("fil", "Filipino"),
    ("fo", "Faroese"),
    ("fr", "French"),
    ("fr_CA", "French"),
    ("fy", "Western Frisian"),
    ("ga", "Irish"),
    ("gl", "Galician"),
    ("gu", "Gujarati"),
    ("ha", "Hausa"),
    ("haw", "Hawaiian"),
    ("he", "Hebrew"),
    ("he_IL", "Hebrew"),
    ("hi", "Hindi"),
    ("hr", "Croatian"),
    ("hsb", "Upper Sorbian"),
    ("hu", "Hungarian"),
    ("hy", "Armenian"),
    ("id", "Indonesian"),
    ("id_ID", "Indonesian"),
    ("ig", "Igbo"),
    ("is", "Icelandic"),
    ("it", "Italian"),
    ("ja", "Japanese"),
    ("ka", "Georgian"),
    ("kk", "Kazakh"),
    ("kk_Arab", "Kazakh"),
    ("kl", "Kalaallisut"),
    ("km", "Khmer"),
    ("kn", "Kannada"),
    ("ko", "Korean"),
    ("kok", "Konkani"),
    ("ku", "Kurdish"),
    ("ky", "Kyrgyz"),
    ("lb", "Luxembourgish"),
    ("lij", "Ligurian"),
    ("lkt", "Lakota"),
    ("ln", "Lingala"),
    ("lo", "Lao"),
    ("lt", "Lithuanian"),
    ("lv", "Latvian"),
    ("mk", "Macedonian"),
    ("ml", "Malayalam"),
    ("mn", "Mongolian"),
    ("mr", "Marathi"),
    ("ms", "Malay"),
    ("mt", "Maltese"),
    ("my", "Burmese"),
    ("nb", "Norwegian Bokmål"),
    ("nb_NO", "Norwegian Bokmål"),
    ("ne", "Nepali"),
    ("nl", "Dutch"),
    ("nn", "Norwegian Nynorsk"),
    ("no", "Norwegian"),
    ("nso", "Northern Sotho"),
    ("om", "Oromo"),
    ("or", "Odia"),
    ("pa", "Punjabi"),
    ("pa_Guru", "Punjabi"),
    ("pa_Guru_IN", "Punjabi"),
    ("pl", "Polish"),
    ("ps", "Pashto"),
    ("pt", "Portuguese"),
    ("ro", "Romanian"),
    ("ru", "Russian"),
    ("sa", "Sanskrit"),
    ("se", "Northern Sami"),
    ("si", "Sinhala"),
    ("sk", "Slovak"),
    ("sl", "Slovenian"),
    ("smn", "Inari Sami"),
    ("sq", "Albanian"),
    ("sr", "Serbian"),
    ("sr_Cyrl", "Serbian"),
    ("sr_Cyrl_BA", "Serbian"),
    ("sr_Cyrl_ME", "Serbian"),
    ("sr_Cyrl_RS", "Serbian"),
    ("sr_Latn", "Serbian"),
    ("sr_Latn_BA", "Serbian"),
    ("sr_Latn_RS", "Serbian"),
    ("st", "Southern Sotho"),
    ("sv", "Swedish"),
    ("sw", "Swahili"),
    ("ta", "Tamil"),
    ("te", "Telugu"),
    ("th", "Thai"),
    ("tk", "Turkmen"),
    ("tn", "Tswana"),
    ("to", "Tongan"),
    ("tr", "Turkish"),
    ("ug", "Uyghur"),
    ("uk", "Ukrainian"),
    ("ur", "Urdu"),
    ("uz", "Uzbek"),
    ("vi", "Vietnamese"),
    ("wae", "Walser"),
    ("wo", "Wolof"),
    ("xh", "Xhosa"),
    ("yi", "Yiddish"),
    ("yo", "Yoruba"),
    ("zh", "Chinese"),
    ("zh_Hans", "Chinese"),
    ("zh_Hans_CN", "Chinese"),
    ("zh_Hans_SG", "Chinese"),
    ("zh_Hant", "Chinese"),
    ("zh_Hant_HK", "Chinese"),
    ("zh_Hant_MO", "Chinese"),
    ("zh_Hant_TW", "Chinese"),
    ("zu", "Zulu"),
];

type Collator = CollatorBorrowed<'static>;

/// The order that a name stands for.
fn collator(name: &str) -> Result<Collator> {
    let tag = name.replace('_', "-").to_ascii_lowercase();
    let language = tag.split_once("-u-").map_or(tag.as_str(), |(language, _)| language);
    let is_known = COLLATIONS.iter().any(|(known, _)| {
        known.len() == language.len() && {
            known.bytes().zip(language.bytes()).all(|(a, b)| a.eq_ignore_ascii_case(&b) || (a == b'_' && b == b'-'))
        }
    });
    if !is_known {
        return Err(unsupported(format!("Unsupported collation locale: {}", name.to_ascii_lowercase())));
    }
    let wrong = || unsupported(format!("Failed to open locale: {name} with error: U_ILLEGAL_ARGUMENT_ERROR"));
    let locale = Locale::try_from_str(&tag).map_err(|_| wrong())?;
    let mut options = CollatorOptions::default();
    for (key, value) in locale.extensions.unicode.keywords.iter() {
        let value = value.to_string();
        match (key.as_str(), value.as_str()) {
            ("ks", level) => options.strength = Some(strength(level).ok_or_else(wrong)?),
            ("ka", "shifted") => options.alternate_handling = Some(AlternateHandling::Shifted),
            ("ka", "noignore") => options.alternate_handling = Some(AlternateHandling::NonIgnorable),
            ("kc", "" | "true") => options.case_level = Some(CaseLevel::On),
            ("kc", "false") => options.case_level = Some(CaseLevel::Off),
            ("kv", group) => options.max_variable = Some(max_variable(group).ok_or_else(wrong)?),
            ("kn", "" | "true" | "false") | ("kf", "upper" | "lower" | "false") | ("co" | "va", _) => {}
            _ => return Err(wrong()),
        }
    }
    Collator::try_new(CollatorPreferences::from(&locale), options).map_err(|_| wrong())
}

fn strength(level: &str) -> Option<Strength> {
    Some(match level {
        "level1" => Strength::Primary,
        "level2" => Strength::Secondary,
        "level3" => Strength::Tertiary,
        "level4" => Strength::Quaternary,
        "identic" => Strength::Identical,
        _ => return None,
    })
}

fn max_variable(group: &str) -> Option<MaxVariable> {
    Some(match group {
        "space" => MaxVariable::Space,
        "punct" => MaxVariable::Punctuation,
        "symbol" => MaxVariable::Symbol,
        "currency" => MaxVariable::Currency,
        _ => return None,
    })
}

fn unsupported(message: String) -> Error {
    Error::new(ErrorCode::UNSUPPORTED_COLLATION_LOCALE, message)
}

/// Whether values of a type have texts that a collation orders.
fn has_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::String => true,
        DataType::Nullable(inner) | DataType::LowCardinality(inner) | DataType::Array(inner) => has_text(inner),
        DataType::Tuple(elements) => elements.iter().any(|element| has_text(&element.data_type)),
        _ => false,
    }
}

/// `__collationKey(value, locale)`: the value with each text in it as the bytes that order it.
fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    if !has_text(call.type_of(0)) {
        return Err(Error::new(
            ErrorCode::BAD_COLLATION,
            "Collations could be specified only for String, LowCardinality(String), Nullable(String) \
             or for Array or Tuple, containing them.",
        ));
    }
    let collator = collator(&String::from_utf8_lossy(call.constant_bytes(1)?))?;
    call.bind(call.type_of(0).clone(), move |arguments, _| {
        let column = argument(arguments, 0)?;
        let one = Column::new(column.data_type().clone(), keys(column.data_type(), column.array(), &collator)?);
        Ok(if column.is_constant() { Column::repeat(&one, column.rows()) } else { one })
    })
}

/// Values with their texts replaced by keys; what is no text stays.
fn keys(data_type: &DataType, array: &ArrayRef, collator: &Collator) -> Result<ArrayRef> {
    let keyed: ArrayRef = match data_type {
        DataType::String => text_keys(array.as_binary(), collator)?,
        DataType::Nullable(inner) => keys(inner, array, collator)?,
        DataType::LowCardinality(inner) => {
            let dictionary = array.as_any_dictionary();
            dictionary.with_values(keys(inner, dictionary.values(), collator)?)
        }
        DataType::Array(item) => {
            let (field, offsets, values, nulls) = array.as_list::<i32>().clone().into_parts();
            Arc::new(ListArray::try_new(field, offsets, keys(item, &values, collator)?, nulls)?)
        }
        DataType::Tuple(elements) if !elements.is_empty() => {
            let (fields, columns, nulls) = array.as_struct().clone().into_parts();
            let columns =
                elements.iter().zip(&columns).map(|(element, column)| keys(&element.data_type, column, collator));
            Arc::new(StructArray::try_new(fields, columns.collect::<Result<_>>()?, nulls)?)
        }
        _ => array.clone(),
    };
    Ok(keyed)
}

fn text_keys(texts: &BinaryArray, collator: &Collator) -> Result<ArrayRef> {
    let mut key = Vec::new();
    let column = string_column(texts.len(), 2 * texts.value_data().len(), |out, row| {
        if texts.is_valid(row) {
            let text = texts.value(row);
            checkpoint(64 * text.len())?;
            key.clear();
            let Ok(()) = collator.write_sort_key_utf8_to(text, &mut key);
            squall_types::grow(out, key.len())?;
            out.extend_from_slice(&key);
        }
        Ok(())
    })?;
    let (offsets, bytes, _) = column.array().as_binary::<i32>().clone().into_parts();
    Ok(Arc::new(BinaryArray::try_new(offsets, bytes, texts.nulls().cloned())?))
}
