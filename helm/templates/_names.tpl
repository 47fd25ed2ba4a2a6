{{- define "holdfast.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 45 | trimSuffix "-" }}
{{- else }}{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}{{ .Release.Name | trunc 45 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $name | trunc 45 | trimSuffix "-" }}{{ end }}{{ end }}
{{- end }}

{{- define "holdfast.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "holdfast.labels" -}}
{{ include "holdfast.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
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

{{- /* The configuration file: what the operator says, and the chart's own Kubo. */ -}}
{{- define "holdfast.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if .Values.kubo.enabled }}
{{- $own := dict "ipfs" (dict "apiUrl" (printf "http://%s-kubo:5001" (include "holdfast.fullname" .))) }}
{{- $config = mergeOverwrite $own $config }}
{{- end }}
{{- $config | toYaml }}
{{- end }}

{{- /* Not empty where bytes lie outside of the archiver's volume. */ -}}
{{- define "holdfast.hasBackend" -}}
{{- $config := include "holdfast.config" . | fromYaml }}
{{- if or (dig "s3" "bucket" "" $config) (dig "ipfs" "apiUrl" "" $config) (dig "backends" list $config) }}yes{{ end }}
{{- end }}
