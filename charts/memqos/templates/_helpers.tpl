{{- define "memqos.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "memqos.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "memqos.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "memqos.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "memqos.selectorLabels" -}}
app.kubernetes.io/name: {{ include "memqos.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "memqos.labels" -}}
{{- $own := dict
  "app.kubernetes.io/name" (include "memqos.name" .)
  "app.kubernetes.io/instance" .Release.Name
  "app.kubernetes.io/version" .Chart.AppVersion
  "app.kubernetes.io/managed-by" .Release.Service
  "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") }}
{{- merge $own .Values.commonLabels | toYaml }}
{{- end }}

{{/* name, labels and annotations of an object: the argument is (list CONTEXT NAME ANNOTATIONS [LABELS]) */}}
{{- define "memqos.metadata" -}}
{{- $context := index . 0 }}
{{- $annotations := merge (dict) (index . 2) $context.Values.commonAnnotations -}}
{{- $labels := include "memqos.labels" $context | fromYaml -}}
{{- if gt (len .) 3 }}{{ $labels = merge (dict) (index . 3) $labels }}{{ end -}}
name: {{ index . 1 }}
labels:
  {{- toYaml $labels | nindent 2 }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "memqos.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "memqos.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "memqos.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- define "memqos.configMapName" -}}
{{- default (printf "%s-config" (include "memqos.fullname" .)) .Values.existingConfigMap }}
{{- end }}

{{/* Folders of the runtime's bundles, one a line. Of containerd only the bundles: its socket lies one level up. */}}
{{- define "memqos.stateDirs" -}}
{{- $dirs := dict
  "containerd" (list "/run/containerd/io.containerd.runtime.v2.task")
  "k3s" (list "/run/k3s/containerd/io.containerd.runtime.v2.task")
  "rke2" (list "/run/k3s/containerd/io.containerd.runtime.v2.task")
  "k0s" (list "/run/k0s/containerd/io.containerd.runtime.v2.task")
  "microk8s" (list "/var/snap/microk8s/common/run/containerd/io.containerd.runtime.v2.task")
  "crio" (list "/run/containers/storage" "/var/lib/containers/storage")
  "none" (list) }}
{{- range concat (get $dirs .Values.runtime.kind) .Values.runtime.extraStateDirs }}
{{ . }}
{{- end }}
{{- end }}

{{/* Each capability, and what it is for. The watchdog undoes throttling when the agent dies. */}}
{{- define "memqos.capabilities" -}}
{{- if .Values.capabilities.watchdog }}
- SYS_ADMIN  # join the host's cgroup namespace, so that the watchdog can live outside the container's cgroup
- SYS_PTRACE  # open /proc/1/ns/cgroup for that, and /proc/1/root to compare the cgroup tree
- SYS_RESOURCE  # keep the watchdog from the OOM killer; more open files
- IPC_LOCK  # keep the watchdog's memory from being swapped
{{- end }}
{{- if .Values.capabilities.userNamespaces }}
- DAC_OVERRIDE  # control files that belong to the user of a pod's user namespace
- DAC_READ_SEARCH  # bundles of such pods
{{- end }}
{{- range .Values.capabilities.extra }}
- {{ . }}
{{- end }}
{{- end }}
