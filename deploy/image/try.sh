#!/usr/bin/env bash
# try.sh PROGRAM: builds the image of deploy/Dockerfile with an existing program, and tries it as clusters run it: as its
# own user, with a read-only root file system, without capabilities. Leaves the image as localhost/leitong in
# target/image, for tests/kafka/image.rs.
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")"
image=localhost/leitong size_max=120000000
folder=$(mktemp -d)
trap './engine.sh podman rmi --force localhost/leitong-steps &> /dev/null || true; rm -rf "$folder"' EXIT
fail() { echo "deploy/image/try.sh: $*" >&2; exit 1; }
inspect() { ./engine.sh podman image inspect --format "$1" "$2"; }
run() {
  ./engine.sh podman run --rm --pull never --read-only --read-only-tmpfs=false --network none --cap-drop all \
    --security-opt no-new-privileges "$@"
}

# As in a release: with function names for backtraces, but without line numbers.
strip --strip-debug -o "$folder/leitong" "$program"
./build.sh "$folder/leitong" "$image"
size=$(inspect '{{.Size}}' "$image")
[ "$size" -le "$size_max" ] || fail "the image has $size bytes, more than $size_max"
echo "the image has $((size / 1000000)) MB"

./steps.sh "$folder/leitong" localhost/leitong-steps
inspect '{{json .Config}}' "$image" > "$folder/config"
inspect '{{json .Config}}' localhost/leitong-steps > "$folder/config-of-steps"
diff "$folder/config" "$folder/config-of-steps" \
  || fail "build.sh makes another image than deploy/Dockerfile"
echo "all stages of deploy/Dockerfile can be built"

user=$(inspect '{{.User}}' "$image")
[[ "$user" =~ ^[1-9][0-9]*: ]] || fail "the image's user is '$user': it must be a number other than 0"
"$program" --version > "$folder/version"
run "$image" --version > "$folder/version-within"
diff "$folder/version" "$folder/version-within" || fail "the program in the image has another version"
essence() { sed -E 's/"decided_at":"[^"]*"//'; }
"$program" dedup - < ../../examples/pages.jsonl 2> "$folder/summary" | essence > "$folder/verdicts" \
  || fail "the program fails on the sample pages: $(cat "$folder/summary")"
run --interactive "$image" dedup - < ../../examples/pages.jsonl 2> "$folder/summary" | essence > "$folder/verdicts-within" \
  || fail "the program in the image fails on the sample pages: $(cat "$folder/summary")"
diff "$folder/verdicts" "$folder/verdicts-within" \
  || fail "the program in the image gives other verdicts for the sample pages: $(cat "$folder/summary")"
echo "user $user gets the verdicts for the sample pages that the same program gives outside of the image"

# Uses the paths compiled into OpenSSL, as the program does.
run --entrypoint /usr/bin/openssl "$image" verify /etc/ssl/certs/ISRG_Root_X1.pem > "$folder/verified" 2>&1 \
  || fail "OpenSSL does not find the authorities of the image: $(cat "$folder/verified")"
echo "OpenSSL finds the authorities of the image"
