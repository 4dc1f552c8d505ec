//! Arrow's messages: what is written comes back, in any pieces, and what is broken is an error or rows, never a panic, and never takes
//! memory that the bytes at hand do not account for.

use crate::common::{read, table, write};
use squall_types::{Block, ErrorCode};

const CONTAINERS: [&str; 2] = ["Arrow", "ArrowStream"];

fn rows(blocks: &[Block]) -> Vec<Vec<String>> {
    let row =
        |block: &Block, row: usize| block.columns().iter().map(|column| format!("{:?}", column.value(row))).collect();
    blocks.iter().flat_map(|block| (0..block.rows()).map(move |at| row(block, at))).collect()
}

/// Those of whose types Arrow has all, and whose texts are UTF-8.
const EXACT: [&str; 5] = ["times", "addresses", "nested", "many", "wide"];

#[test]
fn what_is_written_comes_back() {
    for name in EXACT {
        let (schema, blocks) = table(name);
        for container in CONTAINERS {
            let data = write(container, &schema, &blocks).unwrap_or_else(|error| panic!("{name}: {error}"));
            for piece_bytes in [usize::MAX, 1000, 7] {
                let found =
                    read(container, &schema, &data, piece_bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(rows(&found), rows(&blocks), "{name} {container} {piece_bytes}");
            }
        }
    }
}

#[test]
fn broken_data_are_no_panic() {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % limit as u64) as usize
    };
    for name in ["numbers", "strings", "nested"] {
        let (schema, blocks) = table(name);
        for container in CONTAINERS {
            let data = write(container, &schema, &blocks).unwrap();
            for length in (0..data.len()).step_by((data.len() / 40).max(1)) {
                let _ = read(container, &schema, &data[..length], usize::MAX);
            }
            for _ in 0..300 {
                let mut broken = data.clone();
                for _ in 0..=below(3) {
                    let at = below(broken.len());
                    broken[at] = [0, 0xFF, 0x7F, broken[at] ^ 1][below(4)];
                }
                let _ = read(container, &schema, &broken, usize::MAX);
            }
        }
    }
}

#[test]
fn what_is_no_arrow_is_refused() {
    let (schema, _) = table("numbers");
    for container in CONTAINERS {
        for rubbish in [b"this is no message of Arrow's".as_slice(), &[0x10; 100], &[0xFF; 100]] {
            let error = read(container, &schema, rubbish, usize::MAX).unwrap_err();
            assert_eq!(error.code, ErrorCode::INCORRECT_DATA, "{container}");
        }
    }
}
