package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"memqos.io/e2e/cluster/lab"
)

const mebibyte = 1 << 20

// cached is what a pod has in the page cache: bytes of file memory that are not shmem.
func cached(t *testing.T, folder string) int64 {
	t.Helper()
	var file, shmem int64
	out := must[string](t)(cluster.Guest.Run("awk '$1==\"file\"{f=$2} $1==\"shmem\"{s=$2} END{print f, s}' " + folder + "/memory.stat"))
	if _, err := fmt.Sscan(out, &file, &shmem); err != nil {
		t.Fatalf("memory.stat: %q", out)
	}
	return file - shmem
}

// Three rewrites of the kubelet, which zeroes the QoS slices once a minute; one in a short run.
func TestProtectionHoldsOnTheNode(t *testing.T) {
	needCluster(t)
	pressed := 200 * time.Second
	if testing.Short() {
		pressed = 75 * time.Second
	}
	protectionHolds(t, pressed, false)
}

// What the kubelet can be told to write itself changes nothing.
func TestProtectionHoldsWithOtherKubelets(t *testing.T) {
	needCluster(t)
	must[string](t)(cluster.Guest.Run("dd if=/dev/zero of=/swap bs=1M count=256 2>/dev/null; chmod 600 /swap; mkswap /swap > /dev/null; swapon /swap"))
	t.Cleanup(func() { must[string](t)(cluster.Guest.Run("swapoff /swap && rm /swap")) })
	for _, row := range []struct{ name, extra string }{
		{"memoryThrottlingFactor 0.9", "memoryThrottlingFactor: 0.9"},
		{"TieredReservation", "memoryReservationPolicy: TieredReservation"},
		{"LimitedSwap", "memorySwap: {swapBehavior: LimitedSwap}"},
	} {
		t.Run(row.name, func(t *testing.T) {
			reconfigureKubelet(t, row.extra)
			protectionHolds(t, 0, row.name == "TieredReservation")
		})
	}
}

// reconfigureKubelet adds a line to the kubelet's configuration until the test ends.
func reconfigureKubelet(t *testing.T, extra string) {
	t.Helper()
	const file = "/etc/kubernetes/kubelet.yaml"
	restart := func() {
		t.Helper()
		must[string](t)(cluster.Guest.Run("systemctl restart kubelet"))
		check(t, lab.Until(5*time.Minute, "the kubelet answers", func() error {
			_, err := cluster.Guest.Run("busybox wget -q -O /dev/null http://127.0.0.1:10248/healthz || { systemctl status kubelet | tail -n 20; exit 1; }")
			return err
		}))
	}
	must[string](t)(cluster.Guest.Run("cp " + file + " /run/kubelet.yaml; echo '" + extra + "' >> " + file))
	t.Cleanup(func() {
		must[string](t)(cluster.Guest.Run("cp /run/kubelet.yaml " + file))
		restart()
	})
	restart()
}

// A neighbour forces reclaim of the whole node for so long, and until unprotected cache is gone: protected cache is still there
// then. A kubelet that protects what is requested itself (`reserving`) would keep that as well.
func protectionHolds(t *testing.T, pressed time.Duration, reserving bool) {
	t.Helper()
	const fill = "dd if=/dev/zero of=/tmp/cache bs=1M count=48 2>/dev/null; sync; sleep infinity"
	pods := map[string]map[string]string{
		"kept-min": {"memqos.io/memory-min": "60Mi"}, "kept-low": {"memqos.io/memory-low": "60Mi"}, "lost": {},
	}
	for name, annotations := range pods {
		spec := pod(name, annotations, "sh", "-c", fill)
		if name == "lost" && reserving {
			lab.At(spec, "spec", "containers", 0).(object)["resources"] = object{}
		}
		create(t, spec)
		folder := cgroup(t, name)
		check(t, lab.Until(2*time.Minute, name+" has its cache", func() error {
			if have := cached(t, folder); have < 45*mebibyte {
				return fmt.Errorf("%d MiB", have/mebibyte)
			}
			return nil
		}))
	}
	expect(t, cgroup(t, "kept-min"), map[string]string{"memory.min": "62914560"})
	// Half of the memory cannot be reclaimed; a file that is larger than the rest goes through it, again and again. It is sparse:
	// its pages cost memory, but no disk.
	reader := pod("neighbour", nil, "sh", "-c", "dd if=/dev/zero of=/memory/fill bs=1M count=2048 2>/dev/null; "+
		"dd if=/dev/zero of=/tmp/large bs=1M count=0 seek=4096 2>/dev/null; while true; do cat /tmp/large > /dev/null; echo read; done")
	container := lab.At(reader, "spec", "containers", 0).(object)
	container["resources"] = object{}
	container["volumeMounts"] = []any{object{"name": "memory", "mountPath": "/memory"}}
	reader["spec"].(object)["volumes"] = []any{object{"name": "memory", "emptyDir": object{"medium": "Memory"}}}
	create(t, reader)

	begin := time.Now()
	lost := cgroup(t, "lost")
	err := lab.Until(pressed+10*time.Minute, "the neighbour presses", func() error {
		time.Sleep(3 * time.Second)
		if have := cached(t, lost); have > 16*mebibyte || time.Since(begin) < pressed {
			return fmt.Errorf("%d MiB of unprotected cache are left after %v", have/mebibyte, time.Since(begin))
		}
		return nil
	})
	out, _ := cluster.Kubectl("", "logs", "neighbour")
	t.Logf("the neighbour read its file %d times in %.0f s", strings.Count(out, "read"), time.Since(begin).Seconds())
	if err != nil {
		t.Error(err)
	}
	for name := range pods {
		have := cached(t, cgroup(t, name))
		t.Logf("%s: %d of 48 MiB of cache left", name, have/mebibyte)
		if name == "kept-low" && have < 45*mebibyte && strings.Contains(agentLogSince(t, begin), "LowValveOpened") {
			// As it is meant: a low is no min.
			t.Logf("%s is not judged: all of the node stalled for memory, and the valve opened", name)
		} else if name != "lost" && have < 45*mebibyte {
			t.Errorf("%s lost its cache: %d MiB are left", name, have/mebibyte)
		}
	}
}

func agentLogSince(t *testing.T, begin time.Time) string {
	t.Helper()
	return must[string](t)(cluster.Kubectl("", "-n", namespace, "logs", "daemonset/memqos", "--since-time="+begin.UTC().Format(time.RFC3339)))
}
