#!/bin/sh
# Sourced: figures as rows of a table and as JSON. The caller sets $json, the file, and $kernel.
# shellcheck shell=dash disable=SC2154

begin_figures() { : > "$json"; first=1; }
end_figures() { echo ']' >> "$json"; }
figure() { # figure NAME UNIT WITHOUT WITH GOAL [RATIO]: - for what there is not; the goal is the largest ratio
  show "$1" "$2" "$3" "$4" ratio "$5" "${6:-}"
}
most() { # most NAME UNIT WITHOUT WITH GOAL: the goal is the largest value
  show "$1" "$2" "$3" "$4" value "$5"
}
show() { # show NAME UNIT WITHOUT WITH ratio|value GOAL [RATIO]
  awk -v first="$first" -v name="$1" -v kernel="$kernel" -v unit="$2" -v without="$3" -v with="$4" -v of="$5" -v goal="$6" -v known="${7:-}" -v json="$json" '
    BEGIN {
      ratio = known != "" ? known : (without == "-" || without + 0 == 0) ? "-" : with / without
      if (of == "value") held = with + 0 <= goal + 0
      else held = ratio == "-" ? with + 0 == 0 : ratio <= goal + 0
      met = goal == "-" || held ? "true" : "false"
      text = (of == "value" ? "" : "ratio ") "<= " goal
      printf "%s{\"figure\":\"%s\",\"kernel\":\"%s\",\"unit\":\"%s\",\"without\":%s,\"with\":%s,\"ratio\":%s,\"goal\":%s,\"met\":%s}\n",
        first ? "[" : ",", name, kernel, unit, without == "-" ? "null" : without + 0, with == "-" ? "null" : with + 0,
        ratio == "-" ? "null" : sprintf("%.4f", ratio), goal == "-" ? "null" : "\"" text "\"", met >> json
      printf "  %-6s %-40s %10s %10s %8s  %-14s %s\n", kernel, name " (" unit ")", without, with,
        ratio == "-" ? "-" : sprintf("%.3f", ratio), goal == "-" ? "" : text, goal == "-" ? "" : (met == "true" ? "met" : "NOT MET")
    }'
  first=0
}
