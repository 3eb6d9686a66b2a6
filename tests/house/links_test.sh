#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# links_test.sh SOURCE: every relative link of a page leads to a file and a heading that exist; every file of a module,
# as in `model/work.h`, that a page names exists, and every page that code, data or tools name as docs/....md.
set -eu
cd "$1"
bad=0
fail() { echo "$*"; bad=1; }

# Prints the anchors of a page's headings, as GitHub makes them.
anchors() {
  awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); print tolower($0) }' "$1" |
    sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

modules='api|cli|core|decoder|gate|inputs|measure|methods|model|papers|predict|probes|reports|sim|trace|tests|tools|cmake'

for page in README.md CONTRIBUTING.md CHANGELOG.md $(find docs -name '*.md'); do
  folder=$(dirname "$page")
  for file in $(grep -oE "\`($modules)/[a-z0-9_/.-]+\.[a-z]+\`" "$page" | tr -d '`'); do
    [ -e "$file" ] || fail "$page: no file $file"
  done
  for link in $(grep -oE '\]\([^)# ]*(#[^) ]*)?\)' "$page" | sed 's/^](//; s/)$//' | grep -vE '^(https?|mailto):' || true); do
    file=${link%%#*}
    target=$page
    [ -z "$file" ] || target=$folder/$file
    if [ ! -e "$target" ]; then
      fail "$page: no file $link"
    elif [ "$link" != "$file" ] && ! anchors "$target" | grep -qxF "${link#*#}"; then
      fail "$page: no heading $link"
    fi
  done
done

for named in $(grep -rhoE '(^|[^a-zA-Z0-9_/.-])docs/[a-z_/]+\.md' --include='*.h' --include='*.cpp' --include='*.cu' --include='*.cuh' \
  --include='*.json' --include='*.md' --include='*.txt' --include='*.sh' --include='*.cmake' --exclude-dir=golden --exclude-dir=build . |
  grep -oE 'docs/.*' | sort -u); do
  [ -e "$named" ] || case $named in docs/spec_bundle/* | docs/en/* | docs/design/* | docs/education/*) ;; *) fail "no page $named: $(grep -rl --exclude-dir=build --exclude-dir=.git "$named" . | head -3 | tr '\n' ' ')" ;; esac
done
exit $bad
