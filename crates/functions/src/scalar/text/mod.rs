//! More of strings: how like two of them are, what of them a search leaves, other writings of the same text, and strings put together from
//! a format.

mod bayes_grams;
mod charset;
mod compare;
mod cut;
mod distance;
mod duration;
mod edit;
mod fuzzy;
mod grams;
mod html;
mod markup;
mod normal;
mod pairs;
mod patterns;
mod printf;
mod search_words;
mod soundex;
mod sparse_grams;
mod subsequence;
mod tokenizer;

pub use tokenizer::Tokenizer;
pub(in crate::scalar) use tokenizer::check_text;

use super::simple::Function;
use crate::function::ScalarFunction;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("basename", edit::resolve_basename).never_throws(),
    &Function::new("byteHammingDistance", distance::resolve),
    &Function::new("caseFoldUTF8", normal::resolve),
    &Function::new("compareSubstrings", compare::resolve_substrings),
    &Function::new("conv", edit::resolve_conv),
    &Function::new("convertCharset", charset::resolve),
    &Function::new("damerauLevenshteinDistance", distance::resolve),
    &Function::new("decodeHTMLComponent", markup::resolve_decode).never_throws(),
    &Function::new("decodeXMLComponent", markup::resolve_decode).never_throws(),
    &Function::new("editDistanceUTF8", distance::resolve),
    &Function::new("encodeXMLComponent", markup::resolve_encode).never_throws(),
    &Function::new("endsWithCaseInsensitive", compare::resolve_end).never_throws(),
    &Function::new("endsWithCaseInsensitiveUTF8", compare::resolve_end).never_throws(),
    &Function::new("extractKeyValuePairs", pairs::resolve),
    &Function::new("extractKeyValuePairsWithEscaping", pairs::resolve),
    &Function::new("extractTextFromHTML", html::resolve).never_throws(),
    &Function::new("sparseGrams", sparse_grams::resolve),
    &Function::new("sparseGramsHashes", sparse_grams::resolve),
    &Function::new("sparseGramsHashesUTF8", sparse_grams::resolve),
    &Function::new("sparseGramsUTF8", sparse_grams::resolve),
    &Function::new("hasAllTokens", search_words::resolve_has).never_throws().searching_words(),
    &Function::new("hasAnyTokens", search_words::resolve_has).never_throws().searching_words(),
    &Function::new("hasPhrase", search_words::resolve_phrase).never_throws().searching_words(),
    &Function::new("highlight", search_words::resolve_highlight).never_throws(),
    &Function::new("parseISO8601Duration", duration::resolve),
    &Function::new("parseTimeDelta", duration::resolve),
    &Function::new("substringIndexUTF8", cut::resolve_index).never_throws(),
    &Function::new("toStringCutToZero", cut::resolve_to_zero).never_throws(),
    &Function::new("hasSubsequence", subsequence::resolve).never_throws(),
    &Function::new("hasSubsequenceCaseInsensitive", subsequence::resolve).never_throws(),
    &Function::new("hasSubsequenceCaseInsensitiveUTF8", subsequence::resolve).never_throws(),
    &Function::new("hasSubsequenceUTF8", subsequence::resolve).never_throws(),
    &Function::new("hasTokenCaseInsensitiveOrNull", subsequence::resolve_token_or_null).never_throws(),
    &Function::new("hasTokenOrNull", subsequence::resolve_token_or_null).never_throws(),
    &Function::new("isValidASCII", compare::resolve_is_ascii).never_throws(),
    &Function::new("jaroSimilarity", distance::resolve),
    &Function::new("jaroWinklerSimilarity", distance::resolve),
    &Function::new("matchCaseInsensitive", patterns::resolve_match),
    &Function::new("multiFuzzyMatchAllIndices", fuzzy::resolve),
    &Function::new("multiFuzzyMatchAny", fuzzy::resolve),
    &Function::new("multiFuzzyMatchAnyIndex", fuzzy::resolve),
    &Function::new("multiMatchAllIndices", patterns::resolve_many),
    &Function::new("multiMatchAny", patterns::resolve_many),
    &Function::new("multiMatchAnyIndex", patterns::resolve_many),
    &Function::new("naiveBayesNgrams", bayes_grams::resolve),
    &Function::new("naturalSortKey", normal::resolve_natural_key).never_throws(),
    &Function::new("ngramDistance", grams::resolve),
    &Function::new("ngramDistanceCaseInsensitive", grams::resolve),
    &Function::new("ngramDistanceCaseInsensitiveUTF8", grams::resolve),
    &Function::new("ngramDistanceUTF8", grams::resolve),
    &Function::new("ngramSearch", grams::resolve),
    &Function::new("ngramSearchCaseInsensitive", grams::resolve),
    &Function::new("ngramSearchCaseInsensitiveUTF8", grams::resolve),
    &Function::new("ngramSearchUTF8", grams::resolve),
    &Function::new("normalizeUTF8NFC", normal::resolve),
    &Function::new("normalizeUTF8NFD", normal::resolve),
    &Function::new("normalizeUTF8NFKC", normal::resolve),
    &Function::new("normalizeUTF8NFKCCasefold", normal::resolve),
    &Function::new("normalizeUTF8NFKD", normal::resolve),
    &Function::new("notMatch", patterns::resolve_match),
    &Function::new("notMatchCaseInsensitive", patterns::resolve_match),
    &Function::new("overlay", edit::resolve_overlay),
    &Function::new("overlayUTF8", edit::resolve_overlay),
    &Function::new("printf", printf::resolve),
    &Function::new("regexpExtract", patterns::resolve_extract),
    &Function::new("regexpPosition", patterns::resolve_position),
    &Function::new("removeDiacriticsUTF8", normal::resolve),
    &Function::new("reverseBySeparator", edit::resolve_reverse).never_throws(),
    &Function::new("soundex", soundex::resolve).never_throws(),
    &Function::new("startsWithCaseInsensitive", compare::resolve_end).never_throws(),
    &Function::new("startsWithCaseInsensitiveUTF8", compare::resolve_end).never_throws(),
    &Function::new("stringBytesEntropy", compare::resolve_entropy).never_throws(),
    &Function::new("stringBytesUniq", compare::resolve_uniq).never_throws(),
    &Function::new("stringJaccardIndex", distance::resolve),
    &Function::new("stringJaccardIndexUTF8", distance::resolve),
    &Function::new("translateUTF8", edit::resolve_translate),
];
