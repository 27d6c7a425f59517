#!/bin/sh
# The quick start, inside the guest: three pods, one agent, and seven things to see. Every number on the screen comes from
# the kernel's files, and every claim is checked: the exit status is 0 only if all of them hold.
# shellcheck shell=dash
set -u
# shellcheck source=e2e/demo/guest/demo/lib.sh
. /demo/lib.sh
prepare_expected
# What an empty list claims holds always.
expect "files of the pods to look at" "$(wc -l < /tmp/expected)" 20
expect "files above the pods to look at" "$(wc -l < /tmp/expected.above)" 7

# ---------------------------------------------------------------------------------------------------------------------
start_pod() { # start_pod POD CONTAINER LIMIT CACHE-MIB: a process that has read its data and stays
  local cgroup
  cgroup=$(cgroup_of "$1" "$2")
  make_cgroup "$cgroup" "$3"
  truncate -s "$4M" "/scratch/$1-$2"
  run_in "$cgroup" sh -c "dd if=/scratch/$1-$2 of=/dev/null bs=1M 2>/dev/null; exec sleep 86400"
}
has_cache() { [ "$(cache_of "$1")" -ge "$2" ]; }

pods_table() {
  local pod container qos cgroup
  {
    row POD CONTAINER QOS PROCESSES "PAGE CACHE"
    while read -r pod container qos; do
      cgroup=$(cgroup_of "$pod" "$container")
      row "$pod" "$container" "$qos" "$(wc -l < "$tree/$cgroup/cgroup.procs")" "$(mib "$(cache_of "$cgroup")")"
    done << 'PODS'
database main Guaranteed
web app Burstable
web proxy Burstable
batch main BestEffort
twin main Guaranteed, asks for nothing
PODS
  } | table
}

step "Three pods with real processes, in a tree as the kubelet makes it" \
  "Each process has read a file, which is now page cache charged to its container." \
  "The twin is a fourth pod of the database's shape, without any memqos annotation."
start_pod database main 256M 80
start_pod twin main 256M 80
start_pod web app 200M 60
start_pod web proxy 100M 20
start_pod batch main "" 30
for pod in "database main 80" "twin main 80" "web app 60" "web proxy 20" "batch main 30"; do
  # shellcheck disable=SC2086 # three words
  set -- $pod
  holds "$1/$2 has its page cache" wait_until has_cache "$(cgroup_of "$1" "$2")" $(($3 * 1048576))
done
echo 256M > "$tree/$(pod_cgroup database)/memory.max"
echo 256M > "$tree/$(pod_cgroup twin)/memory.max"
echo 300M > "$tree/$(pod_cgroup web)/memory.max"
pods_table
snapshot > /tmp/before

# ---------------------------------------------------------------------------------------------------------------------
as_expected() { # every file holds what /tmp/expected says
  local pod container file wanted
  while read -r pod container file wanted; do
    is "$(cgroup_of "$pod" "$container")" "$file" "$wanted" || return 1
  done < /tmp/expected
  while read -r cgroup file wanted; do
    is "$cgroup" "$file" "$wanted" || return 1
  done < /tmp/expected.above
}

knobs_table() {
  local pod container file wanted cgroup now asked effective takes
  row POD CONTAINER FILE ASKED BEFORE AFTER EFFECTIVE "TAKES EFFECT" > /tmp/table
  while read -r pod container file wanted; do
    cgroup=$(cgroup_of "$pod" "$container")
    now=$(value "$cgroup" "$file")
    # shellcheck disable=SC2046 # three words
    set -- $(awk -v c="$container" -v f="$file" '$1 == c && $2 == f { print $3, $4, $5 }' "/tmp/explained.$pod")
    asked=$1 effective=$2 takes=$3
    row "$pod" "$container" "$file" "$asked" "$(human "$(of_snapshot /tmp/before "$cgroup" "$file")")" "$(human "$now")" \
      "$(human "$effective")" "$takes" >> /tmp/table
    expect "$file of $pod/$container" "$now" "$wanted"
    [ "$asked" = - ] && continue
    expect "explain: effective $file of $pod/$container" "$effective" "$wanted"
    expect "explain: $file of $pod/$container takes effect" "$takes" yes
  done < /tmp/expected
  table < /tmp/table
}

above_table() {
  local cgroup file wanted
  row "CGROUP ABOVE THE CONTAINERS" FILE BEFORE AFTER > /tmp/table
  while read -r cgroup file wanted; do
    row "$(basename "$cgroup")" "$file" "$(human "$(of_snapshot /tmp/before "$cgroup" "$file")")" \
      "$(human "$(value "$cgroup" "$file")")" >> /tmp/table
    expect "$file of $cgroup" "$(value "$cgroup" "$file")" "$wanted"
  done < /tmp/expected.above
  table < /tmp/table
}

step "The agent makes the kernel hold what the annotations ask for" \
  "BEFORE and AFTER are the kernel's files; EFFECTIVE is what the cgroups above leave of a value."
memqos-agent run --pods /demo/pods > "$log" 2>&1 &
agent=$!
holds "the agent has programmed all files" wait_until as_expected
for pod in database web batch; do explained "$pod" > "/tmp/explained.$pod"; done
knobs_table
echo
above_table
echo
echo "  The kubelet leaves all of these at 0, and the kernel caps a container's protection by every cgroup above it."
if mglru; then
  echo "  This kernel's multi-generational LRU soon breaks memory.low, so web's memory.low is held as memory.min as well."
fi

# ---------------------------------------------------------------------------------------------------------------------
step "A neighbour reads a file twice as large as the machine's memory, again and again" \
  "What memory.min protects stays, and the twin's cache goes." \
  "memory.low is the softer promise: when the machine is in distress, it is no longer held as memory.min."
database=$(cgroup_of database main)
twin=$(cgroup_of twin main)
app=$(cgroup_of web app)
make_cgroup neighbour.slice
truncate -s 2G /scratch/stream
stream() { run_in neighbour.slice dd if=/scratch/stream of=/dev/null bs=1M 2> /dev/null && wait $!; }

caches() { for cgroup in "$database" "$app" "$twin"; do cache_of "$cgroup"; done; }
caches > /tmp/caches.0
stream
caches > /tmp/caches.1
stream
caches > /tmp/caches.2
cell() { mib "$(sed -n "$2p" "/tmp/caches.$1")"; }
{
  row "PAGE CACHE OF" "memory.min NOW" BEFORE "AFTER ONE READ" "AFTER TWO"
  row database/main "$(human "$(value "$database" memory.min)")" "$(cell 0 1)" "$(cell 1 1)" "$(cell 2 1)"
  row web/app "$(human "$(value "$app" memory.min)")" "$(cell 0 2)" "$(cell 1 2)" "$(cell 2 2)"
  row twin/main "$(human "$(value "$twin" memory.min)")" "$(cell 0 3)" "$(cell 1 3)" "$(cell 2 3)"
} | table
kept() { [ "$(sed -n "$1p" /tmp/caches.2)" -ge "$2" ]; }
expect "the database's page cache" "$(sed -n 1p /tmp/caches.2)" "$(sed -n 1p /tmp/caches.0)"
# The kernel reclaims in batches, and the last one may begin just above memory.min.
asked_min=41943040 # of web/app
keeps_min() { at_least "$app" memory.current $((asked_min - 1048576)); }
holds "web/app keeps its memory-min, to 1 MiB" keeps_min
holds "web/app has its memory-min" at_least "$app" memory.min "$asked_min"
lost() { [ "$(sed -n 3p /tmp/caches.2)" -lt $(($(sed -n 3p /tmp/caches.0) / 2)) ]; }
holds "the twin has lost more than half of its page cache" lost
for file in memory.min memory.low memory.swap.max memory.high memory.oom.group; do
  case $file in memory.high | memory.swap.max) untouched=max ;; *) untouched=0 ;; esac
  expect "$file of the twin" "$(value "$twin" "$file")" "$untouched"
done

# ---------------------------------------------------------------------------------------------------------------------
step "Somebody else writes the same files" \
  "systemd resets memory.high; the kubelet sets a QoS slice's memory.min to 0 once a minute. Both are repaired."
row CGROUP FILE BEFORE WRITTEN "AFTER REPAIR" memqos_drift_total > /tmp/table
foreign() { # foreign CGROUP NAME FILE VALUE COMMAND...: COMMAND says whether it is repaired
  local cgroup=$1 name=$2 file=$3 written=$4 held series drift
  shift 4
  held=$(value "$cgroup" "$file")
  series="memqos_drift_total{file=\"$file\"}"
  drift=$(metric "$series")
  echo "$written" > "$tree/$cgroup/$file"
  holds "the drift of $file is counted" wait_until above "$series" "$drift"
  holds "$file of $name is repaired" wait_until "$@"
  row "$name" "$file" "$(human "$held")" "$written" "$(human "$(value "$cgroup" "$file")")" \
    "$drift -> $(metric "$series")" >> /tmp/table
}
foreign "$database" database/main memory.high max is "$database" memory.high 234881024
foreign "$burstable" kubepods-burstable.slice memory.min 0 at_least "$burstable" memory.min "$asked_min"
table < /tmp/table
stream
holds "web/app keeps its memory-min after the repair, to 1 MiB" keeps_min
expect "the database's page cache after the repair" "$(cache_of "$database")" "$(sed -n 1p /tmp/caches.0)"
echo
echo "  The neighbour reads once more: the database still has $(mib "$(cache_of "$database")") of page cache, web/app $(mib "$(cache_of "$app")")."

# ---------------------------------------------------------------------------------------------------------------------
step "A mistake in an annotation costs that annotation only" \
  "The batch pod's manifest is edited: swap-max becomes 64MB, which is no quantity, and memory-high 96Mi."
batch=$(cgroup_of batch main)
held=$(value "$batch" memory.high)
held_swap=$(value "$batch" memory.swap.max)
sed -e 's/swap-max: .*/swap-max: 64MB/' -e 's/memory-high: .*/memory-high: 96Mi/' /demo/pods/batch.yaml > /demo/pods/batch.new
mv /demo/pods/batch.new /demo/pods/batch.yaml
holds "the other knob is followed" wait_until is "$batch" memory.high 100663296
holds "the wrong knob is as if absent" wait_until is "$batch" memory.swap.max max
expect "the third knob" "$(value "$batch" memory.oom.group)" 1
holds "the log names the mistake and what would be right" grep -q "reason=InvalidAnnotation.*pod=batch" "$log"
sed -n '/InvalidAnnotation/{s/^[^ ]* */  log: /;s/ reason=.*//;s/\\"/"/g;p;q}' "$log"
holds "the log says what to write" grep -q 'write 64M or 64Mi' "$log"
echo
{
  row POD CONTAINER FILE BEFORE AFTER
  row batch main memory.high "$(human "$held")" "$(human "$(value "$batch" memory.high)")"
  row batch main memory.swap.max "$held_swap" "$(value "$batch" memory.swap.max)"
  row batch main memory.oom.group 1 "$(value "$batch" memory.oom.group)"
} | table

# ---------------------------------------------------------------------------------------------------------------------
step "A fourth pod writes and reads files larger than its limit" \
  "Its own threads must find memory to give back at every limit hit. With memqos.io/reclaim the agent does it for them."
through=$(sed -n 's/^ *memqos.io\/cgroup: //p' /demo/pods/through.later)/main
make_cgroup "$through" 32M
echo 0 > "$tree/$through/memory.swap.max"
hits_of() { awk '$1 == "max" || $1 == "high" { sum += $2 } END { print sum }' "$tree/$1/memory.events"; }
stall_of() { sed -n 's/^some .*total=//p' "$tree/$1/memory.pressure"; }
go_through() { # sets hits and stall (ms) of one run
  local before_hits before_stall
  before_hits=$(hits_of "$through") before_stall=$(stall_of "$through")
  # shellcheck disable=SC2016 # the new shell's own words
  run_in "$through" sh -c 'dd if=/dev/zero of=/scratch/through bs=1M count=120 && dd if=/scratch/through of=/dev/null bs=1M' 2> /dev/null
  wait $!
  hits=$(($(hits_of "$through") - before_hits)) stall=$((($(stall_of "$through") - before_stall) / 1000))
}
go_through
hits_without=$hits stall_without=$stall
mv /demo/pods/through.later /demo/pods/through.yaml
holds "reclaim of the pod has begun" wait_until served_by_reclaim through
go_through
{
  row "THROUGH A LIMIT OF 32 MiB" "LIMIT HITS" "WAITED FOR MEMORY"
  row "without memqos" "$hits_without" "$stall_without ms"
  row "with reclaim: watermark" "$hits" "$stall ms"
} | table
holds "the pod hit its limit without it" [ "$hits_without" -gt 100 ]
holds "with it hardly ever" [ $((hits * 20)) -le "$hits_without" ]
reclaimed=$(metric 'memqos_reclaim_reclaimed_bytes_total{namespace="demo",pod="through",container="main"}')
holds "the agent took what it had to" [ "${reclaimed%.*}" -gt 10000000 ]
echo
echo "  The agent took $(mib "$reclaimed") of page cache ahead of time, and touched no file that would have to be restored."

# ---------------------------------------------------------------------------------------------------------------------
step "memqos-agent restore puts every file back" \
  "The agent then writes nothing more until it is started again."
snapshot > /tmp/held
holds "restore succeeds" sh -c "memqos-agent restore --output yaml > /tmp/restored"
snapshot > /tmp/after
row CGROUP FILE BEFORE "WITH MEMQOS" RESTORED > /tmp/table
short_name() { # short_name CGROUP
  local pod
  for pod in database web batch; do
    case $1 in
      "$(pod_cgroup "$pod")") echo "pod $pod" && return ;;
      "$(pod_cgroup "$pod")"/*) echo "$pod/${1##*/}" && return ;;
    esac
  done
  echo "${1##*/}"
}
# The three have the same files in the same order.
paste /tmp/before /tmp/held /tmp/after > /tmp/three
while read -r cgroup file before _ _ held _ _ after; do
  expect "$file of $cgroup after restore" "$after" "$before"
  [ "$held" = "$before" ] && continue
  row "$(short_name "$cgroup")" "$file" "$(human "$before")" "$(human "$held")" "$(human "$after")" >> /tmp/table
done < /tmp/three
table < /tmp/table
kill "$agent"
wait "$agent"
expect "the agent's exit status" "$?" 0

# ---------------------------------------------------------------------------------------------------------------------
echo
if [ "$failures" -gt 0 ]; then
  echo "The end of the agent's log:"
  tail -n 30 "$log"
  echo "$failures of $checks checks FAILED (above)."
  exit 1
fi
echo "All $checks checks hold: what you saw is what the kernel's files said (Linux $(uname -r))."
