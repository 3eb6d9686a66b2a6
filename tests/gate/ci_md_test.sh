#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ci_md_test.sh DOCS/ci.md DRAFTLINE SOURCE FOLDER: the commands of the workflow and of the job in docs/recipes/ci.md, taken from
# the page and run in a repository as it describes. Those that install packages or build are only parsed.
set -eu
page=$1 program=$2 source=$3 folder=$4
rm -rf "$folder"
mkdir -p "$folder/steps" "$folder/repository/predictions" "$folder/repository/draftline/build/check"
cd "$folder/repository"
ln -s "$program" draftline/build/check/draftline
ln -s "$source/tools" draftline/tools
cp "$source/scenarios/best_tree.json" "$source/tests/golden/scenarios/serving_static.json" predictions/
draftline/build/check/draftline check --scenarios predictions --approve 2> /dev/null

fail() { echo "ci_md_test: $*" >&2; exit 1; }

# A file for each `run: |` of the workflow, in order, and one for the items of the job's before_script and of its script.
awk -v to="$folder/steps" '
  /^```yaml/ { in_yaml = 1; page += 1; next }
  /^```/ { in_yaml = 0; collecting = 0; next }
  !in_yaml { next }
  { match($0, /^ */); indent = RLENGTH }
  collecting && $0 != "" && indent <= outer { collecting = 0 }
  /^ *run: \|$/ { n += 1; outer = indent; collecting = 1; name = sprintf("%s/%d-%02d.sh", to, page, n); next }
  /^ *(before_)?script:$/ { n += 1; outer = indent; collecting = 2; name = sprintf("%s/%d-%02d.sh", to, page, n); next }
  collecting == 2 { sub(/^ *- /, ""); print > name; next }
  collecting == 1 { sub(/^ */, ""); print > name }
' "$page"
[ "$(ls "$folder/steps" | wc -l)" = 6 ] || fail "four steps of the workflow and two of the job, found: $(ls "$folder/steps")"

# Every step in turn, as a CI system would: with -e, and the summary whatever came before. Prints the first code that is not 0.
run_page() {
  code=0
  for step in "$folder/steps/$1"-*.sh; do
    sh -n "$step" || fail "$step is no shell"
    if grep -qE 'apt-get|cmake' "$step"; then continue; fi
    grep -q GITHUB_STEP_SUMMARY "$step" || [ "$code" = 0 ] || continue
    failed=0
    GITHUB_STEP_SUMMARY="$folder/summary" sh -e "$step" > "$folder/out" 2>&1 || failed=$?
    [ "$code" != 0 ] || code=$failed
  done
  echo "$code"
}

[ "$(run_page 1)" = 0 ] || fail "the workflow fails where nothing moved: $(cat "$folder/out")"
grep -q "no changes" "$folder/summary" || fail "no summary"
[ "$(run_page 2)" = 0 ] || fail "the job fails where nothing moved: $(cat "$folder/out")"
grep -q 'tests="2" failures="0"' predictions.xml || fail "no JUnit file"

sed -i 's/h100-sxm/h200/' predictions/serving_static.json
: > "$folder/summary"
[ "$(run_page 1)" = 1 ] || fail "the workflow passes a changed scenario"
grep -q "serving_static.json: device h100-sxm -> h200" "$folder/summary" || fail "the summary does not say why"
[ "$(run_page 2)" = 1 ] || fail "the job passes a changed scenario"
grep -q 'tests="2" failures="1"' predictions.xml || fail "the JUnit file tells of no failure"

echo '{' > predictions/pins.json
: > "$folder/summary"
[ "$(run_page 1)" = 2 ] || fail "the workflow passes a broken pin file"
echo "docs/recipes/ci.md: all commands ran"
