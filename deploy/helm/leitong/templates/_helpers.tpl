{{- define "leitong.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "leitong.selector" -}}
app.kubernetes.io/name: leitong
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "leitong.labels" -}}
{{ include "leitong.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "leitong.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "leitong.config" -}}
{{ .Values.config }}
{{- if .Values.api.enabled }}
{{ .Values.api.config }}
{{- end }}
{{- end -}}

{{- define "leitong.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "leitong.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "leitong.environment" -}}
env:
  - name: KAFKA_BOOTSTRAP
    value: {{ .Values.kafka.bootstrapServers | quote }}
envFrom:
  - secretRef:
      name: {{ .Values.secretName | quote }}
      # Optional: brokers may need no authentication. A worker names missing variables when it starts.
      optional: true
{{- end -}}
