{{- /* What every pod of Holdfast has in common; takes a dict of root, component, arguments, environment and more. */ -}}

{{- /* Takes a dict of security (the chart's own) and values (the operator's): a null there removes a field, for clusters that choose the user themselves. */ -}}
{{- define "holdfast.security" -}}
{{- $result := deepCopy .security }}
{{- range $key, $value := .values }}
{{- if kindIs "invalid" $value }}{{ $_ := unset $result $key }}{{ else }}{{ $_ := set $result $key $value }}{{ end }}
{{- end }}
{{- toYaml $result }}
{{- end }}

{{- define "holdfast.podSecurity" -}}
{{- $own := dict "runAsNonRoot" true "runAsUser" 10001 "runAsGroup" 10001 "fsGroup" 10001 "fsGroupChangePolicy" "OnRootMismatch" "seccompProfile" (dict "type" "RuntimeDefault") }}
{{- include "holdfast.security" (dict "security" $own "values" .root.Values.podSecurityContext) }}
{{- end }}

{{- define "holdfast.containerSecurity" -}}
{{- $own := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "runAsNonRoot" true "capabilities" (dict "drop" (list "ALL")) }}
{{- include "holdfast.security" (dict "security" $own "values" .root.Values.containerSecurityContext) }}
{{- end }}

{{- /*
A change of configuration or secrets starts pods again. Pods are readable to many who may not read Secrets: the secrets'
checksum is scrypt's, salted with namespace and release, so that it gives no fast way to guess them.
*/ -}}
{{- define "holdfast.podAnnotations" -}}
checksum/config: {{ include "holdfast.config" .root | sha256sum }}
{{- with .root.Values.secret.values }}
checksum/secret: {{ derivePassword 1 "maximum" (toJson .) (printf "%s/%s" $.root.Release.Namespace $.root.Release.Name) "holdfast" | b64enc }}
{{- end }}
{{- with .values.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Labels of a pod; takes a dict of root, component and values. */ -}}
{{- define "holdfast.podLabels" -}}
{{ include "holdfast.labels" .root }}
app.kubernetes.io/component: {{ .component }}
{{- with .values.podLabels }}
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
    secretKeyRef: { name: {{ include "holdfast.secretName" $root | quote }}, key: {{ $key }} }
{{- end }}
{{- end }}
{{- if $values.privateAuthorities }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/holdfast/authorities/ca.crt
{{- end }}
{{- range $values.environment }}
- name: {{ .name | quote }}
{{- if .valueFrom }}
  valueFrom:
    {{- toYaml .valueFrom | nindent 4 }}
{{- else }}
  value: {{ default "" .value | quote }}
{{- end }}
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
{{- with .values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "holdfast.volumes" -}}
- name: config
  configMap:
    name: {{ include "holdfast.fullname" .root | quote }}
{{- with include "holdfast.secretName" .root }}
- name: secrets
  secret:
    secretName: {{ . | quote }}
    defaultMode: 0440
{{- end }}
{{- with .root.Values.privateAuthorities }}
- name: authorities
  configMap:
    name: {{ . | quote }}
{{- end }}
{{- with .values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "holdfast.container" -}}
name: holdfast
image: {{ include "holdfast.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy | quote }}
args: {{ toJson .arguments }}
env:
  {{- include "holdfast.environment" . | nindent 2 }}
resources:
  {{- toYaml .values.resources | nindent 2 }}
securityContext:
  {{- include "holdfast.containerSecurity" . | nindent 2 }}
{{- end }}

{{- /* A probe: what the chart says of it, and what the operator says over that. Takes a dict of name, own and values. */ -}}
{{- define "holdfast.probe" -}}
{{ .name }}:
  {{- mergeOverwrite (deepCopy .own) (get .values.probes .name | default dict) | toYaml | nindent 2 }}
{{- end }}

{{- /* Where a pod runs; takes a dict of values, and of spread (the chart's own constraints) where it has any. */ -}}
{{- define "holdfast.placement" -}}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .values.topologySpreadConstraints | default .spread }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}


{{- define "holdfast.podBasics" -}}
serviceAccountName: {{ include "holdfast.serviceAccount" .root | quote }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "holdfast.podSecurity" . | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* A claim of a volume; "-" as its class asks for none, so that a volume made by hand is bound. */ -}}
{{- define "holdfast.claim" -}}
accessModes:
  {{- toYaml (.accessModes | default (list "ReadWriteOnce")) | nindent 2 }}
{{- with .storageClass }}
storageClassName: {{ ternary "" . (eq . "-") | quote }}
{{- end }}
resources:
  requests:
    storage: {{ .size | quote }}
{{- end }}

{{- /* A service in front of a component's pods; takes a dict of root and component. */ -}}
{{- define "holdfast.service" -}}
{{- $service := .root.Values.service -}}
type: {{ $service.type | quote }}
{{- range $field := list "loadBalancerClass" "externalTrafficPolicy" }}
{{- with get $service $field }}
{{ $field }}: {{ . | quote }}
{{- end }}
{{- end }}
{{- with $service.loadBalancerSourceRanges }}
loadBalancerSourceRanges:
  {{- toYaml . | nindent 2 }}
{{- end }}
selector:
  {{- include "holdfast.selector" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
ports:
  - name: http
    port: {{ $service.port }}
    targetPort: http
{{- end }}
