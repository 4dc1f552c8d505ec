//! Visits to the generated web, row by row: who comes, when, from where, and what the browser reports. A chunk of rows depends on
//! the seed and the chunk's number alone, so chunks can be made in any order on any thread. The people and pages are `world`'s.

use super::random::{HeavyTail, Random, Weighted, hash_bytes, mix2};
use super::table::{Rows, Strings};
use super::world::{Site, User, World, push_decimal};

/// Rows in a chunk (the last one of a table may have fewer).
pub const CHUNK_ROWS: u64 = 65_536;

/// 2013-07-01 00:00:00 UTC, in days since 1970-01-01.
const FIRST_DAY: u32 = 15_887;
/// Days of July.
const DAYS: u32 = 31;
const SECONDS_A_DAY: u32 = 86_400;

/// How a visit began: ClickHouse's TraficSourceID with the name of what it means.
mod source {
    pub const INTERNAL: i16 = -1;
    pub const DIRECT: i16 = 0;
    pub const LINK: i16 = 1;
    pub const SEARCH: i16 = 2;
    pub const ADVERTISEMENT: i16 = 3;
    pub const SAVED_PAGE: i16 = 4;
    pub const UNDEFINED: i16 = 5;
    pub const EXTERNAL: i16 = 6;
    pub const MAIL: i16 = 7;
    pub const SOCIAL: i16 = 8;
}

/// A social network: SocialSourceNetworkID and the beginning of its addresses.
const NETWORKS: &[((i16, &str), u64)] = &[
    ((1, "http://vk.com/"), 60),
    ((2, "http://www.odnoklassniki.ru/"), 25),
    ((3, "http://www.facebook.com/"), 8),
    ((4, "https://twitter.com/"), 5),
    ((8, "http://www.livejournal.com/"), 2),
];

/// A search engine: SearchEngineID, the address up to the phrase, the address after it.
const ENGINES: &[((i16, &str, &str), u64)] = &[
    ((2, "http://yandex.ru/yandsearch?text=", "&lr=213"), 560),
    ((3, "https://www.google.ru/search?q=", "&hl=ru"), 300),
    ((13, "http://go.mail.ru/search?q=", "&fr=main"), 90),
    ((15, "http://nova.rambler.ru/search?query=", ""), 25),
    ((36, "http://www.bing.com/search?q=", "&form=MSNH14"), 20),
    ((83, "http://search.webalta.ru/?q=", ""), 5),
];

/// The visits of one seed.
#[derive(Debug)]
pub struct Hits {
    world: World,
    rows: u64,
    days: Weighted<u32>,
    hours: Weighted<u32>,
    sources: Weighted<i16>,
    networks: Weighted<(i16, &'static str)>,
    engines: Weighted<(i16, &'static str, &'static str)>,
    adv_engines: Weighted<i16>,
    colours: Weighted<u8>,
    errors: Weighted<i16>,
    referrers: HeavyTail,
}

impl Hits {
    /// The table of `rows` rows of `seed`.
    pub fn new(seed: u64, rows: u64) -> Self {
        // July 2013 began on a Monday; weekends are quieter, and so are the nights.
        let days: Vec<(u32, u64)> = (0..DAYS)
            .map(|day| (day, if day % 7 < 5 { 100 } else { 78 } + u64::from(mix2(seed, day.into()) as u8) / 16))
            .collect();
        let of_day = [30, 20, 14, 10, 9, 11, 18, 30, 48, 64, 74, 78, 78, 78, 79, 78, 76, 74, 74, 78, 82, 82, 70, 48];
        let hours: Vec<(u32, u64)> = (0..24).zip(of_day).collect();
        Hits {
            world: World::new(seed),
            rows,
            days: Weighted::new(&days),
            hours: Weighted::new(&hours),
            sources: Weighted::new(&[
                (source::DIRECT, 200),
                (source::LINK, 170),
                (source::SEARCH, 430),
                (source::ADVERTISEMENT, 35),
                (source::SAVED_PAGE, 15),
                (source::UNDEFINED, 10),
                (source::EXTERNAL, 70),
                (source::MAIL, 20),
                (source::SOCIAL, 50),
            ]),
            networks: Weighted::new(NETWORKS),
            engines: Weighted::new(ENGINES),
            adv_engines: Weighted::new(&[
                (2, 640),
                (27, 180),
                (13, 72),
                (45, 62),
                (44, 15),
                (3, 11),
                (62, 8),
                (52, 6),
                (50, 3),
                (28, 3),
            ]),
            colours: Weighted::new(&[(b'5', 420), (b'E', 240), (b'F', 160), (b'g', 80), (b'T', 60), (b'D', 40)]),
            errors: Weighted::new(&[(404, 80), (403, 10), (500, 6), (503, 4)]),
            referrers: HeavyTail::new(4_000, 4.0),
        }
    }

    /// The number of rows of the whole table.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of chunks of the whole table.
    pub fn chunks(&self) -> u64 {
        self.rows.div_ceil(CHUNK_ROWS)
    }

    /// The rows of chunk number `chunk`; none past the end.
    pub fn chunk(&self, chunk: u64) -> Rows {
        let rows = self.rows.saturating_sub(chunk.saturating_mul(CHUNK_ROWS)).min(CHUNK_ROWS) as usize;
        let random = &mut Random::new(self.world.seed(), chunk);
        let out = &mut Rows::with_capacity(rows);
        while out.watch_id.len() < rows {
            let left = rows - out.watch_id.len();
            self.visit(random, left, out);
        }
        std::mem::replace(out, Rows::with_capacity(0))
    }

    /// Appends one visit: a user on a site for one to a few hundred hits, at most `limit`.
    fn visit(&self, random: &mut Random, limit: usize, out: &mut Rows) {
        let user = self.world.draw_user(random);
        let site =
            if random.chance(500_000) { self.world.site(user.favourite_site) } else { self.world.draw_site(random) };
        let hits = (random.long_tail(1.0, 0.8, 120.0) as usize).min(limit);
        let start = self.arrival(random);
        constant_columns(&user, site, hits, random, out);
        self.landing(site, random, out);
        self.pages(&user, site, start, hits, random, out);
        self.rare_columns(site, hits, random, out);
    }

    /// When somebody comes: a second of July 2013 in UTC.
    fn arrival(&self, random: &mut Random) -> u32 {
        let day = self.days.draw(random);
        // The hours above are Moscow's, four hours ahead.
        let hour = (self.hours.draw(random) + 20) % 24;
        (FIRST_DAY + day) * SECONDS_A_DAY + hour * 3600 + random.below(3600) as u32
    }

    /// Appends what belongs to the first hit of a visit: where it came from.
    fn landing(&self, site: &Site, random: &mut Random, out: &mut Rows) {
        let from = self.sources.draw(random);
        let (mut engine, mut advertiser, mut network) = (0, 0, 0);
        let referer = &mut out.referer.bytes;
        match from {
            source::SEARCH => {
                let (id, before, after) = self.engines.draw(random);
                engine = id;
                let phrase_start = out.search_phrase.bytes.len();
                // Some engines and browsers hide the phrase.
                if random.chance(850_000) {
                    self.world.draw_phrase(random, site.language, &mut out.search_phrase.bytes);
                }
                referer.extend_from_slice(before.as_bytes());
                let phrase = out.search_phrase.bytes.iter().skip(phrase_start);
                referer.extend(phrase.map(|&byte| if byte == b' ' { b'+' } else { byte }));
                referer.extend_from_slice(after.as_bytes());
            }
            source::SOCIAL => {
                let (id, address) = self.networks.draw(random);
                network = id;
                referer.extend_from_slice(address.as_bytes());
                push_decimal(referer, random.below(40_000_000));
            }
            source::LINK | source::EXTERNAL | source::ADVERTISEMENT => {
                if from == source::ADVERTISEMENT && random.chance(900_000) {
                    advertiser = self.adv_engines.draw(random);
                }
                let other = self.world.site(self.referrers.draw(random));
                self.world.write_url(other, other.pages.draw(random), referer);
            }
            source::SAVED_PAGE => self.world.write_url(site, site.pages.draw(random), referer),
            _ => {}
        }
        out.referer.finish();
        out.search_phrase.finish();
        out.trafic_source_id.push(from);
        out.search_engine_id.push(engine);
        out.adv_engine_id.push(advertiser);
        out.social_source_network_id.push(network);
        if network != 0 && random.chance(300_000) {
            out.social_source_page.bytes.extend_from_slice(b"public");
            push_decimal(&mut out.social_source_page.bytes, random.below(90_000));
        }
        out.social_source_page.finish();
        let foreign = random.chance(250_000);
        out.referer_category_id.push(if foreign { random.long_tail(1.0, 300.0, 16_000.0) as i16 } else { 0 });
        out.referer_region_id.push(if foreign { random.long_tail(1.0, 200.0, 20_000.0) as i32 } else { 0 });
    }

    /// Appends the hits' own columns: pages, times, and what chains one hit to the one before.
    fn pages(&self, user: &User, site: &Site, start: u32, hits: usize, random: &mut Random, out: &mut Rows) {
        let last_second = (FIRST_DAY + DAYS) * SECONDS_A_DAY - 1;
        let mut time = start;
        let mut history = random.long_tail(1.0, 3.0, 400.0) as i16;
        let mut page = 0;
        for hit in 0..hits {
            let first = hit == 0;
            let refresh = !first && random.chance(220_000);
            if !first {
                // The page before is where this one was reached from.
                out.referer.push(last_value(&out.url));
                out.referer_hash.push(out.url_hash.last().copied().unwrap_or(0));
                time = (time + random.long_tail(2.0, 22.0, 1_700.0) as u32).min(last_second);
                // A visitor who reloads the landing page keeps its search phrase.
                if refresh && hit == 1 {
                    out.search_phrase.repeat_last();
                    out.search_engine_id.push(out.search_engine_id.last().copied().unwrap_or(0));
                } else {
                    out.search_phrase.push(b"");
                    out.search_engine_id.push(0);
                }
                out.trafic_source_id.push(source::INTERNAL);
                out.adv_engine_id.push(0);
                out.social_source_network_id.push(0);
                out.social_source_page.push(b"");
                out.referer_category_id.push(site.category_id);
                out.referer_region_id.push(site.region_id);
                history = history.saturating_add(1);
            }
            if refresh {
                out.url.repeat_last();
                out.title.repeat_last();
                out.url_hash.push(out.url_hash.last().copied().unwrap_or(0));
            } else {
                page = site.pages.draw(random);
                self.world.write_url(site, page, &mut out.url.bytes);
                if random.chance(70_000) {
                    // Session numbers and the like, which make an address unique.
                    out.url.bytes.extend_from_slice(if random.chance(500_000) { b"&sid=" } else { b"&rnd=" });
                    push_decimal(&mut out.url.bytes, random.bits() >> 30);
                }
                out.url.finish();
                out.url_hash.push(hash_bytes(last_value(&out.url)) as i64);
                if random.chance(870_000) {
                    self.world.write_title(site, page, &mut out.title.bytes);
                }
                out.title.finish();
            }
            if first {
                out.referer_hash.push(hash_bytes(last_value(&out.referer)) as i64);
            }
            // A tenth of the pages reports an original address beside the shown one.
            if random.chance(100_000) {
                out.original_url.bytes.extend_from_slice(last_value(&out.url));
                out.original_url.bytes.extend_from_slice(b"#src=");
                push_decimal(&mut out.original_url.bytes, page % 64);
            }
            out.original_url.finish();
            out.watch_id.push((random.bits() >> 2 | 1 << 62) as i64);
            out.event_time.push(time);
            out.event_date.push((time / SECONDS_A_DAY) as u16);
            out.client_event_time.push((i64::from(time) + user.clock_skew) as u32);
            out.local_event_time.push(time + (random.bits() & random.bits() & 3) as u32);
            out.is_refresh.push(i16::from(refresh));
            out.history_length.push(history);
            out.hid.push((random.bits() >> 34) as i32);
            out.hit_color.push(&[self.colours.draw(random)]);
            self.timings(random, out);
        }
    }

    /// Appends one hit's timings in milliseconds: two fifths of the browsers report none.
    fn timings(&self, random: &mut Random, out: &mut Rows) {
        if random.chance(400_000) {
            for column in [
                &mut out.send_timing,
                &mut out.dns_timing,
                &mut out.connect_timing,
                &mut out.response_start_timing,
                &mut out.response_end_timing,
                &mut out.fetch_timing,
            ] {
                column.push(0);
            }
            return;
        }
        let cached = random.chance(600_000);
        let (dns, connect) = if cached {
            (0, 0)
        } else {
            (random.long_tail(0.0, 12.0, 4_000.0) as i32, random.long_tail(0.0, 35.0, 9_000.0) as i32)
        };
        let response = random.long_tail(8.0, 140.0, 30_000.0) as i32;
        out.send_timing.push(random.long_tail(0.0, 60.0, 60_000.0) as i32);
        out.dns_timing.push(dns);
        out.connect_timing.push(connect);
        out.response_start_timing.push(response);
        out.response_end_timing.push(response + random.long_tail(0.0, 40.0, 30_000.0) as i32);
        out.fetch_timing.push(random.long_tail(0.0, 420.0, 120_000.0) as i32);
    }

    /// Appends the columns that are empty in nearly all rows: sales, campaigns, social actions, errors and flags.
    fn rare_columns(&self, site: &Site, hits: usize, random: &mut Random, out: &mut Rows) {
        let campaign = random.chance(22_000);
        let openstat = random.chance(9_000);
        let has_gclid = i16::from(random.chance(4_000));
        out.has_gclid.extend(std::iter::repeat_n(has_gclid, hits));
        for _ in 0..hits {
            // One draw of 64 bits decides all the flags of a row: each takes some bits of its own.
            let flags = random.bits();
            let flag = |shift: u32, of_1024: u64| i16::from((flags >> shift) & 1023 < of_1024);
            out.is_link.push(flag(0, 30));
            out.is_download.push(flag(10, 4));
            out.is_event.push(flag(20, 6));
            out.is_parameter.push(flag(30, 12));
            out.dont_count_hits.push(flag(40, 50));
            out.with_hash.push(flag(50, 25));

            if random.chance(30_000) {
                let params = &mut out.params.bytes;
                params.extend_from_slice(b"{\"section\":");
                push_decimal(params, random.below(40));
                params.extend_from_slice(b",\"user\":\"");
                params.extend_from_slice(if random.chance(200_000) { b"member" } else { b"guest" });
                params.extend_from_slice(b"\"}");
            }
            out.params.finish();

            let (mut price, mut currency_id, mut currency) = (0, 0, "");
            if random.chance(2_500) {
                price = random.long_tail(50.0, 1_900.0, 900_000.0) as i64;
                (currency_id, currency) = if random.chance(850_000) { (643, "RUB") } else { (840, "USD") };
                push_decimal(&mut out.param_order_id.bytes, random.below(10_000_000));
            }
            out.param_order_id.finish();
            out.param_price.push(price);
            out.param_currency.push(currency.as_bytes());
            out.param_currency_id.push(currency_id);

            let social = random.chance(700);
            out.social_network.push(if social { b"vkontakte" } else { b"" });
            out.social_action.push(if social { b"like" } else { b"" });
            out.http_error.push(if random.chance(2_000) { self.errors.draw(random) } else { 0 });
        }
        // Campaigns mark the address of the landing page only.
        let mut mark = |column: &mut Strings, present: bool, prefix: &[u8], numbers: u64| {
            if present {
                column.bytes.extend_from_slice(prefix);
                push_decimal(&mut column.bytes, random.below(numbers));
            }
            column.finish();
            column.push_times(b"", hits - 1);
        };
        mark(&mut out.openstat_service_name, openstat, b"direct.yandex.ru;", 4);
        mark(&mut out.openstat_campaign_id, openstat, b"", 2_000_000);
        mark(&mut out.openstat_ad_id, openstat, b"", 90_000_000);
        mark(&mut out.openstat_source_id, openstat, b"yandex.ru:guarantee", 4);
        mark(&mut out.utm_source, campaign, b"partner", 60);
        mark(&mut out.utm_medium, campaign, b"cpc", 3);
        mark(&mut out.utm_campaign, campaign, b"july_", 400);
        mark(&mut out.utm_content, campaign && site.category_id % 2 == 0, b"banner", 900);
        mark(&mut out.utm_term, campaign && site.category_id % 3 == 0, b"term_", 20_000);
        mark(&mut out.from_tag, openstat && site.category_id % 5 == 0, b"tag", 50);
    }
}

/// Appends the columns that have one value throughout a visit: those of the user, the site and the browser window.
fn constant_columns(user: &User, site: &Site, hits: usize, random: &mut Random, out: &mut Rows) {
    macro_rules! fill {
        ($($column:ident = $value:expr;)*) => { $({
            let length = out.$column.len() + hits;
            out.$column.resize(length, $value);
        })* };
    }
    macro_rules! fill_text {
        ($($column:ident = $value:expr;)*) => { $(out.$column.push_times($value.as_bytes(), hits);)* };
    }
    let window_name = random.bits() as i32;
    let opener_name = if random.chance(300_000) { random.bits() as i32 } else { -1 };
    fill! {
        user_id = user.user_id;
        client_ip = user.client_ip;
        remote_ip = user.remote_ip;
        ip_network_id = user.ip_network_id;
        region_id = user.region_id;
        os = user.os;
        user_agent = user.user_agent;
        user_agent_major = user.user_agent_major;
        is_mobile = user.is_mobile;
        mobile_phone = user.mobile_phone;
        resolution_width = user.resolution_width;
        resolution_height = user.resolution_height;
        resolution_depth = user.resolution_depth;
        window_client_width = user.window_client_width;
        window_client_height = user.window_client_height;
        java_enable = user.java_enable;
        cookie_enable = user.cookie_enable;
        javascript_enable = user.javascript_enable;
        flash_major = user.flash_major;
        flash_minor = user.flash_minor;
        net_major = user.net_major;
        net_minor = user.net_minor;
        silverlight_version1 = user.silverlight.0;
        silverlight_version2 = user.silverlight.1;
        silverlight_version3 = user.silverlight.2;
        silverlight_version4 = user.silverlight.3;
        client_time_zone = user.client_time_zone;
        f_uniq_id = user.f_uniq_id;
        age = user.age;
        sex = user.sex;
        income = user.income;
        interests = user.interests;
        robotness = user.robotness;
        counter_id = site.counter_id;
        counter_class = site.counter_class;
        url_category_id = site.category_id;
        url_region_id = site.region_id;
        code_version = site.code_version;
        is_old_counter = site.is_old_counter;
        clid = site.clid;
        good_event = 1;
        is_artifical = 0;
        is_not_bounce = i16::from(hits > 1);
        window_name = window_name;
        opener_name = opener_name;
    }
    fill_text! {
        flash_minor2 = user.flash_minor2;
        user_agent_minor = user.user_agent_minor;
        mobile_phone_model = user.mobile_phone_model;
        browser_language = user.browser_language;
        browser_country = user.browser_country;
        page_charset = site.charset;
    }
}

/// The last value of a column; empty if there is none.
fn last_value(column: &Strings) -> &[u8] {
    match column.offsets.as_slice() {
        [.., start, end] => &column.bytes[*start as usize..*end as usize],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use squall_types::DataType;

    use super::super::table::schema;
    use super::*;

    #[test]
    fn every_column_has_every_row() {
        let hits = Hits::new(1, CHUNK_ROWS + 100);
        assert_eq!(hits.chunks(), 2);
        for (chunk, expected) in [(0, CHUNK_ROWS), (1, 100), (2, 0)] {
            let block = hits.chunk(chunk).into_block(schema());
            for (column, name) in block.columns().iter().zip(block.schema().names()) {
                assert_eq!(column.rows() as u64, expected, "{name}");
                if *column.data_type() == DataType::String {
                    assert!(
                        column.as_binary().unwrap().iter().flatten().all(|value| std::str::from_utf8(value).is_ok()),
                        "{name}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_seed_is_a_table() {
        let digests: Vec<u64> = [(1, 0), (1, 0), (1, 1), (2, 0)]
            .into_iter()
            .map(|(seed, chunk)| hash_bytes(format!("{:?}", Hits::new(seed, 3 * CHUNK_ROWS).chunk(chunk)).as_bytes()))
            .collect();
        assert_eq!(digests[0], digests[1]);
        assert_ne!(digests[0], digests[2]);
        assert_ne!(digests[0], digests[3]);
        // Pinned: whoever changes this changes everybody's data, and says so in the changelog.
        assert_eq!(digests[0], 18_129_352_535_921_977_450);
    }

    #[test]
    fn distributions_are_lifelike() {
        let rows = Hits::new(0, CHUNK_ROWS).chunk(0);
        let n = rows.watch_id.len();
        let share = |count: usize| count as f64 / n as f64;
        let full_hd = rows.resolution_width.iter().filter(|&&width| width == 1366).count();
        assert!((0.15..0.35).contains(&share(full_hd)));
        assert!(rows.resolution_width.iter().all(|&width| (1..=5120).contains(&width)));
        let phrases = rows.search_phrase.offsets.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((0.06..0.2).contains(&share(phrases)), "{}", share(phrases));
        let advertised = rows.adv_engine_id.iter().filter(|&&id| id != 0).count();
        assert!((0.002..0.02).contains(&share(advertised)));
        for (time, date) in rows.event_time.iter().zip(&rows.event_date) {
            assert_eq!(time / SECONDS_A_DAY, u32::from(*date));
            assert!((FIRST_DAY..FIRST_DAY + DAYS).contains(&(time / SECONDS_A_DAY)));
        }
        let mut users = rows.user_id.clone();
        users.sort_unstable();
        users.dedup();
        assert!((0.1..0.5).contains(&share(users.len())));
    }
}
