-- Colours of formats for people: names, numbers of rows, groups of digits, spaces at the end, cut values.
SELECT number * 98765432 AS big, 'end  ' AS word, NULL AS nothing FROM numbers(2) FORMAT Pretty SETTINGS output_format_pretty_color = 1;
SELECT number * 54321 AS big, 'end' AS word FROM numbers(2) FORMAT PrettyCompact SETTINGS output_format_pretty_color = 1;
SELECT 'end ' AS word, -7654321.5 AS big FORMAT PrettySpace SETTINGS output_format_pretty_color = 1;
SELECT 'end ' AS word, -7654321.5 AS big, 12345::Decimal(12, 1) AS exact FORMAT Vertical SETTINGS output_format_pretty_color = 1;
SELECT 'end ' AS word, 7654321 AS big FORMAT Vertical SETTINGS output_format_pretty_color = 1, output_format_pretty_highlight_digit_groups = 0, output_format_pretty_highlight_trailing_spaces = 0;
SELECT 'first \nsecond' AS lines, 9 AS n FORMAT PrettyCompact SETTINGS output_format_pretty_color = 1;
SELECT 'too long a text' AS word, 9 AS n FORMAT PrettyCompact SETTINGS output_format_pretty_color = 1, output_format_pretty_max_value_width = 8;
SELECT 98765432 AS big FORMAT PrettyCompactNoEscapes SETTINGS output_format_pretty_color = 1;
SELECT 98765432 AS big FORMAT PrettyCompact SETTINGS output_format_pretty_color = 'auto';
SELECT number AS n FROM numbers(5) FORMAT PrettyCompact SETTINGS output_format_pretty_color = 1, output_format_pretty_max_rows = 2;
-- Large decimals and wide integers are said in words, too.
SELECT 7654321.5::Decimal(20, 3) AS exact FORMAT PrettyCompact;
SELECT 7654321::Int128 AS wide FORMAT Vertical;
-- Each block is a table where blocks do not wait.
SELECT number AS n FROM numbers(11) FORMAT PrettyCompact SETTINGS max_block_size = 4, output_format_pretty_squash_consecutive_ms = 0, max_threads = 1;
SELECT number AS n FROM numbers(11) FORMAT PrettySpace SETTINGS max_block_size = 4, output_format_pretty_squash_consecutive_ms = 0, max_threads = 1;
SELECT number AS n FROM numbers(11) FORMAT PrettyCompactMonoBlock SETTINGS max_block_size = 4, output_format_pretty_squash_consecutive_ms = 0, max_threads = 1;
SELECT number AS n FROM numbers(4) FORMAT Pretty SETTINGS max_block_size = 2, output_format_pretty_squash_consecutive_ms = 0, output_format_pretty_glue_chunks = 1, max_threads = 1;
SELECT number AS n FROM numbers(4) FORMAT PrettyCompact SETTINGS max_block_size = 2, output_format_pretty_squash_consecutive_ms = 0, output_format_pretty_glue_chunks = 1, max_threads = 1;
-- Objects of JSON over several lines.
SELECT '{"k":{"l":[1,"a",{"m":2}]},"n":[{"o":1},{"p":[[1],[2]]}],"q":"{,}"}'::JSON AS object, [1] AS plain FORMAT Vertical;
SELECT '{}'::JSON AS object FORMAT Vertical;
SELECT '{"k":{"l":[1,"a",{"m":2}]}}'::JSON AS object, [object] AS objects FORMAT PrettyJSONEachRow;
-- Tuples as fields of CSV.
SELECT 5 AS a, (6, 'x"', [7]) AS t, (8, (9, 'z')) AS n FORMAT CSVWithNamesAndTypes SETTINGS output_format_csv_serialize_tuple_into_separate_columns = 0;
SELECT 5 AS a, (6, 'x"', [7]) AS t, (8, (9, 'z')) AS n FORMAT CSVWithNamesAndTypes SETTINGS output_format_csv_header_serialize_tuple_into_separate_columns = 0;
SELECT * FROM format(CSV, 'a UInt8, t Tuple(UInt8, String)', '5,"(6,''x'')"\n') SETTINGS input_format_csv_deserialize_separate_columns_into_tuple = 0;
SELECT * FROM format(CSV, 'a UInt8, t Tuple(UInt8, String)', '5,6,x\n') SETTINGS input_format_csv_deserialize_separate_columns_into_tuple = 1;
DESCRIBE format(CSV, '5,"(6,''x'')","[(7,8)]"\n');
DESCRIBE format(CSV, '5,"(6,''x'')","[(7,8)]"\n') SETTINGS input_format_csv_try_infer_strings_from_quoted_tuples = 0;
-- A header limits the columns of rows of any length.
SELECT * FROM format(CSVWithNames, 'p,q\n5\n6,7,8\n') SETTINGS input_format_csv_allow_variable_number_of_columns = 1;
SELECT * FROM format(TSVWithNames, 'p\tq\n5\n6\t7\t8\n') SETTINGS input_format_tsv_allow_variable_number_of_columns = 1;
SELECT * FROM format(JSONCompactEachRowWithNames, '["p","q"]\n[5]\n[6,7,8]\n') SETTINGS input_format_json_compact_allow_variable_number_of_columns = 1;
SELECT * FROM format(CSVWithNames, 'p,q\n5,6,7\n');
SELECT * FROM format(CustomSeparated, 'p UInt8, q UInt8', '5\n6|7|8\n') SETTINGS format_custom_field_delimiter = '|', format_custom_escaping_rule = 'CSV', input_format_custom_allow_variable_number_of_columns = 1;
SELECT * FROM format(CustomSeparated, '5\n6|7|8\n') SETTINGS format_custom_field_delimiter = '|', format_custom_escaping_rule = 'CSV', input_format_custom_allow_variable_number_of_columns = 1;
SELECT * FROM format(CustomSeparatedWithNames, 'p|q\n5\n6|7|8\n') SETTINGS format_custom_field_delimiter = '|', format_custom_escaping_rule = 'CSV', input_format_custom_allow_variable_number_of_columns = 1;
SELECT * FROM format(CustomSeparated, 'p UInt8, q UInt8', '5\n') SETTINGS format_custom_field_delimiter = '|', format_custom_escaping_rule = 'CSV';
-- Columns that are left out.
SELECT * FROM format(JSONEachRow, 'p UInt8, q Nullable(UInt8)', '{"p":5}') SETTINGS input_format_force_null_for_omitted_fields = 1;
SELECT * FROM format(JSONEachRow, 'p UInt8, q UInt8', '{"p":5}') SETTINGS input_format_force_null_for_omitted_fields = 1;
SELECT * FROM format(CSVWithNames, 'p UInt8, q UInt8', 'p\n5\n') SETTINGS input_format_force_null_for_omitted_fields = 1;
SELECT * FROM format(CSV, 'p UInt8, q UInt8', '5,\n') SETTINGS input_format_force_null_for_omitted_fields = 1;
-- What objects of JSON are inferred to be.
DESCRIBE format(JSONEachRow, '{"o":{"p":5,"q":"x"}}') SETTINGS input_format_json_try_infer_named_tuples_from_objects = 0;
DESCRIBE format(JSONEachRow, '{"o":{"p":5,"q":"x"}}') SETTINGS input_format_json_try_infer_named_tuples_from_objects = 0, input_format_json_read_objects_as_strings = 0;
SELECT * FROM format(JSONEachRow, '{"o":{"p":{"q":5}}}') SETTINGS input_format_json_try_infer_named_tuples_from_objects = 0, input_format_json_read_objects_as_strings = 0;
DESCRIBE format(JSONEachRow, '{"o":{"p":5}},{"o":{"p":{"q":6}}}') SETTINGS input_format_json_use_string_type_for_ambiguous_paths_in_named_tuples_inference_from_objects = 1;
SELECT * FROM format(JSONEachRow, '{"o":{"p":5}},{"o":{"p":{"q":6}}}') SETTINGS input_format_json_use_string_type_for_ambiguous_paths_in_named_tuples_inference_from_objects = 1;
DESCRIBE format(JSONEachRow, '{"o":{"p":5}},{"o":{"p":{"q":6}}}');
-- Breaks at the end of lines are seen by their sign.
SELECT 'a\n' AS one, 'b\n\n' AS two, '\n' AS three, 4 AS four FORMAT PrettyCompact;
SELECT 'a \n' AS one, 'b' AS two FORMAT PrettySpace SETTINGS output_format_pretty_color = 1;
