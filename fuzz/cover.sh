#!/usr/bin/env bash
# Cargo's wrapper around rustc while fuzzing (RUSTC_WORKSPACE_WRAPPER): adds the counters of branches and comparisons that
# guide libFuzzer to our own library. Stable Rust is enough: the pass is LLVM's, and only the sanitizers need nightly.
#
# usage: cover.sh RUSTC ARGUMENTS…
set -euo pipefail
case " $* " in
  *" --crate-name leitong "*" --crate-type lib "*)
    exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
      -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
      -Cllvm-args=-sanitizer-coverage-trace-compares ;;
  *) exec "$@" ;;
esac
