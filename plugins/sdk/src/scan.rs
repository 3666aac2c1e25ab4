//! Looks for the few bytes that matter in JSON text, sixteen at a time.
//!
//! With `simd128` a block is one vector, without it two words: the same questions, the same answers. Nothing here
//! knows where a line or a value ends: it is asked about a whole chunk, so that a block may reach beyond both.

#![expect(clippy::inline_always, reason = "a guest pays for each call that it checks its stack and its clock")]

/// How many bytes are looked at together.
const BLOCK: usize = 16;

/// From behind an opening quote to behind the closing one. Backslashes are looked at only where a quote follows them: a
/// tool's output is full of others. Gives up at `limit`, or a little behind it: what a line leaves open must not be looked
/// for in all the lines that follow.
#[inline(always)]
pub(crate) fn string_end(bytes: &[u8], start: usize, limit: usize) -> Option<usize> {
    let mut at = start;
    loop {
        let quote = find(bytes, at, limit, b'"')?;
        if quote == start || bytes[quote - 1] != b'\\' || !is_escaped(&bytes[start..quote]) {
            return Some(quote + 1);
        }
        at = quote + 1;
    }
}

/// Whether what follows this text is escaped: by a backslash that is not itself escaped.
#[inline(never)]
fn is_escaped(before: &[u8]) -> bool {
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// The first newline from `at` on.
pub(crate) fn newline(bytes: &[u8], at: usize) -> Option<usize> {
    find(bytes, at, bytes.len(), b'\n')
}

/// Whether this byte is in there.
pub(crate) fn contains(bytes: &[u8], byte: u8) -> bool {
    find(bytes, 0, bytes.len(), byte).is_some()
}

#[inline(always)]
fn find(bytes: &[u8], mut at: usize, limit: usize, byte: u8) -> Option<usize> {
    // Most strings are short. Where it is not in the first block, four are looked at together until one has it.
    if let Some(first) = bytes.get(at..at + BLOCK) {
        let places = Block::of(first).places_of(byte);
        if places != 0 {
            return Some(at + places.trailing_zeros() as usize);
        }
        at += BLOCK;
        while at < limit
            && let Some(blocks) = bytes.get(at..at + 4 * BLOCK)
        {
            let same = |place: usize| Block::of(&blocks[place * BLOCK..][..BLOCK]).same(byte);
            if same(0).or(same(1)).or(same(2).or(same(3))).any() {
                break;
            }
            at += 4 * BLOCK;
        }
    }
    while at < limit
        && let Some(block) = bytes.get(at..at + BLOCK)
    {
        let places = Block::of(block).places_of(byte);
        if places != 0 {
            return Some(at + places.trailing_zeros() as usize);
        }
        at += BLOCK;
    }
    bytes.get(at..limit)?.iter().position(|found| *found == byte).map(|found| at + found)
}

/// Whether two names are the same. In a guest, comparing slices calls a C function that goes byte by byte; names differ
/// by their length or their first byte, most of the time.
#[inline]
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && one.first() == other.first()
        && match (one.last_chunk::<8>(), other.last_chunk::<8>()) {
            // Words from the front, and a last one, which may overlap with them.
            (Some(one_end), Some(other_end)) => {
                let words = |bytes| <[u8]>::chunks_exact(bytes, 8).map(word);
                words(one).eq(words(other)) && word(one_end) == word(other_end)
            }
            _ => one.iter().eq(other),
        }
}

/// Sixteen bytes.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[derive(Clone, Copy)]
struct Block(core::arch::wasm32::v128);

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
impl Block {
    #[inline(always)]
    fn of(bytes: &[u8]) -> Block {
        let (low, high) = words(bytes);
        Block(core::arch::wasm32::u64x2(low, high))
    }

    /// A bit for each place that has this byte.
    #[inline(always)]
    fn places_of(self, byte: u8) -> u32 {
        u32::from(core::arch::wasm32::u8x16_bitmask(self.same(byte).0))
    }

    /// Something in each place that has this byte, and nothing elsewhere.
    #[inline(always)]
    fn same(self, byte: u8) -> Block {
        use core::arch::wasm32::{u8x16_eq, u8x16_splat};
        Block(u8x16_eq(self.0, u8x16_splat(byte)))
    }

    #[inline(always)]
    fn or(self, other: Block) -> Block {
        Block(core::arch::wasm32::v128_or(self.0, other.0))
    }

    #[inline(always)]
    fn any(self) -> bool {
        core::arch::wasm32::v128_any_true(self.0)
    }
}

/// Sixteen bytes.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[derive(Clone, Copy)]
struct Block(u64, u64);

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
impl Block {
    #[inline(always)]
    fn of(bytes: &[u8]) -> Block {
        let (low, high) = words(bytes);
        Block(low, high)
    }

    /// A bit for each place that has this byte.
    #[inline(always)]
    fn places_of(self, byte: u8) -> u32 {
        // The eight high bits of a word, side by side.
        let gather = |word: u64| ((word >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32;
        let same = self.same(byte);
        gather(same.0) | gather(same.1) << 8
    }

    /// The high bit of each byte that is this one, and no other bit.
    #[inline(always)]
    fn same(self, byte: u8) -> Block {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const SEVENS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let same = |word: u64| {
            let differs = word ^ (ONES * u64::from(byte));
            !(((differs & SEVENS) + SEVENS) | differs | SEVENS)
        };
        Block(same(self.0), same(self.1))
    }

    #[inline(always)]
    fn or(self, other: Block) -> Block {
        Block(self.0 | other.0, self.1 | other.1)
    }

    #[inline(always)]
    fn any(self) -> bool {
        self.0 | self.1 != 0
    }
}

#[inline(always)]
fn words(bytes: &[u8]) -> (u64, u64) {
    (word(&bytes[..8]), word(&bytes[8..BLOCK]))
}

#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("a word has eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A byte at a time, which nobody can get wrong.
    fn plain_string_end(bytes: &[u8], start: usize) -> Option<usize> {
        let mut escaped = false;
        bytes[start..]
            .iter()
            .position(|byte| {
                let ends = *byte == b'"' && !escaped;
                escaped = *byte == b'\\' && !escaped;
                ends
            })
            .map(|end| start + end + 1)
    }

    #[test]
    fn what_a_line_leaves_open_is_not_looked_for_beyond_it() {
        let chunk = format!("{}\"", "x".repeat(1000));
        assert_eq!(string_end(chunk.as_bytes(), 0, 100), None);
        assert_eq!(string_end(chunk.as_bytes(), 0, 1001), Some(1001));
    }

    proptest! {
        #[test]
        fn blocks_find_what_a_byte_at_a_time_finds(bytes in "[a\"\\\\\n\u{80}]{0,80}|[ab\\\\]{0,60}\"?x{0,20}") {
            let bytes = bytes.as_bytes();
            for start in 0..=bytes.len() {
                prop_assert_eq!(string_end(bytes, start, bytes.len()), plain_string_end(bytes, start));
                let plain = bytes[start..].iter().position(|byte| *byte == b'\n').map(|at| start + at);
                prop_assert_eq!(newline(bytes, start), plain);
            }
        }

        #[test]
        fn names_are_the_same_when_their_bytes_are(one in "[ab]{0,20}", other in "[ab]{0,20}", tail in "[a-c]{0,20}") {
            let (one, other) = (format!("{one}{tail}"), format!("{other}{tail}"));
            prop_assert_eq!(same(one.as_bytes(), other.as_bytes()), one == other);
            prop_assert!(same(one.as_bytes(), one.clone().as_bytes()));
        }

        #[test]
        fn every_place_of_a_byte_is_told_and_no_other(bytes in prop::array::uniform16(0u8..5), byte in 0u8..5) {
            let places = Block::of(&bytes).places_of(byte);
            for (place, found) in bytes.iter().enumerate() {
                prop_assert_eq!(places >> place & 1 == 1, *found == byte);
            }
            prop_assert_eq!(places >> 16, 0);
        }
    }
}
