//! Asking the processor for memory before it is needed.
//!
//! With thousands of clients the state of one is in no cache when an event comes for it, and the processor waits for one line of memory
//! after the other. Told a little earlier what will be needed, it fetches many at once.

/// Begins to fetch every cache line of `value`. It changes nothing but time.
#[inline]
pub fn prefetch<T: ?Sized>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<i8>();
    // A plain loop, which is unrolled where the size is a constant.
    let (mut offset, size) = (0, size_of_val(value));
    while offset < size {
        prefetch_line(start.wrapping_add(offset));
        offset += LINE;
    }
    // A value that does not begin with a line ends in one more.
    prefetch_line(start.wrapping_add(size.saturating_sub(1)));
}

/// Bytes of a cache line.
const LINE: usize = 64;

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the prefetch instruction takes a raw pointer")]
#[inline]
fn prefetch_line(address: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing that a program can see and never faults, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn prefetch_line(_address: *const i8) {}
