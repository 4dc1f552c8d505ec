//! The shape of the `hits` table: its 105 columns with ClickBench's names, types and order, in one list from which both the DDL and
//! the typed column buffers are made. What goes into the columns is the business of `hits`.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::BinaryArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, UInt16Type, UInt32Type};
use arrow_buffer::{Buffer, OffsetBuffer};
use squall_types::{Block, Column, DataType, Schema};

/// A column of byte strings: value `i` is `bytes[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strings {
    /// One more than there are values, beginning with 0.
    pub offsets: Vec<i32>,
    /// The values, one after the other.
    pub bytes: Vec<u8>,
}

impl Strings {
    /// Room for `rows` values of about `bytes_each`.
    fn with_capacity(rows: usize, bytes_each: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Strings { offsets, bytes: Vec::with_capacity(rows * bytes_each) }
    }

    /// The number of finished values.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no finished value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.finish();
    }

    /// Appends `value` `times` over.
    pub fn push_times(&mut self, value: &[u8], times: usize) {
        for _ in 0..times {
            self.push(value);
        }
    }

    /// Appends the last value once more (an empty one if there is none).
    pub fn repeat_last(&mut self) {
        let range = match self.offsets.as_slice() {
            [.., start, end] => *start as usize..*end as usize,
            _ => 0..0,
        };
        self.bytes.extend_from_within(range);
        self.finish();
    }

    fn into_column(self) -> Column {
        let offsets = OffsetBuffer::new(self.offsets.into());
        Column::new(DataType::String, Arc::new(BinaryArray::new(offsets, Buffer::from_vec(self.bytes), None)))
    }

    /// Ends the value whose bytes were appended to `bytes`. A chunk's strings stay far below 2 GiB.
    #[inline]
    pub fn finish(&mut self) {
        self.offsets.push(self.bytes.len() as i32);
    }
}

macro_rules! buffer {
    (type String) => { Strings };
    (type Int16) => { Vec<i16> };
    (type Int32) => { Vec<i32> };
    (type Int64) => { Vec<i64> };
    (type Date) => { Vec<u16> };
    (type DateTime) => { Vec<u32> };
    (new String, $rows:expr, $bytes:expr) => { Strings::with_capacity($rows, $bytes) };
    (new $other:ident, $rows:expr, $bytes:expr) => { Vec::with_capacity($rows) };
    (column String, $values:expr) => { $values.into_column() };
    (column Int16, $values:expr) => { Column::from_primitive::<Int16Type>(DataType::Int16, $values) };
    (column Int32, $values:expr) => { Column::from_primitive::<Int32Type>(DataType::Int32, $values) };
    (column Int64, $values:expr) => { Column::from_primitive::<Int64Type>(DataType::Int64, $values) };
    (column Date, $values:expr) => { Column::from_primitive::<UInt16Type>(DataType::Date, $values) };
    (column DateTime, $values:expr) => { Column::from_primitive::<UInt32Type>(DataType::DateTime(None), $values) };
    (data_type DateTime) => { DataType::DateTime(None) };
    (data_type $other:ident) => { DataType::$other };
}

macro_rules! table {
    ($($field:ident $name:ident $type:ident $bytes:literal;)*) => {
        /// The names and types of the columns of `hits`, in the table's order.
        pub fn schema() -> Arc<Schema> {
            Arc::new(Schema::new([$((stringify!($name), buffer!(data_type $type))),*]))
        }

        /// A run of rows of `hits`, one buffer a column.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Rows {
            $(pub $field: buffer!(type $type),)*
        }

        impl Rows {
            /// Empty buffers with room for `rows` rows.
            pub fn with_capacity(rows: usize) -> Self {
                Rows { $($field: buffer!(new $type, rows, $bytes),)* }
            }

            /// The rows as a block under `schema`, which [`schema`] made. The buffers move, nothing is copied.
            pub fn into_block(self, schema: Arc<Schema>) -> Block {
                let rows = self.watch_id.len();
                Block::new(schema, vec![$(buffer!(column $type, self.$field)),*], rows)
            }
        }
    };
}

// The number is the usual length of a string, in bytes, for the first allocation.
table! {
    watch_id WatchID Int64 0;
    java_enable JavaEnable Int16 0;
    title Title String 110;
    good_event GoodEvent Int16 0;
    event_time EventTime DateTime 0;
    event_date EventDate Date 0;
    counter_id CounterID Int32 0;
    client_ip ClientIP Int32 0;
    region_id RegionID Int32 0;
    user_id UserID Int64 0;
    counter_class CounterClass Int16 0;
    os OS Int16 0;
    user_agent UserAgent Int16 0;
    url URL String 90;
    referer Referer String 80;
    is_refresh IsRefresh Int16 0;
    referer_category_id RefererCategoryID Int16 0;
    referer_region_id RefererRegionID Int32 0;
    url_category_id URLCategoryID Int16 0;
    url_region_id URLRegionID Int32 0;
    resolution_width ResolutionWidth Int16 0;
    resolution_height ResolutionHeight Int16 0;
    resolution_depth ResolutionDepth Int16 0;
    flash_major FlashMajor Int16 0;
    flash_minor FlashMinor Int16 0;
    flash_minor2 FlashMinor2 String 4;
    net_major NetMajor Int16 0;
    net_minor NetMinor Int16 0;
    user_agent_major UserAgentMajor Int16 0;
    user_agent_minor UserAgentMinor String 3;
    cookie_enable CookieEnable Int16 0;
    javascript_enable JavascriptEnable Int16 0;
    is_mobile IsMobile Int16 0;
    mobile_phone MobilePhone Int16 0;
    mobile_phone_model MobilePhoneModel String 1;
    params Params String 4;
    ip_network_id IPNetworkID Int32 0;
    trafic_source_id TraficSourceID Int16 0;
    search_engine_id SearchEngineID Int16 0;
    search_phrase SearchPhrase String 10;
    adv_engine_id AdvEngineID Int16 0;
    is_artifical IsArtifical Int16 0;
    window_client_width WindowClientWidth Int16 0;
    window_client_height WindowClientHeight Int16 0;
    client_time_zone ClientTimeZone Int16 0;
    client_event_time ClientEventTime DateTime 0;
    silverlight_version1 SilverlightVersion1 Int16 0;
    silverlight_version2 SilverlightVersion2 Int16 0;
    silverlight_version3 SilverlightVersion3 Int32 0;
    silverlight_version4 SilverlightVersion4 Int16 0;
    page_charset PageCharset String 10;
    code_version CodeVersion Int32 0;
    is_link IsLink Int16 0;
    is_download IsDownload Int16 0;
    is_not_bounce IsNotBounce Int16 0;
    f_uniq_id FUniqID Int64 0;
    original_url OriginalURL String 16;
    hid HID Int32 0;
    is_old_counter IsOldCounter Int16 0;
    is_event IsEvent Int16 0;
    is_parameter IsParameter Int16 0;
    dont_count_hits DontCountHits Int16 0;
    with_hash WithHash Int16 0;
    hit_color HitColor String 1;
    local_event_time LocalEventTime DateTime 0;
    age Age Int16 0;
    sex Sex Int16 0;
    income Income Int16 0;
    interests Interests Int16 0;
    robotness Robotness Int16 0;
    remote_ip RemoteIP Int32 0;
    window_name WindowName Int32 0;
    opener_name OpenerName Int32 0;
    history_length HistoryLength Int16 0;
    browser_language BrowserLanguage String 2;
    browser_country BrowserCountry String 2;
    social_network SocialNetwork String 1;
    social_action SocialAction String 1;
    http_error HTTPError Int16 0;
    send_timing SendTiming Int32 0;
    dns_timing DNSTiming Int32 0;
    connect_timing ConnectTiming Int32 0;
    response_start_timing ResponseStartTiming Int32 0;
    response_end_timing ResponseEndTiming Int32 0;
    fetch_timing FetchTiming Int32 0;
    social_source_network_id SocialSourceNetworkID Int16 0;
    social_source_page SocialSourcePage String 1;
    param_price ParamPrice Int64 0;
    param_order_id ParamOrderID String 1;
    param_currency ParamCurrency String 1;
    param_currency_id ParamCurrencyID Int16 0;
    openstat_service_name OpenstatServiceName String 1;
    openstat_campaign_id OpenstatCampaignID String 1;
    openstat_ad_id OpenstatAdID String 1;
    openstat_source_id OpenstatSourceID String 1;
    utm_source UTMSource String 1;
    utm_medium UTMMedium String 1;
    utm_campaign UTMCampaign String 1;
    utm_content UTMContent String 1;
    utm_term UTMTerm String 1;
    from_tag FromTag String 1;
    has_gclid HasGCLID Int16 0;
    referer_hash RefererHash Int64 0;
    url_hash URLHash Int64 0;
    clid CLID Int32 0;
}

/// The statement that creates the table under `table_name` (as written in SQL: with its database, quoted where that needs it).
pub fn create_table_sql(table_name: &str) -> String {
    let mut sql = format!("CREATE TABLE {table_name}\n(\n");
    let schema = schema();
    for (position, (name, data_type)) in schema.fields.iter().enumerate() {
        let comma = if position + 1 < schema.len() { "," } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(sql, "    {name} {data_type}{comma}");
    }
    sql.push_str(")\nENGINE = MergeTree\nORDER BY (CounterID, EventDate, UserID, EventTime, WatchID)");
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ddl_names_all_columns_in_order() {
        let sql = create_table_sql("datasets.hits_v1");
        assert_eq!(schema().len(), 105);
        assert!(sql.starts_with(
            "CREATE TABLE datasets.hits_v1\n(\n    WatchID Int64,\n    JavaEnable Int16,\n    Title String,\n"
        ));
        assert!(sql.contains("    CLID Int32\n)\nENGINE = MergeTree\nORDER BY (CounterID, EventDate,"));
    }
}
