//! Host names in the statically linked program: looked up in `/etc/hosts` and by DNS, whatever `/etc/nsswitch.conf`
//! names beside them.
//!
//! glibc's other services (`mdns4_minimal`, `resolve`, `myhostname`, …) are shared objects that belong to the machine's
//! glibc. A static program carries a glibc of its own, and loading them into it ends in a crash wherever the two are of
//! different versions: with that of Debian 12 inside, the first look-up was an abort on Debian 11 and a division by zero
//! on Debian 13. So this is called before anything is looked up. The library does not do that: a program that is linked
//! with it decides for itself. `files` and `dns` are inside glibc since 2.34.

#![expect(unsafe_code, reason = "no crate wraps this function of glibc")]

use std::ffi::{c_char, c_int};

unsafe extern "C" {
    /// Declared in glibc's `nss.h`.
    fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
}

/// Nothing else of glibc's name services is asked by this program.
pub(crate) fn from_files_and_dns() {
    // SAFETY: both are strings that end with a zero and live for ever, which glibc only reads; it takes a lock.
    let refused = unsafe { __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr()) };
    debug_assert_eq!(refused, 0, "glibc knows the database, and both services by name");
}
