//! The receipt of a run: who ran what, how it ended, what it used, and the digests of its files.
//!
//! # Canonical JSON
//! A receipt is one JSON object on one line of UTF-8 that ends with one `\n`: the members of every object sorted by the
//! bytes of their names, no whitespace between tokens, absent values written as `null`. In strings, `"` and `\` are
//! escaped by `\`; of the control characters below U+0020, five are written `\b \t \n \f \r` and the others `\u00` with
//! two lower-case digits; every other character is written as it is. Integers are plain decimal digits; other numbers
//! are the shortest decimals that parse to the same 64-bit float, always with a point or an exponent (`0.33`, `1.0`,
//! `1e+16`).
//!
//! # The seal
//! `sha256` is the SHA-256, in lower-case hexadecimal, of the canonical JSON without that member and without the final
//! `\n`. To check it without wharf, cut `"sha256":"…",` out of the line and compute the digest of the rest. `format` is
//! the version of this format.
//!
//! The seal shows whether a file was damaged or edited later. It is not a signature: anyone who can write the files can
//! seal them again. Store the digest elsewhere to rule that out.

mod content;
mod measures;
mod stored;
#[cfg(test)]
mod tests;
mod verify;

pub use content::{EventsDigest, Receipt, ReceiptFile, ReceiptProgram, RecordingDigest};
pub use stored::StoredReceipt;
pub use verify::{Check, Verified};
