# shellcheck shell=bash
# A private apt root: other suites of the machine's own Debian mirror, without touching its sources.
# Sourced; call private_apt_setup SUITE..., then apt-get "${PRIVATE_APT[@]}" ...

# The base URL of the Debian mirror that this machine already uses.
private_apt_mirror() {
  local mirror
  mirror=$(sed -n 's/^URIs:[[:space:]]*\([^[:space:]]*\/debian\)\/*$/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
  [ -n "$mirror" ] || mirror=$(sed -n 's/^deb[[:space:]]\+\(\[[^]]*\][[:space:]]*\)\?\([^[:space:]]*\/debian\)\/*[[:space:]].*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1)
  printf '%s\n' "${mirror:-http://deb.debian.org/debian}"
}

private_apt_setup() {
  local root=${MEMQOS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/memqos}/apt mirror suite
  root=$root/$(printf '%s-' "$@")
  mirror=$(private_apt_mirror)
  mkdir -p "$root/lists/partial" "$root/archives/partial"
  : > "$root/sources.list"
  for suite in "$@"; do
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$mirror" "$suite" >> "$root/sources.list"
  done
  PRIVATE_APT=(
    -o "Dir::Etc::sourcelist=$root/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$root/lists" -o "Dir::Cache=$root" -o "Dir::Cache::archives=$root/archives"
    -o Acquire::Retries=3 -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User=root
  )
  export PRIVATE_APT
}
