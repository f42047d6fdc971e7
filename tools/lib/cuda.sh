# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by tools/quickstart, tools/test and tools/gpu-check, after packages.sh: finds CUDA's compiler, or fetches it
# from PyPI into .cuda/ of this tree. If that fails, Rondo is built without CUDA.

# nvcc, its front end's headers, its back end, cuda.h, and the headers that cuda_fp16.h includes. The first version of
# CUDA 13, because a driver cannot load PTX of a later version than its own.
CUDA_WHEELS=("nvidia-cuda-nvcc==13.0.*" "nvidia-cuda-crt==13.0.*" "nvidia-nvvm==13.0.*"
  "nvidia-cuda-runtime==13.0.*" "nvidia-cuda-cccl==13.0.*")

# Disassemblers of device code, for tests. Any version of CUDA 13 reads the output of an earlier one.
CUDA_TOOL_WHEELS=("nvidia-cuda-cuobjdump==13.*" "nvidia-cuda-nvdisasm==13.*")

have_gpu() { [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; }

# fetch_wheels TARGET LOG WHEEL...: all or nothing, so that an interrupted run leaves nothing that looks like a
# compiler.
fetch_wheels() {
  local target=$1 log=$2 folder outcome=0
  shift 2
  if ! python3 -m pip --version > "$log" 2>&1; then
    command -v apt-get > /dev/null && install_with_apt "$log" python3 python3-pip || return 1
  fi
  folder=$(mktemp -d "$target.XXXXXX") || return 1
  python3 -m pip --disable-pip-version-check --no-input install --quiet --no-deps --only-binary :all: \
    --timeout 30 --retries 1 --target "$folder" "$@" > "$log" 2>&1 || outcome=1
  if [ "$outcome" = 0 ]; then
    chmod 755 "$folder"
    printf '%s\n' "$*" > "$folder/wheels"
    rm -rf "$target"
    mv "$folder" "$target"
  fi
  rm -rf "$folder"
  return "$outcome"
}

# have_cuda_tools: finds or fetches the disassemblers; if that fails, tests that need them are skipped.
have_cuda_tools() {
  local log outcome=0
  (PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:/usr/local/cuda/bin
    command -v cuobjdump && command -v nvdisasm) > /dev/null && return 0
  [ "$(cat .cuda-tools/wheels 2> /dev/null)" != "${CUDA_TOOL_WHEELS[*]}" ] || return 0
  say "cuobjdump is not installed: fetching it and nvdisasm from PyPI into .cuda-tools/ (6 MB, once) ..."
  log=$(mktemp)
  fetch_wheels .cuda-tools "$log" "${CUDA_TOOL_WHEELS[@]}" || outcome=1
  [ "$outcome" = 0 ] || say "Tests of the device code are skipped: $(grep -v WARNING "$log" | tail -n 1)"
  rm -f "$log"
  return "$outcome"
}

# have_nvcc: finds or fetches a CUDA compiler. RONDO_CUDA=0: fails; RONDO_CUDA=1: not having one is fatal.
have_nvcc() {
  local log why outcome=0
  case ${RONDO_CUDA:-} in
    '' | 1) ;;
    0) return 1 ;;
    *) fail_usage "RONDO_CUDA is '$RONDO_CUDA': it must be 0 (no CUDA) or 1 (CUDA is required)" ;;
  esac
  log=$(mktemp)
  tools/cuda/find_nvcc . > /dev/null 2> "$log" || outcome=1
  if [ "$outcome" = 1 ] && [ "$(cat .cuda/wheels 2> /dev/null)" != "${CUDA_WHEELS[*]}" ]; then
    say "No CUDA toolkit found: fetching nvcc from PyPI into .cuda/ (100 MB, once; RONDO_CUDA=0 avoids this) ..."
    fetch_wheels .cuda "$log" "${CUDA_WHEELS[@]}" && tools/cuda/find_nvcc . > /dev/null 2> "$log" && outcome=0
  fi
  why=$(grep -v WARNING "$log" | tail -n 1) || why=''
  rm -f "$log"
  [ "$outcome" = 1 ] || return 0
  [ "${RONDO_CUDA:-}" != 1 ] || fail "CUDA was requested, but there is no nvcc${why:+: $why}"
  say "Building without CUDA: there is no nvcc${why:+ ($why)}"
  return 1
}
