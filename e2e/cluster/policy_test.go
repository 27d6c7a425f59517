package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"memqos.io/e2e/cluster/lab"
)

// refused gives what the API server said to a dry run of creating `spec`, "" if it takes it.
func refused(t *testing.T, collection string, spec object) string {
	t.Helper()
	err := cluster.Create(collection+"?dryRun=All", spec)
	var status *lab.StatusError
	if errors.As(err, &status) {
		var body object
		check(t, json.Unmarshal([]byte(status.Body), &body))
		return lab.Text(body, "message")
	}
	check(t, err)
	return ""
}

// needPolicy makes sure that the policy is there and seen, also where there is no node to install the chart on.
func needPolicy(t *testing.T) {
	t.Helper()
	needAPI(t)
	if cluster.Guest == nil {
		manifests := must[string](t)(cluster.Helm("template", "-n", namespace, "memqos", chart, "-s", "templates/admission-policy.yaml"))
		must[string](t)(cluster.Kubectl(manifests, "apply", "-f", "-"))
	}
	check(t, lab.Until(waitForPolicy, "the policy denies", func() error {
		if refused(t, podsPath, pod("probe", map[string]string{"memqos.io/memory-min": "64MB"})) == "" {
			return errors.New("taken")
		}
		return nil
	}))
}

const podsPath = "/api/v1/namespaces/default/pods"

func TestAdmissionNamesKeyValueAndAdvice(t *testing.T) {
	needPolicy(t)
	for _, row := range []struct {
		key, value string
		says       []string // none: it is taken
	}{
		{"memqos.io/memory-min", "16Mi", nil},
		{"memqos.io/memory-min", "64MB", []string{"memqos.io/memory-min", "'64MB'", "a quantity (64Mi) or a percentage of the request (50%)"}},
		{"memqos.io/memory-hihg", "1Mi", []string{"memqos.io/memory-hihg", "no such knob", "memory-high"}},
		{"memory-min.memqos.io/mian", "1Mi", []string{"memory-min.memqos.io/mian", "no such container", "main"}},
		{"Memory-Min.memqos.io/main", "1Mi", []string{"Memory-Min.memqos.io/main", "lower case"}},
		{"memqos.io/class", "none-such", []string{"no class 'none-such'"}},
		{"memqos.io/managed", "no", []string{"neither true nor false"}},
		{"memqos.io/cgroup", "a/b", []string{"a cgroup cannot be named"}},
		{"memqos.io/reclaim", "on", []string{"'on'", "off, watermark, pressure or auto"}},
		{"example.com/memory-min", "64MB", nil},
	} {
		message := refused(t, podsPath, pod("refused", map[string]string{row.key: row.value}))
		if (message == "") != (row.says == nil) {
			t.Errorf("%s=%s: %q", row.key, row.value, message)
		}
		for _, part := range row.says {
			if !strings.Contains(message, part) {
				t.Errorf("%s=%s: %q does not say %q", row.key, row.value, message, part)
			}
		}
	}
	if message := refused(t, podsPath, pod("refused", map[string]string{"memqos.io/managed": "false", "memqos.io/memory-min": "x"})); message != "" {
		t.Errorf("a pod that opted out: %s", message)
	}
	two := refused(t, podsPath, pod("refused", map[string]string{"memqos.io/memory-min": "x", "memqos.io/swap-max": "y"}))
	if !strings.Contains(two, "memory-min") || !strings.Contains(two, "swap-max") {
		t.Errorf("two mistakes: %s", two)
	}
}

func TestAdmissionLooksIntoTemplates(t *testing.T) {
	needPolicy(t)
	for _, row := range []struct{ kind, group, path string }{
		{"Deployment", "apps/v1", "/apis/apps/v1/namespaces/default/deployments"},
		{"StatefulSet", "apps/v1", "/apis/apps/v1/namespaces/default/statefulsets"},
		{"DaemonSet", "apps/v1", "/apis/apps/v1/namespaces/default/daemonsets"},
		{"ReplicaSet", "apps/v1", "/apis/apps/v1/namespaces/default/replicasets"},
		{"ReplicationController", "v1", "/api/v1/namespaces/default/replicationcontrollers"},
		{"Job", "batch/v1", "/apis/batch/v1/namespaces/default/jobs"},
		{"CronJob", "batch/v1", "/apis/batch/v1/namespaces/default/cronjobs"},
	} {
		for _, value := range []string{"50%", "64MB"} {
			message := refused(t, row.path, workload(row.kind, row.group, map[string]string{"memqos.io/memory-high": value}))
			if bad := value == "64MB"; bad != strings.Contains(message, "memqos.io/memory-high: '64MB'") || bad == (message == "") {
				t.Errorf("%s with %s: %q", row.kind, value, message)
			}
		}
		if message := refused(t, row.path, workload(row.kind, row.group, nil)); message != "" {
			t.Errorf("%s without annotations: %q", row.kind, message)
		}
	}
}

func workload(kind, group string, annotations map[string]string) object {
	labels := object{"app": "w"}
	template := pod("", annotations)
	template["metadata"] = object{"labels": labels, "annotations": annotations}
	if annotations == nil {
		template["metadata"] = object{"labels": labels}
	}
	delete(template, "apiVersion")
	delete(template, "kind")
	spec := object{"template": template}
	switch kind {
	case "Job", "CronJob":
		template["spec"].(object)["restartPolicy"] = "Never"
		if kind == "CronJob" {
			spec = object{"schedule": "0 0 * * *", "jobTemplate": object{"spec": spec}}
		}
	case "ReplicationController":
		spec["selector"] = labels
	default:
		spec["selector"] = object{"matchLabels": labels}
		if kind == "StatefulSet" {
			spec["serviceName"] = "w"
		}
	}
	return object{"apiVersion": group, "kind": kind, "metadata": object{"name": "refused"}, "spec": spec}
}

// The policy's grammar and the agent's are two programs; they must agree on every one of these.
func TestAdmissionAgreesWithTheAgent(t *testing.T) {
	needPolicy(t)
	values := strings.Fields("0 1 4095 4096 64Mi 64MB 64M 1.5Gi .5Gi 5. +64Mi -64Mi -1 129e6 1E3 1e4 0.0001 4095.5 100E 8Ei 7Ei 9223372036854775807 64Kb 64m 6400000000m " +
		"0% 50% 100% 100.0% 100.1% 101% 12.5% .5% 5.% 007% 1e1% 50%% % -1% 12.1234567891% max MAX auto off none on true false True yes 0x10 ٣Mi infinity")
	values = append(values, "", " 64Mi", "64Mi ", "64 Mi", "a\nb", strings.Repeat("1", 257))
	knobs := []string{"memory-min", "memory-high", "swap-max", "oom-group", "reclaim", "page-cache-limit", "dirty-throttle"}
	var list []any
	denied := map[string]string{}
	for _, knob := range knobs {
		for _, value := range values {
			name := fmt.Sprintf("p%d", len(list))
			spec := pod(name, map[string]string{"memqos.io/" + knob: value})
			list = append(list, spec)
			denied[name] = refused(t, podsPath, spec)
		}
	}
	text, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": list})
	check(t, err)
	out, err := agentCheck(string(text))
	var report struct {
		Findings []struct{ Pod, Severity, Problem string }
	}
	if jsonErr := json.Unmarshal([]byte(out), &report); jsonErr != nil {
		t.Fatalf("check: %v, %v", err, jsonErr)
	}
	problems := map[string]string{}
	for _, finding := range report.Findings {
		if finding.Severity == "error" {
			problems[finding.Pod] = finding.Problem
		}
	}
	for i, spec := range list {
		name := fmt.Sprintf("p%d", i)
		if (denied[name] != "") != (problems[name] != "") {
			t.Errorf("%v: the policy says %q, the agent %q", lab.At(spec, "metadata", "annotations"), denied[name], problems[name])
		}
	}
	t.Logf("%d values: %d refused", len(list), len(problems))
}

// What was bad before the policy came may end, and others may write to it.
func TestAdmissionLeavesOldObjectsAlone(t *testing.T) {
	needPolicy(t)
	deny := policyOff(t)
	bad := pod("old", map[string]string{"memqos.io/memory-min": "64MB", "memqos.io/memory-high": "96Mi"})
	bad["metadata"].(object)["finalizers"] = []string{"example.com/hold"}
	check(t, cluster.Create(podsPath, bad))
	deny()
	needPolicy(t)
	check(t, cluster.Patch(podPath("old"), object{"metadata": object{"annotations": object{"example.com/note": "x"}}}))
	if err := cluster.Patch(podPath("old"), object{"metadata": object{"annotations": object{"memqos.io/swap-max": "y"}}}); err == nil {
		t.Error("a new mistake in an old pod was taken")
	}
	_ = cluster.Delete(podPath("old"))
	check(t, cluster.Patch(podPath("old"), object{"metadata": object{"finalizers": nil}}))
	remove(t, "old")
}

// The pod of a Job holds a finalizer that the Job's controller takes away by an update.
func TestAdmissionLetsOldJobsComplete(t *testing.T) {
	needCluster(t)
	deny := policyOff(t)
	job := workload("Job", "batch/v1", map[string]string{"memqos.io/memory-min": "64MB"})
	job["metadata"] = object{"name": "old"}
	main := lab.At(job, "spec", "template", "spec", "containers", 0).(object)
	main["command"] = []string{"sh", "-c", "until [ -e /tmp/go ]; do usleep 100000; done"}
	const jobs = "/apis/batch/v1/namespaces/default/jobs"
	check(t, cluster.Create(jobs, job))
	t.Cleanup(func() { _, _ = cluster.Kubectl("", "delete", "job", "old", "--wait=false") })
	name := ""
	check(t, lab.Until(5*time.Minute, "the Job's pod runs", func() error {
		list, err := cluster.Get(podsPath + "?labelSelector=job-name%3Dold")
		if err != nil {
			return err
		}
		if name = lab.Text(list, "items", 0, "metadata", "name"); name == "" {
			return errors.New("there is none")
		}
		return running(name)
	}))
	deny()
	needPolicy(t)
	must[string](t)(cluster.Kubectl("", "exec", name, "--", "touch", "/tmp/go"))
	check(t, lab.Until(2*time.Minute, "the Job is complete", func() error {
		found, err := cluster.Get(jobs + "/old")
		if err == nil && lab.At(found, "status", "completionTime") == nil {
			err = fmt.Errorf("%v", lab.At(found, "status"))
		}
		return err
	}))
}

// A change of a binding takes a moment to be seen.
const waitForPolicy = 30 * time.Second

// The agent of the installed image, or one of this machine where there is no node.
func agentCheck(manifests string) (string, error) {
	if cluster.Guest != nil {
		return cluster.Kubectl(manifests, "-n", namespace, "exec", "-i", "daemonset/memqos", "--", "memqos-agent", "check", "-o", "json", "-")
	}
	cmd := exec.Command(os.Getenv("LAB_AGENT"), "check", "-o", "json", "-")
	cmd.Stdin = strings.NewReader(manifests)
	out, err := cmd.Output()
	return string(out), err
}
