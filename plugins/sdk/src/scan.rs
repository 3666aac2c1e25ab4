//! Searches JSON text for the few bytes that matter, sixteen at a time.
//!
//! With `simd128` a block is one vector, without it two words; the results are the same. Nothing here knows where a line
//! or a value ends: it searches the whole chunk, so a block may extend beyond both.

#![expect(clippy::inline_always, reason = "in a guest every call checks the stack limit and the time limit")]

/// How many bytes a block has.
const BLOCK: usize = 16;

/// How many bytes are searched at once: a bit of a `u64` for each.
const WINDOW: usize = 4 * BLOCK;

/// Finds the ends of strings, in the order of the text. Every byte is read once: the matches of a window are kept,
/// however many strings end in it.
///
/// A newline ends a search: no frame contains one, and the end of an unclosed string must not be searched for in all the
/// lines that follow. Backslashes are checked only before a quote: a tool's output is full of others.
pub(crate) struct Strings<'a> {
    bytes: &'a [u8],
    /// Where the window starts.
    base: usize,
    /// A bit for each quote or newline in the window.
    matches: u64,
}

impl<'a> Strings<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Strings<'a> {
        // An empty window that no search starts in.
        Strings { bytes, base: usize::MAX - WINDOW, matches: 0 }
    }

    /// From the byte after an opening quote to the byte after the closing one.
    #[inline(always)]
    pub(crate) fn end(&mut self, start: usize) -> Option<usize> {
        // Without a loop: in a guest every iteration checks the time limit, and most strings contain no quote.
        let at = self.next(start)?;
        if self.bytes[at] == b'"' && (at == start || self.bytes[at - 1] != b'\\') {
            return Some(at + 1);
        }
        self.end_after(start, at)
    }

    /// The same if the first match is a newline, or a quote that may be escaped.
    #[inline(never)]
    fn end_after(&mut self, start: usize, mut at: usize) -> Option<usize> {
        loop {
            if self.bytes[at] != b'"' {
                return None;
            }
            if !is_escaped(self.bytes, start, at) {
                return Some(at + 1);
            }
            at = self.next(at + 1)?;
        }
    }

    /// The next quote or newline.
    #[inline(always)]
    fn next(&mut self, from: usize) -> Option<usize> {
        let offset = from.wrapping_sub(self.base);
        if offset < WINDOW {
            let left = self.matches >> offset;
            if left != 0 {
                return Some(from + left.trailing_zeros() as usize);
            }
            return self.search(self.base + WINDOW);
        }
        self.search(from)
    }

    /// The same, in the windows from `from` on.
    #[inline(never)]
    fn search(&mut self, mut from: usize) -> Option<usize> {
        while let Some(window) = self.bytes.get(from..from + WINDOW) {
            let matches = matches_in(window);
            if matches != 0 {
                (self.base, self.matches) = (from, matches);
                return Some(from + matches.trailing_zeros() as usize);
            }
            from += WINDOW;
        }
        let rest = self.bytes.get(from..)?;
        let mut window = [0; WINDOW];
        window[..rest.len()].copy_from_slice(rest);
        (self.base, self.matches) = (from, matches_in(&window));
        (self.matches != 0).then(|| from + self.matches.trailing_zeros() as usize)
    }
}

/// A bit for each quote or newline in a window.
#[inline(always)]
fn matches_in(window: &[u8]) -> u64 {
    let block = |index: usize| Block::of(&window[index * BLOCK..][..BLOCK]).same(b'"', b'\n');
    let blocks = [block(0), block(1), block(2), block(3)];
    // Most windows of long text have none.
    if !blocks[0].or(blocks[1]).or(blocks[2].or(blocks[3])).any() {
        return 0;
    }
    let matches = |index: usize| u64::from(blocks[index].matches()) << (index * BLOCK);
    matches(0) | matches(1) | matches(2) | matches(3)
}

/// From the byte after an opening quote to the byte after the closing one, for a single string.
pub(crate) fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    Strings::new(bytes).end(start)
}

/// Whether the byte at `at`, in a string that starts at `start`, follows a backslash that is not itself escaped.
#[inline(always)]
fn is_escaped(bytes: &[u8], start: usize, at: usize) -> bool {
    let mut before = at;
    while before > start && bytes[before - 1] == b'\\' {
        before -= 1;
    }
    (at - before) % 2 == 1
}

/// The first newline from `at` on.
pub(crate) fn newline(bytes: &[u8], at: usize) -> Option<usize> {
    find(bytes, at, b'\n')
}

/// Whether the bytes contain this one.
pub(crate) fn contains(bytes: &[u8], byte: u8) -> bool {
    find(bytes, 0, byte).is_some()
}

#[inline(always)]
fn find(bytes: &[u8], mut at: usize, byte: u8) -> Option<usize> {
    while let Some(block) = bytes.get(at..at + BLOCK) {
        let matches = Block::of(block).same(byte, byte).matches();
        if matches != 0 {
            return Some(at + matches.trailing_zeros() as usize);
        }
        at += BLOCK;
    }
    bytes.get(at..)?.iter().position(|found| *found == byte).map(|found| at + found)
}

/// How many digits a word starts with.
#[inline(always)]
pub(crate) fn digits(word: [u8; 8]) -> usize {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // A digit becomes its value, at most nine. A byte that carries into the next one is not a digit itself.
    let word = u64::from_le_bytes(word) ^ ZEROS;
    let others = (word | word.wrapping_add(0x7676_7676_7676_7676)) & HIGH;
    others.trailing_zeros() as usize / 8
}

/// Whether two names are equal. In a guest, comparing slices calls a C function that compares byte by byte; most names
/// differ in their length or their first byte.
#[inline]
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && one.first() == other.first()
        && match (one.last_chunk::<8>(), other.last_chunk::<8>()) {
            // The last word first, because ids differ there; then the words from the front, which may overlap it.
            (Some(one_end), Some(other_end)) => {
                let mut words = one.chunks_exact(8).zip(other.chunks_exact(8));
                word(one_end) == word(other_end) && words.all(|(one, other)| word(one) == word(other))
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

    /// A bit for each byte that is not zero.
    #[inline(always)]
    fn matches(self) -> u32 {
        u32::from(core::arch::wasm32::u8x16_bitmask(self.0))
    }

    /// All ones for each byte that is `one` or `other`, zero for the rest.
    #[inline(always)]
    fn same(self, one: u8, other: u8) -> Block {
        use core::arch::wasm32::{u8x16_eq, u8x16_splat};
        let same = |byte| Block(u8x16_eq(self.0, u8x16_splat(byte)));
        if one == other { same(one) } else { same(one).or(same(other)) }
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

    /// A bit for each byte whose high bit is set.
    #[inline(always)]
    fn matches(self) -> u32 {
        // The eight high bits of a word, side by side.
        let gather = |word: u64| ((word >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32;
        gather(self.0) | gather(self.1) << 8
    }

    /// The high bit of each byte that is `one` or `other`, and no other bit.
    #[inline(always)]
    fn same(self, one: u8, other: u8) -> Block {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const SEVENS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let same = |byte: u8| {
            let in_word = |word: u64| {
                let differs = word ^ (ONES * u64::from(byte));
                !(((differs & SEVENS) + SEVENS) | differs | SEVENS)
            };
            Block(in_word(self.0), in_word(self.1))
        };
        if one == other { same(one) } else { same(one).or(same(other)) }
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

    /// The obvious way, one byte at a time.
    fn plain_string_end(bytes: &[u8], start: usize) -> Option<usize> {
        let mut escaped = false;
        bytes[start..]
            .iter()
            .position(|byte| {
                let ends = (*byte == b'"' && !escaped) || *byte == b'\n';
                escaped = *byte == b'\\' && !escaped;
                ends
            })
            .filter(|end| bytes[start + end] == b'"')
            .map(|end| start + end + 1)
    }

    #[test]
    fn the_end_of_an_unclosed_string_is_not_searched_for_on_the_next_line() {
        for length in [0, 1, 15, 16, 17, 63, 64, 65, 200] {
            let open = "x".repeat(length);
            assert_eq!(string_end(format!("{open}\n\"{}", "y".repeat(100)).as_bytes(), 0), None, "{length}");
            assert_eq!(string_end(format!("{open}\\\"\n\"").as_bytes(), 0), None, "{length}");
            assert_eq!(string_end(format!("{open}\"\n").as_bytes(), 0), Some(length + 1));
        }
    }

    proptest! {
        #[test]
        fn blocks_find_what_a_byte_at_a_time_finds(bytes in "[a\"\\\\\n\u{80}]{0,80}|[ab\\\\]{0,60}\"?x{0,20}|([a-z]{0,40}\\\\*\"){0,4}\n?x{0,80}") {
            let bytes = bytes.as_bytes();
            for start in 0..=bytes.len() {
                prop_assert_eq!(string_end(bytes, start), plain_string_end(bytes, start));
                // One string after the other, with any gap between them.
                let (mut strings, mut at) = (Strings::new(bytes), start);
                while let Some(end) = plain_string_end(bytes, at) {
                    prop_assert_eq!(strings.end(at), Some(end));
                    at = end + start % 3;
                    if at > bytes.len() {
                        break;
                    }
                }
                let plain = bytes[start..].iter().position(|byte| *byte == b'\n').map(|at| start + at);
                prop_assert_eq!(newline(bytes, start), plain);
            }
        }

        #[test]
        fn leading_digits_are_counted(count in 0usize..=8, digits in prop::array::uniform8(b'0'..=b'9'), others in prop::array::uniform8(any::<u8>())) {
            let mut word = others;
            word[..count].copy_from_slice(&digits[..count]);
            let plain = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
            prop_assert_eq!(super::digits(word), plain);
        }

        #[test]
        fn names_are_equal_exactly_when_their_bytes_are(one in "[ab]{0,20}", other in "[ab]{0,20}", tail in "[a-c]{0,20}") {
            let (one, other) = (format!("{one}{tail}"), format!("{other}{tail}"));
            prop_assert_eq!(same(one.as_bytes(), other.as_bytes()), one == other);
            prop_assert!(same(one.as_bytes(), one.clone().as_bytes()));
        }

        #[test]
        fn a_match_has_its_bit_and_no_other_byte_has(bytes in prop::array::uniform16(0u8..5), byte in 0u8..5, other in 0u8..5) {
            let matches = Block::of(&bytes).same(byte, other).matches();
            for (index, found) in bytes.iter().enumerate() {
                prop_assert_eq!(matches >> index & 1 == 1, *found == byte || *found == other);
            }
            prop_assert_eq!(matches >> 16, 0);
        }
    }
}
