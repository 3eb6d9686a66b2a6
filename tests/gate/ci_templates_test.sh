#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ci_templates_test.sh SOURCE DRAFTLINE FOLDER: runs the commands of ci/github/action.yml and ci/gitlab/draftline.yml, with
# an apt-get that installs nothing and a curl that is there once it was installed, in a repository with pinned
# predictions. The package is a path first, then an address.
set -eu
source=$1 program=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/github" "$folder/gitlab" "$folder/repository/predictions"
fail() { echo "ci_templates_test: $*" >&2; exit 1; }

ln -s "$program" "$folder/bin/draftline"
for name in apt-get sudo; do
  printf '#!/bin/sh\necho "%s $*" >> "%s/installed"\n' "$name" "$folder" > "$folder/bin/$name"
  chmod +x "$folder/bin/$name"
done
address=https://example.org/draftline.deb
cat > "$folder/bin/curl" <<END
#!/bin/sh
grep -q "apt-get .*install .* ca-certificates curl$" "$folder/installed" || exit 127
[ "\$*" = "--fail --location --silent --show-error --output draftline.deb $address" ] || exit 2
echo fetched > draftline.deb
END
chmod +x "$folder/bin/curl"
export PATH="$folder/bin:$PATH"
cd "$folder/repository"
echo package > given.deb
cp "$source/scenarios/best_tree.json" "$source/tests/golden/scenarios/serving_static.json" predictions/
draftline check --scenarios predictions --approve 2> /dev/null

# A file for each block of `run: |` of the action, and one for the commands of the job.
awk -v to="$folder/github" '
  { match($0, /^ */); indent = RLENGTH }
  collecting && $0 != "" && indent <= outer { collecting = 0 }
  /^ *run: \|$/ { n += 1; outer = indent; collecting = 1; next }
  collecting { sub(/^ */, ""); print > sprintf("%s/%d.sh", to, n) }
' "$source/ci/github/action.yml"
awk -v to="$folder/gitlab/1.sh" '
  /^  (before_)?script:$/ { collecting = 1; next }
  collecting && !/^    - / { collecting = 0 }
  collecting { sub(/^    - /, ""); if (/^\x27/) { gsub(/^\x27|\x27$/, "") } print > to }
' "$source/ci/gitlab/draftline.yml"

export PACKAGE=given.deb DRAFTLINE_PACKAGE=given.deb SCENARIOS=predictions DRAFTLINE_SCENARIOS=predictions
export GITHUB_OUTPUT="$folder/output" GITHUB_STEP_SUMMARY="$folder/summary"
# Prints the first exit code that is not 0; later steps run as with `if: always()`.
run_steps() {
  code=0
  for step in "$folder/$1"/*.sh; do
    failed=0
    sh -e "$step" > "$folder/out" 2>&1 || failed=$?
    [ "$code" != 0 ] || code=$failed
  done
  echo "$code"
}
[ "$(ls "$folder/github" | wc -l)" = 3 ] || fail "the action has three steps, found: $(ls "$folder/github")"
for kind in github gitlab; do
  rm -f draftline.deb
  : > "$folder/installed"
  [ "$(run_steps $kind)" = 0 ] || fail "$kind fails where nothing moved: $(cat "$folder/out")"
  [ "$(cat draftline.deb)" = package ] || fail "$kind did not fetch the package"
  grep -q "install --yes --no-install-recommends ./draftline.deb" "$folder/installed" || fail "$kind installs nothing"
  grep -q 'tests="2" failures="0"' predictions.xml || fail "$kind: no JUnit file"
done
PACKAGE=$address DRAFTLINE_PACKAGE=$address
for kind in github gitlab; do
  rm -f draftline.deb
  : > "$folder/installed"
  [ "$(run_steps $kind)" = 0 ] || fail "$kind fails with an address: $(cat "$folder/out")"
  [ "$(cat draftline.deb)" = fetched ] || fail "$kind did not fetch the address"
done
PACKAGE=given.deb DRAFTLINE_PACKAGE=given.deb
grep -q "no changes" "$folder/summary" || fail "no summary"
sed -i 's/h100-sxm/h200/' predictions/serving_static.json
for kind in github gitlab; do
  [ "$(run_steps $kind)" = 1 ] || fail "$kind passes a changed scenario"
done
echo "the templates of ci/ ran"
