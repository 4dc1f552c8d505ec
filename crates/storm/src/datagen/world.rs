//! The generated web: its sites, their pages, the people who visit them and what they search for. Everything is a function of the
//! seed and of a rank, so that any thread that meets site 12, page 3 or user 99 sees the same one. Visits happen in `hits`.

use super::random::{HeavyTail, Random, Weighted, mix2};
use super::vocabulary::Vocabulary;

/// Sites (values of CounterID).
const SITES: u64 = 6_500;
/// People who might come by; a table of some million rows sees a few hundred thousand of them.
const USERS: u64 = 20_000_000;
/// Phrases that might be searched for.
const PHRASES: u64 = 4_000_000;
/// The counter that ClickBench's queries ask for, and the popularity rank of the site that has it.
const KNOWN_COUNTER: (u64, i32) = (7, 62);
/// The user that ClickBench's queries ask for, and its rank.
const KNOWN_USER: (u64, i64) = (30_000, 435_090_932_899_640_449);

/// Keys of the independent universes within one seed.
mod universe {
    pub const SITE: u64 = 1;
    pub const PAGE: u64 = 2;
    pub const USER: u64 = 3;
    pub const PHRASE: u64 = 4;
}

/// The language a site is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Cyrillic titles and searches.
    Russian,
    /// Latin ones.
    English,
}

/// A web site: what all its hits have in common.
#[derive(Debug)]
pub struct Site {
    pub counter_id: i32,
    pub counter_class: i16,
    pub language: Language,
    /// `http://` and the host's name.
    pub origin: String,
    /// What its titles end with.
    pub title_suffix: String,
    pub category_id: i16,
    pub region_id: i32,
    pub charset: &'static str,
    pub code_version: i32,
    pub is_old_counter: i16,
    pub clid: i32,
    /// Its pages by popularity.
    pub pages: HeavyTail,
    /// How its addresses look.
    style: u64,
    key: u64,
}

/// A visitor: what all hits of one user have in common.
#[derive(Debug)]
pub struct User {
    pub user_id: i64,
    pub client_ip: i32,
    pub remote_ip: i32,
    pub ip_network_id: i32,
    pub region_id: i32,
    pub os: i16,
    pub user_agent: i16,
    pub user_agent_major: i16,
    pub user_agent_minor: &'static str,
    pub is_mobile: i16,
    pub mobile_phone: i16,
    pub mobile_phone_model: &'static str,
    pub resolution_width: i16,
    pub resolution_height: i16,
    pub resolution_depth: i16,
    pub window_client_width: i16,
    pub window_client_height: i16,
    pub java_enable: i16,
    pub cookie_enable: i16,
    pub javascript_enable: i16,
    pub flash_major: i16,
    pub flash_minor: i16,
    pub flash_minor2: &'static str,
    pub net_major: i16,
    pub net_minor: i16,
    pub silverlight: (i16, i16, i32, i16),
    /// Minutes east of Greenwich.
    pub client_time_zone: i16,
    /// How far the user's clock is off, in seconds.
    pub clock_skew: i64,
    pub f_uniq_id: i64,
    pub age: i16,
    pub sex: i16,
    pub income: i16,
    pub interests: i16,
    pub robotness: i16,
    pub browser_language: &'static str,
    pub browser_country: &'static str,
    /// The site that half of the visits go to.
    pub favourite_site: u64,
}

/// Screens that are common, with how common they are.
const DESKTOP_SCREENS: &[((i16, i16), u64)] = &[
    ((1366, 768), 250),
    ((1920, 1080), 165),
    ((1280, 1024), 115),
    ((1280, 800), 85),
    ((1024, 768), 70),
    ((1600, 900), 70),
    ((1440, 900), 60),
    ((1680, 1050), 55),
    ((1360, 768), 25),
    ((1920, 1200), 22),
    ((1152, 864), 20),
    ((1024, 600), 18),
    ((0, 0), 45), // Stands for "one of the long tail".
];

/// The same for hand-held devices.
const MOBILE_SCREENS: &[((i16, i16), u64)] = &[
    ((768, 1024), 300),
    ((320, 480), 180),
    ((320, 568), 120),
    ((480, 800), 120),
    ((720, 1280), 90),
    ((360, 640), 60),
    ((800, 1280), 50),
    ((240, 320), 40),
    ((0, 0), 40),
];

/// MobilePhone (the maker) and MobilePhoneModel of devices that are common.
const PHONES: &[((i16, &str), u64)] = &[
    ((1, "iPad"), 330),
    ((1, "iPhone"), 240),
    ((1, "iPod touch"), 6),
    ((6, "GT-I9100"), 22),
    ((6, "GT-I9300"), 40),
    ((6, "GT-I9500"), 18),
    ((6, "GT-N7000"), 12),
    ((6, "GT-N7100"), 18),
    ((6, "GT-P3100"), 12),
    ((6, "GT-P5100"), 10),
    ((6, "GT-S5830i"), 14),
    ((6, "GT-S6102"), 9),
    ((5, "C6603"), 8),
    ((5, "LT26i"), 7),
    ((5, "ST25i"), 6),
    ((7, "HTC Desire"), 9),
    ((7, "HTC One X"), 8),
    ((7, "Wildfire S"), 6),
    ((10, "LG-P500"), 6),
    ((10, "LG-E612"), 4),
    ((10, "Nexus 4"), 9),
    ((26, "Nexus 7"), 14),
    ((9, "Lumia 800"), 6),
    ((9, "Lumia 920"), 7),
    ((9, "N8-00"), 9),
    ((9, "5230"), 8),
    ((9, "X2-02"), 6),
    ((13, "A500"), 5),
    ((32, "IdeaTab"), 4),
    ((48, "U8950"), 5),
    ((85, "ONE TOUCH"), 4),
    ((88, ""), 120),
];

const LANGUAGES: &[((&str, &str), u64)] = &[
    (("ru", "RU"), 720),
    (("ru", "UA"), 75),
    (("uk", "UA"), 25),
    (("ru", "BY"), 35),
    (("ru", "KZ"), 35),
    (("en", "US"), 40),
    (("en", "GB"), 8),
    (("tr", "TR"), 25),
    (("de", "DE"), 12),
    (("ru", "IL"), 4),
    (("be", "BY"), 3),
    (("kk", "KZ"), 3),
    (("uz", "UZ"), 3),
    (("az", "AZ"), 3),
    (("fr", "FR"), 3),
    (("", ""), 6),
];

/// The choices users are made by.
#[derive(Debug)]
struct Census {
    desktop_screens: Weighted<(i16, i16)>,
    mobile_screens: Weighted<(i16, i16)>,
    phones: Weighted<(i16, &'static str)>,
    languages: Weighted<(&'static str, &'static str)>,
    large_regions: Weighted<i32>,
    desktop_os: Weighted<i16>,
    mobile_os: Weighted<i16>,
    desktop_agents: Weighted<i16>,
    mobile_agents: Weighted<i16>,
    agent_minors: Weighted<&'static str>,
    depths: Weighted<i16>,
    flash_majors: Weighted<i16>,
    ages: Weighted<i16>,
    zones: Weighted<i16>,
}

impl Census {
    fn new() -> Self {
        Census {
            desktop_screens: Weighted::new(DESKTOP_SCREENS),
            mobile_screens: Weighted::new(MOBILE_SCREENS),
            phones: Weighted::new(PHONES),
            languages: Weighted::new(LANGUAGES),
            large_regions: Weighted::new(&[
                (229, 280),
                (2, 108),
                (208, 83),
                (169, 60),
                (184, 32),
                (158, 22),
                (34, 21),
                (55, 20),
                (107, 18),
                (42, 17),
                (0, 339),
            ]),
            desktop_os: Weighted::new(&[
                (44, 520),
                (2, 230),
                (43, 80),
                (45, 60),
                (56, 25),
                (47, 22),
                (6, 15),
                (3, 12),
                (25, 10),
                (29, 8),
                (104, 6),
                (120, 4),
                (135, 3),
                (1, 2),
                (0, 3),
            ]),
            mobile_os: Weighted::new(&[
                (110, 250),
                (115, 210),
                (154, 190),
                (92, 130),
                (127, 80),
                (99, 60),
                (155, 40),
                (59, 25),
                (0, 15),
            ]),
            desktop_agents: Weighted::new(&[
                (3, 260),
                (7, 250),
                (82, 210),
                (5, 120),
                (17, 60),
                (28, 40),
                (45, 25),
                (66, 15),
                (1, 10),
                (2, 5),
                (50, 3),
                (88, 2),
            ]),
            mobile_agents: Weighted::new(&[(33, 380), (44, 330), (79, 140), (10, 70), (41, 50), (56, 20), (77, 10)]),
            agent_minors: Weighted::new(&[
                ("0", 420),
                ("00", 120),
                ("1", 110),
                ("5", 70),
                ("12", 60),
                ("15", 60),
                ("16", 40),
                ("64", 30),
                ("2", 30),
                ("3", 20),
                ("6", 20),
                ("", 20),
            ]),
            depths: Weighted::new(&[(32, 640), (24, 335), (16, 20), (23, 3), (8, 2)]),
            flash_majors: Weighted::new(&[(11, 800), (10, 70), (0, 90), (9, 25), (12, 15)]),
            ages: Weighted::new(&[(0, 420), (16, 70), (22, 130), (26, 140), (31, 90), (39, 80), (50, 70)]),
            zones: Weighted::new(&[
                (240, 590),
                (180, 150),
                (360, 90),
                (300, 35),
                (420, 30),
                (480, 25),
                (540, 10),
                (600, 15),
                (120, 25),
                (60, 10),
                (0, 8),
                (-240, 6),
                (-420, 6),
            ]),
        }
    }

    /// A screen outside the common ones: any width from a phone's to a wall's, mostly near the desktop sizes, with one of the usual
    /// proportions. At most 5,120 wide.
    fn odd_screen(random: &mut Random) -> (i16, i16) {
        let width = match random.long_tail(1000.0, 420.0, 6000.0) as i64 {
            _ if random.chance(300_000) => random.between(240, 1100),
            5121.. => random.between(1281, 2560),
            width => width,
        };
        let height = match random.below(8) {
            0..=3 => width * 9 / 16,
            4 | 5 => width * 10 / 16,
            6 => width * 3 / 4,
            _ => width * 9 / 16 - random.between(0, 60),
        };
        (width as i16, height.max(120) as i16)
    }
}

/// Everything that exists for one seed.
#[derive(Debug)]
pub struct World {
    seed: u64,
    words: Vocabulary,
    census: Census,
    sites: Vec<Site>,
    site_popularity: HeavyTail,
    user_activity: HeavyTail,
    phrase_popularity: HeavyTail,
}

impl World {
    /// The world of `seed`.
    pub fn new(seed: u64) -> Self {
        let words = Vocabulary::new();
        let mut taken = std::collections::HashSet::from([KNOWN_COUNTER.1]);
        let sites = (0..SITES).map(|rank| Site::new(seed, rank, &words, &mut taken)).collect();
        World {
            seed,
            words,
            census: Census::new(),
            sites,
            site_popularity: HeavyTail::new(SITES, 3.0),
            user_activity: HeavyTail::new(USERS, 6_000.0),
            phrase_popularity: HeavyTail::new(PHRASES, 3_000.0),
        }
    }

    /// The seed this world came from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A site, by popularity.
    pub fn draw_site(&self, random: &mut Random) -> &Site {
        self.site(self.site_popularity.draw(random))
    }

    /// The site of a popularity rank.
    pub fn site(&self, rank: u64) -> &Site {
        &self.sites[rank as usize % self.sites.len()]
    }

    /// A user, by activity.
    pub fn draw_user(&self, random: &mut Random) -> User {
        self.user(self.user_activity.draw(random))
    }

    /// The user of an activity rank.
    fn user(&self, rank: u64) -> User {
        let census = &self.census;
        let random = &mut Random::new(mix2(self.seed, universe::USER), rank);
        let mobile = random.chance(65_000);
        let (mobile_phone, mobile_phone_model) = if mobile { census.phones.draw(random) } else { (0, "") };
        let mut screen = if mobile { census.mobile_screens.draw(random) } else { census.desktop_screens.draw(random) };
        if screen == (0, 0) {
            screen = Census::odd_screen(random);
        }
        let (width, height) = screen;
        let client_ip = random.bits() as i32;
        let large_region = census.large_regions.draw(random);
        // The other regions: some nine thousand, the lower numbers more populous.
        let region_id = if large_region != 0 { large_region } else { random.long_tail(3.0, 220.0, 131_000.0) as i32 };
        let user_agent = if mobile { census.mobile_agents.draw(random) } else { census.desktop_agents.draw(random) };
        let flash_major = if mobile { 0 } else { census.flash_majors.draw(random) };
        let silverlight = if !mobile && random.chance(300_000) {
            (5, 1, 20_125 + random.below(8) as i32 * 389, 0)
        } else {
            (0, 0, 0, 0)
        };
        let net = if !mobile && random.chance(280_000) {
            (random.between(2, 4) as i16, random.between(0, 5) as i16)
        } else {
            (0, 0)
        };
        let (browser_language, browser_country) = census.languages.draw(random);
        let odd_software = random.chance(20_000);
        let known_person = random.chance(580_000);
        User {
            user_id: if rank == KNOWN_USER.0 {
                KNOWN_USER.1
            } else {
                (mix2(self.seed ^ universe::USER, rank) >> 1) as i64
            },
            client_ip,
            remote_ip: mix2(universe::USER, u64::from(client_ip as u32)) as i32,
            ip_network_id: (mix2(universe::USER, u64::from(client_ip as u32) >> 10) % 4_194_304) as i32,
            region_id,
            os: if odd_software {
                random.between(1, 240) as i16
            } else if mobile {
                census.mobile_os.draw(random)
            } else {
                census.desktop_os.draw(random)
            },
            user_agent: if odd_software { random.between(1, 120) as i16 } else { user_agent },
            user_agent_major: match user_agent {
                7 => random.between(6, 10) as i16,
                3 | 82 => random.between(12, 30) as i16,
                5 => random.between(9, 15) as i16,
                _ => random.long_tail(1.0, 3.0, 60.0) as i16,
            },
            user_agent_minor: census.agent_minors.draw(random),
            is_mobile: i16::from(mobile),
            mobile_phone,
            mobile_phone_model,
            resolution_width: width,
            resolution_height: height,
            resolution_depth: if mobile { 32 } else { census.depths.draw(random) },
            window_client_width: (width - if mobile { 0 } else { random.between(0, 24) as i16 }).max(0),
            window_client_height: (height
                - if mobile { random.between(60, 140) } else { random.between(90, 260) } as i16)
                .max(0),
            java_enable: i16::from(!mobile && random.chance(720_000)),
            cookie_enable: i16::from(random.chance(990_000)),
            javascript_enable: i16::from(random.chance(970_000)),
            flash_major,
            flash_minor: if flash_major == 0 { 0 } else { random.between(0, 9) as i16 },
            flash_minor2: match flash_major {
                0 => "0",
                11 => ["700", "202", "224", "5", "800"][random.below(5) as usize],
                _ => ["45", "32", "1", ""][random.below(4) as usize],
            },
            net_major: net.0,
            net_minor: net.1,
            silverlight,
            client_time_zone: census.zones.draw(random),
            clock_skew: match random.below(20) {
                0 => random.between(-3600, 3600),
                1..=5 => random.between(-120, 120),
                _ => random.between(-3, 3),
            },
            f_uniq_id: if random.chance(640_000) { (random.bits() >> 1) as i64 } else { 0 },
            age: if known_person { census.ages.draw(random) } else { 0 },
            sex: if known_person { random.between(0, 2) as i16 } else { 0 },
            income: if known_person { random.between(0, 4) as i16 } else { 0 },
            interests: if known_person { (random.bits() & random.bits() & 0x7FFF) as i16 } else { 0 },
            robotness: if random.chance(15_000) { random.between(1, 99) as i16 } else { 0 },
            browser_language,
            browser_country,
            favourite_site: self.site_popularity.draw(random),
        }
    }

    /// Appends the phrase that somebody searches for, by popularity: one to six words, sometimes a year or a number. Returns the
    /// phrase's own number.
    pub fn draw_phrase(&self, random: &mut Random, language: Language, out: &mut Vec<u8>) {
        let rank = self.phrase_popularity.draw(random);
        let words = &mut Random::new(mix2(self.seed, universe::PHRASE), rank);
        let count = 1 + words.below(3) + words.below(4);
        for position in 0..count {
            if position > 0 {
                out.push(b' ');
            }
            // Every tenth word is in the other language.
            let own = !words.chance(100_000);
            out.extend_from_slice(self.word(words, (language == Language::Russian) == own).as_bytes());
        }
        if words.chance(120_000) {
            out.push(b' ');
            push_decimal(out, if words.chance(500_000) { 2013 } else { words.below(1000) });
        }
    }

    /// Any word.
    fn word(&self, random: &mut Random, russian: bool) -> &'static str {
        let words = if russian { &self.words.russian } else { &self.words.english };
        words[random.below(words.len() as u64) as usize]
    }

    /// A number for the page `page` of `site`, the same for the same address: what URLHash holds.
    pub fn page_key(&self, site: &Site, page: u64) -> u64 {
        mix2(site.key ^ universe::PAGE, page)
    }

    /// Appends the address of a page. One page in four thousand has `google` in it.
    pub fn write_url(&self, site: &Site, page: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(site.origin.as_bytes());
        out.push(b'/');
        if page == 0 {
            return;
        }
        let key = self.page_key(site, page);
        let random = &mut Random::new(key, 0);
        // A site has a dozen sections; a page belongs to one of them.
        let sections = &mut Random::new(site.key, key % 12);
        self.write_slug(sections, out);
        let number = key >> 44;
        match site.style {
            0 => {
                out.push(b'/');
                for _ in 0..2 + random.below(3) {
                    self.write_slug(random, out);
                    out.push(b'-');
                }
                push_decimal(out, number);
                out.extend_from_slice(b".html");
            }
            1 => {
                out.push(b'/');
                self.write_slug(random, out);
                out.push(b'/');
                self.write_slug(random, out);
                out.extend_from_slice(b"/?id=");
                push_decimal(out, number);
            }
            2 => {
                out.extend_from_slice(b".php?cat=");
                push_decimal(out, random.below(200));
                out.extend_from_slice(b"&item=");
                push_decimal(out, number);
                out.extend_from_slice(b"&sort=");
                self.write_slug(random, out);
                out.extend_from_slice(b"&page=");
                push_decimal(out, random.below(20));
            }
            3 => {
                out.extend_from_slice(b"/?text=");
                let encoded = &self.words.encoded;
                out.extend_from_slice(encoded[random.below(encoded.len() as u64) as usize].as_bytes());
                out.extend_from_slice(b"+");
                self.write_slug(random, out);
                out.extend_from_slice(b"&p=");
                push_decimal(out, number);
            }
            _ => {
                out.push(b'/');
                push_decimal(out, 2013);
                out.push(b'/');
                push_decimal(out, 1 + random.below(7));
                out.push(b'/');
                push_decimal(out, number);
                out.push(b'/');
                self.write_slug(random, out);
            }
        }
        match key % 8192 {
            0 => out.extend_from_slice(b"?from=http://www.google.ru/search"),
            1 => out.extend_from_slice(b"#google"),
            _ => {}
        }
    }

    /// Appends one Latin word of an address.
    fn write_slug(&self, random: &mut Random, out: &mut Vec<u8>) {
        let bits = random.below(2 * self.words.english.len() as u64) as usize;
        let word = match self.words.english.get(bits) {
            Some(word) => word,
            None => self.words.translit[bits % self.words.translit.len()].as_str(),
        };
        out.extend_from_slice(word.as_bytes());
    }

    /// Appends the title of a page: three to ten words and the site's name. One page in four thousand speaks of Google.
    pub fn write_title(&self, site: &Site, page: u64, out: &mut Vec<u8>) {
        let key = self.page_key(site, page);
        let random = &mut Random::new(key, 1);
        if page != 0 {
            let russian = site.language == Language::Russian;
            for position in 0..3 + random.below(5) + random.below(4) {
                if position > 0 {
                    let separator: &[u8] = if random.chance(80_000) { b" - " } else { b" " };
                    out.extend_from_slice(separator);
                }
                out.extend_from_slice(self.word(random, russian).as_bytes());
            }
            // Pages 0 (whose address has it too), 2 and 3 (whose address has not).
            if matches!(key % 8192, 0 | 2 | 3) {
                out.extend_from_slice(b" Google");
            }
            out.extend_from_slice(b" | ");
        }
        out.extend_from_slice(site.title_suffix.as_bytes());
    }
}

impl Site {
    fn new(seed: u64, rank: u64, words: &Vocabulary, taken: &mut std::collections::HashSet<i32>) -> Self {
        let key = mix2(mix2(seed, universe::SITE), rank);
        let random = &mut Random::new(key, 0);
        let counter_id = if rank == KNOWN_COUNTER.0 {
            KNOWN_COUNTER.1
        } else {
            loop {
                // Older counters have lower numbers and more visitors.
                let candidate = random.long_tail(4.0, 30_000.0, 320_000.0) as i32;
                if taken.insert(candidate) {
                    break candidate;
                }
            }
        };
        let language = if random.chance(780_000) { Language::Russian } else { Language::English };
        let brand = |random: &mut Random| words.brands[random.below(words.brands.len() as u64) as usize];
        let (first, second) = (brand(random), brand(random));
        let dash = if random.chance(300_000) { "-" } else { "" };
        let number = if random.chance(150_000) { random.below(100).to_string() } else { String::new() };
        let zone = match (language, random.below(20)) {
            (Language::Russian, 0..=13) | (Language::English, 0..=5) => "ru",
            (Language::Russian, 14) => "su",
            (Language::Russian, 15) => "com.ua",
            (_, 16) => "net",
            (_, 17) => "org",
            _ => "com",
        };
        let www = if random.chance(350_000) { "www." } else { "" };
        let host = format!("{www}{first}{dash}{second}{number}.{zone}");
        let title_suffix = match language {
            Language::Russian => {
                let topic = |random: &mut Random| words.russian[random.below(words.russian.len() as u64) as usize];
                format!("{} {} {first}{second}", topic(random), topic(random))
            }
            Language::English => {
                let topic = words.english[random.below(words.english.len() as u64) as usize];
                format!("{first}{second} {topic}")
            }
        };
        // Large sites have more pages: from a dozen for the last to a few hundred thousand for the first.
        let pages = 12 + (6_000_000 / (rank + 12)) * (1 + random.below(4)) / 2;
        Site {
            counter_id,
            counter_class: if random.chance(900_000) { -1 } else { random.between(0, 1) as i16 },
            language,
            origin: format!("http://{host}"),
            title_suffix,
            category_id: if random.chance(600_000) { 0 } else { random.long_tail(1.0, 400.0, 16_000.0) as i16 },
            region_id: if random.chance(700_000) { 0 } else { random.long_tail(1.0, 200.0, 20_000.0) as i32 },
            charset: match random.below(10) {
                0..=5 => "utf-8",
                6..=8 => "windows-1251",
                _ => "",
            },
            code_version: random.between(160, 220) as i32,
            is_old_counter: i16::from(random.chance(20_000)),
            clid: if random.chance(950_000) { 0 } else { random.below(2_000_000) as i32 },
            pages: HeavyTail::new(pages, 6.0),
            style: random.below(5),
            key,
        }
    }
}

/// Appends a number in decimal.
pub fn push_decimal(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}
