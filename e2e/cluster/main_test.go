// The chart, the image and the agent on a real Kubernetes: e2e/cluster/run. The tests share one cluster and run in the
// order of the files; each leaves nothing behind but what its name says.
package cluster

import (
	"fmt"
	"os"
	"testing"
	"time"

	"memqos.io/e2e/cluster/lab"
)

const (
	namespace = "memqos-system"
	chart     = "../../charts/memqos"
)

// nil where the tests run without what a lab needs; then only those that need no cluster run.
var cluster *lab.Lab

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	config, err := lab.FromEnvironment()
	if err != nil {
		fmt.Println("no cluster:", err)
		return m.Run()
	}
	begin := time.Now()
	apiOnly := os.Getenv("LAB_API_ONLY") != ""
	if os.Getenv("LAB_ATTACH") != "" {
		if cluster, err = lab.Attach(config); err != nil {
			fmt.Println(err)
			return 1
		}
		return m.Run()
	}
	cluster, err = lab.Start(config, apiOnly)
	if cluster != nil {
		defer cluster.Stop()
	}
	if err == nil {
		fmt.Printf("control plane: %.0f s\n", time.Since(begin).Seconds())
		if !apiOnly {
			err = cluster.StartNode("")
		}
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("all of it: %.0f s\n", time.Since(begin).Seconds())
	return m.Run()
}

// A cluster to look around in, and for LAB_ATTACH=1 e2e/cluster/run: until the file is removed.
func TestHold(t *testing.T) {
	file := os.Getenv("LAB_HOLD")
	if file == "" {
		t.Skip("for people: LAB_HOLD=FILE LAB_TIMEOUT=0 e2e/cluster/run -run TestHold")
	}
	needCluster(t)
	cluster.Guest.Release()
	check(t, os.WriteFile(file, nil, 0o644))
	for {
		if _, err := os.Stat(file); err != nil {
			break
		}
		time.Sleep(time.Second)
	}
	check(t, cluster.Guest.Resume())
}

// needAPI skips a test where there is no API server.
func needAPI(t *testing.T) {
	t.Helper()
	if cluster == nil {
		t.Skip("no API server: run by e2e/cluster/run")
	}
}

// needCluster skips a test where there is no node.
func needCluster(t *testing.T) {
	t.Helper()
	if cluster == nil || cluster.Guest == nil {
		t.Skip("no cluster: run by e2e/cluster/run")
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// image gives the chart the image that this run built.
func image(t *testing.T) []string {
	t.Helper()
	repository, tag, err := cluster.ImageName()
	check(t, err)
	return []string{"--set", "image.repository=" + repository, "--set-string", "image.tag=" + tag, "--set", "image.pullPolicy=Never"}
}
