#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu_all_test.sh GPU_ALL FOLDER: tools/gpu_all with programs that only pretend, with and without a GPU.
set -eu
gpu_all=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/build/tests/cuda"
fail() { echo "gpu_all_test: $*" >&2; exit 1; }
expect() { # CODE COMMAND...
  wanted=$1; shift
  code=0; "$@" >"$folder/said" 2>&1 || code=$?
  [ "$code" -eq "$wanted" ] || { cat "$folder/said"; fail "exit code $code, not $wanted: $*"; }
}
pretend() { printf '#!/bin/sh\n%s\n' "$2" >"$1"; chmod +x "$1"; }

expect 2 "$gpu_all"
expect 2 "$gpu_all" "$folder/out" --build "$folder/nowhere"
expect 2 "$gpu_all" "$folder/out" --build "$folder/build" # no draftline in it
# shellcheck disable=SC2016
pretend "$folder/build/draftline" 'case "$1" in
  --version) echo "0.0 (pretended)" ;;
  probe) while [ $# -gt 1 ]; do shift; done; echo "{\"title\": \"NVIDIA H100 80GB HBM3\"}" >"$1"
         read -r attempts <"$ATTEMPTS"; echo $((attempts - 1)) >"$ATTEMPTS"; [ "$attempts" -le 1 ] || exit 3 ;;
  calibrate) echo "$@" ;;
  decode) echo "{\"throughput\": {\"value\": 1}}" ;;
  validate) [ "$2" != --help ] || { [ "${VALIDATE:-2}" -ne 2 ]; exit; }
            echo "$@"; echo one >>"$ATTEMPTS.validate"; exit "${VALIDATE:-2}" ;;
esac'
expect 2 "$gpu_all" "$folder/out" --build "$folder/build" partiy
grep -q 'no part "partiy"' "$folder/said" || fail "an unknown part is not named"

pretend "$folder/bin/nvidia-smi" 'echo "GPU 0: NVIDIA H100 80GB HBM3 (UUID: x)"'
pretend "$folder/bin/python3" 'exit 1' # the real one takes its time
PATH=$folder/bin:$PATH
export PATH
# The names of two cases, of which TROUBLED ends as TROUBLE says.
# shellcheck disable=SC2016
tests='while [ $# -gt 1 ] && [ "$1" = --warn ]; do shift 2; done
case "$1" in
  --list-test-names-only) echo "norms, of rows"; echo "a [long] context"; exit 2 ;;
  "norms\, of rows"|"a \[long\] context") [ "$1" != "$TROUBLED" ] || exit "$TROUBLE"; echo "All tests passed" ;;
  *) echo "of gpu_all: $*" ;;
esac'
TROUBLED='' TROUBLE=0 ATTEMPTS=$folder/attempts
export TROUBLED TROUBLE ATTEMPTS
echo 1 >"$ATTEMPTS"
pretend "$folder/build/tests/cuda/cuda_tests" "$tests"
pretend "$folder/build/tests/cuda/cuda_ops_tests" "$tests"
pretend "$folder/bin/compute-sanitizer" 'echo "ERROR SUMMARY: 0 errors"'
expect 0 "$gpu_all" "$folder/out" --build "$folder/build" parity sanitizer probes decoder validate
for line in "parity | fine" "sanitizer | fine" "probes | fine" "decoder | fine" "validate | skipped"; do
  grep -q "| $line" "$folder/out/report.md" || { cat "$folder/out/report.md"; fail "the report lacks: $line"; }
done
for option in "--device h100-sxm" "--engine-out $folder/out/draftline-h100-sxm.json" "--compare h100-sxm"; do
  grep -q -- "$option" "$folder/out/probes.log" || fail "the probe's file is not calibrated: $option"
done
[ -s "$folder/out/measured.json" ] || fail "what was measured is missing"
[ "$(grep -c "^passed: " "$folder/out/parity.log")" -eq 4 ] || { cat "$folder/out/parity.log"; fail "not each case by itself"; }
[ -s "$folder/out/decode-eagle2-1.json" ] || fail "a decode's output is missing"

# A device that fails at two points: the third process goes on behind them. At more: validate does.
rm -rf "$folder/out"
echo 3 >"$ATTEMPTS"
expect 0 "$gpu_all" "$folder/out" --build "$folder/build" probes
[ "$(grep -c "the device failed" "$folder/out/probes.log")" -eq 2 ] || { cat "$folder/out/probes.log"; fail "not two more attempts"; }
echo 4 >"$ATTEMPTS"
VALIDATE=0 expect 1 "$gpu_all" "$folder/out" --build "$folder/build" probes validate
[ -s "$folder/out/validation/measured.json" ] || fail "validate does not go on with the points that are there"

# A device that fails while it validates: two more attempts.
rm -f "$ATTEMPTS.validate"
echo 1 >"$ATTEMPTS"
VALIDATE=3 expect 1 "$gpu_all" "$folder/out" --build "$folder/build" probes validate
[ "$(wc -l <"$ATTEMPTS.validate")" -eq 3 ] || fail "validate is not tried again"
grep -q "| validate | the device failed" "$folder/out/report.md" || fail "the report doesn't say that the device failed"

# What goes home in few files, also of a run that is ended.
rm -rf "$folder/out"
expect 0 "$gpu_all" "$folder/out" --build "$folder/build" --archive parity decoder
[ "$(cd "$folder/out" && echo *)" = "report.md results.tar.gz" ] || fail "more files than two: $(ls "$folder/out")"
tar tzf "$folder/out/results.tar.gz" | grep -q "decode-eagle2-1.json" || fail "the archive lacks a decode's output"
rm -rf "$folder/out"
until_there() { # FILE: at most ten seconds
  tries=0
  until [ -s "$1" ]; do tries=$((tries + 1)); [ "$tries" -le 200 ] || fail "$1 is missing"; sleep 0.05; done
}
# shellcheck disable=SC2016
pretend "$folder/bin/compute-sanitizer" 'echo it runs; echo $$ >"$PID.new"; mv "$PID.new" "$PID"; exec sleep 60'
PID=$folder/pid "$gpu_all" "$folder/out" --build "$folder/build" --archive decoder sanitizer probes >"$folder/said" 2>&1 &
run=$!
trap 'kill "$run" 2>/dev/null || true' EXIT
until_there "$folder/pid"
grep -q "| decoder | fine" "$folder/out/report.md" || fail "a part is done, and the report isn't there"
tar tzf "$folder/out/results.tar.gz" | grep -q "decode-eagle2-1.json" || fail "a part is done, and its output isn't there"
from=$(date +%s)
kill "$run"
code=0; wait "$run" || code=$?
trap - EXIT
[ "$code" -eq 1 ] || fail "a run that is ended: exit code $code"
[ "$(($(date +%s) - from))" -le 5 ] || fail "a run goes on after it is ended"
if kill -0 "$(cat "$folder/pid")" 2>/dev/null; then fail "a run that is ended leaves a child"; fi
[ "$(cd "$folder/out" && echo *)" = "report.md results.tar.gz" ] || fail "more files than two: $(ls "$folder/out")"
grep -q "| sanitizer | ended | .* | it runs |" "$folder/out/report.md" || { cat "$folder/out/report.md"; fail "no word of the end"; }
if grep -q "| probes" "$folder/out/report.md"; then fail "a run that is ended begins another part"; fi
tar xzOf "$folder/out/results.tar.gz" ./sanitizer.log | grep -q "it runs" || fail "the archive lacks what the end cut off"

# Where compute-sanitizer is not on PATH, and one that takes too long; each limit is 0.3 seconds here, and is noted.
rm "$folder/bin/compute-sanitizer"
mkdir -p "$folder/cuda/compute-sanitizer"
pretend "$folder/cuda/compute-sanitizer/compute-sanitizer" 'exec sleep 60'
pretend "$folder/bin/timeout" "echo \"\$3\" >>$folder/limits; shift 3; exec $(command -v timeout) -k 1 0.3 \"\$@\""
CUDA_HOME=$folder/cuda expect 1 "$gpu_all" "$folder/out" --build "$folder/build" sanitizer
grep -q "| sanitizer | took too long" "$folder/out/report.md" || { cat "$folder/out/report.md"; fail "a timeout has another name"; }
expect 1 "$gpu_all" "$folder/out" --build "$folder/build" --seconds 0 decoder
grep -q "| decoder | took too long" "$folder/out/report.md" || { cat "$folder/out/report.md"; fail "parts without time run"; }

# Cases that never end: two of a program, and its others are skipped; a case costs 40 seconds and 3 to end.
: >"$folder/limits"
# shellcheck disable=SC2016
pretend "$folder/build/tests/cuda/cuda_ops_tests" 'while [ $# -gt 1 ] && [ "$1" = --warn ]; do shift 2; done
case "$1" in
  --list-test-names-only) for name in a b c d e f g h i; do echo "$name"; done ;;
  a) echo ran >>"$RAN" ;;
  b|d) exec sleep 60 ;;
esac'
RAN=$folder/ran expect 1 "$gpu_all" "$folder/out" --build "$folder/build" parity
[ "$(wc -l <"$folder/ran")" -eq 2 ] || fail "the first case doesn't warm up what all need"
for line in "passed: a" "took too long: b" "took too long: d" "the other 5 cases of cuda_ops_tests are skipped" "4 of 11 cases passed"; do
  grep -q "^$line" "$folder/out/parity.log" || { cat "$folder/out/parity.log"; fail "parity doesn't say: $line"; }
done
[ "$(grep -vx 60 "$folder/limits" | sort -n | tail -n 1)" -le 40 ] || { cat "$folder/limits"; fail "a case may cost more than 43 seconds"; }
[ "$(grep -cx 60 "$folder/limits")" -eq 1 ] || { cat "$folder/limits"; fail "not one process that warms up"; }
rm "$folder/bin/timeout"
pretend "$folder/build/tests/cuda/cuda_ops_tests" "$tests"

rm -rf "$folder/out"
echo 1 >"$ATTEMPTS"
expect 0 "$gpu_all" "$folder/out" --build "$folder/build" probes
# shellcheck disable=SC2016
pretend "$folder/build/draftline" 'echo "$@"'
expect 0 "$gpu_all" "$folder/out" --build "$folder/build" validate
for words in "--device cuda --datasheet h100-sxm" "--measured $folder/out/measured.json" "--seconds 180" "--serving-seconds 60"; do
  grep -q -- "$words" "$folder/out/validate.json" || { cat "$folder/out/validate.json"; fail "validate is not told: $words"; }
done
rm "$folder/out/measured.json"
expect 0 "$gpu_all" "$folder/out" --build "$folder/build" validate
grep -q -- "--datasheet h100-sxm" "$folder/out/validate.json" || fail "the GPU's own name is not its datasheet's"

TROUBLED='norms\, of rows' TROUBLE=1
expect 1 "$gpu_all" "$folder/out" --build "$folder/build" parity validate
grep -q "| parity | failed .* 2 of 4 cases passed" "$folder/out/report.md" || fail "a failed part is not named"
[ "$(grep -c "^failed: norms, of rows" "$folder/out/parity.log")" -eq 2 ] || fail "a failed case is not named"
TROUBLE=4
expect 1 "$gpu_all" "$folder/out" --build "$folder/build" parity
grep -q "^skipped cases" "$folder/out/parity.log" || fail "a GPU on which the tests were skipped passes for fine"
TROUBLED=''

# cuBLASLt where only pip's folders have it: the program finds it there.
pretend "$folder/bin/python-of-a-venv" "case \"\$*\" in *getsitepackages*) echo $folder/site-packages ;; esac"
pretend "$folder/bin/ldconfig" 'exit 0'
mkdir -p "$folder/site-packages/nvidia/cu13/lib"
touch "$folder/site-packages/nvidia/cu13/lib/libcublasLt.so.13"
# shellcheck disable=SC2016
pretend "$folder/build/tests/cuda/cuda_tests" 'echo "$LD_LIBRARY_PATH"; case $1 in --list*) ;; *) exit 1 ;; esac'
LD_LIBRARY_PATH='' PYTHON=$folder/bin/python-of-a-venv \
  expect 1 "$gpu_all" "$folder/out" --build "$folder/build" --transformer ./tiny.json libraries parity
grep -q "$folder/site-packages/nvidia/cu13/lib" "$folder/out/parity.log" || fail "cuBLASLt of pip's folders isn't found"

# A pack says when it is large.
# shellcheck disable=SC2016
pretend "$folder/bin/strip" '[ "$1" != -o ] || cp "$3" "$2"'
# shellcheck disable=SC2016
pretend "$folder/bin/du" 'printf "%s\t%s\n" "$KIB" "$2"'
KIB=40000 expect 0 "$gpu_all" --pack "$folder/pack" --build "$folder/build"
if grep -q "too much to carry" "$folder/said"; then fail "a small pack is called large"; fi
KIB=60000 expect 0 "$gpu_all" --pack "$folder/pack" --build "$folder/build"
grep -q "too much to carry.*DRAFTLINE_CUDA_ARCHITECTURES=90" "$folder/said" || fail "a large pack isn't called so"
expect 2 "$gpu_all" "$folder/out" --build "$folder/build" --seconds soon

# Without a GPU every part but the first says so. A machine that has one can't show it.
for device in /dev/nvidia[0-9]*; do [ -e "$device" ] && exit 0; done
pretend "$folder/bin/nvidia-smi" 'exit 9'
expect 3 "$gpu_all" "$folder/out" --build "$folder/build"
[ "$(grep -c '| no GPU |' "$folder/out/report.md")" -eq 6 ] || { cat "$folder/out/report.md"; fail "no GPU, six times"; }
