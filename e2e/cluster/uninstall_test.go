package cluster

import (
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	"memqos.io/e2e/cluster/lab"
)

// While the agent is replaced, what needs nobody to watch it stays; memory.high is at its baseline until the new one has
// lowered it.
func TestUpgradeKeepsProtection(t *testing.T) {
	needCluster(t)
	folder, wanted := steady(t, "upgraded")
	must[string](t)(cluster.Kubectl("", "annotate", "pod", "upgraded", "memqos.io/swap-high=0"))
	wanted[folder+"/memory.swap.high"] = "0"
	expect(t, "/", wanted)
	high := folder + "/memory.high"
	before := lab.Text(agentPod(t), "metadata", "name")

	stop := startSampler(t, filesOf(wanted)...)
	args := append([]string{"upgrade", "-n", namespace, "memqos", chart, "--wait", "--timeout", "15m", "--set", "podAnnotations.turn=two"}, image(t)...)
	must[string](t)(cluster.Helm(args...))
	agentIsReady(t)
	if now := lab.Text(agentPod(t), "metadata", "name"); now == before {
		t.Fatalf("the pod of the agent is still %s", now)
	}
	expect(t, "/", map[string]string{high: wanted[high]})
	var highs []string
	for _, one := range stop() {
		if one.file == high {
			highs = append(highs, one.value)
		} else if value, known := wanted[one.file]; known && one.value != value && !strings.Contains(one.file, ".slice/memory.min") {
			// The slices are the kubelet's as well.
			t.Errorf("%s was %s for a while", one.file, one.value)
		}
	}
	if got := strings.Join(highs, " "); got != wanted[high]+" max "+wanted[high] {
		t.Errorf("memory.high was %s", got)
	}
}

// isGone waits until the agent's pod is.
func isGone(t *testing.T) {
	t.Helper()
	check(t, lab.Until(3*time.Minute, "the agent is gone", func() error {
		found, err := cluster.Get("/api/v1/namespaces/" + namespace + "/pods")
		if err != nil {
			return err
		}
		if items, _ := lab.At(found, "items").([]any); len(items) > 0 {
			return errors.New("its pod is still there")
		}
		return nil
	}))
}

// restored says that files hold what they held before memqos.
func restored(t *testing.T, wanted map[string]string) {
	t.Helper()
	baseline := map[string]string{}
	for file := range wanted {
		baseline[file] = map[string]string{"memory.min": "0", "memory.high": "max", "memory.oom.group": "0"}[path.Base(file)]
	}
	expect(t, "/", baseline)
}

// helm deletes the DaemonSet first; where the agent gets to look only after its rights are gone, it is refused, and puts
// everything back as well.
func TestUninstallWithoutRights(t *testing.T) {
	needCluster(t)
	_, wanted := steady(t, "orphaned")
	for _, path := range []string{
		"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/memqos",
		"/apis/rbac.authorization.k8s.io/v1/namespaces/" + namespace + "/rolebindings/memqos",
	} {
		check(t, cluster.Delete(path))
	}
	must[string](t)(cluster.Helm("uninstall", "-n", namespace, "memqos", "--wait", "--timeout", "15m"))
	isGone(t)
	restored(t, wanted)
	installChart(t)
	expect(t, "/", wanted)
}

func TestUninstallRestoresEveryFile(t *testing.T) {
	needCluster(t)
	_, wanted := steady(t, "restored")
	must[string](t)(cluster.Helm("uninstall", "-n", namespace, "memqos", "--wait", "--timeout", "15m"))
	isGone(t)
	restored(t, wanted)
}
