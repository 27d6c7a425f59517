package lab

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// JSON is an object of the API, as it came.
type JSON = map[string]any

func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

type apiClient struct {
	server string
	token  string
	http   *http.Client
}

func newAPIClient(server, caFile, token string) (*apiClient, error) {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	return &apiClient{server, token, &http.Client{Transport: transport, Timeout: 60 * time.Second}}, nil
}

// StatusError is an answer that is no success.
type StatusError struct {
	Code int
	Body string
}

func (e *StatusError) Error() string { return fmt.Sprintf("HTTP %d: %s", e.Code, e.Body) }

func (c *apiClient) do(method, path, contentType string, body, into any) error {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, c.server+path, reader)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return &StatusError{response.StatusCode, string(text)}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// Get reads an object or a list.
func (l *Lab) Get(path string) (JSON, error) {
	var out JSON
	return out, l.api.do("GET", path, "", nil, &out)
}

// Create posts an object; `path` is that of its collection.
func (l *Lab) Create(path string, object any) error {
	return l.api.do("POST", path, "application/json", object, nil)
}

// Patch merges `change` into an object.
func (l *Lab) Patch(path string, change any) error {
	return l.api.do("PATCH", path, "application/merge-patch+json", change, nil)
}

// Delete deletes an object at once.
func (l *Lab) Delete(path string) error {
	return l.api.do("DELETE", path+"?gracePeriodSeconds=0", "", nil, nil)
}

// At follows keys and indexes into an object; nil where there is nothing.
func At(value any, steps ...any) any {
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			object, ok := value.(JSON)
			if !ok {
				return nil
			}
			value = object[step]
		case int:
			list, ok := value.([]any)
			if !ok || step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

// Text is At for strings.
func Text(value any, steps ...any) string {
	text, _ := At(value, steps...).(string)
	return text
}
