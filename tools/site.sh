#!/usr/bin/env bash
# Builds the documentation as a site: `tools/site.sh MDBOOK OUT`. English in OUT, Chinese in OUT/zh.
#
# The pages are copied first. In the copy, a link to a file outside of docs/ becomes the file's path in the repository, since
# the site has no such page.
set -euo pipefail
mdbook=$1 out=$2
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

cp -r docs/. "$stage/"
find "$stage" -maxdepth 1 -name '*.md' -exec perl -0777 -pi -e \
  's{\[([^\]]*)\]\(\.\./([^)]*)\)}{index($1, $2) >= 0 ? $1 : "$1 (`$2` in the repository)"}ge' {} +
find "$stage/adr" "$stage/zh" -name '*.md' -exec perl -0777 -pi -e \
  's{\[([^\]]*)\]\(\.\./\.\./([^)]*)\)}{index($1, $2) >= 0 ? $1 : "$1 (`$2` in the repository)"}ge' {} +
# Chinese has no spaces between words, and a line end would become one.
find "$stage/zh" -name '*.md' -exec perl -CSD -0777 -pi -e \
  's#(?<=[\p{Han}\x{3001}-\x{303f}\x{ff01}-\x{ff60}])\n *(?=[\p{Han}\x{300a}-\x{300f}\x{ff08}])##g' {} +
mv "$stage/zh" "$stage.zh"
trap 'rm -rf "$stage" "$stage.zh"' EXIT

rm -rf "$out" && mkdir -p "$out"
out=$(cd "$out" && pwd)
"$mdbook" build --dest-dir "$out" "$stage"
"$mdbook" build --dest-dir "$out/zh" "$stage.zh"
rm "$out/book.toml" "$out/zh/book.toml"
