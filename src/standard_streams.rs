//! Notes which standard streams are closed, before the runtime of Rust opens `/dev/null` instead: what is
//! written there would vanish without an error, as in `leitong dedup pages.jsonl >&-`.

#![expect(
    unsafe_code,
    reason = "only a pointer in this section of the program is called before the runtime starts"
)]

use std::io;
use std::os::fd::AsFd;

use leitong_base::terminal;
use rustix::fs::{OFlags, fcntl_getfl};

#[used]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static BEFORE_THE_RUNTIME: extern "C" fn() = note_closed_streams;

extern "C" fn note_closed_streams() {
    terminal::Streams::note_closed(
        !is_open(io::stdin(), OFlags::WRONLY),
        !is_open(io::stdout(), OFlags::RDONLY),
    );
}

/// Returns true if the stream is open, and not only in the direction of `other`.
fn is_open(stream: impl AsFd, other: OFlags) -> bool {
    fcntl_getfl(stream).is_ok_and(|flags| flags & OFlags::RWMODE != other)
}
