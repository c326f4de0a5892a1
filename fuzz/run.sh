#!/usr/bin/env bash
# Builds the fuzz targets with branch counters, on the toolchain that the tests use, and runs each for a while. An input that
# breaks a target is saved in target/fuzz; `target/debug/TARGET FILE` runs it again. `make fuzz` runs this. The program's own
# encoders write the binary seeds: `cargo run -p leitong-fuzz --example make_seeds`.
#
# usage: fuzz/run.sh SECONDS [TARGET…]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(decode extract json warc http message mapping entry changelog snapshot config)

# Optimised, with overflow checks. Dependencies are those of the tests and are not rebuilt.
RUSTC_WORKSPACE_WRAPPER=$PWD/fuzz/cover.sh cargo build --locked --package leitong-fuzz --features leitong-fuzz/tests \
  --config profile.dev.package.leitong.opt-level=2

mkdir -p target/fuzz/pathological
pages=${LEITONG_DATA:-../shared/data}/pathological.jsonl.gz
if [ -f "$pages" ] && command -v python3 >/dev/null; then
  # The first 16 KB of pages that made other extractors time out: longer inputs make the fuzzer slow.
  python3 - "$pages" target/fuzz/pathological <<'PYTHON'
import gzip, json, pathlib, sys
for number, line in enumerate(gzip.open(sys.argv[1], "rt", encoding="utf-8")):
    pathlib.Path(sys.argv[2], str(number)).write_bytes(json.loads(line)["html"].encode()[:16384])
PYTHON
fi

for target in "${targets[@]}"; do
  mkdir -p "target/fuzz/$target"
  case $target in
    decode) seeds=(tests/data/markup tests/data/kinds fuzz/seeds/decode) ;;
    extract) seeds=(tests/data/markup tests/data/kinds target/fuzz/pathological) ;;
    *) seeds=("fuzz/seeds/$target") ;;
  esac
  echo "fuzzing $target for $seconds s"
  "target/debug/$target" -max_total_time="$seconds" -max_len=16384 -timeout="${LEITONG_HANG_LIMIT:-1200}" -verbosity=1 -print_final_stats=1 \
    -artifact_prefix="target/fuzz/$target-" "target/fuzz/$target" "${seeds[@]}" 2> "target/fuzz/$target.log" || {
    tail -n 60 "target/fuzz/$target.log"
    exit 1
  }
  # The seed that repeats the run, and the coverage.
  grep -E '^INFO: Seed|^#.*DONE|^stat::(number_of_executed_units|average_exec_per_sec)' "target/fuzz/$target.log"
done
