//! Where a component's memory comes from.
//!
//! Half of what an adapter hands over is short strings, and each is freed again before the next chunk. The C library's
//! allocator looks for the best place for each; here a block that was given back waits on the shelf of its size for the
//! next who wants one. What is large, or new, comes from that allocator.
//!
//! A shelf keeps what it has: a component needs as much memory as it once had in use of each size.

#![expect(unsafe_code, reason = "that is what an allocator is")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// Sizes are rounded up to this.
const STEP: usize = 16;

/// What every block on a shelf is aligned to; what wants more comes from the allocator below.
const ALIGN: usize = 8;

/// The largest block that has a shelf, in steps.
const SHELVES: usize = 16;

/// An allocator for one thread, as a component has it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Shelves;

/// The blocks of one size that nobody uses.
type Shelf = Cell<Option<NonNull<Free>>>;

/// A block that nobody uses: the next one of its shelf stands in it.
struct Free(Option<NonNull<Free>>);

/// Not in the allocator itself, whose address would be passed with every call.
static ALL: All = All([const { Cell::new(None) }; SHELVES]);

struct All([Shelf; SHELVES]);

const _: () = assert!(cfg!(not(target_feature = "atomics")), "the shelves are for one thread");

// SAFETY: a component has one thread.
unsafe impl Sync for All {}

/// The shelf for such a block, and its size there.
#[inline]
fn shelf_of(layout: Layout) -> Option<(&'static Shelf, Layout)> {
    let number = layout.size().wrapping_sub(1) / STEP;
    let shelf = ALL.0.get(number).filter(|_| layout.align() <= ALIGN)?;
    // SAFETY: a small multiple of a power of two.
    Some((shelf, unsafe { Layout::from_size_align_unchecked((number + 1) * STEP, ALIGN) }))
}

// SAFETY: every block is as large as was asked for, and is on no shelf while somebody has it.
unsafe impl GlobalAlloc for Shelves {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((blocks, layout)) = shelf_of(layout) else {
            // SAFETY: as the caller promises.
            return unsafe { System.alloc(layout) };
        };
        let Some(block) = blocks.get() else {
            // SAFETY: it is not empty.
            return unsafe { System.alloc(layout) };
        };
        // SAFETY: a block on a shelf holds the next one.
        blocks.set(unsafe { block.read() }.0);
        block.as_ptr().cast()
    }

    #[inline(never)]
    #[expect(clippy::cast_ptr_alignment, reason = "what comes to a shelf is aligned to more")]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some((blocks, _)) = shelf_of(layout) else {
            // SAFETY: it came from there.
            return unsafe { System.dealloc(block, layout) };
        };
        // SAFETY: the caller gives up a block that is large enough for this, and aligned to it.
        unsafe { block.cast::<Free>().write(Free(blocks.get())) };
        blocks.set(NonNull::new(block.cast()));
    }

    #[inline(never)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (shelf_of(layout), shelf_of(wanted)) {
            // SAFETY: as the caller promises; it came from there.
            (None, None) => unsafe { System.realloc(block, layout, size) },
            (Some((_, had)), Some((_, gets))) if had.size() == gets.size() => block,
            _ => {
                // SAFETY: two blocks, each as large as what is copied, the old of which is given up.
                unsafe {
                    let moved = self.alloc(wanted);
                    if !moved.is_null() {
                        ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    moved
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A block, and the byte that it is full of.
    struct Used {
        block: *mut u8,
        layout: Layout,
        filled: u8,
    }

    impl Used {
        fn new(size: usize, align: usize, filled: u8) -> Used {
            let layout = Layout::from_size_align(size, align).expect("a layout");
            // SAFETY: it is not empty.
            let block = unsafe { Shelves.alloc(layout) };
            let used = Used { block, layout, filled };
            used.fill();
            used
        }

        fn fill(&self) {
            assert!(!self.block.is_null() && self.block.addr().is_multiple_of(self.layout.align()));
            // SAFETY: it is ours, and so large.
            unsafe { self.block.write_bytes(self.filled, self.layout.size()) };
        }

        fn is_intact(&self, size: usize) -> bool {
            // SAFETY: it is ours, at least so large, and was filled.
            unsafe { std::slice::from_raw_parts(self.block, size) }.iter().all(|byte| *byte == self.filled)
        }

        fn resize(&mut self, size: usize) {
            // SAFETY: it came from there.
            self.block = unsafe { Shelves.realloc(self.block, self.layout, size) };
            assert!(self.is_intact(self.layout.size().min(size)));
            self.layout = Layout::from_size_align(size, self.layout.align()).expect("a layout");
            self.fill();
        }

        fn free(self) {
            // SAFETY: it came from there, and nobody has it any more.
            unsafe { Shelves.dealloc(self.block, self.layout) };
        }
    }

    // One test only: the shelves are for one thread.
    proptest! {
        #[test]
        fn no_block_is_given_to_two(steps in prop::collection::vec((0u8..4, 1usize..400, 0u32..6, any::<u8>()), 1..200)) {
            let mut used: Vec<Used> = Vec::new();
            for (number, (what, size, align, place)) in steps.into_iter().enumerate() {
                let place = usize::from(place) % used.len().max(1);
                match what {
                    0 if !used.is_empty() => used.swap_remove(place).free(),
                    1 if !used.is_empty() => used[place].resize(size),
                    _ => used.push(Used::new(size, 1 << align, u8::try_from(number).expect("few steps"))),
                }
                prop_assert!(used.iter().all(|block| block.is_intact(block.layout.size())));
            }
            let freed: Vec<*mut u8> = used.iter().map(|used| used.block).collect();
            let last = used.pop().map(|used| {
                let layout = used.layout;
                used.free();
                layout
            });
            used.into_iter().for_each(Used::free);
            // What was given back is there for the next.
            if let Some(layout) = last.filter(|layout| layout.size() <= SHELVES * STEP && layout.align() <= ALIGN) {
                let again = Used::new(layout.size(), layout.align(), 0);
                prop_assert!(freed.contains(&again.block));
                again.free();
            }
        }
    }
}
