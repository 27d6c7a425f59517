# Helpers of demo.sh: cgroups, tables, checks.
# shellcheck shell=dash

tree=/sys/fs/cgroup
burstable=kubepods.slice/kubepods-burstable.slice
log=/results/agent.log
checks=0
failures=0

step() { # step TITLE SENTENCE...
  steps=$((${steps:-0} + 1))
  printf '\n[%s/7] %s\n' "$steps" "$1"
  shift
  printf '      %s\n' "$@"
  echo
}

# ---- checks ----
expect() { # expect SENTENCE VALUE WANTED
  checks=$((checks + 1))
  [ "$2" = "$3" ] && return
  failures=$((failures + 1))
  echo "  FAILED: $1: it is '$2', and should be '$3'"
}

holds() { # holds SENTENCE COMMAND...: the command succeeds
  local sentence=$1
  shift
  if "$@"; then expect "$sentence" yes yes; else expect "$sentence" no yes; fi
}

wait_until() { # wait_until COMMAND...: up to two minutes, since seconds in an emulated guest are long
  local i=0
  while [ "$i" -lt 600 ]; do
    "$@" && return 0
    i=$((i + 1))
    sleep 0.2
  done
  return 1
}

# ---- the tree ----
pod_cgroup() { # pod_cgroup POD: where its manifest says that it is
  sed -n 's/^ *memqos.io\/cgroup: //p' "/demo/pods/$1.yaml"
}
cgroup_of() { echo "$(pod_cgroup "$1")/$2"; } # cgroup_of POD CONTAINER
value() { cat "$tree/$1/$2"; }                # value CGROUP FILE
is() { [ "$(value "$1" "$2")" = "$3" ]; }     # is CGROUP FILE VALUE
at_least() { [ "$(value "$1" "$2")" -ge "$3" ]; } # at_least CGROUP FILE BYTES
cache_of() { awk '$1 == "file" { print $2 }' "$tree/$1/memory.stat"; }

make_cgroup() { # make_cgroup CGROUP [LIMIT]: as the kubelet does, all the way down
  local path=$tree part
  for part in $(echo "$1" | tr / ' '); do
    grep -qw memory "$path/cgroup.subtree_control" || echo +memory > "$path/cgroup.subtree_control"
    path=$path/$part
    [ -d "$path" ] || mkdir "$path"
  done
  [ -z "${2:-}" ] || echo "$2" > "$path/memory.max"
}

run_in() { # run_in CGROUP COMMAND...: a process of that container
  # shellcheck disable=SC2016 # the new shell's own words
  sh -c 'echo 0 > "/sys/fs/cgroup/$1/cgroup.procs" && shift && exec "$@"' sh "$@" &
}

# ---- values ----
mglru() { [ $(($(cat /sys/kernel/mm/lru_gen/enabled 2> /dev/null || echo 0) & 1)) = 1 ]; }
prepare_expected() { # the columns that hold on this kernel
  local on=0
  if mglru; then on=1; fi
  awk -v on="$on" '!/^#/ { print $1, $2, $3, (!on && NF > 4 ? $5 : $4) }' /demo/expected > /tmp/expected
  awk -v on="$on" '!/^#/ { print $1, $2, (!on && NF > 3 ? $4 : $3) }' /demo/expected.above > /tmp/expected.above
}
human() { # human VALUE: 100663296 -> 96Mi
  case $1 in
    '' | *[!0-9]*) echo "${1:--}" ;;
    0) echo 0 ;;
    *)
      if [ $(($1 % 1048576)) = 0 ]; then echo "$(($1 / 1048576))Mi"
      elif [ $(($1 % 1024)) = 0 ]; then echo "$(($1 / 1024))Ki"
      else echo "$1"; fi ;;
  esac
}
mib() { awk -v bytes="$1" 'BEGIN { printf "%.1f MiB", bytes / 1048576 }'; }

table() { # rows of tab-separated cells on stdin, the first is the header
  awk -F '\t' '
    { for (i = 1; i <= NF; i++) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) }
      if (NF > columns) columns = NF }
    END {
      for (row = 1; row <= NR; row++) {
        line = ""
        for (i = 1; i <= columns; i++) line = line sprintf("  %-" width[i] "s", cell[row, i])
        sub(/ +$/, "", line)
        print line
      }
    }'
}
row() { # row CELL...
  local line=$1
  shift
  while [ $# -gt 0 ]; do line="$line	$1"; shift; done
  echo "$line"
}

# ---- the agent ----
explained() { # explained POD: "CONTAINER FILE ASKED EFFECTIVE TAKES-EFFECT" of each kernel file, - for null
  memqos-agent explain "demo/$1" --output yaml | awk '
    function shown() { if (file != "" && file != "~") print container, file, asked, effective, takes }
    { field = $1; if (field == "-") field = $2; text = $0; sub(/^[^:]*: */, "", text); gsub(/"/, "", text)
      if (text == "~") text = "-" }
    /^      - name:/ { container = text }
    /^          - knob:/ || /^    findings:/ { if (known) shown(); known = /knob:/; file = asked = effective = takes = "-" }
    /^            asked:/ { asked = text }
    /^            file:/ { file = text == "-" ? "" : text }
    /^            effective:/ { effective = text == "true" ? 1 : text == "false" ? 0 : text }
    /^            takesEffect:/ { takes = text == "true" ? "yes" : text == "false" ? "NO" : text }
    END { if (known) shown() }'
}

metric() { # metric SERIES: its value, 0 if it is not there (yet)
  wget -q -O - http://127.0.0.1:9464/metrics | awk -v series="$1 " 'index($0, series) == 1 { value = $2 } END { print value + 0 }'
}
served_by_reclaim() { # served_by_reclaim POD: the agent knows its marks
  wget -q -O - http://127.0.0.1:9464/metrics | grep -q "^memqos_usage_watermark_bytes{.*pod=\"$1\""
}
above() { [ "$(metric "$1")" -gt "$2" ]; } # above SERIES NUMBER

snapshot() { # what every file of the three pods and above them holds: "CGROUP FILE VALUE"
  local pod container file cgroup
  while read -r pod container file _; do
    cgroup=$(cgroup_of "$pod" "$container")
    echo "$cgroup $file $(value "$cgroup" "$file")"
  done < /tmp/expected
  while read -r cgroup file _; do echo "$cgroup $file $(value "$cgroup" "$file")"; done < /tmp/expected.above
}
of_snapshot() { # of_snapshot SNAPSHOT CGROUP FILE
  awk -v cgroup="$2" -v file="$3" '$1 == cgroup && $2 == file { print $3 }' "$1"
}
