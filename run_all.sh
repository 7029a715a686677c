#!/usr/bin/env bash
# From a fresh machine to a page of results.
#
#   ./run_all.sh                     sets up, gets data, runs one sweep to its figure and claims, runs some of the
#                                    committed results again and compares, draws every figure, makes the page
#   ./run_all.sh --scale smoke       runs every sweep instead, draws their figures and makes the page; also laptop or
#                                    paper; goes on where an earlier run stopped
#   ./run_all.sh test                sets up and runs the tests; --slow runs the slow ones too, --slow-share K/N the K-th
#                                    of N shares of them, and --part only a few tests of each package and the types
#
# Options: --scale NAME, --out DIR (default results), --data-dir DIR (data files that you have), --source NAME (what other
# data are fetched from: docs/data.md), --workers N (that of `bench run`), --gpu (the CUDA build of jax), --jax VERSION
# (another jax than the locked one: a number, or newest, the newest that pyproject.toml admits). The packages of the lock
# are checked by hash; those that --gpu and --jax bring are not.
# Environment: PYTHON, the interpreter to use; BENCH_VENV, where the environment goes (default .venv). Relative paths
# are relative to this folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

trap 'echo "stopped; run the same command to go on" >&2; exit 130' INT

fail() { echo "error: $*" >&2; exit 2; }

command=all scale= out=results gpu=no jax=locked part=no run_options=() test_options=()
while [ $# -gt 0 ]; do
  case "$1" in
    test) command=test ;;
    --scale) [ $# -gt 1 ] || fail "--scale needs a value: smoke, laptop or paper"; scale=$2; shift ;;
    --out) [ $# -gt 1 ] || fail "--out needs a folder"; out=$2; shift ;;
    --data-dir) [ $# -gt 1 ] || fail "--data-dir needs a folder"; export BENCH_DATA=$2; shift ;;
    --source) [ $# -gt 1 ] || fail "--source needs a name"; export BENCH_SOURCE=$2; shift ;;
    --workers) [ $# -gt 1 ] || fail "--workers needs a number, auto, ray or ray://HOST:PORT"; run_options+=(--workers "$2"); shift ;;
    --gpu) gpu=yes ;;
    --slow) test_options+=(--slow) ;;
    --slow-share) [ $# -gt 1 ] || fail "--slow-share needs K/N, such as 1/7"; test_options+=(--slow-share "$2"); shift ;;
    --part) part=yes ;;
    --jax) [ $# -gt 1 ] || fail "--jax needs a version such as 0.10.0, or newest, or locked"; jax=$2; shift ;;
    -h | --help) sed -n '2,18s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) fail "no option or command is called '$1': see ./run_all.sh --help" ;;
  esac
  shift
done
[ "$command" = test ] || [ "$part${test_options[*]-}" = no ] || fail "--slow, --slow-share and --part belong to the command test"
case "$scale" in '' | smoke | laptop | paper) ;; *) fail "no scale is called '$scale': there are smoke, laptop, paper" ;; esac

suitable() { # a name on the PATH may be a shim of an interpreter that is not there, so each is asked
  "$1" -c 'import sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1
}
python=
if [ -n "${PYTHON:-}" ]; then
  suitable "$PYTHON" || fail "PYTHON=$PYTHON is not a Python 3.11 to 3.13 with venv: name one, or leave PYTHON out"
  python=$PYTHON
else
  for candidate in python3.12 python3.13 python3.11 python3 python; do
    if suitable "$candidate"; then python=$candidate; break; fi
  done
fi
[ -n "$python" ] || fail "no Python 3.11 to 3.13 with venv is on the PATH: install one, or name it in PYTHON"

# The environment is made again when the lock or the interpreter changes; half an environment has no stamp.
venv=${BENCH_VENV:-.venv}
lock=requirements.lock
[ "$command" = test ] && lock=requirements-test.lock
stamp=$("$python" -c 'import sys, hashlib; print(hashlib.sha256(b"".join(open(f, "rb").read() for f in sys.argv[1:]) + sys.version.encode()).hexdigest())' "$lock")-$gpu-$jax
if ! grep -qsx "$lock $stamp" "$venv/stamp"; then
  echo "setting up $venv with $("$python" --version)"
  grep -qs "$("$python" -c 'import sys; print(sys.version.split()[0])')" "$venv/pyvenv.cfg" || "$python" -m venv --clear "$venv"
  touch "$venv/stamp"
  sed -i.old "/^${lock//./\\.} /d" "$venv/stamp"
  # pip uses one core, so two of them each install half of the lock. The lock names every package that is needed, which a
  # test tries, so neither has to look for others.
  halves=$(mktemp -d) other=
  trap 'kill $other 2>/dev/null || true; rm -rf "$halves"' EXIT
  awk -v to="$halves" 'BEGIN { half = 0 } /^[A-Za-z]/ { half = !half } { print > (to "/" half) }' "$lock"
  install=("$venv/bin/python" -m pip install --quiet --no-compile --no-deps --disable-pip-version-check --require-hashes -r)
  "${install[@]}" "$halves/0" &
  other=$! installed=0
  "${install[@]}" "$halves/1" || installed=$?
  wait "$other" || installed=$?
  rm -rf "$halves"
  trap - EXIT
  [ "$installed" = 0 ] || fail "the packages of $lock could not be installed: see above; is the network reachable?"
  case "$jax" in
    locked) ;;
    newest) "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'jax>=0.10,<0.13' 'jaxlib>=0.10,<0.13' \
      || fail "the newest jax could not be installed: see above" ;;
    *) # together with what else the suite needs, since the locked versions may need a newer jax
      needed=("jax==$jax" "jaxlib==$jax")
      while IFS= read -r one; do needed+=("$one"); done \
        < <("$python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")')
      "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${needed[@]}" \
        || fail "jax $jax could not be installed: see above, or name another --jax" ;;
  esac
  if [ "$gpu" = yes ]; then
    version=$("$venv/bin/python" -c 'import jax; print(jax.__version__)')
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "jax[cuda13]==$version" \
      || fail "the CUDA build of jax $version could not be installed: see above, or leave --gpu out"
  fi
  # On all cores; pip would also compile the packages' own tests and what few runs import: half of all modules. Some
  # packages hold files that are templates, or for another Python.
  "$venv/bin/python" -m compileall -q -j 0 -x 'site-packages/(.*/tests?|ray|pip|setuptools)/' \
    "$venv"/lib/python*/site-packages bench figures >/dev/null 2>&1 || true
  echo "$lock $stamp" >>"$venv/stamp"
fi
run=$venv/bin/python

if [ "$command" = test ]; then
  "$run" -m ruff check .
  "$run" -m ruff format --check .
  # Types are checked beside the tests, since that takes one core. The option names the interpreter in place of
  # pyproject.toml, where BENCH_VENV names another.
  types_said=$(mktemp) types=
  trap 'kill $types 2>/dev/null || true; rm -f "$types_said"' EXIT
  "$run" -m basedpyright --pythonpath "$run" >"$types_said" 2>&1 &
  types=$!
  [ "$part" = no ] || test_options+=(@tests/part.txt)
  tested=0 typed=0
  "$run" -m pytest -n auto --maxprocesses 4 --dist worksteal ${test_options[@]+"${test_options[@]}"} || tested=$?
  wait "$types" || typed=$?
  echo "types:"; cat "$types_said"
  [ "$typed" = 0 ] || exit "$typed"
  exit "$tested"
fi

sets=(mnist movielens_100k)
case "$scale" in laptop | paper) sets+=(fashion_mnist cifar10) ;; esac
get_data() { "$run" -m bench data get "${sets[@]}"; }

if [ -n "$scale" ]; then
  get_data
  ran=0
  "$run" -m bench run all --scale "$scale" --out "$out" ${run_options[@]+"${run_options[@]}"} || ran=$?
  [ "$ran" = 0 ] || [ "$ran" = 2 ] || exit "$ran"
  "$run" -m figures --scale "$scale" --results "$out"
  "$run" -m figures claims --scale "$scale" --results "$out"
  kind=sweeps; [ "$scale" != smoke ] || kind=smoke
  echo "done: results in $out/$kind, figures and claims in $out/$kind/figures; all of it on one page:"
  "$run" -m figures report --scale "$scale" --results "$out"
  [ "$ran" = 0 ] || echo "without the sweeps whose data are missing, which are named above" >&2
  exit "$ran"
fi

stage() { echo "== $1 of 5, after $SECONDS s: $2"; }
here=$out/here sweep=correlated_noise_sums
mkdir -p "$here"
stage 1 "the data sets ${sets[*]}"
get_data
stage 2 "the sweep $sweep, its figure and its claims, into $here"
"$run" -m bench run "$sweep" --scale laptop --out "$here" ${run_options[@]+"${run_options[@]}"}
"$run" -m figures "$sweep" --results "$here"
"$run" -m figures claims correlated_noise --results "$here" --brief
stage 3 "some of the committed results are run again, and compared"
verified=0
"$run" -m bench verify --minutes 1 || verified=$?
stage 4 "every figure and claim from the committed results, into $here/redrawn"
# What pictures and verdicts follow from: the code, and the results, whose files are named by their content.
drawn_from=$("$run" -c 'import hashlib, pathlib
files = [path for part in ("bench", "figures") for path in sorted(pathlib.Path(part).rglob("*")) if path.suffix in (".py", ".css", ".js", ".csv")]
files += sorted(path for name in ("attacks.csv", "protocol.json") for path in pathlib.Path("results/board").rglob(name))
results = sorted(str(path) for part in ("sweeps", "board") for path in pathlib.Path("results", part).rglob("*.parquet"))
print(hashlib.sha256(b"".join(path.read_bytes() for path in files) + "".join(results).encode()).hexdigest())')
if grep -qsx "$drawn_from" "$here/redrawn/stamp" && [ -f results/board/index.html ]; then
  echo "they are there, and neither the code nor the results have changed"
else
  rm -f "$here/redrawn/stamp"
  "$run" -m figures --out "$here/redrawn" >"$here/redrawn.log" 2>&1 || fail "a figure could not be drawn: see $here/redrawn.log"
  "$run" -m figures claims --brief --out "$here/redrawn" >"$here/claims.log" 2>&1 || fail "a claim could not be judged: see $here/claims.log"
  "$run" -m figures board >"$here/board.log" 2>&1 || fail "the board's page could not be drawn: see $here/board.log"
  echo "$drawn_from" >"$here/redrawn/stamp"
fi
cmp -s "$here/redrawn/claims.csv" results/sweeps/figures/claims.csv \
  && echo "the verdicts are those that the repository has" || echo "the verdicts differ from results/sweeps/figures/claims.csv"
stage 5 "the page"
"$run" -m figures report --results "$here" --out "$out/report/index.html"
echo "done after $SECONDS s: open $out/report/index.html; every sweep is run by ./run_all.sh --scale smoke"
exit "$verified"
