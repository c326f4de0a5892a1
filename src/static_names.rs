//! Makes the statically linked program look up host names in `/etc/hosts` and by DNS only, whatever else
//! `/etc/nsswitch.conf` lists.
//!
//! glibc loads its other name services (`mdns4_minimal`, `resolve`, `myhostname`, …) as shared objects that
//! belong to the glibc of the machine. A static program contains its own glibc. If the two versions differ,
//! loading such an object crashes: with the glibc of Debian 12 inside, the first look-up aborted on Debian 11
//! and divided by zero on Debian 13. `files` and `dns` have been part of glibc itself since 2.34.
//!
//! The program calls [`from_files_and_dns`] before its first look-up. The library never does: a program that
//! links it makes its own choice.

#![expect(unsafe_code, reason = "no crate wraps this function of glibc")]

use std::ffi::{c_char, c_int};

unsafe extern "C" {
    /// Declared in glibc's `nss.h`.
    fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
}

/// Restricts host name look-ups to files and DNS. The program uses no other database of glibc's name
/// services.
pub(crate) fn from_files_and_dns() {
    // SAFETY: both arguments are static strings that end with a zero, and glibc only reads them, under a
    // lock.
    let refused = unsafe { __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr()) };
    debug_assert_eq!(refused, 0, "glibc knows the database, and both services by name");
}
