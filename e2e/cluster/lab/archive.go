package lab

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

func addFile(writer *tar.Writer, name string, mode int64, data []byte) error {
	if err := writer.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(data)), Format: tar.FormatGNU}); err != nil {
		return err
	}
	_, err := writer.Write(data)
	return err
}

// A docker archive with this machine's static busybox: the sandbox and the workloads need no registry.
func busyboxArchive() ([]byte, error) {
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	writer := tar.NewWriter(&layer)
	for _, dir := range []string{"bin/", "tmp/", "etc/", "proc/", "sys/", "dev/"} {
		if err := writer.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	if err := addFile(writer, "bin/busybox", 0o755, busybox); err != nil {
		return nil, err
	}
	for _, applet := range strings.Fields("sh cat dd sleep true false echo ls head tail wc kill touch sync seq usleep") {
		if err := writer.WriteHeader(&tar.Header{Name: "bin/" + applet, Typeflag: tar.TypeSymlink, Linkname: "busybox"}); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	config, err := json.Marshal(JSON{
		"architecture": "amd64", "os": "linux",
		"config": JSON{"Cmd": []string{"/bin/busybox", "sleep", "infinity"}, "Env": []string{"PATH=/bin"}},
		"rootfs": JSON{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer.Bytes()))}},
	})
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%x.json", sha256.Sum256(config))
	manifest, err := json.Marshal([]JSON{{"Config": name, "Layers": []string{"layer.tar"}, "RepoTags": []string{PauseImage, BusyboxImage}}})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	writer = tar.NewWriter(&out)
	for _, file := range []struct {
		name string
		data []byte
	}{{name, config}, {"layer.tar", layer.Bytes()}, {"manifest.json", manifest}} {
		if err := addFile(writer, file.name, 0o644, file.data); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), writer.Close()
}

// ImageName gives repository and tag of the agent's image, as its archive says.
func (l *Lab) ImageName() (repository, tag string, err error) {
	file, err := os.Open(l.Image)
	if err != nil {
		return "", "", err
	}
	defer file.Close()
	reader := tar.NewReader(file)
	for {
		header, err := reader.Next()
		if err != nil {
			return "", "", fmt.Errorf("%s has no manifest.json: %w", l.Image, err)
		}
		if header.Name != "manifest.json" {
			continue
		}
		var manifest []struct{ RepoTags []string }
		if err := json.NewDecoder(reader).Decode(&manifest); err != nil {
			return "", "", err
		}
		if len(manifest) != 1 || len(manifest[0].RepoTags) != 1 {
			return "", "", fmt.Errorf("%s holds not one image with one name", l.Image)
		}
		name := manifest[0].RepoTags[0]
		colon := strings.LastIndex(name, ":")
		return name[:colon], name[colon+1:], nil
	}
}
