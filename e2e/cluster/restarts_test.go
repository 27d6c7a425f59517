package cluster

import (
	"bufio"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"memqos.io/e2e/cluster/lab"
)

// The one agent's pod.
func agentPod(t *testing.T) object {
	t.Helper()
	list := must[object](t)(cluster.Get("/api/v1/namespaces/" + namespace + "/pods?labelSelector=app.kubernetes.io/name%3Dmemqos"))
	items, _ := lab.At(list, "items").([]any)
	if len(items) != 1 {
		t.Fatalf("%d agents, not one", len(items))
	}
	return items[0].(object)
}

// metric is the sum of a family's series whose labels contain `part`.
func metric(t *testing.T, family, part string) float64 {
	t.Helper()
	ip := lab.Text(agentPod(t), "status", "podIP")
	text := must[string](t)(cluster.Guest.Run("busybox wget -q -O - http://" + ip + ":9464/metrics"))
	sum, found := 0.0, false
	for scanner := bufio.NewScanner(strings.NewReader(text)); scanner.Scan(); {
		line := scanner.Text()
		if strings.HasPrefix(line, family+"{") && strings.Contains(line, part) || strings.HasPrefix(line, family+" ") {
			value, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64)
			check(t, err)
			sum, found = sum+value, true
		}
	}
	if !found && !strings.Contains(text, "memqos_build_info") {
		t.Fatalf("the agent gave no metrics: %.200s", text)
	}
	return sum
}

// steady makes a pod that asks for something in every file that others write too, and gives its cgroup, and what that and
// those above hold then.
func steady(t *testing.T, name string) (folder string, wanted map[string]string) {
	t.Helper()
	create(t, pod(name, map[string]string{"memqos.io/memory-min": "32Mi", "memqos.io/memory-high": "96Mi", "memqos.io/oom-group": "true"}))
	folder = cgroup(t, name)
	const kubepods = "/sys/fs/cgroup/kubepods.slice"
	wanted = map[string]string{
		folder + "/memory.min": "33554432", folder + "/memory.high": "100663296", folder + "/memory.oom.group": "1",
		folder + "/../memory.min":                         "33554432",
		kubepods + "/kubepods-burstable.slice/memory.min": "33554432",
		kubepods + "/memory.min":                          "33554432",
	}
	expect(t, "/", wanted)
	return folder, wanted
}

func filesOf(wanted map[string]string) []string { return slices.Collect(maps.Keys(wanted)) }

// The agent has so long after each foreign write.
const repairTime = 5 * time.Second

// What the kubelet, the runtime and systemd write when they start over is put right at once. Which of them write anything is
// theirs to decide; what was written over has to be counted.
func TestOthersStartOver(t *testing.T) {
	needCluster(t)
	_, wanted := steady(t, "steady")
	for _, row := range []struct{ name, command string }{
		{"kubelet", "systemctl restart kubelet"},
		{"containerd", "systemctl restart containerd"},
		{"systemd", "systemctl daemon-reload"},
	} {
		before := metric(t, "memqos_drift_total", "")
		stop := startSampler(t, filesOf(wanted)...)
		must[string](t)(cluster.Guest.Run(row.command))
		check(t, lab.Until(5*time.Minute, "the kubelet answers", func() error {
			_, err := cluster.Guest.Run("busybox wget -q -O /dev/null http://127.0.0.1:10248/healthz && crictl --timeout 20s ps > /dev/null")
			return err
		}))
		time.Sleep(30 * time.Second) // a kubelet that starts writes its cgroups after some seconds
		samples := stop()
		worst, times := longestWrong(samples, wanted)
		drift := metric(t, "memqos_drift_total", "") - before
		t.Logf("%s: seen wrong %d times, %v at most; %v repairs counted", row.name, times, worst, drift)
		if worst > repairTime {
			t.Errorf("%s: a value was wrong for %v: %v", row.name, worst, samples)
		}
		if float64(times) > drift {
			t.Errorf("%s: %d values were seen to be wrong, but %v repairs are counted: %v", row.name, times, drift, samples)
		}
		if row.name == "kubelet" && drift == 0 {
			t.Error("a kubelet that starts is known to write the QoS slices; no repair is counted")
		}
		for file, value := range wanted {
			if found := read(t, file); found != value {
				t.Errorf("%s: %s is %s, not %s", row.name, file, found, value)
			}
		}
	}
}

// Values stay while nobody can be asked; afterwards the agent hears 410, lists, and knows what happened meanwhile.
func TestAPIServerIsAway(t *testing.T) {
	needCluster(t)
	folder, wanted := steady(t, "lonely")
	restarts := lab.At(agentPod(t), "status", "containerStatuses", 0, "restartCount")
	expired := metric(t, "memqos_watch_restarts_total", `reason="expired"`)
	stop := startSampler(t, filesOf(wanted)...)

	cluster.KillAPIServer()
	begin := time.Now()
	// The agent defends its values meanwhile.
	must[string](t)(cluster.Guest.Run("echo max > " + folder + "/memory.high"))
	time.Sleep(time.Until(begin.Add(60 * time.Second)))
	check(t, cluster.Compact())
	check(t, cluster.StartAPIServer())
	check(t, cluster.Patch(podPath("lonely"), object{"metadata": object{"annotations": object{"memqos.io/swap-high": "0"}}}))
	back := time.Now()
	expect(t, folder, map[string]string{"memory.swap.high": "0"})
	t.Logf("the API server was away for %.0f s; a change right after was in the kernel %.1f s later", back.Sub(begin).Seconds(), time.Since(back).Seconds())

	samples := stop()
	worst, times := longestWrong(samples, wanted)
	if worst > repairTime {
		t.Errorf("a value was wrong %d times, for %v at most: %v", times, worst, samples)
	}
	if now := metric(t, "memqos_watch_restarts_total", `reason="expired"`); now <= expired {
		t.Errorf("no watch ended with 410: %v before, %v now", expired, now)
	}
	if now := lab.At(agentPod(t), "status", "containerStatuses", 0, "restartCount"); now != restarts {
		t.Errorf("the agent was restarted: %v before, %v now", restarts, now)
	}
	agentIsReady(t)
	check(t, lab.Until(5*time.Minute, "the node is ready again", func() error {
		node, err := cluster.Get("/api/v1/nodes/" + lab.NodeName)
		if err != nil {
			return err
		}
		conditions, _ := lab.At(node, "status", "conditions").([]any)
		for _, condition := range conditions {
			if lab.Text(condition, "type") == "Ready" && lab.Text(condition, "status") != "True" {
				return errors.New(lab.Text(condition, "message"))
			}
		}
		return nil
	}))
}
