#!/usr/bin/env bash
# Runs a command with the environment in which Cargo builds for ARM64 on another processor, with Debian's cross compiler. `cargo test` and `cargo run` then run what they built with qemu.
#
#     deploy/release/arm64.sh cargo test --target aarch64-unknown-linux-gnu --features vendored-openssl --lib
#
# OpenSSL must be the vendored one, because the system's is for this machine's processor. `make arm64-prerequisites`
# installs what this needs.
set -eu
prefix=aarch64-linux-gnu
# Most crates find the cross compiler; librdkafka does not.
export LEITONG_CC=$prefix-gcc LEITONG_CXX=$prefix-g++
PATH=$(cd "$(dirname "$0")" && pwd)/librdkafka:$PATH
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$prefix-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/$prefix"
exec "$@"
