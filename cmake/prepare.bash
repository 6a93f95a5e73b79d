# Sourced by ./simrun and ./test: from a fresh clone to an up-to-date build. Everything that is said goes to standard error.
# `root` is the top of the tree and `me` the name of the command that the user called.

build_packages=(build-essential cmake ninja-build libzydis-dev libzycore-dev libmimalloc-dev libcli11-dev libyaml-cpp-dev libfmt-dev
  nlohmann-json3-dev libeigen3-dev libhdf5-dev zlib1g-dev libzstd-dev libxxhash-dev liblzma-dev liblz4-dev libxbyak-dev
  pkg-config libdw-dev libelf-dev libbz2-dev libiberty-dev)
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev valgrind xz-utils bzip2 gzip perl python3 sqlite3 p7zip-full povray
  luajit musl-tools busybox-static openssl procps file git python3-jsonschema python3-yaml python3-h5py python3-numpy
  clang-14 libclang-rt-14-dev gdb)

say() { printf '%s: %s\n' "$me" "$*" >&2; }
give_up() { say "$*"; exit 1; }

missing_packages() {
  local installed package
  installed=" $(dpkg-query -W -f='${Package}:${db:Status-Status} ' "$@" 2>/dev/null) "
  for package in "$@"; do
    [[ $installed == *" $package:installed "* ]] || printf '%s\n' "$package"
  done
}

# install_packages STAMP PACKAGE...: asks the package manager only until the same list has been found complete once.
install_packages() {
  local stamp=$root/build/$1 have=
  shift
  [[ -r $stamp ]] && have=$(<"$stamp")
  [[ $have == "$*" ]] && return 0
  command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
    give_up "this is no Debian or Ubuntu (no apt-get). Install what corresponds to these packages, then build with the ordinary commands of
README.md: $*"
  local missing as_root=()
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]})); then
    if ((EUID != 0)); then
      command -v sudo >/dev/null || give_up "these packages are missing, and there is no sudo to install them; as root: apt-get install ${missing[*]}"
      as_root=(sudo)
    fi
    say "installing with ${as_root[*]:+sudo }apt-get: ${missing[*]}"
    "${as_root[@]}" apt-get update -q >&2 </dev/null || say "apt-get update failed; going on with the package lists that there are"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2 </dev/null ||
      give_up "apt-get could not install what is missing; install these packages, then call $me again: ${missing[*]}"
  fi
  mkdir -p "$root/build" && printf '%s\n' "$*" >"$stamp"
}

# True when a file or a folder among these is newer than the last successful build (a deleted file makes its folder newer).
stale() {
  local stamp=$1
  shift
  [[ ! -e $stamp ]] && return 0
  [[ -n $(cd "$root" && find "$@" -newer "$stamp" -print -quit 2>/dev/null) ]]
}

# build STAMP "SOURCES" "CMAKE OPTIONS" TARGET...: configures and builds the release preset when a source is newer than the last build. A
# lock keeps two calls from building at once.
build() {
  local stamp=$root/build/$1 sources=($2) options=($3)
  shift 3
  stale "$stamp" "${sources[@]}" || return 0
  mkdir -p "$root/build" || give_up "cannot write to $root/build"
  (
    cd "$root" || exit 1
    flock 9
    stale "$stamp" "${sources[@]}" || exit 0
    local first=
    [[ -e build/release/build.ninja ]] || first=' (the first time takes some minutes)'
    say "building in build/release$first"
    touch "$stamp.new"
    if [[ ! -e build/release/build.ninja || ${#options[@]} -gt 0 ]]; then
      cmake --preset release "${options[@]}" >build/configure.log 2>&1 || { cat build/configure.log >&2; exit 1; }
    fi
    ninja -C build/release "$@" >&2 </dev/null || exit 1
    mv "$stamp.new" "$stamp"
  ) 9>"$root/build/.lock" || give_up "the build failed (see above)"
}
