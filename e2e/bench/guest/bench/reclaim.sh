#!/bin/sh
# Inside the guest: workloads in a container with and without background reclaim, memory.high = max throughout. What counts
# are the kernel's counters; seconds are emulated, and only their ratio means something.
#   reclaim.sh WORKLOAD...      each is a name and a limit in MiB, such as dd16 -> /results/reclaim.json
#   dd: files written and read through the limit. fits, misfit: a compilation in a limit that is enough, or is not.
#   hot: a hot set beside a stream. cache: a limit of page cache. stuck: nothing can be taken. removal: of the cgroup.
#   idle: that many containers that do nothing, beside oomd.
#   swap: hot and cold heap on zram (a guest with --swap).
# shellcheck shell=dash
set -u
tree=/sys/fs/cgroup
kernel=$MEMQOS_KERNEL
# shellcheck disable=SC2034 # for figure.sh
json=/results/reclaim.json
# shellcheck source=e2e/bench/guest/bench/figure.sh
. /bench/figure.sh
export BENCH_MB="${BENCH_MB:-300}" BENCH_FILES="${BENCH_FILES:-60}" # size of a file of dd; files to compile
ROUNDS=${BENCH_ROUNDS:-3} SWAP_ROUNDS=${BENCH_SWAP_ROUNDS:-5}

# ---- measuring ----
event() { awk -v key="$2" '$1 == key { print $2 }' "$tree/$1/memory.events"; }
hits() { echo $(($(event "$1" max) + $(event "$1" high))); }
stall() { sed -n 's/^some .*total=//p' "$tree/$1/memory.pressure"; } # microseconds
stat_of() { awk -v key="$2" '$1 == key { print $2 }' "$tree/$1/memory.stat"; }
now() { cut -d ' ' -f 1 /proc/uptime; }
cpu_of() { # cpu_of PID: seconds of user and system time
  awk -v hz=100 '{ sub(/^.*\) /, ""); print ($12 + $13) / hz }' "/proc/$1/stat"
}
minus() { awk -v a="$1" -v b="$2" 'BEGIN { print a - b }'; } # minus A B: with fractions
page() { wget -q -O - http://127.0.0.1:9464/metrics; }

# ---- the container and the agent ----
make_cgroup() { # make_cgroup CGROUP LIMIT
  local path=$tree part
  for part in $(echo "$1" | tr / ' '); do
    grep -qw memory "$path/cgroup.subtree_control" || echo '+memory +io' > "$path/cgroup.subtree_control"
    path=$path/$part
    [ -d "$path" ] || mkdir "$path"
  done
  echo "$2" > "$path/memory.max"
}
inside() { # inside CGROUP COMMAND...: waits for it
  # shellcheck disable=SC2016 # the new shell's own words
  sh -c 'echo 0 > "/sys/fs/cgroup/$1/cgroup.procs" && shift && exec "$@"' sh "$@"
}
start_agent() { # start_agent CGROUP ANNOTATION...
  local cgroup=$1 key
  shift
  rm -rf /tmp/pods && mkdir -p /tmp/pods
  {
    printf 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: bench\n  annotations:\n    cgroup.memqos.io/main: %s\n' "$cgroup"
    for key in "$@"; do printf '    %s\n' "$key"; done
    printf 'spec:\n  containers:\n    - {name: main, image: none}\n'
  } > /tmp/pods/bench.yaml
  memqos-agent run --pods /tmp/pods > "/results/agent-$(echo "$cgroup" | tr / -).log" 2>&1 &
  agent=$!
  local i=0
  until page 2> /dev/null | grep -q 'memqos_reclaim_requested_bytes_total{'; do
    i=$((i + 1))
    [ "$i" -lt 300 ] || { echo "the agent does not start"; exit 1; }
    sleep 0.2
  done
}
stop_agent() { kill "$agent" && wait "$agent"; }

# Of memqos_reclaim_seconds: count, the bucket that holds the 99th percentile, the highest one that holds any, in ms.
writes() {
  page | awk -F '[{}" ]+' '
    /^memqos_reclaim_seconds_bucket/ { n++; le[n] = $3; count[n] = $NF }
    END {
      total = count[n]
      p99 = most = "-"
      for (i = 1; i <= n; i++) {
        if (p99 == "-" && count[i] >= total * 0.99) p99 = le[i]
        if (count[i] > (i > 1 ? count[i - 1] : 0)) most = le[i]
      }
      print total, p99 * 1000, most == "+Inf" ? "-" : most * 1000
    }'
}

# ---- workloads ----
dd_files() { # dd_files CGROUP: three files written, then read
  # 7.3 may kill who writes while all of a small limit is dirty; the round is to be a whole one.
  # shellcheck disable=SC2016 # the new shell's own words
  inside "$1" sh -c 'for i in 1 2 3; do for try in 1 2 3 4 5; do
      dd if=/dev/zero of=/scratch/dd.$i bs=1M count="$BENCH_MB" && break; done; done
    for i in 1 2 3; do dd if=/scratch/dd.$i of=/dev/null bs=1M; done' 2> /dev/null
  rm -f /scratch/dd.*
  sync
}

compile() { # compile CGROUP: small C files, two at a time
  # shellcheck disable=SC2016 # the new shell's own words
  inside "$1" sh -c 'ls /bench/src/*.i | head -n "$BENCH_FILES" | xargs -P 2 -n 1 sh -c "cc1 -quiet -fpreprocessed -O1 -o /tmp/\$\$.s \$0; rm -f /tmp/\$\$.s"'
}

measure() { # measure CGROUP COMMAND...: sets hits, stalled (ms), elapsed (s)
  local cgroup=$1 from
  shift
  hits=$(hits "$cgroup") stalled=$(stall "$cgroup") from=$(now)
  "$@" "$cgroup"
  elapsed=$(minus "$(now)" "$from")
  hits=$(($(hits "$cgroup") - hits))
  stalled=$((($(stall "$cgroup") - stalled) / 1000))
}

median() { # median WORDS
  echo "$1" | tr -s ' ' '\n' | grep . | sort -n | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'
}

# turns NAME MIB WORKLOAD ROUNDS: so often in a container that the agent does not look after and in one that it does, turn
# about, since a guest's speed varies with what else its host does; each time with nothing in the page cache. Medians, in
# $without and $with: limit hits, waited (ms), elapsed (s), refaults, swapped in or taken while hot; $with also: CPU of the
# agent (s); in $slower: of the rounds' own ratios of elapsed time; in $written: writes of a round, 99 % of them (ms),
# longest (ms); in $killed: processes that the kernel killed for want of memory, in all rounds.
turns() {
  local name=$1 mib=$2 workload=$3 rounds=$4 round run order cgroup cpu refaults hot
  rm -f /tmp/without /tmp/with
  for run in without with; do make_cgroup "bench.slice/$name$run" "${mib}M"; done
  start_agent "bench.slice/${name}with" 'memqos.io/reclaim: watermark'
  for round in $(seq "$rounds"); do
    order='without with'
    [ $((round % 2)) = 1 ] || order='with without'
    for run in $order; do
      cgroup=bench.slice/$name$run
      echo 3 > /proc/sys/vm/drop_caches
      cpu=$(cpu_of "$agent") refaults=$(stat_of "$cgroup" workingset_refault_file) hot=$(back "$cgroup")
      measure "$cgroup" "$workload"
      set -- "$hits" "$stalled" "$elapsed" "$(($(stat_of "$cgroup" workingset_refault_file) - refaults))" \
        "$(($(back "$cgroup") - hot))" "$(minus "$(cpu_of "$agent")" "$cpu")"
      echo "$*" >> "/tmp/$run"
    done
  done
  # shellcheck disable=SC2046 # three words
  set -- $(writes)
  written="$(($1 / rounds)) $2 $3"
  page > "/results/metrics-$name.txt"
  stop_agent
  killed="$(event "bench.slice/${name}without" oom_kill) $(event "bench.slice/${name}with" oom_kill)"
  for run in without with; do rmdir "$tree/bench.slice/$name$run"; done
  cat /tmp/without /tmp/with > "/results/turns-$name.txt"
  without=$(medians /tmp/without) with=$(medians /tmp/with)
  slower=$(median "$(paste /tmp/without /tmp/with | awk '{ print $9 / $3 }' | tr '\n' ' ')")
}
back() { echo $(($(stat_of "$1" pswpin) + $(stat_of "$1" workingset_restore_file) + $(stat_of "$1" workingset_restore_anon))); }
medians() { # medians FILE: of each column
  local column
  for column in $(seq "$(head -n 1 "$1" | wc -w)"); do median "$(awk -v i="$column" '{ print $i }' "$1" | tr '\n' ' ')"; done
}

dd_in() { # dd_in MIB
  local name="dd 3 x $BENCH_MB MB, $1 MiB" without with slower written killed hits_goal=0.01 stall_goal=0.05
  if [ "$kernel" = 7.3 ] && [ "$1" = 16 ]; then hits_goal=0.02 stall_goal=0.1; fi
  turns "dd$1" "$1" dd_files "$ROUNDS"
  # shellcheck disable=SC2086 # six words each, three and two
  set -- $without $with $written $killed
  [ "$2" -ge 1000 ] || stall_goal=-
  figure "$name: limit hits" events "$1" "$7" "$hits_goal"
  figure "$name: stalled" ms "$2" "$8" "$stall_goal"
  figure "$name: elapsed" s "$3" "$9" 0.95 "$slower"
  figure "$name: hot pages taken" pages "$5" "${11}" -
  most "$name: killed by the kernel" number "${16}" "${17}" "${16}"
  figure "$name: CPU of the agent" s - "${12}" -
  figure "$name: writes" number - "${13}" -
  figure "$name: 99 % of writes within" ms - "${14}" -
  figure "$name: longest write within" ms - "${15}" -
}

compile_in() { # compile_in fits|misfit MIB
  local what=$1 name="compile, $2 MiB" without with slower written killed
  turns "compile$2" "$2" compile "$ROUNDS"
  # shellcheck disable=SC2086 # six words each
  set -- $without $with
  if [ "$what" = fits ]; then
    figure "$name: limit hits" events "$1" "$7" -
    most "$name: stalled" ms "$2" "$8" "$(($2 + 50))"
    most "$name: refaults" pages "$4" "${10}" "$(($4 * 12 / 10 + 200))"
  else
    figure "$name: limit hits" events "$1" "$7" 1
    figure "$name: stalled" ms "$2" "$8" 1
    figure "$name: refaults" pages "$4" "${10}" -
  fi
  figure "$name: hot pages taken" pages "$5" "${11}" -
  figure "$name: elapsed" s "$3" "$9" 1.02 "$slower"
  figure "$name: CPU of the agent" s - "${12}" -
}

make_file() { [ -e "$1" ] || { dd if=/dev/zero of="$1" bs=1M count="$2" 2> /dev/null && sync; }; } # make_file FILE MIB

background() { # background CGROUP COMMAND...: $! is its PID
  inside "$@" > /dev/null 2>&1 &
}

# A hot set of 85 % of the limit, looked at at random, beside a reader that never comes back to what it read.
hot_in() { # hot_in MIB
  local mib=$1 how run name without='' cgroup restored size=$(($1 * 85 / 100)) goal reader
  make_file /scratch/hot "$size"
  make_file /scratch/stream 512
  for how in mapped read; do
    # A page that is read, not mapped, is hot for the kernel only once it was taken and came back.
    goal=$((size * 256 / 100))
    [ "$how" = mapped ] || goal=-
    name="hot set ($how) beside a stream, $1 MiB"
    for run in without with; do
      cgroup=bench.slice/hot$run
      make_cgroup "$cgroup" "${mib}M"
      echo 3 > /proc/sys/vm/drop_caches
      [ "$run" = without ] || start_agent "$cgroup" 'memqos.io/reclaim: watermark'
      inside "$cgroup" load hot /scratch/hot 20 "$how" # it becomes hot
      # shellcheck disable=SC2016 # the new shell's own words
      background "$cgroup" sh -c 'while :; do for i in $(seq 0 63); do dd if=/scratch/stream of=/dev/null bs=1M count=8 skip=$((i * 8)); usleep 500000; done; done'
      reader=$!
      restored=$(stat_of "$cgroup" workingset_restore_file)
      measure "$cgroup" hot_minute "$how"
      restored=$(($(stat_of "$cgroup" workingset_restore_file) - restored))
      kill -9 "$reader"; wait "$reader" 2> /dev/null
      [ "$run" = with ] || without="$hits $stalled $restored"
      if [ "$run" = with ]; then page > "/results/metrics-hot-$how.txt"; stop_agent; fi
      remove "$cgroup"
    done
    # shellcheck disable=SC2086 # three words
    set -- "$mib" $without
    figure "$name: limit hits" events "$2" "$hits" -
    figure "$name: stalled" ms "$3" "$stalled" -
    most "$name: hot pages taken in a minute" pages "$4" "$restored" "$goal"
  done
  rm -f /scratch/hot /scratch/stream
}
hot_minute() { inside "$2" load hot /scratch/hot 60 "$1"; } # hot_minute HOW CGROUP
remove() { # remove CGROUP: kills what is in it
  echo 1 > "$tree/$1/cgroup.kill" 2> /dev/null
  until rmdir "$tree/$1" 2> /dev/null; do sleep 0.1; done
}

# Hot and cold heap on swap, and a file read three times. MGLRU on and off.
swap_in() { # swap_in LIMIT: MiB
  local mib=$1 lru name without with slower written killed
  make_file /scratch/stream 200
  for lru in 7 0; do
    echo "$lru" > /sys/kernel/mm/lru_gen/enabled
    name="hot and cold heap, MGLRU $([ "$lru" = 0 ] && echo off || echo on)"
    turns "swap$lru" "$mib" hot_and_cold "$SWAP_ROUNDS"
    # shellcheck disable=SC2086 # six words each
    set -- $without $with
    figure "$name: limit hits" events "$1" "$7" 0.01
    most "$name: swapped in, or taken while hot" pages "$5" "${11}" "$(($5 + 100))"
    figure "$name: elapsed" s "$3" "$9" "$([ "$kernel" = 7.3 ] && echo 1.05 || echo 0.95)" "$slower"
    figure "$name: CPU of the agent" s - "${12}" -
  done
  rm -f /scratch/stream
}
hot_and_cold() { inside "$1" load hotcold 48 40 /scratch/stream 3; }

# A limit of page cache, a program larger than it, a heap, and a gigabyte of reads.
cache_in() { # cache_in MIB
  local mib=$1 name="page-cache-limit $1 MiB" cgroup=bench.slice/cache anon
  make_file /scratch/text 40
  make_file /scratch/stream 512
  make_cgroup "$cgroup" 512M
  echo 3 > /proc/sys/vm/drop_caches
  background "$cgroup" load map /scratch/text
  background "$cgroup" load anon 64
  start_agent "$cgroup" "memqos.io/page-cache-limit: ${mib}Mi"
  sleep 5
  anon=$(stat_of "$cgroup" anon)
  # shellcheck disable=SC2016 # the new shell's own words
  background "$cgroup" sh -c 'while :; do dd if=/scratch/stream of=/dev/null bs=1M; done'
  sleep 2
  # shellcheck disable=SC2046 # three words
  set -- $(load cache "$cgroup" "$((mib + 4))" 30)
  most "$name: looks above it by 4 MiB" "%" - "$(awk -v n="$1" -v over="$2" 'BEGIN { print 100 * over / n }')" 1
  most "$name: most page cache" MiB - "$3" -
  most "$name: mapped pages gone" pages - "$((10240 - $(stat_of "$cgroup" file_mapped) / 4096))" 16
  most "$name: heap lost" bytes - "$((anon - $(stat_of "$cgroup" anon)))" 0
  most "$name: swapped out" pages - "$(($(stat_of "$cgroup" pswpout) + 0))" 0
  figure "$name: CPU of the agent" s - "$(cpu_of "$agent")" -
  page > /results/metrics-cache.txt
  stop_agent
  remove "$cgroup"
  rm -f /scratch/text /scratch/stream
}

# Nothing in it can be taken, and the statistics say otherwise: ramfs counts as inactive page cache.
stuck_in() { # stuck_in MIB
  local mib=$1 name="nothing to take, $1 MiB" cgroup=bench.slice/stuck cpu
  make_cgroup "$cgroup" "${mib}M"
  mkdir -p /tmp/ramfs && mount -t ramfs ramfs /tmp/ramfs
  inside "$cgroup" dd if=/dev/zero of=/tmp/ramfs/file bs=1M count="$((mib - 2))" 2> /dev/null
  background "$cgroup" sleep 1000
  start_agent "$cgroup" 'memqos.io/reclaim: watermark'
  sleep 70 # until its back-off has reached its longest
  cpu=$(cpu_of "$agent")
  sleep 120
  most "$name: CPU of the agent" "% of a core" - "$(awk -v a="$cpu" -v b="$(cpu_of "$agent")" 'BEGIN { print (b - a) / 1.2 }')" -
  figure "$name: writes in 190 s" number - "$(page | sed -n 's/^memqos_reclaim_seconds_count //p')" -
  page > /results/metrics-stuck.txt
  stop_agent
  remove "$cgroup"
  umount /tmp/ramfs
}

# How long removing a container waits for a write that reclaims from it.
removal_in() { # removal_in MIB
  local mib=$1 load cgroup=bench.slice/removed run name without spinners times
  make_file /scratch/stream 512
  for load in idle busy; do
    name="removal, CPUs $load"
    spinners=
    if [ "$load" = busy ]; then for _ in 1 2; do load spin & spinners="$spinners $!"; done; fi
    for run in without with; do
      make_cgroup "$cgroup" "${mib}M"
      [ "$run" = without ] || start_agent "$cgroup" 'memqos.io/reclaim: watermark'
      times=
      for _ in $(seq 20); do
        make_cgroup "$cgroup" "${mib}M"
        echo 3 > /proc/sys/vm/drop_caches # what the last one read would not be charged to this one
        # shellcheck disable=SC2016 # the new shell's own words
        background "$cgroup" sh -c 'while :; do dd if=/scratch/stream of=/dev/null bs=1M; done'
        sleep 2.5
        echo 1 > "$tree/$cgroup/cgroup.kill"
        wait $!
        times="$times $(load rmdir "$tree/$cgroup")"
      done
      [ "$run" = with ] || without=$(median "$times")
      # shellcheck disable=SC2046 # three words
      [ "$run" = without ] || { set -- $(writes); page > "/results/metrics-removal-$load.txt"; stop_agent; }
    done
    # shellcheck disable=SC2086 # each is a word
    [ -z "$spinners" ] || kill $spinners
    figure "$name: median of 20" us "$without" "$(median "$times")" 2
    figure "$name: writes" number - "$1" -
    figure "$name: 99 % of writes within" ms - "$2" -
  done
  rm -f /scratch/stream
}

# What looking after many idle containers costs, and what it costs oomd's senpai, the nearest relative.
idle_in() { # idle_in NUMBER
  local number=$1 name="$1 idle containers" i pods=/tmp/idle agent
  rm -rf "$pods" && mkdir -p "$pods"
  for i in $(seq "$number"); do
    make_cgroup "bench.slice/idle/c$i" 64M
    background "bench.slice/idle/c$i" sleep 100000
  done
  for i in $(seq 0 10 $((number - 1))); do
    printf 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: idle%s\n  annotations:\n    memqos.io/reclaim: watermark\n' "$i"
    seq $((i + 1)) $((i + 10)) | sed 's#.*#    cgroup.memqos.io/c&: bench.slice/idle/c&#'
    printf 'spec:\n  containers:\n'
    seq $((i + 1)) $((i + 10)) | sed 's#.*#    - {name: c&, image: none}#'
    printf -- '---\n'
  done > "$pods/idle.yaml"
  memqos-agent run --pods "$pods" > /results/agent-idle.log 2>&1 &
  idle_cost memqos "$!"
  printf '%s' '{"rulesets":[{"name":"senpai","silence-logs":"engine,plugins","detectors":[["always",{"name":"continue","args":{}}]],
    "actions":[{"name":"senpai","args":{"cgroup":"bench.slice/idle/*"}}]}]}' > /tmp/oomd.json
  oomd --config /tmp/oomd.json > /results/oomd.log 2>&1 &
  idle_cost "oomd with senpai" "$!"
  for i in $(seq "$number"); do remove "bench.slice/idle/c$i"; done
}
idle_cost() { # idle_cost WHO PID
  local cpu
  sleep 60
  cpu=$(cpu_of "$2")
  sleep 100
  figure "$name: CPU of $1" "% of a core" - "$(minus "$(cpu_of "$2")" "$cpu")" -
  kill "$2"
  wait "$2"
}

begin_figures
for workload in "$@"; do
  case $workload in
    dd*) dd_in "${workload#dd}" ;;
    fits*) compile_in fits "${workload#fits}" ;;
    misfit*) compile_in misfit "${workload#misfit}" ;;
    hot*) hot_in "${workload#hot}" ;;
    swap*) swap_in "${workload#swap}" ;;
    cache*) cache_in "${workload#cache}" ;;
    stuck*) stuck_in "${workload#stuck}" ;;
    removal*) removal_in "${workload#removal}" ;;
    idle*) idle_in "${workload#idle}" ;;
    *) echo "no such workload: $workload"; exit 2 ;;
  esac
done
end_figures
