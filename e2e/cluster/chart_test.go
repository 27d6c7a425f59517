package cluster

import (
	"encoding/json"
	"os"
	"sort"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Values below these belong to Kubernetes or to the agent's configuration.
var opaque = map[string]bool{
	"config": true, "seccompProfile": true, "appArmorProfile": true, "seLinuxOptions": true, "nodeSelector": true, "updateStrategy": true,
	"resources": true, "startupProbe": true, "livenessProbe": true, "readinessProbe": true, "dashboards.labels": true,
}

// paths of the leaves of values.yaml, as README.md writes them.
func paths(prefix string, value any, into map[string]bool) {
	object, isObject := value.(map[string]any)
	if !isObject || len(object) == 0 || opaque[prefix] {
		into[prefix] = true
		return
	}
	for key, child := range object {
		path := key
		if prefix != "" {
			path = prefix + "." + key
		}
		paths(path, child, into)
	}
}

func chartValues(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(chart + "/values.yaml")
	check(t, err)
	var values map[string]any
	check(t, yaml.Unmarshal(text, &values))
	found := map[string]bool{}
	paths("", values, found)
	if len(found) < 40 {
		t.Fatalf("only %d values were found", len(found))
	}
	return found
}

func TestEveryValueIsInTheReadme(t *testing.T) {
	text, err := os.ReadFile(chart + "/README.md")
	check(t, err)
	documented := map[string]bool{}
	_, table, found := strings.Cut(string(text), "\n## Values\n")
	if !found {
		t.Fatal("README.md has no section Values")
	}
	for _, line := range strings.Split(table, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.HasPrefix(cells[1], " `") {
			documented[strings.Trim(cells[1], " `")] = true
		}
	}
	compare(t, "README.md", chartValues(t), documented)
}

func TestEveryValueIsInTheSchema(t *testing.T) {
	text, err := os.ReadFile(chart + "/values.schema.json")
	check(t, err)
	var schema map[string]any
	check(t, json.Unmarshal(text, &schema))
	described := map[string]bool{}
	var walk func(prefix string, node map[string]any)
	walk = func(prefix string, node map[string]any) {
		properties, _ := node["properties"].(map[string]any)
		if len(properties) == 0 || opaque[prefix] {
			described[prefix] = true
			return
		}
		if prefix == "" && node["additionalProperties"] != false {
			t.Error("a misspelt value would be taken")
		}
		for key, child := range properties {
			path := strings.TrimPrefix(prefix+"."+key, ".")
			walk(path, child.(map[string]any))
		}
	}
	walk("", schema)
	delete(described, "global")
	delete(described, "enabled")
	compare(t, "values.schema.json", chartValues(t), described)
}

func compare(t *testing.T, where string, values, described map[string]bool) {
	t.Helper()
	var wrong []string
	for path := range values {
		if !described[path] {
			wrong = append(wrong, path+" is not in "+where)
		}
	}
	for path := range described {
		if !values[path] {
			wrong = append(wrong, path+" of "+where+" is no value of the chart")
		}
	}
	sort.Strings(wrong)
	for _, line := range wrong {
		t.Error(line)
	}
}
