//! Web addresses as the examples search them: five sites, of which one, google.com, has one address in a hundred.

/// So many of them, the same each time.
pub fn urls(rows: usize) -> Vec<String> {
    let mut state = 1_u64;
    let mut random = move |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let sites = ["example.com", "news.site.ru", "google.com", "shop.example.org", "a.b.c.net"];
    (0..rows)
        .map(|_| {
            let site = if random(100) == 0 { 2 } else { [0, 1, 3, 4][random(4) as usize] };
            let (folder, page, id) = (random(1000), random(1_000_000), random(1_000_000));
            format!("https://www.{}/path/{folder}/page-{page}?id={id}", sites[site])
        })
        .collect()
}
