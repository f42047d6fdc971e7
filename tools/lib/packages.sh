# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034  # scripts that source this file read the lists
# Sourced by tools/quickstart and tools/test: finds which packages are missing, lists them, and installs only these.

# Requirements of a build: Debian package | how to detect it | why.
#   command NAME: a program; module NAME: a library, by its name in pkg-config
BUILD_NEEDS=(
  "g++|command ${CXX:-c++}|the C++ compiler (g++ 12 or clang 14, or later)"
  "gcc|command ${CC:-cc}|the C compiler, for the examples in C"
  "meson|command meson|the build system (1.0 or later)"
  "ninja-build|command ninja|runs the build that meson configures"
  "pkgconf|command pkg-config|finds libraries"
  "libfmt-dev|module fmt|text formatting"
  "libspdlog-dev|module spdlog|the log"
  "libhwloc-dev|module hwloc|cores, caches and memory nodes of a host"
  "libhwy-dev|module libhwy|vector instructions, chosen at run time"
  "nlohmann-json3-dev|module nlohmann_json|JSON output of rondo-perf"
  "libcli11-dev|module CLI11|command lines of the programs"
  "libpugixml-dev|module pugixml|descriptions of machines in XML"
  "libssl-dev|module openssl|authenticated connections"
)
TEST_NEEDS=(
  "catch2|module catch2|the test framework"
  "libbenchmark-dev|module benchmark|micro-benchmarks, which the tests compile and run briefly"
  "binutils|command nm|lists what librondo.so exports"
  "python3|command python3|tests of the tree itself, and the summary"
)
# Requirements of checks of the tree, which are skipped if these cannot be installed.
CHECK_WANTS=(
  "abigail-tools|command abidiff|compares what the libraries export with tests/abi"
  "clang-format-14|command clang-format-14|the formatting of C++"
  "shellcheck|command shellcheck|mistakes in shell scripts"
)
INSTALL_WANTS=("cmake|command cmake|builds a program with the installed CMake package")
VERBS_WANTS=("libibverbs-dev|module libibverbs|headers of InfiniBand verbs, for the transport and its tests")
# Emulated machines, of tools/verbs-vm.
MACHINE_NEEDS=(
  "qemu-system-x86|command qemu-system-x86_64|emulates the machines"
  "busybox-static|command busybox|is all that they start with"
  "cpio|command cpio|packs their first files"
  "kmod|command depmod|finds the kernel's modules"
  "iproute2|command rdma|adds the RoCE ports"
  "ibverbs-providers|module ibverbs-providers|libibverbs for these ports"
)
FUZZ_WANTS=(
  "clang-14|command clang++-14|compiles the fuzzers"
  "libclang-rt-14-dev|module libclang-rt-14|what fuzzers and sanitizers of clang link"
)
TIDY_WANTS=("clang-tidy-14|command clang-tidy-14|mistakes in C++ that compilers do not report")
DEB_NEEDS=(
  "dpkg-dev|command dpkg-shlibdeps|finds the packages of the libraries that programs need"
  "patchelf|command patchelf|lets programs find libraries as those of the system do"
  "python3|command python3|puts the packages together"
)
DEB_WANTS=("lintian|command lintian|mistakes in Debian packages")
COVERAGE_NEEDS=("gcovr|command gcovr|line coverage")

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }
fail_usage() { printf '%s\n' "$*" >&2; exit 2; }

# is_there PACKAGE KIND NAME
is_there() {
  local package=$1 kind=$2 name=$3
  if [ "$kind" = command ]; then
    command -v "$name" > /dev/null && return 0
    return 1
  fi
  command -v pkg-config > /dev/null && pkg-config --exists "$name" 2> /dev/null && return 0
  # Catch2 3 has modules of a different name, and pkg-config itself may be missing: ask dpkg too.
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null)" = installed ]
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif [ -t 0 ]; then sudo "$@"
  else sudo -n "$@"
  fi
}

apt_get() {
  as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive "RES_OPTIONS=${RES_OPTIONS:-}" \
    apt-get -qq -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "$@"
}

# Gives up an unreachable host after seconds, whereas apt alone takes minutes. A reachable but slow host fails with
# messages that unreachable() does not match.
apt_get_at_once() {
  RES_OPTIONS="timeout:3 attempts:1" apt_get -o Acquire::Retries=0 -o Acquire::EnableSrvRecords=false \
    -o Acquire::http::Timeout=5 -o Acquire::https::Timeout=5 "$@"
}

# unreachable LOG: the first URL that apt could not fetch because its host was not found or not reachable, and why.
unreachable() {
  sed -nE '/^[EW]: Failed to fetch ([^ ]+) +(.*(resolv|onnect(ion)? to ).*)/ { s//\2 (\1)/p; q }' "$1"
}

# can_reach LOG PACKAGE: whether apt's hosts can be reached, by fetching one small package.
can_reach() {
  local folder outcome=0
  folder=$(mktemp -d)
  (cd "$folder" && apt_get_at_once download "$2") > "$folder/log" 2>&1 ||
    [ -z "$(unreachable "$folder/log")" ] || outcome=1
  cat "$folder/log" >> "$1"
  rm -rf "$folder"
  return "$outcome"
}

# install_with_apt LOG PACKAGE...; package lists that are missing or stale are fetched.
install_with_apt() {
  local log=$1
  shift
  local install=(install -y --no-install-recommends "$@")
  if apt_get -s "${install[@]}" > "$log" 2>&1; then
    can_reach "$log" "$1" && apt_get "${install[@]}" >> "$log" 2>&1 && return 0
    [ -z "$(unreachable "$log")" ] || return 1
  fi
  apt_get_at_once -o APT::Update::Error-Mode=any update >> "$log" 2>&1 || [ -n "$(unreachable "$log")" ] ||
    apt_get update >> "$log" 2>&1 || return 1
  apt_get -s "${install[@]}" >> "$log" 2>&1 && can_reach "$log" "$1" && apt_get "${install[@]}" >> "$log" 2>&1
}

# missing_of "package|kind name|why"...: the names of those that are not installed.
missing_of() {
  local row package probe names=()
  for row in "$@"; do
    IFS='|' read -r package probe _ <<< "$row"
    # shellcheck disable=SC2086  # the probe is two words
    is_there "$package" $probe || names+=("$package")
  done
  printf '%s' "${names[*]-}"
}

# need "package|kind name|why"...: returns once all of them are installed.
need() {
  local row package probe why missing=() rows=()
  for row in "$@"; do
    IFS='|' read -r package probe why <<< "$row"
    # shellcheck disable=SC2086  # the probe is two words
    is_there "$package" $probe && continue
    missing+=("$package")
    rows+=("$(printf '  %-20s %s' "$package" "$why")")
  done
  [ ${#missing[@]} = 0 ] && return 0

  say "Missing packages (Debian's and Ubuntu's names):"
  printf '%s\n' "${rows[@]}"
  command -v apt-get > /dev/null ||
    fail "This system has no apt: install these with its own package manager, then run this again."
  [ "$(id -u)" = 0 ] || command -v sudo > /dev/null ||
    fail "Installing needs root or sudo. As root: apt-get install --no-install-recommends ${missing[*]}"

  say "Installing them with apt-get ..."
  local log
  log=$(mktemp)
  if ! install_with_apt "$log" "${missing[@]}"; then
    why=$(unreachable "$log")
    tail -n 20 "$log" >&2
    rm -f "$log"
    [ -z "$why" ] || say "apt-get has no network: $why" >&2
    fail "apt-get failed (its last lines are above). Needed: ${missing[*]}"
  fi
  rm -f "$log"
}

# is_unknown PACKAGE: whether this system has package lists, and they lack the package.
is_unknown() {
  compgen -G '/var/lib/apt/lists/*_Packages*' > /dev/null && ! apt-cache show "$1" > /dev/null 2>&1
}

# want "package|kind name|why"...: installs those that are missing, one by one, if possible.
want() {
  local row package probe why log
  command -v apt-get > /dev/null || return 0
  [ "$(id -u)" = 0 ] || command -v sudo > /dev/null || return 0
  for row in "$@"; do
    IFS='|' read -r package probe why <<< "$row"
    # shellcheck disable=SC2086  # the probe is two words
    ! is_there "$package" $probe || continue
    ! is_unknown "$package" || continue
    say "Installing $package with apt-get ($why) ..."
    log=$(mktemp)
    install_with_apt "$log" "$package" || say "It cannot be installed: $(tail -n 1 "$log")"
    rm -f "$log"
  done
}

# Checks the versions that a build needs, which a package's name does not determine.
check_versions() {
  local version compiler=${CXX:-c++}
  version=$(meson --version)
  [ "$(printf '%s\n' 1.0 "$version" | sort -V | head -n 1)" = 1.0 ] ||
    fail "meson is $version: it must be 1.0 or later (for example: python3 -m pip install meson)"
  # shellcheck disable=SC2086  # CXX may hold a wrapper, as in "ccache g++"
  printf '%s\n' '#if defined(__clang__) ? __clang_major__ < 14 : __GNUC__ < 12' '#error too old' '#endif' |
    $compiler -std=c++20 -x c++ -fsyntax-only - > /dev/null 2>&1 ||
    fail "'$compiler' is too old: g++ 12 or clang 14 or later is needed; CXX can name another compiler"
}

# is_in_place FOLDER: whether a build folder is still where meson made it; its files contain that path.
is_in_place() {
  python3 -c 'import json, os, sys
with open(sys.argv[1] + "/meson-info/meson-info.json") as info:
    sys.exit(json.load(info)["directories"]["build"] != os.path.realpath(sys.argv[1]))' "$1" 2> /dev/null
}

# configure FOLDER MESON-OPTION...: makes a build folder, or reconfigures one that has other options.
configure() {
  local folder=$1 stamp=$1/rondo-options log=$1.setup.log scratch outcome=0
  shift
  [ "${RONDO_WERROR:-0}" = 1 ] && set -- "$@" -Dwerror=true
  if [ -f "$folder/build.ninja" ] && is_in_place "$folder"; then
    [ "$(cat "$stamp" 2> /dev/null)" = "$*" ] && return 0  # ninja handles changed meson.build files
    set -- --reconfigure "$folder" "$@"
  else
    rm -rf "$folder"  # an earlier setup that failed midway, or a tree that was moved or copied
    set -- "$folder" "$@"
  fi
  # Meson runs a Python script from the folder for temporary files, where a stranger's dl.py would be imported.
  scratch=$(mktemp -d)
  TMPDIR=$scratch meson setup "$@" > "$log" 2>&1 || outcome=$?
  rm -rf "$scratch"
  if [ "$outcome" != 0 ]; then
    cat "$log" >&2
    rm -f "$log"
    fail "meson could not configure $folder (see above)"
  fi
  rm -f "$log"
  while [ "$1" != "$folder" ]; do shift; done
  shift
  printf '%s\n' "$*" > "$stamp"
}

# compile FOLDER TARGET...: builds these targets, or everything, with RONDO_JOBS jobs. On a terminal ninja itself shows
# its progress; elsewhere show_progress() prints a line each minute.
compile() {
  local folder=$1
  shift
  if [ -t 1 ]; then
    ninja -C "$folder" ${RONDO_JOBS:+-j "$RONDO_JOBS"} "$@"
  else
    NINJA_STATUS='%f of %t: ' ninja -C "$folder" ${RONDO_JOBS:+-j "$RONDO_JOBS"} "$@" 2>&1 | show_progress 60
  fi
}

# show_progress SECONDS: filters ninja's output: its progress at this interval, and all compiler output.
show_progress() {
  local every=$1 line done='' next=$((SECONDS + $1)) outcome
  while :; do
    outcome=0
    IFS= read -r -t "$every" line || outcome=$?
    if [ "$outcome" = 0 ]; then
      case $line in
        [0-9]*' of '[0-9]*': '*) done=${line%%:*} ;;
        'ninja: Entering'* | 'ninja: no work to do.') ;;
        *) say "$line" ;;
      esac
    elif [ "$outcome" -le 128 ]; then
      return 0  # end of file; above 128: timeout
    fi
    if [ -n "$done" ] && [ "$SECONDS" -ge "$next" ]; then
      say "  $done done"
      next=$((SECONDS + every))
    fi
  done
}

# make_venv FOLDER LOG: makes a virtual environment; keeps one that works.
make_venv() {
  local folder=$1 log=$2
  "$folder/bin/python" -m pip --version > "$log" 2>&1 && return 0
  rm -rf "$folder"
  if ! python3 -m ensurepip --version > "$log" 2>&1; then
    command -v apt-get > /dev/null && install_with_apt "$log" python3 python3-venv || return 1
  fi
  python3 -m venv "$folder" > "$log" 2>&1
}
