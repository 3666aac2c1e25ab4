//! The allocator of a component, made for many short strings.
//!
//! Most of what an adapter returns is short strings, which are freed as soon as the host has read them. The C library's
//! allocator searches for the best place for each. Here a freed block goes to the free list of its size and is reused by
//! the next allocation of that size. Large blocks, and new ones, come from the C library, and when a free list is full
//! blocks go back there: an agent cannot make the free lists grow without limit.

#![expect(unsafe_code, reason = "an allocator hands out raw memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// How many free lists there are: for blocks of 12, 28, 44 bytes, and so on.
const COUNT: usize = 16;

/// The difference in size between the blocks of one list and the next.
const STEP: usize = 16;

/// The header that the C library's allocator puts before each block. Header and block together are whole steps.
const HEADER: usize = 4;

/// The alignment of every block in a free list. Stricter alignments are left to the C library.
const ALIGN: usize = 8;

/// How many bytes a free list holds at most: enough for the strings of a large chunk.
const LIMIT: usize = 64 << 10;

/// The allocator. For one thread only, which is all that a component has.
#[doc(hidden)]
#[derive(Debug)]
pub struct Allocator;

/// The free blocks of one size.
struct FreeList {
    first: Cell<Option<NonNull<Free>>>,
    count: Cell<usize>,
}

/// A free block. It contains the pointer to the next one of its list.
struct Free(Option<NonNull<Free>>);

static FREE_LISTS: FreeLists = FreeLists([const { FreeList { first: Cell::new(None), count: Cell::new(0) } }; COUNT]);

struct FreeLists([FreeList; COUNT]);

const _: () = assert!(cfg!(not(target_feature = "atomics")), "the free lists are for one thread");

// SAFETY: a component has one thread.
unsafe impl Sync for FreeLists {}

/// The free list for a block, and the layout of all its blocks.
#[inline]
fn list_for(layout: Layout) -> Option<(&'static FreeList, Layout)> {
    let number = layout.size().wrapping_add(HEADER - 1) / STEP;
    let list = FREE_LISTS.0.get(number).filter(|_| layout.align() <= ALIGN)?;
    // SAFETY: the size is small, and the alignment is a power of two.
    Some((list, unsafe { Layout::from_size_align_unchecked((number + 1) * STEP - HEADER, ALIGN) }))
}

/// Allocates. Never inlined, like the next two functions, so that a component contains each of them once.
///
/// # Safety
/// As for [`GlobalAlloc::alloc`].
#[inline(never)]
unsafe fn allocate(wanted: Layout) -> *mut u8 {
    let found = list_for(wanted);
    if let Some((list, _)) = found
        && let Some(block) = list.first.get()
    {
        // SAFETY: a block in a free list contains the pointer to the next one.
        list.first.set(unsafe { block.read() }.0);
        list.count.set(list.count.get() - 1);
        return block.as_ptr().cast();
    }
    // SAFETY: the caller guarantees the layout; the one of the list is only larger.
    unsafe { System.alloc(found.map_or(wanted, |(_, layout)| layout)) }
}

/// # Safety
/// As for [`GlobalAlloc::dealloc`].
#[inline(never)]
#[expect(clippy::cast_ptr_alignment, reason = "every block of a free list has a stricter alignment")]
unsafe fn free(block: *mut u8, had: Layout) {
    let found = list_for(had);
    if let Some((list, layout)) = found
        && list.count.get() * layout.size() < LIMIT
    {
        // SAFETY: the caller no longer uses the block, which is large enough and aligned.
        unsafe { block.cast::<Free>().write(Free(list.first.get())) };
        list.first.set(NonNull::new(block.cast()));
        list.count.set(list.count.get() + 1);
        return;
    }
    // SAFETY: it came from there, with this layout.
    unsafe { System.dealloc(block, found.map_or(had, |(_, layout)| layout)) }
}

/// # Safety
/// As for [`GlobalAlloc::realloc`].
#[inline(never)]
unsafe fn resize(block: *mut u8, had: Layout, size: usize) -> *mut u8 {
    // SAFETY: the caller guarantees it.
    let wanted = unsafe { Layout::from_size_align_unchecked(size, had.align()) };
    match (list_for(had), list_for(wanted)) {
        // SAFETY: it came from there.
        (None, None) => unsafe { System.realloc(block, had, size) },
        (Some((_, old)), Some((_, new))) if old.size() == new.size() => block,
        _ => {
            // SAFETY: both blocks are at least as large as the copied part, and the old one is no longer used.
            unsafe {
                let moved = allocate(wanted);
                if !moved.is_null() {
                    ptr::copy_nonoverlapping(block, moved, had.size().min(size));
                    free(block, had);
                }
                moved
            }
        }
    }
}

// SAFETY: every block is at least as large as requested, and is in no free list while it is in use.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees it, here and in the other two.
        unsafe { allocate(layout) }
    }
    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: see above.
        unsafe { free(block, layout) }
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

    /// A block in use, and the byte that fills it.
    struct Used {
        block: *mut u8,
        layout: Layout,
        filled: u8,
    }

    impl Used {
        fn new(size: usize, align: usize, filled: u8) -> Used {
            let layout = Layout::from_size_align(size, align).expect("a layout");
            // SAFETY: the size is not zero.
            let block = unsafe { Allocator.alloc(layout) };
            let used = Used { block, layout, filled };
            used.fill();
            used
        }

        fn fill(&self) {
            assert!(!self.block.is_null() && self.block.addr().is_multiple_of(self.layout.align()));
            // SAFETY: the block is in use by this test and has this size.
            unsafe { self.block.write_bytes(self.filled, self.layout.size()) };
        }

        fn is_intact(&self, size: usize) -> bool {
            // SAFETY: the block is in use by this test, has at least this size, and was filled.
            unsafe { std::slice::from_raw_parts(self.block, size) }.iter().all(|byte| *byte == self.filled)
        }

        fn resize(&mut self, size: usize) {
            // SAFETY: it came from there.
            self.block = unsafe { Allocator.realloc(self.block, self.layout, size) };
            assert!(self.is_intact(self.layout.size().min(size)));
            self.layout = Layout::from_size_align(size, self.layout.align()).expect("a layout");
            self.fill();
        }

        fn free(self) {
            // SAFETY: it came from there, and is not used again.
            unsafe { Allocator.dealloc(self.block, self.layout) };
        }
    }

    /// The free lists are for one thread, but each test runs in its own.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    #[test]
    fn a_freed_block_is_reused_and_a_full_list_takes_no_more() {
        let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let layout = Layout::from_size_align(28, 1).expect("a layout");
        let (list, blocks) = list_for(layout).expect("it is short");
        let once = Used::new(20, 1, 7);
        let (block, before) = (once.block, list.count.get());
        once.free();
        let again = Used::new(28, 1, 8);
        assert_eq!((again.block, list.count.get()), (block, before));
        again.free();
        let many: Vec<Used> = (0..3 * LIMIT / blocks.size()).map(|_| Used::new(28, 1, 7)).collect();
        assert_eq!(list.count.get(), 0);
        many.into_iter().for_each(Used::free);
        assert_eq!(list.count.get(), LIMIT.div_ceil(blocks.size()));
    }

    #[test]
    fn a_block_is_as_large_as_requested_and_large_blocks_have_no_list() {
        for size in 1..400 {
            let layout = Layout::from_size_align(size, 1).expect("a layout");
            match list_for(layout) {
                Some((_, blocks)) => assert!((size..size + STEP).contains(&blocks.size()), "{size}: {blocks:?}"),
                None => assert!(size > COUNT * STEP - HEADER, "{size}"),
            }
        }
        for size in [usize::MAX / 2, isize::MAX as usize - 7] {
            assert!(list_for(Layout::from_size_align(size, 1).expect("a layout")).is_none());
        }
        assert!(list_for(Layout::from_size_align(16, 16).expect("a layout")).is_none());
    }

    proptest! {
        #[test]
        fn no_block_is_handed_out_twice(steps in prop::collection::vec((0u8..4, 1usize..400, 0u32..6, any::<u8>()), 1..200)) {
            let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
            let mut used: Vec<Used> = Vec::new();
            for (number, (what, size, align, index)) in steps.into_iter().enumerate() {
                let index = usize::from(index) % used.len().max(1);
                match what {
                    0 if !used.is_empty() => used.swap_remove(index).free(),
                    1 if !used.is_empty() => used[index].resize(size),
                    _ => used.push(Used::new(size, 1 << align, u8::try_from(number).expect("few steps"))),
                }
                prop_assert!(used.iter().all(|block| block.is_intact(block.layout.size())));
            }
            used.into_iter().for_each(Used::free);
            for list in &FREE_LISTS.0 {
                // SAFETY: a block in a free list contains the pointer to the next one.
                let blocks = std::iter::successors(list.first.get(), |block| unsafe { block.read() }.0);
                prop_assert_eq!(blocks.count(), list.count.get());
            }
        }
    }
}
