// Package lab runs a Kubernetes cluster for tests: etcd and the control plane on this machine's loopback, one node in a VM.
package lab

import (
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// NodeName is the name of the one node.
const NodeName = "vm1"

// Config says where what a lab needs was built; e2e/cluster/run fills it through the environment.
type Config struct {
	Tools  string // folder of kube-apiserver, kubectl, helm, ...
	Node   string // the node's disk, raw ext4; never written
	Kernel string // folder of vmlinuz and initramfs.cpio
	Image  string // the agent's image as a docker archive
	Lock   string // held while the VM runs: one guest at a time on this machine
	Work   string // logs and state of this run
}

// FromEnvironment fills a Config; the error names the first variable that is missing.
func FromEnvironment() (Config, error) {
	var config Config
	for _, row := range []struct {
		name string
		into *string
	}{
		{"LAB_TOOLS", &config.Tools}, {"LAB_NODE", &config.Node}, {"LAB_KERNEL", &config.Kernel},
		{"LAB_IMAGE", &config.Image}, {"LAB_LOCK", &config.Lock}, {"LAB_WORK", &config.Work},
	} {
		if *row.into = os.Getenv(row.name); *row.into == "" {
			return config, fmt.Errorf("%s is not set: run the tests by e2e/cluster/run", row.name)
		}
	}
	return config, nil
}

// Lab is a running cluster.
type Lab struct {
	Config
	Guest *Guest

	ports      ports
	pki        *authority
	etcd       *Process
	apiserver  *Process
	others     []*Process
	api        *apiClient
	kubeconfig string
}

type ports struct{ Etcd, EtcdPeer, API, Kubelet int }

const adminToken = "lab-admin"

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// Start brings up the control plane. The node comes with StartNode. With `apiOnly` there are etcd and the API server, which
// is enough for what only asks it.
func Start(config Config, apiOnly bool) (*Lab, error) {
	l := &Lab{Config: config}
	if err := os.MkdirAll(l.Work, 0o755); err != nil {
		return nil, err
	}
	for _, port := range []*int{&l.ports.Etcd, &l.ports.EtcdPeer, &l.ports.API, &l.ports.Kubelet} {
		var err error
		if *port, err = freePort(); err != nil {
			return nil, err
		}
	}
	if err := l.prepare(); err != nil {
		return nil, err
	}
	if err := l.startEtcd(); err != nil {
		return nil, err
	}
	if err := l.StartAPIServer(); err != nil {
		return l, err
	}
	if apiOnly {
		// The controller-manager would make it; no pod is taken without.
		return l, l.Create("/api/v1/namespaces/default/serviceaccounts", JSON{"metadata": JSON{"name": "default"}})
	}
	return l, l.startControllers()
}

// Attach uses a cluster that another test process holds up (TestHold), which also ends it. What needs its processes, such as
// killing the API server, cannot be done.
func Attach(config Config) (*Lab, error) {
	l := &Lab{Config: config}
	text, err := os.ReadFile(l.path("ports.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &l.ports); err != nil {
		return nil, err
	}
	l.kubeconfig = l.path("admin.kubeconfig")
	if l.api, err = newAPIClient(fmt.Sprintf("https://127.0.0.1:%d", l.ports.API), l.path("ca.crt"), adminToken); err != nil {
		return nil, err
	}
	l.Guest = &Guest{next: int(time.Now().Unix())}
	return l, l.Guest.connect(l.path("shell.sock"))
}

// Attached says whether this is somebody else's cluster.
func (l *Lab) Attached() bool { return l.etcd == nil }

func (l *Lab) path(name string) string { return filepath.Join(l.Work, name) }
func (l *Lab) tool(name string) string { return filepath.Join(l.Tools, name) }

// Credentials, and the files that programs want.
func (l *Lab) prepare() error {
	var err error
	if l.pki, err = newAuthority(l.Work); err != nil {
		return err
	}
	err = errors.Join(
		l.pki.issue("apiserver", pkix.Name{CommonName: "kube-apiserver"}, "127.0.0.1", "10.0.2.2", "10.96.0.1",
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"),
		l.pki.issue("kubelet-client", pkix.Name{CommonName: "kube-apiserver", Organization: []string{"system:masters"}}),
		writeTokenKey(l.path("tokens.key")),
		os.WriteFile(l.path("tokens.csv"), []byte(strings.Join([]string{
			adminToken + `,admin,admin,"system:masters"`,
			`lab-node,system:node:` + NodeName + `,node,"system:nodes"`,
			`lab-manager,system:kube-controller-manager,manager`,
			`lab-scheduler,system:kube-scheduler,scheduler`,
		}, "\n")+"\n"), 0o600),
		// The API server finds the kubelet by the node's name, on a port that QEMU forwards.
		os.WriteFile(l.path("hosts"), []byte("127.0.0.1 localhost "+NodeName+"\n"), 0o644),
	)
	if err != nil {
		return err
	}
	for name, token := range map[string]string{"admin": adminToken, "manager": "lab-manager", "scheduler": "lab-scheduler"} {
		if err := l.writeKubeconfig(name+".kubeconfig", fmt.Sprintf("https://127.0.0.1:%d", l.ports.API), token); err != nil {
			return err
		}
	}
	text, err := json.Marshal(l.ports)
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.path("ports.json"), text, 0o600); err != nil {
		return err
	}
	l.kubeconfig = l.path("admin.kubeconfig")
	l.api, err = newAPIClient(fmt.Sprintf("https://127.0.0.1:%d", l.ports.API), l.path("ca.crt"), adminToken)
	return err
}

func (l *Lab) kubeconfigText(server, token string) (string, error) {
	ca, err := os.ReadFile(l.path("ca.crt"))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: lab, user: {token: %s}}]
contexts: [{name: lab, context: {cluster: lab, user: lab}}]
current-context: lab
`, server, base64Of(ca), token), nil
}

func (l *Lab) writeKubeconfig(name, server, token string) error {
	text, err := l.kubeconfigText(server, token)
	if err != nil {
		return err
	}
	return os.WriteFile(l.path(name), []byte(text), 0o600)
}

func (l *Lab) startEtcd() error {
	if err := os.RemoveAll(l.path("etcd")); err != nil { // of a run that was killed
		return err
	}
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", l.ports.Etcd), fmt.Sprintf("http://127.0.0.1:%d", l.ports.EtcdPeer)
	var err error
	l.etcd, err = spawn(l.Work, "etcd", l.tool("etcd"), "--name=lab", "--data-dir="+l.path("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client, "--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer, "--initial-cluster=lab="+peer)
	return err
}

// StartAPIServer starts it, also again after KillAPIServer, and waits until it is ready.
func (l *Lab) StartAPIServer() error {
	args := []string{
		l.tool("kube-apiserver"),
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", l.ports.Etcd),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", l.ports.API),
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + l.path("apiserver.crt"), "--tls-private-key-file=" + l.path("apiserver.key"),
		"--client-ca-file=" + l.path("ca.crt"), "--token-auth-file=" + l.path("tokens.csv"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + l.path("tokens.key"), "--service-account-signing-key-file=" + l.path("tokens.key"),
		"--kubelet-client-certificate=" + l.path("kubelet-client.crt"), "--kubelet-client-key=" + l.path("kubelet-client.key"),
		"--kubelet-preferred-address-types=Hostname", "--cert-dir=" + l.Work,
	}
	// Its own view of /etc/hosts: the machine's stays as it is.
	script := `mount --bind "$1" /etc/hosts && shift && exec "$@"`
	command := append([]string{"unshare", "--mount", "sh", "-c", script, "sh", l.path("hosts")}, args...)
	var err error
	if l.apiserver, err = spawn(l.Work, "kube-apiserver", command...); err != nil {
		return err
	}
	return Until(3*time.Minute, "the API server is ready", func() error {
		for _, process := range []*Process{l.etcd, l.apiserver} {
			if err := process.Alive(); err != nil {
				return &Fatal{err}
			}
		}
		return l.api.do("GET", "/readyz", "", nil, nil)
	})
}

// KillAPIServer ends it as a crash does.
func (l *Lab) KillAPIServer() { l.apiserver.Kill() }

func (l *Lab) startControllers() error {
	manager, err := spawn(l.Work, "kube-controller-manager", l.tool("kube-controller-manager"),
		"--kubeconfig="+l.path("manager.kubeconfig"), "--leader-elect=false", "--use-service-account-credentials",
		"--service-account-private-key-file="+l.path("tokens.key"), "--root-ca-file="+l.path("ca.crt"), "--secure-port=0",
		"--allocate-node-cidrs=false")
	if err != nil {
		return err
	}
	l.others = append(l.others, manager)
	scheduler, err := spawn(l.Work, "kube-scheduler", l.tool("kube-scheduler"),
		"--kubeconfig="+l.path("scheduler.kubeconfig"), "--leader-elect=false", "--secure-port=0")
	if err != nil {
		return err
	}
	l.others = append(l.others, scheduler)
	return Until(2*time.Minute, "the default ServiceAccount is there", func() error {
		for _, process := range l.others {
			if err := process.Alive(); err != nil {
				return &Fatal{err}
			}
		}
		return l.api.do("GET", "/api/v1/namespaces/default/serviceaccounts/default", "", nil, nil)
	})
}

// Stop ends everything that Start and StartNode began.
func (l *Lab) Stop() {
	if l.Guest != nil && !l.Attached() {
		if l.Guest.reader != nil {
			_ = os.WriteFile(l.path("journal.log"), []byte(l.Guest.Journal()), 0o644)
		}
		l.Guest.stop()
	}
	for _, process := range l.others {
		process.Kill()
	}
	for _, process := range []*Process{l.apiserver, l.etcd} {
		if process != nil {
			process.Kill()
		}
	}
}

// Kubectl runs kubectl as the administrator, with `stdin` if it is not empty; the error has what it said.
func (l *Lab) Kubectl(stdin string, args ...string) (string, error) {
	return l.command(stdin, "kubectl", args...)
}

// Helm is the same for helm.
func (l *Lab) Helm(args ...string) (string, error) { return l.command("", "helm", args...) }

func (l *Lab) command(stdin, tool string, args ...string) (string, error) {
	cmd := exec.Command(l.tool(tool), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+l.kubeconfig, "HELM_CACHE_HOME="+l.path("helm"),
		"HELM_CONFIG_HOME="+l.path("helm"), "HELM_DATA_HOME="+l.path("helm"), "KUBECACHEDIR="+l.path("kubecache"))
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s%s", tool, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}
