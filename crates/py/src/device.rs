//! A device's descriptor that Python owns: the one place of this crate that trusts a number.
#![expect(unsafe_code, reason = "a descriptor crosses from Python as a number")]

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::os::fd::{BorrowedFd, OwnedFd};

/// A descriptor of our own for what `number` refers to; the caller keeps its own.
pub(crate) fn duplicate(number: i32) -> PyResult<OwnedFd> {
    if number < 0 {
        return Err(PyValueError::new_err(format!("device: {number}: must be an open file descriptor")));
    }
    // SAFETY: the number is borrowed for this one call, which asks the kernel for a duplicate and checks that it is open. Python's side
    // keeps the descriptor open for as long as the testbed, which outlives this call.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    borrowed.try_clone_to_owned().map_err(|error| PyValueError::new_err(format!("device: {number}: {error}")))
}
