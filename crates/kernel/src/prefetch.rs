//! Asking the processor for memory before it is needed.
//!
//! With thousands of clients the state of one is in no cache when an event comes for it, and the processor waits for one line of memory
//! after the other. Told a little earlier what will be needed, it fetches many at once.

#![expect(unsafe_code, reason = "the prefetch instruction takes a raw pointer")]

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Begins to fetch every cache line of `value`. It changes nothing but time.
#[inline]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(value).cast::<i8>();
        // A plain loop, which is unrolled: the size is a constant.
        let mut offset = 0;
        while offset < size_of::<T>() {
            // SAFETY: a prefetch reads nothing that a program can see and never faults, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset)) };
            offset += LINE;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
