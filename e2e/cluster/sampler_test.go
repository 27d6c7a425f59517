package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Looks at files about every 20 ms and writes down each change: the guest's uptime, the file, its first word.
const sampler = `i=0
for f; do eval "old$i="; i=$((i + 1)); done
while [ ! -e /run/lab-sampler.stop ]; do
  read up rest < /proc/uptime
  i=0
  for f; do
    v=gone
    read v rest 2> /dev/null < "$f"
    eval "o=\$old$i"
    if [ "$v" != "$o" ]; then echo "$up $f $v"; eval "old$i=\$v"; fi
    i=$((i + 1))
  done
  busybox usleep 10000
done
read up rest < /proc/uptime
echo "$up end end"
`

type sample struct {
	at    time.Duration // of the guest's uptime
	file  string
	value string
}

// startSampler watches files in the guest until the function that it gives is called, which gives every change in order; the
// first ones are the values at the start.
func startSampler(t *testing.T, files ...string) func() []sample {
	t.Helper()
	must[string](t)(cluster.Guest.Run("rm -f /run/lab-sampler.stop\ncat > /run/lab-sampler <<'END'\n" + sampler + "END\n" +
		"setsid sh /run/lab-sampler " + strings.Join(files, " ") + " > /run/lab-sampler.log 2> /run/lab-sampler.err < /dev/null &"))
	stop := func() string {
		out, err := cluster.Guest.Run("touch /run/lab-sampler.stop; for i in $(seq 100); do grep -q ' end end$' /run/lab-sampler.log && break; " +
			"busybox usleep 50000; done; cat /run/lab-sampler.log")
		check(t, err)
		return out
	}
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			stop()
		}
	})
	return func() []sample {
		t.Helper()
		stopped = true
		var out []sample
		for _, line := range strings.Split(strings.TrimSpace(stop()), "\n") {
			var seconds float64
			var one sample
			if _, err := fmt.Sscan(line, &seconds, &one.file, &one.value); err != nil {
				t.Fatalf("the sampler wrote %q", line)
			}
			one.at = time.Duration(seconds * float64(time.Second))
			out = append(out, one)
		}
		if len(out) < len(files)+1 || out[len(out)-1].file != "end" {
			t.Fatalf("the sampler did not look at everything: %v", out)
		}
		return out
	}
}

// longestWrong says for how long, at most, a file did not hold its value without a break, and how often that began.
func longestWrong(samples []sample, wanted map[string]string) (worst time.Duration, times int) {
	since := map[string]time.Duration{}
	for _, one := range samples {
		for file, begin := range since { // `at` is when each of them is still wrong, or ends to be
			worst = max(worst, one.at-begin)
			if one.file == file && one.value == wanted[file] {
				delete(since, file)
			}
		}
		if value, known := wanted[one.file]; known && one.value != value {
			if _, already := since[one.file]; !already {
				since[one.file] = one.at
				times++
			}
		}
	}
	return worst, times
}

func TestLongestWrong(t *testing.T) {
	wanted := map[string]string{"a": "1", "b": "2"}
	samples := []sample{{0, "a", "1"}, {0, "b", "2"}, {10, "a", "0"}, {12, "b", "0"}, {13, "b", "3"}, {14, "a", "1"}, {20, "b", "2"}, {50, "end", "end"}}
	if worst, times := longestWrong(samples, wanted); worst != 8 || times != 2 {
		t.Errorf("%d, %d", worst, times)
	}
	samples = []sample{{0, "a", "1"}, {0, "b", "2"}, {10, "a", "gone"}, {50, "end", "end"}}
	if worst, times := longestWrong(samples, wanted); worst != 40 || times != 1 {
		t.Errorf("%d, %d", worst, times)
	}
}
