package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memqos.io/e2e/cluster/lab"
)

type panelQuery struct{ panel, expr string }

// queries of every panel of every dashboard, as Prometheus gets them once Grafana has replaced its variables.
func queries(t *testing.T) []panelQuery {
	t.Helper()
	files, err := filepath.Glob(chart + "/dashboards/*.json")
	check(t, err)
	var out []panelQuery
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(t, err)
		var dashboard struct {
			UID        string
			Templating struct{ List []struct{ Name string } }
			Panels     []struct {
				ID          int
				Type, Title string
				Description string
				Targets     []struct{ Expr string }
			}
		}
		check(t, json.Unmarshal(text, &dashboard))
		replace := []string{"$__rate_interval", "1m"}
		for _, variable := range dashboard.Templating.List {
			replace = append(replace, "$"+variable.Name, ".*")
		}
		seen := map[int]bool{}
		for _, panel := range dashboard.Panels {
			if seen[panel.ID] {
				t.Errorf("%s: two panels have the id %d", file, panel.ID)
			}
			seen[panel.ID] = true
			if panel.Type == "row" {
				continue
			}
			if panel.Description == "" || len(panel.Targets) == 0 {
				t.Errorf("%s: %q has no description or no query", file, panel.Title)
			}
			for _, target := range panel.Targets {
				expr := strings.NewReplacer(replace...).Replace(target.Expr)
				if strings.Contains(expr, "$") {
					t.Errorf("%s: %q has an unknown variable: %s", file, panel.Title, expr)
				}
				out = append(out, panelQuery{panel.Title, expr})
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("there are no dashboards")
	}
	return out
}

// promtool knows the language; a query is checked as the expression of a rule.
func TestDashboardQueriesAreValid(t *testing.T) {
	folder := os.Getenv("LAB_PROMETHEUS")
	if folder == "" {
		t.Skip("no promtool: run by e2e/cluster/run")
	}
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for i, query := range queries(t) {
		rules = append(rules, rule{fmt.Sprintf("panel:query%d", i), query.expr})
	}
	text, err := json.Marshal(object{"groups": []any{object{"name": "panels", "rules": rules}}})
	check(t, err)
	file := filepath.Join(t.TempDir(), "rules.yaml")
	check(t, os.WriteFile(file, text, 0o644))
	out, err := exec.Command(filepath.Join(folder, "promtool"), "check", "rules", "--lint=none", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("%d rules found", len(rules))) {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// A real Prometheus scrapes the real agent, as a PodMonitor would have it; then every panel must show something.
func TestEveryPanelShowsSomething(t *testing.T) {
	needCluster(t)
	makeNews(t)
	port := must[int](t)(cluster.Forward("daemonset/memqos", namespace, 9464))
	config := fmt.Sprintf(`global: {scrape_interval: 5s}
scrape_configs:
- job_name: memqos
  honor_labels: true
  static_configs: [{targets: ["127.0.0.1:%d"], labels: {node: %s}}]
`, port, lab.NodeName)
	server := must[string](t)(cluster.Prometheus(os.Getenv("LAB_PROMETHEUS"), config))
	empty := map[string]string{}
	for _, query := range queries(t) {
		empty[query.expr] = query.panel
	}
	err := lab.Until(4*time.Minute, "every panel has series", func() error {
		for expr := range empty {
			count, err := seriesOf(server, expr)
			if err != nil {
				return err
			}
			if count > 0 {
				delete(empty, expr)
			}
		}
		if len(empty) > 0 {
			return fmt.Errorf("%d of %d queries are empty", len(empty), len(queries(t)))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for expr, panel := range empty {
		t.Errorf("%s: no series from %s", panel, expr)
	}
}

// Something for every panel: values, a held low, somebody else's write, a mistake, a container at its memory.high.
func makeNews(t *testing.T) {
	t.Helper()
	policyOff(t)
	spec := pod("shown", map[string]string{
		"memqos.io/memory-min": "16Mi", "memqos.io/memory-low": "32Mi", "memqos.io/memory-high": "100Mi", "memqos.io/oom-group": "true",
		"memqos.io/swap-max": "64MB",
	})
	create(t, spec)
	folder := cgroup(t, "shown")
	expect(t, folder, map[string]string{"memory.high": "104857600"})
	must[string](t)(cluster.Guest.Run("echo max > " + folder + "/memory.high"))
	expect(t, folder, map[string]string{"memory.high": "104857600"})
}

func seriesOf(server, expr string) (int, error) {
	response, err := http.Get(server + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []any }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return 0, err
	}
	if answer.Status != "success" {
		return 0, &lab.Fatal{Err: fmt.Errorf("%s: %s", expr, answer.Error)}
	}
	return len(answer.Data.Result), nil
}
