//! Where a component's memory comes from.
//!
//! Much of what an adapter hands over is short strings, which are freed again as soon as the host has them. The C
//! library's allocator looks for the best place for each; here a block that was given back waits on the shelf of its size
//! for the next who wants one. What is large, or new, comes from that allocator, and what a full shelf has no place for
//! goes back to it: no agent can make shelves grow by what it writes.

#![expect(unsafe_code, reason = "that is what an allocator is")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// How many shelves there are: of blocks of 12, 28, 44 bytes, and so on.
const COUNT: usize = 16;

/// Each has blocks that are larger by so much than the one before it.
const STEP: usize = 16;

/// What the C library's allocator keeps before each of its blocks, which with that are whole steps.
const BEFORE: usize = 4;

/// What every block on a shelf is aligned to; what wants more comes from the allocator below.
const ALIGN: usize = 8;

/// How many bytes a shelf takes: those of the strings of a large chunk.
const ROOM: usize = 64 << 10;

/// An allocator for one thread, as a component has it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Memory;

/// The blocks of one size that nobody uses.
struct Shelf {
    first: Cell<Option<NonNull<Free>>>,
    count: Cell<usize>,
}

/// A block that nobody uses: the next one of its shelf stands in it.
struct Free(Option<NonNull<Free>>);

static SHELVES: Shelves = Shelves([const { Shelf { first: Cell::new(None), count: Cell::new(0) } }; COUNT]);

struct Shelves([Shelf; COUNT]);

const _: () = assert!(cfg!(not(target_feature = "atomics")), "the shelves are for one thread");

// SAFETY: a component has one thread.
unsafe impl Sync for Shelves {}

/// The shelf for such a block, and what all blocks there are.
#[inline]
fn shelf_of(layout: Layout) -> Option<(&'static Shelf, Layout)> {
    let number = layout.size().wrapping_add(BEFORE - 1) / STEP;
    let shelf = SHELVES.0.get(number).filter(|_| layout.align() <= ALIGN)?;
    // SAFETY: a small size, and a power of two.
    Some((shelf, unsafe { Layout::from_size_align_unchecked((number + 1) * STEP - BEFORE, ALIGN) }))
}

/// A block. One function of a component, and not at every place that allocates; like the other two.
///
/// # Safety
/// As for [`GlobalAlloc::alloc`].
#[inline(never)]
unsafe fn take(wanted: Layout) -> *mut u8 {
    let found = shelf_of(wanted);
    if let Some((shelf, _)) = found
        && let Some(block) = shelf.first.get()
    {
        // SAFETY: a block on a shelf holds the next one.
        shelf.first.set(unsafe { block.read() }.0);
        shelf.count.set(shelf.count.get() - 1);
        return block.as_ptr().cast();
    }
    // SAFETY: as the caller promises, or the same made larger.
    unsafe { System.alloc(found.map_or(wanted, |(_, layout)| layout)) }
}

/// # Safety
/// As for [`GlobalAlloc::dealloc`].
#[inline(never)]
#[expect(clippy::cast_ptr_alignment, reason = "what comes to a shelf is aligned to more")]
unsafe fn give_back(block: *mut u8, had: Layout) {
    let found = shelf_of(had);
    if let Some((shelf, layout)) = found
        && shelf.count.get() * layout.size() < ROOM
    {
        // SAFETY: the caller gives up a block that is large enough for this, and aligned to it.
        unsafe { block.cast::<Free>().write(Free(shelf.first.get())) };
        shelf.first.set(NonNull::new(block.cast()));
        shelf.count.set(shelf.count.get() + 1);
        return;
    }
    // SAFETY: it came from there, as what it is given back as.
    unsafe { System.dealloc(block, found.map_or(had, |(_, layout)| layout)) }
}

/// # Safety
/// As for [`GlobalAlloc::realloc`].
#[inline(never)]
unsafe fn resize(block: *mut u8, had: Layout, size: usize) -> *mut u8 {
    // SAFETY: as the caller promises.
    let wanted = unsafe { Layout::from_size_align_unchecked(size, had.align()) };
    match (shelf_of(had), shelf_of(wanted)) {
        // SAFETY: it came from there.
        (None, None) => unsafe { System.realloc(block, had, size) },
        (Some((_, old)), Some((_, new))) if old.size() == new.size() => block,
        _ => {
            // SAFETY: two blocks, each as large as what is copied, the old of which is given up.
            unsafe {
                let moved = take(wanted);
                if !moved.is_null() {
                    ptr::copy_nonoverlapping(block, moved, had.size().min(size));
                    give_back(block, had);
                }
                moved
            }
        }
    }
}

// SAFETY: every block is as large as was asked for, and is on no shelf while somebody has it.
unsafe impl GlobalAlloc for Memory {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises; so are the others.
        unsafe { take(layout) }
    }
    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: see above.
        unsafe { give_back(block, layout) }
    }
    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: see above.
        unsafe { resize(block, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::{Mutex, PoisonError};

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
            let block = unsafe { Memory.alloc(layout) };
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
            self.block = unsafe { Memory.realloc(self.block, self.layout, size) };
            assert!(self.is_intact(self.layout.size().min(size)));
            self.layout = Layout::from_size_align(size, self.layout.align()).expect("a layout");
            self.fill();
        }

        fn free(self) {
            // SAFETY: it came from there, and nobody has it any more.
            unsafe { Memory.dealloc(self.block, self.layout) };
        }
    }

    /// The shelves are for one thread, and each test has one.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn what_was_given_back_is_taken_next_and_a_full_shelf_takes_no_more() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let layout = Layout::from_size_align(28, 1).expect("a layout");
        let (shelf, blocks) = shelf_of(layout).expect("it is short");
        let once = Used::new(20, 1, 7);
        let (block, before) = (once.block, shelf.count.get());
        once.free();
        let again = Used::new(28, 1, 8);
        assert_eq!((again.block, shelf.count.get()), (block, before));
        again.free();
        let many: Vec<Used> = (0..3 * ROOM / blocks.size()).map(|_| Used::new(28, 1, 7)).collect();
        assert_eq!(shelf.count.get(), 0);
        many.into_iter().for_each(Used::free);
        assert_eq!(shelf.count.get(), ROOM.div_ceil(blocks.size()));
    }

    #[test]
    fn a_block_is_as_large_as_was_asked_for_and_what_is_large_has_no_shelf() {
        for size in 1..400 {
            let layout = Layout::from_size_align(size, 1).expect("a layout");
            match shelf_of(layout) {
                Some((_, blocks)) => assert!((size..size + STEP).contains(&blocks.size()), "{size}: {blocks:?}"),
                None => assert!(size > COUNT * STEP - BEFORE, "{size}"),
            }
        }
        for size in [usize::MAX / 2, isize::MAX as usize - 7] {
            assert!(shelf_of(Layout::from_size_align(size, 1).expect("a layout")).is_none());
        }
        assert!(shelf_of(Layout::from_size_align(16, 16).expect("a layout")).is_none());
    }

    proptest! {
        #[test]
        fn no_block_is_given_to_two(steps in prop::collection::vec((0u8..4, 1usize..400, 0u32..6, any::<u8>()), 1..200)) {
            let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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
            used.into_iter().for_each(Used::free);
            for shelf in &SHELVES.0 {
                // SAFETY: a block on a shelf holds the next one.
                let blocks = std::iter::successors(shelf.first.get(), |block| unsafe { block.read() }.0);
                prop_assert_eq!(blocks.count(), shelf.count.get());
            }
        }
    }
}
