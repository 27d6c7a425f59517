package cluster

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	"memqos.io/e2e/cluster/lab"
)

// Every template, strictly: lint and a dry run of helm do not notice a misspelt field.
func TestChartIsStrictlyValid(t *testing.T) {
	needAPI(t)
	if _, err := cluster.Get("/api/v1/namespaces/" + namespace); err != nil {
		must[string](t)(cluster.Kubectl("", "create", "namespace", namespace))
	}
	account := "/api/v1/namespaces/" + namespace + "/serviceaccounts"
	if cluster.Guest == nil { // nobody else makes it
		_ = cluster.Create(account, object{"metadata": object{"name": "default"}})
	}
	check(t, lab.Until(time.Minute, "the namespace has its ServiceAccount", func() error {
		_, err := cluster.Get(account + "/default")
		return err
	}))
	podMonitor := os.Getenv("LAB_PODMONITOR")
	must[string](t)(cluster.Kubectl("", "apply", "--server-side", "-f", podMonitor))
	t.Cleanup(func() { must[string](t)(cluster.Kubectl("", "delete", "-f", podMonitor)) })
	must[string](t)(cluster.Kubectl("", "wait", "--for=condition=Established", "--timeout=1m", "crd/podmonitors.monitoring.coreos.com"))
	for _, set := range []string{
		"", "metrics.podMonitor.enabled=true,metrics.podMonitor.scrapeTimeout=5s", "resourceQuota.create=true", "dashboards.enabled=true,commonAnnotations.a=b,commonLabels.c=d",
		"config.classes.batch.memoryHigh=auto,config.defaults.oomGroup=true", "existingConfigMap=other", "runtime.kind=crio",
		"capabilities.watchdog=false,capabilities.userNamespaces=false", "serviceAccount.create=false,rbac.create=false",
	} {
		args := []string{"template", "-n", namespace, "memqos", chart}
		if set != "" {
			args = append(args, "--set", set)
		}
		manifests := must[string](t)(cluster.Helm(args...))
		out, err := cluster.Kubectl(manifests, "apply", "--dry-run=server", "--validate=strict", "-f", "-")
		if err != nil {
			t.Errorf("%s: %v", set, err)
		} else if strings.Contains(out, "Warning") {
			t.Errorf("%s: %s", set, out)
		}
	}
}

func TestInstall(t *testing.T) {
	needCluster(t)
	begin := time.Now()
	notes := installChart(t)
	if !strings.Contains(notes, "kubectl label namespace "+namespace) {
		t.Errorf("the notes do not tell the label of the namespace: %s", notes)
	}
	t.Logf("installed and ready in %.0f s", time.Since(begin).Seconds())
	must[string](t)(cluster.Helm("test", "-n", namespace, "memqos", "--timeout", "10m"))
}

// installChart gives the notes that helm prints.
func installChart(t *testing.T) string {
	t.Helper()
	args := append([]string{"install", "-n", namespace, "--create-namespace", "memqos", chart, "--wait", "--timeout", "15m"}, image(t)...)
	notes, err := cluster.Helm(args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, agentState())
	}
	set := must[object](t)(cluster.Get("/apis/apps/v1/namespaces/" + namespace + "/daemonsets/memqos"))
	if ready := lab.At(set, "status", "numberReady"); ready != 1.0 {
		t.Fatalf("%v agents are ready, not 1\n%s", ready, agentState())
	}
	return notes
}

// What the agent and the kubelet say of it, for failures.
func agentState() string {
	pods, _ := cluster.Kubectl("", "-n", namespace, "describe", "pods")
	logs, _ := cluster.Kubectl("", "-n", namespace, "logs", "daemonset/memqos", "--tail=50")
	return pods + "\n" + logs
}

func TestAnnotationsBecomeFiles(t *testing.T) {
	needCluster(t)
	create(t, pod("files", map[string]string{
		"memqos.io/memory-min": "32Mi", "memqos.io/memory-high": "75%", "oom-group.memqos.io/main": "true",
	}))
	folder := cgroup(t, "files")
	expect(t, folder, map[string]string{"memory.min": "33554432", "memory.high": "100663296", "memory.oom.group": "1"})
	expect(t, folder+"/..", map[string]string{"memory.min": "33554432"})

	must[string](t)(cluster.Kubectl("", "annotate", "pod", "files", "--overwrite", "memqos.io/memory-min=16Mi", "memqos.io/memory-high=max"))
	expect(t, folder, map[string]string{"memory.min": "16777216", "memory.high": "max"})
	must[string](t)(cluster.Kubectl("", "annotate", "pod", "files", "memqos.io/memory-min-", "memqos.io/memory-high-", "oom-group.memqos.io/main-"))
	expect(t, folder, map[string]string{"memory.min": "0", "memory.high": "max", "memory.oom.group": "0"})
}

// From the answer of the API server to the value in the kernel; seconds of an emulated machine, so only printed.
func TestTimeFromAnnotationToKernel(t *testing.T) {
	needCluster(t)
	create(t, pod("timed", map[string]string{"memqos.io/memory-low": "1Mi"}))
	folder := cgroup(t, "timed")
	expect(t, folder, map[string]string{"memory.low": "1048576"})
	var times []time.Duration
	for i := 0; i < 50; i++ {
		value := fmt.Sprint((2 + i) << 20)
		reached := make(chan error, 1)
		go func() {
			_, err := cluster.Guest.Run("until [ \"$(cat " + folder + "/memory.low)\" = " + value + " ]; do busybox usleep 2000; done")
			reached <- err
		}()
		check(t, cluster.Patch(podPath("timed"), object{"metadata": object{"annotations": object{"memqos.io/memory-low": value}}}))
		begin := time.Now()
		check(t, <-reached)
		times = append(times, time.Since(begin))
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	t.Logf("50 changes of memory-low, API answer to kernel file: median %v, 90%% %v, most %v",
		times[25].Round(time.Millisecond), times[45].Round(time.Millisecond), times[49].Round(time.Millisecond))
}

func TestRestartedContainerIsProgrammed(t *testing.T) {
	needCluster(t)
	create(t, pod("restarted", map[string]string{"memqos.io/memory-min": "24Mi"}))
	folder := cgroup(t, "restarted")
	expect(t, folder, map[string]string{"memory.min": "25165824"})
	// The kubelet starts another container in the same pod; its cgroup is a sibling of the old one.
	script := "old=" + folder + "; kill -9 $(head -n 1 $old/cgroup.procs); for i in $(seq 6000); do for new in $(dirname $old)/cri-containerd-*.scope; do " +
		"v=; [ $new = $old ] || read v < $new/memory.min; [ \"$v\" != 25165824 ] || exit 0; done; busybox usleep 10000; done 2> /dev/null; exit 1"
	must[string](t)(cluster.Guest.Run(script))
	status := lab.At(must[object](t)(cluster.Get(podPath("restarted"))), "status", "containerStatuses", 0)
	t.Logf("when the new cgroup had its value, the API said: restarts %v, state %v", lab.At(status, "restartCount"), lab.At(status, "state"))
	if lab.At(status, "restartCount") != 0.0 && lab.At(status, "state", "running") != nil {
		t.Error("its status said running before")
	}
	check(t, lab.Until(2*time.Minute, "the container runs again", func() error {
		if err := running("restarted"); err != nil {
			return err
		}
		found, err := cluster.Get(podPath("restarted"))
		if err == nil && lab.At(found, "status", "containerStatuses", 0, "restartCount") != 1.0 {
			err = fmt.Errorf("restarts: %v", lab.At(found, "status", "containerStatuses", 0, "restartCount"))
		}
		return err
	}))
	expect(t, cgroup(t, "restarted"), map[string]string{"memory.min": "25165824"})
}

func TestStaticPod(t *testing.T) {
	needCluster(t)
	manifest := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"static","namespace":"default","annotations":{"memqos.io/memory-min":"20Mi"}},` +
		`"spec":{"terminationGracePeriodSeconds":0,"containers":[{"name":"main","image":"` + lab.BusyboxImage + `","imagePullPolicy":"Never",` +
		`"command":["sleep","infinity"],"resources":{"requests":{"memory":"32Mi"},"limits":{"memory":"64Mi"}}}]}}`
	must[string](t)(cluster.Guest.Run("cat > /etc/kubernetes/manifests/static.json <<'END'\n" + manifest + "\nEND"))
	t.Cleanup(func() { _, _ = cluster.Guest.Run("rm -f /etc/kubernetes/manifests/static.json") })
	name := "static-" + lab.NodeName
	check(t, lab.Until(3*time.Minute, "the static pod runs", func() error { return running(name) }))
	expect(t, cgroup(t, name), map[string]string{"memory.min": "20971520"})
}

// memory-high is a percentage of the limit that the kernel has.
func TestInPlaceResize(t *testing.T) {
	needCluster(t)
	create(t, pod("resized", map[string]string{"memqos.io/memory-high": "75%"}))
	folder := cgroup(t, "resized")
	expect(t, folder, map[string]string{"memory.high": "100663296"})
	must[string](t)(cluster.Kubectl("", "patch", "pod", "resized", "--subresource", "resize", "-p",
		`{"spec":{"containers":[{"name":"main","resources":{"requests":{"memory":"64Mi"},"limits":{"memory":"256Mi"}}}]}}`))
	expect(t, folder, map[string]string{"memory.max": "268435456", "memory.high": "201326592"})
	must[string](t)(cluster.Kubectl("", "annotate", "pod", "resized", "memqos.io/memory-high-"))
	expect(t, folder, map[string]string{"memory.high": "max"})
}

// The watchdog lives outside the container: when the agent is killed, no pod stays throttled.
func TestWatchdogOutlivesTheContainer(t *testing.T) {
	needCluster(t)
	create(t, pod("throttled", map[string]string{"memqos.io/memory-high": "96Mi", "memqos.io/memory-min": "16Mi"}))
	folder := cgroup(t, "throttled")
	wanted := map[string]string{"memory.high": "100663296", "memory.min": "16777216"}
	expect(t, folder, wanted)
	// In hundredths of a second of the guest: when the agent was gone, and when memory.high was back.
	const watch = `agent=$(busybox pidof memqos-agent)
clock() { read now rest < /proc/uptime; now=${now%.*}${now#*.}; }
(gone=; for i in $(seq 10000); do
  [ -n "$gone" ] || [ -e /proc/$agent ] || { clock; gone=$now; }
  read high < FOLDER/memory.high
  [ $high != max ] || { clock; break; }
  busybox usleep 5000
done
while [ -e /proc/$agent ]; do busybox usleep 5000; done
read min < FOLDER/memory.min
echo $((now - ${gone:-now})) $high $min > /run/lab-watchdog.new; mv /run/lab-watchdog.new /run/lab-watchdog) > /dev/null 2>&1 &
`
	for _, way := range []struct {
		name string
		kill func()
	}{
		{"kill -9", func() { must[string](t)(cluster.Guest.Run("kill -9 $(busybox pidof memqos-agent)")) }},
		{"crictl stop", func() {
			must[string](t)(cluster.Guest.Run("crictl --timeout 60s stop -t 0 $(crictl ps -q --name '^agent$')"))
		}},
		{"forced deletion", func() {
			must[string](t)(cluster.Kubectl("", "-n", namespace, "delete", "pod", "-l", "app.kubernetes.io/name=memqos", "--grace-period=0", "--force"))
		}},
	} {
		agentIsReady(t)
		must[string](t)(cluster.Guest.Run("rm -f /run/lab-watchdog\n" + strings.ReplaceAll(watch, "FOLDER", folder)))
		way.kill()
		var hundredths int
		var high, protection string
		check(t, lab.Until(time.Minute, "the agent ends and memory.high is at its baseline", func() error {
			out, err := cluster.Guest.Run("cat /run/lab-watchdog")
			if err == nil {
				_, err = fmt.Sscan(out, &hundredths, &high, &protection)
			}
			return err
		}))
		t.Logf("%s: memory.high was %s %d ms after the agent had gone, memory.min %s", way.name, high, 10*hundredths, protection)
		if high != "max" || hundredths > 100 || protection != wanted["memory.min"] {
			t.Errorf("%s: memory.high was not put back within a second, or memory.min did not stay", way.name)
		}
		expect(t, folder, wanted)
	}
}

func agentIsReady(t *testing.T) {
	t.Helper()
	check(t, lab.Until(5*time.Minute, "the agent is ready", func() error {
		set, err := cluster.Get("/apis/apps/v1/namespaces/" + namespace + "/daemonsets/memqos")
		if err == nil && lab.At(set, "status", "numberReady") != 1.0 {
			err = fmt.Errorf("numberReady is %v", lab.At(set, "status", "numberReady"))
		}
		return err
	}))
}
