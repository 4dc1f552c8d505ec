//! Functions of the server, of the query and of blocks, and those of addresses and UUIDs as text.

mod address;
mod bitmask;
mod block;
mod check_constraint;
mod file;
mod internal;
mod introspection;
mod neighbour;
mod part_name;
mod region;
pub(crate) mod schema;
mod session;
mod setting;
mod sleep;
mod snowflake;
mod structure;
mod surroundings;
mod throw_if;
mod uuid;
mod width;

pub(in crate::scalar) use neighbour::refuse_deprecated;

use super::simple::Function;
use crate::function::ScalarFunction;

/// Every function of this module.
pub const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("FQDN", session::resolve).of_moment().not_folded(),
    &Function::new("IPv4NumToString", address::resolve_v4_text).never_throws(),
    &Function::new("IPv4NumToStringClassC", address::resolve_v4_text),
    &Function::new("IPv4StringToNum", address::resolve_v4_number),
    &Function::new("IPv4StringToNumOrDefault", address::resolve_v4_number),
    &Function::new("IPv4StringToNumOrNull", address::resolve_v4_number),
    &Function::new("IPv4ToIPv6", address::resolve_v4_to_v6).never_throws(),
    &Function::new("IPv6NumToString", address::resolve_v6_text).never_throws(),
    &Function::new("IPv6StringToNum", address::resolve_v6_number),
    &Function::new("IPv6StringToNumOrDefault", address::resolve_v6_number),
    &Function::new("IPv6StringToNumOrNull", address::resolve_v6_number),
    &Function::new("UUIDToNum", snowflake::resolve_uuid_number),
    &Function::new("UUIDv7ToDateTime", snowflake::resolve_uuid_time).never_throws(),
    &Function::new("dateTime64ToSnowflakeID", snowflake::resolve_from_time).never_throws(),
    &Function::new("dateTimeToSnowflakeID", snowflake::resolve_from_time).never_throws(),
    &Function::new("dateTimeToUUIDv7", snowflake::resolve_time_uuid).with_constants().never_throws().random(),
    &Function::new("generateSnowflakeID", snowflake::resolve_generate)
        .with_nulls()
        .with_constants()
        .never_throws()
        .random(),
    &Function::new("snowflakeIDToDateTime", snowflake::resolve_to_time).never_throws(),
    &Function::new("snowflakeIDToDateTime64", snowflake::resolve_to_time).never_throws(),
    &Function::new("IPv4CIDRToRange", address::resolve_range).never_throws(),
    &Function::new("IPv6CIDRToRange", address::resolve_range).never_throws(),
    &Function::new("MACNumToString", address::resolve_mac_text).never_throws(),
    &Function::new("MACStringToNum", address::resolve_mac_number).never_throws(),
    &Function::new("MACStringToOUI", address::resolve_mac_number).never_throws(),
    &Function::new("cutIPv6", address::resolve_cut).never_throws(),
    &Function::new("UUIDNumToString", uuid::resolve_text),
    &Function::new("UUIDStringToNum", uuid::resolve_number),
    &Function::new("addressToLine", introspection::resolve_address).of_moment(),
    &Function::new("addressToLineWithInlines", introspection::resolve_lines).of_moment(),
    &Function::new("addressToSymbol", introspection::resolve_address).of_moment(),
    &Function::new("authenticatedUser", session::resolve).never_throws().of_moment(),
    &Function::new("bitmaskToList", bitmask::resolve),
    &Function::new("blockNumber", block::resolve_number).with_constants().never_throws().random(),
    &Function::new("blockSize", block::resolve_size).with_constants().never_throws().random(),
    &Function::new("currentDatabase", session::resolve).never_throws().of_moment().standing_alone(),
    &Function::new("currentUser", session::resolve).never_throws().of_moment().standing_alone(),
    &Function::new("demangle", introspection::resolve_demangle),
    &Function::new("byteSize", setting::resolve_byte_size)
        .with_halves()
        .with_nulls()
        .with_dictionaries()
        .never_throws(),
    &Function::new("getSetting", setting::resolve).never_throws().of_moment(),
    &Function::new("getSettingOrDefault", setting::resolve).never_throws().of_moment(),
    &Function::new("displayName", session::resolve).never_throws().of_moment(),
    &Function::new("errorCodeToName", session::resolve_error_name),
    &Function::new("hostName", session::resolve).never_throws().of_moment(),
    &Function::new("initialQueryID", session::resolve).never_throws().of_moment(),
    &Function::new("isConstant", block::resolve_is_constant).with_nulls().with_constants().never_throws().of_moment(),
    &Function::new("isIPAddressInRange", address::resolve_in_range),
    &Function::new("isIPv4String", address::resolve_is_address).never_throws(),
    &Function::new("isIPv6String", address::resolve_is_address).never_throws(),
    &Function::new("queryID", session::resolve).never_throws().of_moment(),
    &Function::new("revision", session::resolve_revision).never_throws().of_moment(),
    &Function::new("rowNumberInAllBlocks", block::resolve_row_in_all).with_constants().never_throws().random(),
    &Function::new("rowNumberInBlock", block::resolve_row).with_constants().never_throws().random(),
    &Function::new("runningDifference", block::resolve_difference)
        .with_constants()
        .without_dictionary()
        .never_throws()
        .random(),
    &Function::new("runningDifferenceStartingWithFirstValue", block::resolve_difference)
        .with_constants()
        .without_dictionary()
        .never_throws()
        .random(),
    &Function::new("sleep", sleep::resolve).with_constants().random(),
    &Function::new("sleepEachRow", sleep::resolve).with_constants().random(),
    &Function::new("squallVersion", session::resolve).never_throws().of_moment(),
    &Function::new("__checkConstraint", check_constraint::resolve)
        .with_nulls()
        .with_constants()
        .without_dictionary()
        .not_folded(),
    &Function::new("__bitBoolMaskAnd", internal::resolve_mask),
    &Function::new("__bitBoolMaskOr", internal::resolve_mask),
    &Function::new("__bitSwapLastTwo", internal::resolve_mask),
    &Function::new("__bitWrapperFunc", internal::resolve_mask),
    &Function::new("__actionName", internal::resolve_refused),
    &Function::new("__applyFilter", internal::resolve_filter).with_nulls(),
    &Function::new("__getScalar", internal::resolve_scalar),
    &Function::new("__scalarSubqueryResult", internal::resolve_as_it_is)
        .with_nulls()
        .with_dictionaries()
        .of_any_type()
        .never_throws(),
    &Function::new("validateNestedArraySizes", internal::resolve_sizes).not_folded(),
    &Function::new("throwIf", throw_if::resolve).with_constants().without_dictionary().not_folded(),
    &Function::new("uptime", session::resolve_uptime).never_throws().of_moment(),
    &Function::new("version", session::resolve).never_throws().of_moment(),
    &Function::new("currentHandler", surroundings::resolve_absent).of_moment(),
    &Function::new("currentRequestURL", surroundings::resolve_absent).of_moment(),
    &Function::new("buildId", surroundings::resolve_absent).of_moment(),
    &Function::new("getOSKernelVersion", surroundings::resolve_absent).of_moment(),
    &Function::new("shardNum", surroundings::resolve_absent).of_moment(),
    &Function::new("shardCount", surroundings::resolve_absent).of_moment(),
    &Function::new("zookeeperSessionUptime", surroundings::resolve_absent).of_moment(),
    &Function::new("hasThreadFuzzer", surroundings::resolve_absent).of_moment(),
    &Function::new("pgTableIsVisible", surroundings::resolve_absent).of_moment(),
    &Function::new("connectionId", surroundings::resolve_absent).of_moment(),
    &Function::new("transactionID", surroundings::resolve_absent).of_moment(),
    &Function::new("transactionLatestSnapshot", surroundings::resolve_absent).of_moment(),
    &Function::new("transactionOldestSnapshot", surroundings::resolve_absent).of_moment(),
    &Function::new("pgGetUserById", surroundings::resolve_absent).of_moment(),
    &Function::new("currentProfiles", surroundings::resolve_names).of_moment(),
    &Function::new("currentRoles", surroundings::resolve_names).of_moment(),
    &Function::new("defaultProfiles", surroundings::resolve_names).of_moment(),
    &Function::new("defaultRoles", surroundings::resolve_names).of_moment(),
    &Function::new("enabledProfiles", surroundings::resolve_names).of_moment(),
    &Function::new("enabledRoles", surroundings::resolve_names).of_moment(),
    &Function::new("formatRow", surroundings::resolve_format_row)
        .showing_names()
        .with_nulls()
        .with_dictionaries()
        .of_moment()
        .not_folded(),
    &Function::new("formatRowNoNewline", surroundings::resolve_format_row)
        .showing_names()
        .with_nulls()
        .with_dictionaries()
        .of_moment()
        .not_folded(),
    &Function::new("file", file::resolve).with_nulls().of_moment().not_folded(),
    &Function::new("filesystemAvailable", surroundings::resolve_disk).of_moment(),
    &Function::new("filesystemCapacity", surroundings::resolve_disk).of_moment(),
    &Function::new("filesystemUnreserved", surroundings::resolve_disk).of_moment(),
    &Function::new("regionHierarchy", region::resolve_chain).never_throws().of_moment(),
    &Function::new("regionIn", region::resolve_in).never_throws().of_moment(),
    &Function::new("regionToName", region::resolve_name).never_throws().of_moment(),
    &Function::new("regionToArea", region::resolve_number).never_throws().of_moment(),
    &Function::new("regionToCity", region::resolve_number).never_throws().of_moment(),
    &Function::new("regionToContinent", region::resolve_number).never_throws().of_moment(),
    &Function::new("regionToCountry", region::resolve_number).never_throws().of_moment(),
    &Function::new("regionToDistrict", region::resolve_number).never_throws().of_moment(),
    &Function::new("regionToPopulation", region::resolve_number).never_throws().of_moment(),
    &Function::new("regionToTopContinent", region::resolve_number).never_throws().of_moment(),
    &Function::new("serverUUID", surroundings::resolve_uuid).never_throws().of_moment(),
    &Function::new("showCertificate", surroundings::resolve_certificate).of_moment(),
    &Function::new("hasColumnInTable", surroundings::resolve_has_column).of_moment(),
    &Function::new("getServerSetting", surroundings::resolve_setting).of_moment(),
    &Function::new("getMergeTreeSetting", surroundings::resolve_setting).of_moment(),
    &Function::new("getServerPort", surroundings::resolve_port).of_moment(),
    &Function::new("tcpPort", surroundings::resolve_port).of_moment(),
    &Function::new("getMacro", surroundings::resolve_macro).of_moment(),
    &Function::new("currentSchemas", surroundings::resolve_schemas).of_moment(),
    &Function::new("getMaxTableNameLengthForDatabase", surroundings::resolve_name_length),
    &Function::new("tid", surroundings::resolve_thread).of_moment(),
    &Function::new("initialQueryStartTime", surroundings::resolve_start).of_moment(),
    &Function::new("logTrace", surroundings::resolve_silent).not_folded(),
    &Function::new("indexHint", surroundings::resolve_silent).with_nulls().with_dictionaries().never_throws(),
    &Function::new("globalVariable", surroundings::resolve_variable),
    &Function::new("currentQueryID", session::resolve).never_throws().of_moment(),
    &Function::new("neighbor", neighbour::resolve).with_nulls().with_dictionaries().with_constants().random(),
    &Function::new("runningConcurrency", neighbour::resolve_concurrency).with_constants().random(),
    &Function::new("partitionId", part_name::resolve_partition).never_throws(),
    &Function::new("structureToCapnProtoSchema", schema::resolve),
    &Function::new("structureToProtobufSchema", schema::resolve),
    &Function::new("mergeTreePartInfo", part_name::resolve_info),
    &Function::new("isMergeTreePartCoveredBy", part_name::resolve_covered),
    &Function::new("toColumnTypeName", structure::resolve_column_name)
        .with_nulls()
        .with_dictionaries()
        .with_constants(),
    &Function::new("dumpColumnStructure", structure::resolve_dump)
        .with_nulls()
        .with_dictionaries()
        .with_constants()
        .not_folded(),
    &Function::new("getSizeOfEnumType", structure::resolve_enum_size),
    &Function::new("getTypeSerializationStreams", structure::resolve_streams).with_nulls().with_dictionaries(),
    &Function::new("blockSerializedSize", structure::resolve_serialized_size)
        .with_nulls()
        .with_dictionaries()
        .with_constants(),
    &Function::new("lowCardinalityKeys", structure::resolve_dictionary)
        .with_nulls()
        .with_dictionaries()
        .with_constants(),
    &Function::new("lowCardinalityIndices", structure::resolve_dictionary)
        .with_nulls()
        .with_dictionaries()
        .with_constants(),
    &Function::new("visibleWidth", width::resolve).with_nulls().never_throws(),
];
