#!/usr/bin/env bash
# h200-single on a machine with one GPU that reaches no network. In a checkout, where there is one:
#
#     bash harness/campaigns/h200-single.sh carry WHEELS [PYTHON]
#
# fills the folder with this project's wheel and those that an image with PyTorch lacks, for Python 3.12 or as said.
# On the machine, with that folder beside this file or anywhere else:
#
#     bash harness/campaigns/h200-single.sh measure WHEELS OUT
#
# measures within LIMIT_S seconds (540) and leaves OUT/log.tar.gz, logs and runner. Its python3 has to bring torch with
# CUDA, triton, numpy, scipy, click, rich, psutil and pyarrow. MLflow is not needed: runs are made at home,
#
#     mkdir -p ledger && tar -xzf OUT/log.tar.gz -C ledger --skip-old-files && layoutledger verify && layoutledger push
#
# Exit status: that of the campaign; 124 when the time was up, what was measured by then is in the log.
set -euo pipefail

campaign="${CAMPAIGN:-h200-single}" # a shipped name, or a file called like its campaign
limit="${LIMIT_S:-540}"
carried=(annotated-types duckdb fla-core orjson pydantic pydantic-core python-ulid pyyaml rfc8785
  typing-extensions typing-inspection)

carry() {
  local wheels="$1" python="${2:-3.12}" checkout source
  checkout="$(dirname "${BASH_SOURCE[0]}")/../.."
  source="$(mktemp -d)"
  mkdir -p "$wheels"
  # What is committed, and nothing that an earlier build left behind.
  git -C "$checkout" archive HEAD | tar -x -C "$source"
  python3 -m pip wheel --quiet --no-deps --wheel-dir "$wheels" "$source"
  rm -rf "$source"
  python3 -m pip download --quiet --no-deps --dest "$wheels" --only-binary :all: --python-version "$python" \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
    --constraint "$checkout/requirements.lock" "${carried[@]}"
  du -sh "$wheels"
}

measure() {
  local wheels="$1" out="$2" work status=0
  work="$(mktemp -d)"
  mkdir -p "$out"
  # Not a virtual environment: one made from an image's own would not see the image's packages.
  python3 -m pip install --quiet --no-index --no-deps --target "$work/packages" "$wheels"/*.whl
  export PYTHONPATH="$work/packages" PATH="$work/packages/bin:$PATH" LAYOUTLEDGER_STORE="$work/ledger"
  layoutledger recipe "$campaign" --output "$out/runner"
  # TERM to the group: the attempt under way is ended in order and recorded.
  timeout --kill-after=25 "$limit" bash "$out/runner/local.sh" || status=$?
  if [ -d "$LAYOUTLEDGER_STORE/log" ]; then
    layoutledger recover || status=$?
    layoutledger campaign status "$(basename "$campaign" .toml)" || status=$?
    tar -C "$LAYOUTLEDGER_STORE" -czf "$out/log.tar.gz" log
  fi
  rm -rf "$work"
  return "$status"
}

case "${1:-}" in
  carry | measure) "$@" ;;
  *)
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
