package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// etcd answers JSON on its client port; 64-bit numbers are strings there.
func (l *Lab) askEtcd(path string, body JSON) (JSON, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	response, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d%s", l.ports.Etcd, path), "application/json", bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("etcd: %s: HTTP %d: %s", path, response.StatusCode, text)
	}
	var out JSON
	return out, json.Unmarshal(text, &out)
}

// Compact makes etcd forget every revision there was: a watch that wants to go on from one of them gets 410 from an API
// server that has started since.
func (l *Lab) Compact() error {
	// So that what is forgotten is newer than what anybody has seen.
	out, err := l.askEtcd("/v3/kv/put", JSON{"key": base64Of([]byte("/lab/compaction")), "value": base64Of([]byte("x"))})
	if err != nil {
		return err
	}
	_, err = l.askEtcd("/v3/kv/compaction", JSON{"revision": Text(out, "header", "revision"), "physical": true})
	return err
}
