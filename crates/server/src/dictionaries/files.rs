//! Dictionaries as configuration files define them: elements become the statement that would create the same dictionary.

use std::path::{Path, PathBuf};

use squall_sql::ast::{
    CreateDictionary, CreateMode, DictionaryAttribute, DictionaryDefinition, DictionaryLifetime, Expression,
    Identifier, KeyValue, KeyValueFunction, KeyValueValue, Literal, OnCluster, Span, TableName,
};
use squall_sql::{ParserLimits, parse_data_type, parse_expression};
use squall_types::{Error, ErrorCode, Result};

use crate::config::Element;
use crate::config::merge::load;

/// Files of dictionaries, at most.
const FILES_MAX: usize = 10_000;

/// The files that a pattern of `dictionaries_config` means, sorted: `*` and `?` stand for letters of a file's name. A relative one is
/// beside the configuration's file.
pub(super) fn files_of(pattern: &str, folder: &Path) -> Vec<PathBuf> {
    let pattern = folder.join(pattern);
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name()) else { return Vec::new() };
    let name = name.to_string_lossy();
    if !name.contains(['*', '?']) {
        return if pattern.is_file() { vec![pattern] } else { Vec::new() };
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let matching = entries.filter(|entry| matches_pattern(name.as_bytes(), entry.file_name().as_encoded_bytes()));
    let mut files: Vec<PathBuf> = matching.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files.truncate(FILES_MAX);
    files
}

fn matches_pattern(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=name.len()).any(|skipped| matches_pattern(rest, &name[skipped..])),
        (Some((b'?', pattern)), Some((_, name))) => matches_pattern(pattern, name),
        (Some((letter, pattern)), Some((own, name))) => letter == own && matches_pattern(pattern, name),
        _ => false,
    }
}

/// The dictionaries of a file, by name.
///
/// # Errors
/// Where the file cannot be read or parsed, or has another root than ClickHouse's.
pub(super) fn read(file: &Path) -> Result<Vec<(String, CreateDictionary)>> {
    if file.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
        return Err(Error::not_implemented(format!("Reading dictionaries from YAML, {},", file.display())));
    }
    let merged = load(file)?;
    if !matches!(merged.root.name.as_str(), "clickhouse" | "yandex" | "dictionaries") {
        return Err(merged.root.error("the root element must be <clickhouse>, <yandex> or <dictionaries>"));
    }
    merged.root.children_named("dictionary").map(statement).collect()
}

/// The name and the statement of an element `dictionary`.
fn statement(dictionary: &Element) -> Result<(String, CreateDictionary)> {
    let name = text(needed(dictionary, "name")?);
    let full_name = match dictionary.child("database").map(text).filter(|database| !database.is_empty()) {
        Some(database) => format!("{database}.{name}"),
        None => name.clone(),
    };
    let structure = needed(dictionary, "structure")?;
    let mut definition = DictionaryDefinition {
        source: Some(function(needed(dictionary, "source")?)?),
        layout: Some(function(needed(dictionary, "layout")?)?),
        lifetime: dictionary.child("lifetime").map(lifetime).transpose()?,
        ..DictionaryDefinition::default()
    };
    let key = |name: &str| Expression::identifier(name);
    match (structure.child("id"), structure.child("key")) {
        (Some(id), _) => {
            let attribute = attribute(id, Some("UInt64"))?;
            definition.primary_key.push(key(&attribute.name.value));
            definition.attributes.push(attribute);
        }
        (None, Some(keys)) => {
            for element in keys.children_named("attribute") {
                let attribute = attribute(element, None)?;
                definition.primary_key.push(key(&attribute.name.value));
                definition.attributes.push(attribute);
            }
        }
        (None, None) => return Err(structure.error("needs <id> or <key>")),
    }
    if let (Some(first), Some(last)) = (structure.child("range_min"), structure.child("range_max")) {
        let (first, last) = (attribute(first, Some("Date"))?, attribute(last, Some("Date"))?);
        definition.range = Some((first.name.clone(), last.name.clone()));
        definition.attributes.extend([first, last]);
    }
    for element in structure.children_named("attribute") {
        definition.attributes.push(attribute(element, None)?);
    }
    let create = CreateDictionary {
        attach: false,
        mode: CreateMode::Create,
        name: TableName::new(name),
        cluster: OnCluster::default(),
        definition: Some(definition),
        comment: dictionary.child("comment").map(text).filter(|comment| !comment.is_empty()),
    };
    Ok((full_name, create))
}

fn needed<'a>(element: &'a Element, name: &str) -> Result<&'a Element> {
    element.child(name).ok_or_else(|| element.error(format!("needs <{name}>")))
}

fn text(element: &Element) -> String {
    element.trimmed().to_owned()
}

fn attribute(element: &Element, type_default: Option<&str>) -> Result<DictionaryAttribute> {
    let data_type = match (element.child("type"), type_default) {
        (Some(data_type), _) => text(data_type),
        (None, Some(default)) => default.to_owned(),
        (None, None) => return Err(element.error("needs <type>")),
    };
    let limits = ParserLimits::default();
    let bad = |error: &dyn std::fmt::Display| Error::new(ErrorCode::BAD_ARGUMENTS, element.error(error).message);
    let parsed = parse_data_type(&data_type, &limits).map_err(|error| bad(&error))?;
    let expression = match element.child("expression").map(text).filter(|text| !text.is_empty()) {
        Some(sql) => Some(parse_expression(&sql, &limits).map_err(|error| bad(&error))?),
        None => None,
    };
    // An empty value is the type's own default, as a string's is.
    let null_value = element.child("null_value").filter(|value| !value.text.is_empty());
    let flag = |name: &str| element.child(name).map_or(Ok(false), Element::boolean);
    Ok(DictionaryAttribute {
        name: Identifier::new(text(needed(element, "name")?)),
        data_type: parsed,
        default: null_value.map(|value| Expression::literal(Literal::string(&value.text))),
        expression,
        hierarchical: flag("hierarchical")?,
        bidirectional: flag("bidirectional")?,
        injective: flag("injective")?,
        is_object_id: flag("is_object_id")?,
        span: Span::default(),
    })
}

fn lifetime(element: &Element) -> Result<DictionaryLifetime> {
    let number = |element: &Element| element.value("a number of seconds");
    if element.children.is_empty() {
        return Ok(DictionaryLifetime { min: 0, max: number(element)? });
    }
    let of = |name: &str| element.child(name).map_or(Ok(0), number);
    Ok(DictionaryLifetime { min: of("min")?, max: of("max")? })
}

/// The one element inside as a function of its own elements: `<source><file><path>…`.
fn function(element: &Element) -> Result<KeyValueFunction> {
    let [inside] = &element.children[..] else {
        return Err(element.error(format!("must have one element inside, not {}", element.children.len())));
    };
    let pairs = inside.children.iter().map(pair).collect();
    Ok(KeyValueFunction { name: inside.name.to_ascii_lowercase(), pairs, brackets: true })
}

fn pair(element: &Element) -> KeyValue {
    let value = match &element.children[..] {
        [] => KeyValueValue::Expression(Expression::literal(Literal::string(element.trimmed()))),
        inside => KeyValueValue::Pairs(inside.iter().map(pair).collect()),
    };
    KeyValue { key: element.name.to_ascii_lowercase(), value }
}

#[cfg(test)]
mod tests {
    use squall_functions::FunctionContext;
    use squall_planner::{DictionaryLayout, plan_configured_dictionary};
    use squall_sql::{ast::Statement, format_one_line};

    use super::*;

    #[test]
    fn patterns_mean_files() {
        for (pattern, name, expected) in [
            ("*_dictionary.*ml", "a_dictionary.xml", true),
            ("*_dictionary.*ml", "a_dictionary.yaml", true),
            ("*_dictionary.*ml", "dictionary.xml", false),
            ("?.xml", "a.xml", true),
            ("?.xml", "ab.xml", false),
            ("*", "", true),
            ("*.xml", "x.xml.bak", false),
        ] {
            assert_eq!(matches_pattern(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("d")).unwrap();
        for name in ["d/b.xml", "d/a.xml", "d/c.txt"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let files = files_of("d/*.xml", folder.path());
        assert_eq!(files, [folder.path().join("d/a.xml"), folder.path().join("d/b.xml")]);
        assert!(files_of("none/*.xml", folder.path()).is_empty());
    }

    #[test]
    fn elements_are_the_statement_that_makes_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x_dictionary.xml");
        let xml = "<yandex><comment>no</comment><dictionary><name>default.d</name>
            <source><clickhouse><host>localhost</host><port>9000</port><user>default</user><password/><db>default</db><table>t</table></clickhouse></source>
            <lifetime><min>300</min><max>360</max></lifetime><layout><complex_key_range_hashed><range_lookup_strategy>max</range_lookup_strategy></complex_key_range_hashed></layout>
            <structure><key><attribute><name>id</name><type>String</type></attribute></key>
            <range_min><name>a</name></range_min><range_max><name>b</name><type>Date</type></range_max>
            <attribute><name>v</name><type>Float64</type><null_value>1.5</null_value></attribute>
            <attribute><name>s</name><type>String</type><null_value></null_value><expression>upper(s)</expression></attribute></structure></dictionary>
            <dictionary><name>h</name><source><http><url>http://x/</url><format>CSV</format><credentials><user>u</user><password>p</password></credentials>
            <headers><header><name>n</name><value>v</value></header></headers></http></source><lifetime>5</lifetime><layout><hashed/></layout>
            <structure><id><name>id</name></id><attribute><name>p</name><type>UInt64</type><null_value>0</null_value><hierarchical>true</hierarchical></attribute></structure>
            </dictionary></yandex>";
        std::fs::write(&file, xml).unwrap();
        let dictionaries = read(&file).unwrap();
        let sql: Vec<String> = dictionaries
            .iter()
            .map(|(_, create)| format_one_line(&Statement::CreateDictionary(Box::new(create.clone()))))
            .collect();
        assert_eq!(dictionaries[0].0, "default.d");
        assert!(sql[0].contains("PRIMARY KEY id") && sql[0].contains("RANGE(MIN a MAX b)"), "{}", sql[0]);
        assert!(sql[1].contains("HTTP(URL 'http://x/' FORMAT 'CSV' CREDENTIALS ("), "{}", sql[1]);
        let plan = |at: usize| {
            plan_configured_dictionary(&dictionaries[at].1, "f.xml", &FunctionContext::outside_queries("UTC")).unwrap()
        };
        let (first, second) = (plan(0), plan(1));
        assert_eq!((first.layout, first.lifetime_seconds), (DictionaryLayout::ComplexKeyRangeHashed, (300, 360)));
        assert_eq!((first.range, first.attributes.len()), (Some((1, 2)), 2));
        assert!(second.attributes[0].is_hierarchical && second.origin.as_deref() == Some("f.xml"));
    }

    #[test]
    fn what_is_missing_is_named_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("d.xml");
        for (xml, expected) in [
            ("<x/>", "root element"),
            ("<clickhouse><dictionary/></clickhouse>", "needs <name>"),
            ("<clickhouse>\n<dictionary><name>d</name></dictionary></clickhouse>", "d.xml:2"),
            (
                "<clickhouse><dictionary><name>d</name><structure/><source/></dictionary></clickhouse>",
                "one element inside",
            ),
        ] {
            std::fs::write(&file, xml).unwrap();
            let error = read(&file).unwrap_err();
            assert!(error.message.contains(expected), "{xml}: {error}");
        }
    }
}
