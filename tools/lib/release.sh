# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the tools that make packages, after tools/lib/packages.sh: their options, the files that they
# pack, and what they need of PyPI.

# release_options TOOL OUTPUT ARGUMENT...: sets BUILD (empty: none) and OUTPUT, absolute, and makes the latter. The tool
# has defined usage().
release_options() {
  local tool=$1
  BUILD='' OUTPUT=$2
  shift 2
  while [ $# != 0 ]; do
    case $1 in
      --build | --output)
        [ $# -ge 2 ] || fail_usage "$tool: $1 needs a folder ($tool --help)"
        case $1 in
          --build) BUILD=$2 ;;
          --output) OUTPUT=$2 ;;
        esac
        shift 2
        ;;
      -h | --help) usage; exit 0 ;;
      *) usage >&2; fail_usage "$tool: no such option '$1'" ;;
    esac
  done
  if [ -n "$BUILD" ]; then
    [ -f "$BUILD/build.ninja" ] || fail_usage "$tool: --build is '$BUILD': it must be a build folder of Rondo"
    BUILD=$(realpath "$BUILD")
  fi
  mkdir -p "$OUTPUT" || fail "$tool: the folder '$OUTPUT' cannot be made"
  OUTPUT=$(realpath "$OUTPUT")
}

# install_release TOOL FOLDER: installs BUILD below FOLDER, stripped; without BUILD, builds in build-release/ first,
# with the backend for the PyTorch of each interpreter in TORCH_PYTHONS (torch_interpreters() sets them). To be called
# in the tree's folder, with tools/lib/cuda.sh.
install_release() {
  local tool=$1 folder=$2 options python
  if [ -n "$BUILD" ]; then
    install_build "$tool" "$folder"
    return
  fi
  need "${BUILD_NEEDS[@]}"
  check_versions
  options=(-Dbuildtype=release -Dtests=disabled -Dbench=disabled -Dpip_programs=true)
  have_nvcc || options+=(-Dcuda=disabled)
  BUILD=$PWD/build-release
  say "Building in build-release/ (some minutes the first time) ..."
  [ -n "${TORCH_PYTHONS[*]-}" ] || TORCH_PYTHONS=('')
  for python in "${TORCH_PYTHONS[@]}"; do
    TORCH_BUILD_OPTIONS=(-Dpython=disabled)
    [ -z "$python" ] || torch_build_options "$python"
    configure "$BUILD" "${options[@]}" "${TORCH_BUILD_OPTIONS[@]}"
    compile "$BUILD"
    install_build "$tool" "$folder"
  done
}

# install_build TOOL FOLDER: installs BUILD below FOLDER, stripped, beside what is there.
install_build() {
  local tool=$1 folder=$2 log
  log=$(mktemp)
  if ! meson install -C "$BUILD" --no-rebuild --strip --destdir "$folder" > "$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "$tool: '$BUILD' cannot be installed (see above)"
  fi
  rm -f "$log"
}

# pypi_tools TOOL FOLDER SIZE PACKAGE...: sets TOOLS to an environment below ~/.cache/rondo that has these packages.
# Without a network the tool ends, with exit status 3.
pypi_tools() {
  local tool=$1 log
  local -r size=$3
  TOOLS=${XDG_CACHE_HOME:-$HOME/.cache}/rondo/$2
  shift 3
  [ "$(cat "$TOOLS/requirements" 2> /dev/null)" = "$*" ] && return 0
  say "Installing $* from PyPI into $TOOLS ($size) ..."
  mkdir -p "$(dirname "$TOOLS")"
  log=$(mktemp)
  if ! { make_venv "$TOOLS" "$log" && "$TOOLS/bin/python" -m pip --disable-pip-version-check --no-input install \
    --quiet --only-binary :all: --timeout 30 --retries 1 "$@" > "$log" 2>&1; }; then
    tail -n 3 "$log" >&2
    rm -f "$log"
    say "$tool: $* cannot be installed (see above)" >&2
    exit 3
  fi
  rm -f "$log"
  printf '%s\n' "$*" > "$TOOLS/requirements"
}
