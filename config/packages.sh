# Sourced by config/quickstart and tests/run: installs what they need from Debian, and nothing where all is there.

build_packages=(
    g++ cmake ninja-build ccache pkg-config git ca-certificates
    libboost1.81-dev libisal-dev libssl-dev libspdlog-dev libfmt-dev libyaml-cpp-dev liburing-dev libfuse3-dev
    libmount-dev libcli11-dev nlohmann-json3-dev libiscsi-dev libibverbs-dev librdmacm-dev
)
run_packages=(fuse3 e2fsprogs util-linux mount)
test_packages=(
    libbenchmark-dev libgtest-dev libgmock-dev clang-format clang-tidy clang libclang-rt-dev llvm python3 iproute2 procps
    libiscsi-bin qemu-utils qemu-block-extra qemu-system-x86 syslinux mtools tshark tcpdump xfsprogs
)
bench_packages=(tgt strace linux-perf)

# install_packages PACKAGE...: needs root or sudo only when something is missing.
install_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0
    local as_root=()
    if [[ $EUID -ne 0 ]]; then
        command -v sudo >/dev/null || {
            echo "these packages are missing and this user is not root: ${missing[*]}" >&2
            return 1
        }
        as_root=(sudo)
    fi
    echo "installing ${#missing[@]} packages: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# build_preset PRESET [TARGET...]: configures and builds; quiet unless it fails.
build_preset() {
    local preset=$1 log
    shift
    # The compiler's output is the same wherever the checkout lies, so its cache may serve another checkout.
    export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
    log=$(mktemp)
    if ! cmake --preset "$preset" >"$log" 2>&1 || ! cmake --build --preset "$preset" ${*:+--target "$@"} >"$log" 2>&1; then
        grep -E -A6 'error|FAILED|CMake Error' "$log" | head -n 60 >&2 || tail -n 60 "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}
