package cluster

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"memqos.io/e2e/cluster/lab"
)

type object = lab.JSON

// pod is a Pod of one busybox container "main" with 64Mi requested and 128Mi allowed.
func pod(name string, annotations map[string]string, command ...string) object {
	if len(command) == 0 {
		command = []string{"sleep", "infinity"}
	}
	return object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": name, "namespace": "default", "annotations": annotations},
		"spec": object{
			"terminationGracePeriodSeconds": 0,
			"containers": []any{object{
				"name": "main", "image": lab.BusyboxImage, "imagePullPolicy": "Never", "command": command,
				"resources": object{
					"requests": object{"memory": "64Mi", "cpu": "10m"},
					"limits":   object{"memory": "128Mi"},
				},
			}},
		},
	}
}

func podPath(name string) string { return "/api/v1/namespaces/default/pods/" + name }

// create makes a pod and waits until it runs; the pod goes with the test.
func create(t *testing.T, spec object) {
	t.Helper()
	name := lab.Text(spec, "metadata", "name")
	check(t, cluster.Create("/api/v1/namespaces/default/pods", spec))
	t.Cleanup(func() { remove(t, name) })
	check(t, lab.Until(10*time.Minute, "pod "+name+" runs", func() error {
		return running(name)
	}))
}

func running(name string) error {
	found, err := cluster.Get(podPath(name))
	if err != nil {
		return err
	}
	status := lab.At(found, "status", "containerStatuses", 0)
	if lab.At(status, "state", "running") == nil {
		return fmt.Errorf("phase %s, state %v", lab.Text(found, "status", "phase"), lab.At(status, "state"))
	}
	return nil
}

func remove(t *testing.T, name string) {
	t.Helper()
	_ = cluster.Delete(podPath(name))
	check(t, lab.Until(2*time.Minute, "pod "+name+" is gone", func() error {
		_, err := cluster.Get(podPath(name))
		var status *lab.StatusError
		if errors.As(err, &status) && status.Code == 404 {
			return nil
		}
		return errors.New("still there")
	}))
}

// cgroup is the folder of a pod's only container, as the guest sees it.
func cgroup(t *testing.T, name string) string {
	t.Helper()
	found := must[object](t)(cluster.Get(podPath(name)))
	id := strings.TrimPrefix(lab.Text(found, "status", "containerStatuses", 0, "containerID"), "containerd://")
	if id == "" {
		t.Fatalf("pod %s has no container", name)
	}
	// Other pods' folders may go while find walks them, which it calls a failure.
	out := must[string](t)(cluster.Guest.Run("find /sys/fs/cgroup/kubepods.slice -type d -name 'cri-containerd-" + id + ".scope' || true"))
	if out = strings.TrimSpace(out); out == "" {
		t.Fatalf("pod %s has no cgroup", name)
	}
	return out
}

func read(t *testing.T, file string) string {
	t.Helper()
	return strings.TrimSpace(must[string](t)(cluster.Guest.Run("cat " + file)))
}

// expect waits until the kernel's files hold these values; names are relative to the folder.
func expect(t *testing.T, folder string, wanted map[string]string) {
	t.Helper()
	check(t, lab.Until(3*time.Minute, "values in "+folder, func() error {
		for file, value := range wanted {
			found, err := cluster.Guest.Run("cat " + path.Join(folder, file))
			if err != nil {
				return err
			}
			if found = strings.TrimSpace(found); found != value {
				return fmt.Errorf("%s is %s, not %s", file, found, value)
			}
		}
		return nil
	}))
}
