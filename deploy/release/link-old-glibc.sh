#!/bin/sh
# A linker for deploy/release/wheel.sh: zig links against the glibc that LEITONG_LINK_FOR names, such as
# x86_64-linux-gnu.2.17. The link fails if the code calls a function that this glibc does not have.
exec maturin zig cc -- -target "$LEITONG_LINK_FOR" "$@"
