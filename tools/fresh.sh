#!/usr/bin/env bash
# fresh.sh [TARGET…]: runs `make TARGET…` (by default `make test`) in a clean clone of this repository's HEAD, on a new
# Debian that has a Rust toolchain, make and git and nothing else: no packages, no caches, no build. Finds anything that only
# works because of files on this machine. Needs root, Podman, Buildah, runc and mmdebstrap (`make image-prerequisites`).
#
# The new system reaches package registries as this machine does: mirrors, proxies and certificates are passed on. The
# clone stays in target/fresh.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- test
deploy/image/base.sh

# Not in target/image, which the engine owns.
fresh=$(realpath -m "${CARGO_TARGET_DIR:-target}")/fresh
rm -rf "$fresh"
mkdir -p "$fresh/home" "$fresh/certificates"
git clone --quiet --no-hardlinks . "$fresh/clone"
git -C "$fresh/clone" checkout --quiet --detach "$(git rev-parse HEAD)"

# Configuration of package clients, but not their caches.
hand_on() { [ ! -r "$1" ] || install -D -m 600 "$1" "$fresh/home/$2"; }
hand_on /etc/maven/settings.xml .m2/settings.xml
hand_on "$HOME/.m2/settings.xml" .m2/settings.xml
hand_on "${CARGO_HOME:-$HOME/.cargo}/config.toml" .cargo/config.toml
hand_on "$HOME/.config/go/env" .config/go/env
hand_on /etc/pip.conf .pip/pip.conf
hand_on "$HOME/.config/pip/pip.conf" .config/pip/pip.conf
for file in /etc/npmrc "$HOME/.npmrc"; do [ ! -r "$file" ] || cat "$file" >> "$fresh/home/.npmrc"; done
# Except variables that contain folders of this machine.
handed='^(.*_proxy|.*_PROXY|(npm_config|NPM_CONFIG|CARGO_HTTP|CARGO_NET|CARGO_REGISTR|CARGO_SOURCE|PIP)_.*'
handed+='|GO(PROXY|SUMDB|NOSUMDB|PRIVATE|NOPROXY|INSECURE)|MAVEN_(OPTS|ARGS))$'
local='^(PIP_(FIND_LINKS|CACHE_DIR|CERT)|(npm_config|NPM_CONFIG)_(cache|prefix|CACHE|PREFIX))$'
environment=()
while read -r name; do
  environment+=(--env "$name")
done < <(compgen -e | grep -E "$handed" | grep -vE "$local")
# Certificate authorities that this machine trusts in addition to Debian's.
cp /usr/local/share/ca-certificates/*.crt "$fresh/certificates/" 2> /dev/null || true

# As many as this machine allows, up to what any build needs.
limit() { local now; now=$(ulimit -H "$2"); [ "$now" != unlimited ] && [ "$now" -lt 32768 ] || now=32768; echo "$1=$now:$now"; }
terminal=()
[ ! -t 0 ] || terminal=(--tty)
exec deploy/image/engine.sh podman run --rm --pull never --init --interactive "${terminal[@]}" --network host --shm-size 1g \
  --ulimit "$(limit nofile -n)" --ulimit "$(limit nproc -u)" "${environment[@]}" \
  --env HOME=/root --env DEBIAN_FRONTEND=noninteractive --env CI=true \
  --env PATH=/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  --volume "$(rustc --print sysroot):/rust:ro" --volume "$fresh/clone:/leitong" --volume "$fresh/home:/root" \
  --volume "$fresh/certificates:/usr/local/share/ca-certificates:ro" --workdir /leitong \
  debian:bookworm-slim sh -euc '
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates git make; } > /tmp/install 2>&1 ||
      { cat /tmp/install; exit 1; }
    exec make "$@"' make "$@"
