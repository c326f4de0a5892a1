//! Texts of a block, compressed. Contexts are kept, one a thread: making one takes longer than using it.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

/// Higher levels take several times as long for a few bytes.
const LEVEL: i32 = 1;
const MEMORY: &str = "memory for a context of zstd";

thread_local! {
    static COMPRESSOR: RefCell<Compressor<'static>> = RefCell::new(Compressor::new(LEVEL).expect(MEMORY));
    static DECOMPRESSOR: RefCell<Decompressor<'static>> = RefCell::new(Decompressor::new().expect(MEMORY));
}

/// Compresses `bytes`.
pub(super) fn compress(bytes: &[u8]) -> Box<[u8]> {
    COMPRESSOR.with_borrow_mut(|context| context.compress(bytes)).expect("memory for a block").into()
}

/// What was compressed, which had `length` bytes.
pub(super) fn decompress(compressed: &[u8], length: usize) -> Vec<u8> {
    DECOMPRESSOR
        .with_borrow_mut(|context| context.decompress(compressed, length))
        .expect("a block that was compressed here")
}
