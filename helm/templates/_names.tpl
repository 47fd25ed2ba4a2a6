{{- /* At most 43 characters: a StatefulSet labels its pods with its name and eleven more, and a label holds 63. */ -}}
{{- define "holdfast.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 43 | trimSuffix "-" }}
{{- else }}{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}{{ .Release.Name | trunc 43 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $name | trunc 43 | trimSuffix "-" }}{{ end }}{{ end }}
{{- end }}

{{- define "holdfast.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "holdfast.labels" -}}
{{ include "holdfast.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "holdfast.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "holdfast.fullname" .) .Values.serviceAccount.name }}
{{- else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end }}

{{- define "holdfast.image" -}}
{{- if .Values.image.digest }}{{ printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}{{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}{{ end }}
{{- end }}

{{- define "holdfast.secretName" -}}
{{- if .Values.secret.existing }}{{ .Values.secret.existing }}
{{- else if .Values.secret.values }}{{ include "holdfast.fullname" . }}{{ end }}
{{- end }}

{{- /* The configuration file: what the operator says, the chart's own Kubo, and the ingress as the one proxy in front. */ -}}
{{- define "holdfast.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if and .Values.kubo.enabled (not (include "holdfast.inSecret" (dict "root" . "key" "HOLDFAST_IPFS_API_URL"))) }}
{{- $own := dict "ipfs" (dict "apiUrl" (printf "http://%s-kubo:5001" (include "holdfast.fullname" .))) }}
{{- $config = mergeOverwrite $own $config }}
{{- end }}
{{- if and .Values.ingress.enabled (not (dig "http" "trustProxy" "" $config)) }}
{{- $config = mergeOverwrite (dict "http" (dict "trustProxy" "1")) $config }}
{{- end }}
{{- $config | toYaml }}
{{- end }}

{{- /* Not empty where the Secret has this key; takes a dict of root and key. */ -}}
{{- define "holdfast.inSecret" -}}
{{- $secret := .root.Values.secret }}
{{- if or (hasKey $secret.values .key) (and (ne $secret.existing "") (has .key $secret.keys)) }}yes{{ end }}
{{- end }}

{{- /* What carries a password would stand in the ConfigMap or in a pod for all to read. The schema says so first; this, where it is skipped. */ -}}
{{- define "holdfast.refuseCredentials" -}}
{{- $said := "%s carries user and password, or a query, and would stand where everybody can read it: put it into a Secret (secret.values, or secret.existing with secret.keys) as %s." }}
{{- range $key, $name := dict "node.url" "HOLDFAST_NODE_URL" "ipfs.apiUrl" "HOLDFAST_IPFS_API_URL" "s3.endpoint" "HOLDFAST_S3_SECRET_ACCESS_KEY" }}
{{- $parts := splitList "." $key }}
{{- $given := dig (index $parts 0) (index $parts 1) "" $.Values.config | default "" | toString }}
{{- if regexMatch "[@?#]" $given }}{{ fail (printf $said (printf "config.%s" $key) $name) }}{{ end }}
{{- if and $given (hasPrefix "HOLDFAST_" $name) (hasSuffix "_URL" $name) (include "holdfast.inSecret" (dict "root" $ "key" $name)) }}{{ fail (printf "config.%s and %s of the Secret are both set: give one of them." $key $name) }}{{ end }}
{{- end }}
{{- range $index, $one := dig "backends" list .Values.config }}
{{- if or $one.secretAccessKey (regexMatch "[@?#]" (printf "%s%s" (default "" $one.endpoint) (default "" $one.apiUrl))) }}{{ fail (printf $said (printf "config.backends[%d]" $index) "a key of your own, and name /etc/holdfast/secrets/<key> as its apiUrlFile or secretAccessKeyFile") }}{{ end }}
{{- end }}
{{- $peers := dig "peers" "" .Values.config | default "" }}
{{- if kindIs "slice" $peers }}
{{- range $index, $one := $peers }}
{{- if or $one.token (regexMatch "[@?#]" (regexReplaceAll "^s3=.*" $one.source "")) }}{{ fail (printf $said (printf "config.peers[%d]" $index) "a key of your own with the token, and name /etc/holdfast/secrets/<key> as its tokenFile") }}{{ end }}
{{- end }}
{{- else if regexMatch "://[^\\s,]*@" $peers }}{{ fail (printf $said "config.peers" "HOLDFAST_PEERS") }}
{{- end }}
{{- range .Values.environment }}
{{- if regexMatch "://.*@" (default "" .value) }}{{ fail (printf $said (printf "environment %s" .name) .name) }}{{ end }}
{{- end }}
{{- range .Values.backfill.arguments }}
{{- if regexMatch "://.*@" . }}{{ fail (printf $said "an address in backfill.arguments" "SOURCE_A, say, and write $(SOURCE_A) in its place") }}{{ end }}
{{- end }}
{{- end }}

{{- /* Not empty where bytes lie outside of the archiver's volume. */ -}}
{{- define "holdfast.hasBackend" -}}
{{- $config := include "holdfast.config" . | fromYaml }}
{{- if or (dig "s3" "bucket" "" $config) (dig "ipfs" "apiUrl" "" $config) (dig "backends" list $config) (include "holdfast.inSecret" (dict "root" . "key" "HOLDFAST_IPFS_API_URL")) }}yes{{ end }}
{{- end }}

{{- /* Bytes of a quantity such as 20Gi. */ -}}
{{- define "holdfast.bytes" -}}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 }}
{{- mulf (regexFind "^[0-9.]+" . | float64) (get $units (regexFind "[A-Za-z]*$" .) | float64) | int64 }}
{{- end }}
