package lab

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Forward makes a port of a pod reachable on this machine's loopback until the lab stops, and gives the local port.
func (l *Lab) Forward(target, namespace string, port int) (int, error) {
	local, err := freePort()
	if err != nil {
		return 0, err
	}
	process, err := spawn(l.Work, "port-forward", l.tool("kubectl"), "--kubeconfig="+l.kubeconfig, "-n", namespace,
		"port-forward", target, fmt.Sprintf("%d:%d", local, port))
	if err != nil {
		return 0, err
	}
	l.others = append(l.others, process)
	return local, Until(time.Minute, "the port is forwarded", func() error {
		if err := process.Alive(); err != nil {
			return &Fatal{err}
		}
		connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", local))
		if err == nil {
			connection.Close()
		}
		return err
	})
}

// Prometheus starts one with this configuration until the lab stops, and gives its URL.
func (l *Lab) Prometheus(folder, config string) (string, error) {
	port, err := freePort()
	if err != nil {
		return "", err
	}
	file := l.path("prometheus.yaml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return "", err
	}
	process, err := spawn(l.Work, "prometheus", filepath.Join(folder, "prometheus"), "--config.file="+file,
		"--storage.tsdb.path="+l.path("prometheus"), fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port))
	if err != nil {
		return "", err
	}
	l.others = append(l.others, process)
	return fmt.Sprintf("http://127.0.0.1:%d", port), nil
}
