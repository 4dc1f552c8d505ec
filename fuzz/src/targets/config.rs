//! Configuration files: the XML, merging two of them (a zero byte stands between), and what the elements mean.

use squall_server::access::AccessControl;
use squall_server::config::{Config, ConfigSource, Element, Findings, merge};

pub const WORDS: &[&str] = &[
    "<clickhouse>",
    "</clickhouse>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "&lt;",
    "&#65;",
    " replace=\"1\"",
    " remove=\"1\"",
    " incl=\"a\"",
    "<users>",
    "<profiles>",
    "<quotas>",
    "<logger>",
    "<openSSL>",
    "<server>",
    "<query_masking_rules>",
    "<rule>",
    "<regexp>",
    "<replace>",
    "<http_handlers>",
    "<handler>",
    "<networks>",
    "<ip>::/0</ip>",
    "<query_log>",
    "<ttl>",
    "<?xml version=\"1.0\"?>",
    "\0",
];

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (first, second) = text.split_once('\0').unwrap_or((text, ""));
    let Ok(mut root) = Element::parse("first.xml", first) else { return };
    if let Ok(second) = Element::parse("second.xml", second) {
        let _ = merge::merge(&mut root, second);
    }
    // A tree that names further files is `merge::load`'s.
    root.children.retain(|child| !matches!(child.name.as_str(), "users_config" | "user_directories" | "include_from"));
    if let Ok(config) = Config::of_tree(root, Vec::new(), Findings::default(), &ConfigSource::default()) {
        let _ = AccessControl::configured(&config.users, &config.server.default_profile, &mut Vec::new());
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    vec![include_bytes!("../../../crates/server/tests/data/stock_config.xml").to_vec()]
}
