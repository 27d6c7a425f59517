package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"memqos.io/e2e/cluster/lab"
)

const policyBinding = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/memqos-annotations"

// policyOff lets mistakes through until the function that it gives is called, or the test ends.
func policyOff(t *testing.T) (on func()) {
	t.Helper()
	set := func(action string) {
		t.Helper()
		check(t, cluster.Patch(policyBinding, object{"spec": object{"validationActions": []string{action}}}))
	}
	set("Audit")
	isOff := true
	on = func() {
		t.Helper()
		if isOff {
			isOff = false
			set("Deny")
		}
	}
	t.Cleanup(on)
	probe := pod("probe", map[string]string{"memqos.io/memory-min": "64MB"})
	check(t, lab.Until(waitForPolicy, "the policy only audits", func() error { return cluster.Create(podsPath+"?dryRun=All", probe) }))
	return on
}

// eventsOf gives the Events of memqos about a pod.
func eventsOf(t *testing.T, name string) []object {
	t.Helper()
	list := must[object](t)(cluster.Get("/apis/events.k8s.io/v1/namespaces/default/events"))
	items, _ := lab.At(list, "items").([]any)
	var out []object
	for _, item := range items {
		if lab.Text(item, "regarding", "name") == name && lab.Text(item, "reportingController") == "memqos.io/agent" {
			out = append(out, item.(object))
		}
	}
	return out
}

// With the policy off, a mistake costs its own knob only, and is told once: also after other changes, and by an agent that
// starts again.
func TestMistakeGivesOneEvent(t *testing.T) {
	needCluster(t)
	policyOff(t)
	create(t, pod("mistaken", map[string]string{"memqos.io/memory-min": "32Mi", "memqos.io/swap-max": "64MB", "memqos.io/oom-group": "true"}))
	folder := cgroup(t, "mistaken")
	expect(t, folder, map[string]string{"memory.min": "33554432", "memory.oom.group": "1"})
	check(t, lab.Until(time.Minute, "there is an Event", func() error {
		if len(eventsOf(t, "mistaken")) == 0 {
			return fmt.Errorf("none")
		}
		return nil
	}))
	must[string](t)(cluster.Kubectl("", "annotate", "pod", "mistaken", "--overwrite", "memqos.io/memory-min=16Mi"))
	expect(t, folder, map[string]string{"memory.min": "16777216", "memory.oom.group": "1"})
	must[string](t)(cluster.Guest.Run("kill -9 $(busybox pidof memqos-agent)"))
	time.Sleep(5 * time.Second)
	agentIsReady(t)
	must[string](t)(cluster.Kubectl("", "annotate", "pod", "mistaken", "--overwrite", "memqos.io/memory-min=24Mi"))
	expect(t, folder, map[string]string{"memory.min": "25165824"})
	time.Sleep(10 * time.Second)

	events := eventsOf(t, "mistaken")
	if len(events) != 1 {
		t.Fatalf("%d Events, not one: %v", len(events), events)
	}
	note := lab.Text(events[0], "note")
	t.Logf("the Event: %s", note)
	if kind, reason := lab.Text(events[0], "type"), lab.Text(events[0], "reason"); kind != "Warning" || reason != "InvalidAnnotation" {
		t.Errorf("%s %s", kind, reason)
	}
	for _, part := range []string{"memqos.io/swap-max", "64MB", "64Mi"} { // key, value, advice
		if !strings.Contains(note, part) {
			t.Errorf("%q does not say %q", note, part)
		}
	}
}
