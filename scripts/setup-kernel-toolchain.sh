#!/bin/sh
# Installs what compiles kernels to PTX, and what checks the PTX. Needed to change a kernel; not to build or use Warpack.
# Installs only what is missing, so it may run any number of times.
#
#   compiler   rustc with the source of core, its cargo, LLVM's tools   (Debian packages, or a rustup nightly)
#   ptxas      and nvdisasm, in a Python environment of their own       (PyPI; in $WARPACK_PTX_TOOLS, see below)
set -eu
cd "$(dirname "$0")/.."

PTX_TOOLS="${WARPACK_PTX_TOOLS:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/warpack/ptx-tools}"
DEBIAN_PACKAGES="rustc-web rust-web-src cargo-web llvm-22"
# ptxas of the oldest CUDA that knows every architecture of the gate; nvdisasm is on PyPI from 13.2 on only.
PYPI_PACKAGES="nvidia-cuda-nvcc==13.0.* nvidia-cuda-nvdisasm==13.2.*"

say() { printf 'setup-kernel-toolchain: %s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# Installs Debian packages, as root or through sudo.
install_packages() {
    if [ "$(id -u)" = 0 ]; then as_root=""
    elif has sudo; then as_root="sudo"
    else fail "needs root to install: apt-get install $*"
    fi
    say "installing $*"
    $as_root apt-get update -qq
    # shellcheck disable=SC2086 # no sudo, no word
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

kernel_compiler() { cargo run --quiet --package cuda_builder --bin build-ptx -- --toolchain; }
# Whether Debian's lists, perhaps fetched only now, have the compiler.
debian_has_compiler() {
    has apt-get || return 1
    apt-cache show rustc-web >/dev/null 2>&1 && return
    if [ "$(id -u)" = 0 ]; then apt-get update -qq; fi
    apt-cache show rustc-web >/dev/null 2>&1
}

if kernel_compiler >/dev/null 2>&1; then
    :
elif debian_has_compiler; then
    # shellcheck disable=SC2086 # one word a package
    install_packages $DEBIAN_PACKAGES
elif has rustup; then
    say "installing a rustup nightly with rust-src and llvm-tools"
    rustup toolchain install nightly --profile minimal --component rust-src --component llvm-tools
else
    fail "neither Debian's package rustc-web nor rustup is here: install rustup, then run this again"
fi
# Says which compiler is used, or what is still missing.
say "$(kernel_compiler)"

tool() { find "$PTX_TOOLS" -path '*/bin/*' -name "$1" -type f 2>/dev/null | head -n 1; }
if [ -z "$(tool ptxas)" ] || [ -z "$(tool nvdisasm)" ]; then
    has python3 || install_packages python3
    say "installing ptxas and nvdisasm into $PTX_TOOLS"
    if ! python3 -m venv --clear "$PTX_TOOLS" >/dev/null 2>&1; then
        has apt-get || fail "python3 can't make environments: install its module venv"
        install_packages python3-venv
        python3 -m venv --clear "$PTX_TOOLS"
    fi
    # The packages' own dependencies are for compiling CUDA C++.
    # shellcheck disable=SC2086 # one word a package
    "$PTX_TOOLS/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps $PYPI_PACKAGES
fi
say "$("$(tool ptxas)" --version | sed -n 's/.*release \([^,]*\),.*/ptxas \1/p') at $(tool ptxas)"
