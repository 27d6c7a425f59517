#!/usr/bin/env bash
# Installs everything that building and testing memqos needs on Debian 12, from Debian packages only.
# QEMU comes from bookworm-backports (7.2 crashes newer guests); its sources stay in a private apt
# root, so the machine's own package sources are never changed.
set -euo pipefail

# Of the programs themselves: what the image's build needs too (deps.sh build).
packages=(
  build-essential cmake ninja-build ccache pkg-config git ca-certificates
  libcpprest-dev libssl-dev libyaml-cpp-dev prometheus-cpp-dev libcurl4-openssl-dev zlib1g-dev libcgroup-dev
  libsystemd-dev libmicrohttpd-dev nlohmann-json3-dev libspdlog-dev libfmt-dev libexpected-dev
  libcli11-dev libgtest-dev libgmock-dev
)
[ "${1:-}" = build ] || packages+=(
  libbenchmark-dev
  clang-16 libclang-rt-16-dev clang-format-16 clang-tidy-16 lld-16 llvm-16
  shellcheck yamllint busybox-static cpio e2fsprogs kmod xz-utils zstd curl strace
)

if [ "$(id -u)" -ne 0 ]; then
  echo "make deps: run as root: it installs Debian packages" >&2
  exit 1
fi
if ! grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
  echo "make deps: this needs Debian 12 (bookworm); found $(. /etc/os-release && echo "${PRETTY_NAME:-unknown}")" >&2
  exit 1
fi

export DEBIAN_FRONTEND=noninteractive
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
  apt-get -o Acquire::Retries=3 update -qq
  apt-get -o Acquire::Retries=3 install -y -qq --no-install-recommends "${missing[@]}"
fi

[ "${1:-}" != build ] || exit 0
qemu_major() { qemu-system-x86_64 --version 2>/dev/null | sed -n 's/^QEMU emulator version \([0-9]*\)\..*/\1/p'; }
if [ "$(qemu_major || true)" = "" ] || [ "$(qemu_major)" -lt 10 ]; then
  # shellcheck source=scripts/private-apt.sh
  . "$(dirname "$0")/private-apt.sh"
  private_apt_setup bookworm bookworm-backports
  apt-get "${PRIVATE_APT[@]}" update -qq
  apt-get "${PRIVATE_APT[@]}" install -y -qq --no-install-recommends -t bookworm-backports qemu-system-x86 qemu-utils
fi
echo "dependencies are installed: $(g++ --version | head -n 1); $(qemu-system-x86_64 --version | head -n 1)"
