#!/bin/sh
# Builds the Debian package of a compiled program: program, manual pages, shell completions, systemd unit, examples.
#
#     deploy/debian/package.sh target/release/leitong target/debian
#
# Prints the package's path. Installing it starts nothing: leitong@.service is a template, and an instance must be enabled
# for each configuration (docs/operations.md). Needs dpkg-dev and binutils.
set -eu

program=$1
output=$2
source=$(dirname "$0")/../..
for tool in dpkg-deb dpkg-shlibdeps strip; do
    command -v "$tool" > /dev/null || { echo "$tool is missing: install dpkg-dev and binutils" >&2; exit 1; }
done
version=$("$program" --version | cut -d ' ' -f 2)
# With a tilde, a pre-release sorts before its release.
version=$(echo "$version" | sed 's/-/~/')
architecture=$(dpkg --print-architecture)

mkdir -p "$output"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
root=$stage/root
doc=$root/usr/share/doc/leitong
install -d "$root/DEBIAN" "$root/usr/share/man/man1" "$doc/examples"

install -D -m 755 "$program" "$root/usr/bin/leitong"
strip --strip-unneeded "$root/usr/bin/leitong"
"$program" man "$root/usr/share/man/man1"
gzip -9n "$root/usr/share/man/man1/"*
complete() {
    install -d "$root/$2"
    "$program" completions "$1" > "$root/$2/$3"
}
complete bash usr/share/bash-completion/completions leitong
complete zsh usr/share/zsh/vendor-completions _leitong
complete fish usr/share/fish/vendor_completions.d leitong.fish

install -d "$root/usr/lib/systemd/system"
sed 's|/usr/local/bin/leitong|/usr/bin/leitong|' "$source/deploy/systemd/leitong@.service" \
    > "$root/usr/lib/systemd/system/leitong@.service"
install -m 644 "$source/deploy/systemd/example.toml" "$source/deploy/systemd/example.env" "$doc/examples"
install -m 644 "$source/README.md" "$doc/README.md"
gzip -9nc "$source/CHANGELOG.md" > "$doc/changelog.gz"
cat > "$doc/copyright" << COPYRIGHT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: leitong

Files: *
Copyright: the authors of Leitong
License: Apache-2.0
 On Debian systems the whole text of this license is in
 /usr/share/common-licenses/Apache-2.0.
COPYRIGHT

# The libraries that the program is linked with, and their packages.
install -d "$stage/debian"
printf 'Source: leitong\n\nPackage: leitong\nArchitecture: any\n' > "$stage/debian/control"
needs=$(cd "$stage" && dpkg-shlibdeps -O root/usr/bin/leitong | sed -n 's/^shlibs:Depends=//p')
cat > "$root/DEBIAN/control" << CONTROL
Package: leitong
Version: $version
Architecture: $architecture
Maintainer: The authors of Leitong
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Depends: $needs
Section: net
Priority: optional
Description: near-duplicate verdicts for crawled web pages
 Leitong reads crawled pages from Kafka or from files, decides for each whether
 it is new or a near-duplicate of an earlier page, and publishes that verdict.
CONTROL
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) > "$root/DEBIAN/md5sums"
find "$root" -type d -exec chmod 755 {} +
find "$root" -type f ! -path "$root/usr/bin/*" -exec chmod 644 {} +

package=$output/leitong_${version}_$architecture.deb
dpkg-deb --root-owner-group ${LEITONG_DEB_COMPRESSION:+-Z"$LEITONG_DEB_COMPRESSION"} --build "$root" "$package" > /dev/null
echo "$package"
