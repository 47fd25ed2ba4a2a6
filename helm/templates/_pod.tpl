{{- /* What every pod of Holdfast has in common; takes a dict of root, component, arguments, environment and more. */ -}}

{{- define "holdfast.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "holdfast.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* Changes of configuration and secrets start pods anew. */ -}}
{{- define "holdfast.podAnnotations" -}}
checksum/config: {{ include "holdfast.config" .root | sha256sum }}
checksum/secret: {{ toJson .root.Values.secret.values | sha256sum }}
{{- with .annotations }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "holdfast.environment" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
- name: HOLDFAST_CONFIG
  value: /etc/holdfast/config/holdfast.yaml
- name: HOLDFAST_DATA_DIR
  value: /data
- name: HOLDFAST_HTTP_HOST
  value: 0.0.0.0
- name: HOLDFAST_HTTP_PORT
  value: "8080"
{{- range $key := ternary $values.secret.keys (keys $values.secret.values | sortAlpha) (ne $values.secret.existing "") }}
{{- if hasPrefix "HOLDFAST_" $key }}
- name: {{ $key }}_FILE
  value: /etc/holdfast/secrets/{{ $key }}
{{- else if or (eq $key "read-tokens") (eq $key "admin-tokens") }}
- name: HOLDFAST_HTTP_{{ $key | upper | replace "-" "_" }}_FILE
  value: /etc/holdfast/secrets/{{ $key }}
{{- else if regexMatch "^[A-Z]" $key }}
- name: {{ $key }}
  valueFrom:
    secretKeyRef: { name: {{ include "holdfast.secretName" $root }}, key: {{ $key }} }
{{- end }}
{{- end }}
{{- if $values.privateAuthorities }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/holdfast/authorities/ca.crt
{{- end }}
{{- range $values.environment }}
- name: {{ .name }}
  value: {{ .value | quote }}
{{- end }}
{{- range $name, $value := .environment }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "holdfast.mounts" -}}
- name: config
  mountPath: /etc/holdfast/config
  readOnly: true
{{- if include "holdfast.secretName" .root }}
- name: secrets
  mountPath: /etc/holdfast/secrets
  readOnly: true
{{- end }}
{{- if .root.Values.privateAuthorities }}
- name: authorities
  mountPath: /etc/holdfast/authorities
  readOnly: true
{{- end }}
{{- end }}

{{- define "holdfast.volumes" -}}
- name: config
  configMap:
    name: {{ include "holdfast.fullname" .root }}
{{- with include "holdfast.secretName" .root }}
- name: secrets
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- with .root.Values.privateAuthorities }}
- name: authorities
  configMap:
    name: {{ . }}
{{- end }}
{{- end }}

{{- define "holdfast.container" -}}
name: holdfast
image: {{ include "holdfast.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: {{ toJson .arguments }}
env:
  {{- include "holdfast.environment" . | nindent 2 }}
resources:
  {{- toYaml .resources | nindent 2 }}
securityContext:
  {{- include "holdfast.containerSecurity" . | nindent 2 }}
{{- end }}

{{- define "holdfast.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "holdfast.podBasics" -}}
serviceAccountName: {{ include "holdfast.serviceAccount" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "holdfast.podSecurity" . | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}
