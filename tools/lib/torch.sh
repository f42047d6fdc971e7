# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by tools/test, tools/test-torch and bench/torch's users, after packages.sh: a private Python environment with
# PyTorch, made once, and Rondo's Python package built against that torch. Nothing outside the environment's folder is
# changed.

# The one place that names the PyTorch version to test against; RONDO_TORCH_VERSION overrides it.
TORCH_VERSION=${RONDO_TORCH_VERSION:-2.15.0}
# scikit-learn provides the digits for the examples; PyTorch's own tests import expecttest. The last ones create process
# groups themselves, but for tabulate, with which torchfrtrace prints.
TORCH_REQUIREMENTS=("torch==$TORCH_VERSION" "numpy" "scikit-learn" "expecttest" "accelerate==1.15.0"
  "transformers==5.24.0" "lightning==2.6.6" "tabulate")

torch_folder() {
  local short=${TORCH_VERSION%.*}
  printf '%s\n' "${RONDO_TORCH_ENV:-${XDG_CACHE_HOME:-$HOME/.cache}/rondo/torch-$short}"
}

# torch_complete FOLDER: whether it holds a complete installation of exactly these requirements.
torch_complete() {
  [ -x "$1/bin/python" ] && [ "$(cat "$1/requirements" 2> /dev/null)" = "${TORCH_REQUIREMENTS[*]}" ]
}

# install_torch FOLDER LOG: all or nothing. Programs in an environment contain its path, so it cannot be made
# elsewhere and moved: the file that marks it complete is written last. pip resumes an interrupted installation.
install_torch() (
  folder=$1 log=$2
  mkdir -p "$(dirname "$folder")" || exit 1
  exec 9> "$folder.lock"
  command -v flock > /dev/null && flock 9
  torch_complete "$folder" && exit 0  # another run made it in the meantime
  rm -f "$folder/requirements"
  make_venv "$folder" "$log" || exit 1
  "$folder/bin/python" -m pip --disable-pip-version-check --no-input install --quiet --only-binary :all: \
    --timeout 30 --retries 1 "${TORCH_REQUIREMENTS[@]}" > "$log" 2>&1 || exit 1
  "$folder/bin/python" -c 'import torch, numpy, sklearn, expecttest' > "$log" 2>&1 || exit 1
  printf '%s\n' "${TORCH_REQUIREMENTS[*]}" > "$folder/requirements"
)

# torch_allowed: fails, with the reason, if RONDO_TORCH=0.
torch_allowed() {
  case ${RONDO_TORCH:-} in
    '' | 1) ;;
    0) say "Tests with PyTorch are skipped (RONDO_TORCH=0)."; return 1 ;;
    *) fail_usage "RONDO_TORCH is '$RONDO_TORCH': it must be 0 (no PyTorch) or 1 (PyTorch is required)" ;;
  esac
}

# torch_environment: sets TORCH_ENV to the environment's folder; fails, with the reason, if it cannot be made.
# RONDO_TORCH=0: fails; RONDO_TORCH=1: not having one is fatal.
torch_environment() {
  local log why folder
  torch_allowed || return 1
  folder=$(torch_folder)
  if ! torch_complete "$folder"; then
    say "Installing PyTorch $TORCH_VERSION from PyPI into $folder (5.5 GB, once; RONDO_TORCH=0 avoids this) ..."
    log=$(mktemp)
    if ! install_torch "$folder" "$log"; then
      why=$(grep -v WARNING "$log" | tail -n 1) || why=''
      rm -f "$log"
      [ "${RONDO_TORCH:-}" != 1 ] || fail "PyTorch was requested, but cannot be installed${why:+: $why}"
      say "Tests with PyTorch are skipped: it cannot be installed${why:+ ($why)}"
      return 1
    fi
    rm -f "$log"
  fi
  # shellcheck disable=SC2034  # read by scripts that source this file
  TORCH_ENV=$folder
}

# python_headers PYTHON: installs the headers that a C++ extension module includes.
python_headers() {
  local log outcome=0
  [ -f "$("$1" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] && return 0
  say "Installing python3-dev, for Python's headers ..."
  log=$(mktemp)
  install_with_apt "$log" python3-dev || { outcome=1; tail -n 5 "$log" >&2; }
  rm -f "$log"
  return "$outcome"
}

# torch_interpreters TOOL: sets TORCH_PYTHONS to the interpreters whose PyTorch a package is built for: those of
# RONDO_TORCH_PYTHON, or else python3 or the environment above if it has PyTorch. RONDO_TORCH=0: none.
torch_interpreters() {
  local candidates candidate python why
  TORCH_PYTHONS=()
  case ${RONDO_TORCH:-} in
    '' | 1) ;;
    0) return 0 ;;
    *) fail_usage "$1: RONDO_TORCH is '$RONDO_TORCH': it must be 0 (no PyTorch) or 1 (PyTorch is required)" ;;
  esac
  IFS=: read -r -a candidates <<< "${RONDO_TORCH_PYTHON:-python3:$(torch_folder)/bin/python}"
  for candidate in "${candidates[@]}"; do
    if why=$("$candidate" -E runtime/bindings/torch/find_torch.py 2>&1); then
      python=$("$candidate" -c 'import sys; print(sys.executable)')
      TORCH_PYTHONS+=("$python")
      [ -n "${RONDO_TORCH_PYTHON:-}" ] || break
    elif [ -n "${RONDO_TORCH_PYTHON:-}" ]; then
      fail "$1: RONDO_TORCH_PYTHON is '$RONDO_TORCH_PYTHON', and $candidate has no PyTorch that Rondo can use: $why"
    fi
  done
  [ "${RONDO_TORCH:-}" != 1 ] || [ ${#TORCH_PYTHONS[@]} != 0 ] ||
    fail "$1: PyTorch was requested, and neither python3 nor $(torch_folder) has it; RONDO_TORCH_PYTHON names another"
}

# torch_build_options PYTHON: sets TORCH_BUILD_OPTIONS, with which a build also makes the module for its torch.
torch_build_options() {
  python_headers "$1" || fail "Python's headers cannot be installed (see above)."
  # shellcheck disable=SC2034  # read by scripts that source this file
  TORCH_BUILD_OPTIONS=(-Dpython=enabled "-Dpython_program=$1" "-Dpython.purelibdir=python"
    "-Dpython.platlibdir=python")
}

# torch_package BUILD FOLDER: installs the Python package that BUILD made with TORCH_BUILD_OPTIONS into FOLDER, as pip
# would: with FOLDER in PYTHONPATH, the interpreter that it was built for knows the backend "rondo".
torch_package() {
  local build=$1 folder=$2 log outcome=0
  log=$(mktemp)
  rm -rf "$folder" "$folder.new"
  if meson install -C "$build" --no-rebuild --tags python --destdir "$PWD/$folder.new" > "$log" 2>&1 &&
    python3 tools/lib/python_package.py "$folder.new" "$folder" > "$log" 2>&1; then
    rm -rf "$folder.new"
  else
    tail -n 20 "$log" >&2
    outcome=1
  fi
  rm -f "$log"
  return "$outcome"
}
