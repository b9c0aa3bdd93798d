{{- define "onetool.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "onetool.selector" -}}
app.kubernetes.io/name: onetool
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "onetool.labels" -}}
{{ include "onetool.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{- define "onetool.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "onetool.name" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{- define "onetool.image" -}}
{{ required "image.repository is required: the image that you built from the Dockerfile of OneTool." .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "onetool.secret" -}}
{{ required "existingSecret is required: the name of the Secret with keys and URLs." .Values.existingSecret }}
{{- end -}}

{{- define "onetool.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "onetool.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "onetool.spread" -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "onetool.selector" . | nindent 6 }}
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "onetool.selector" . | nindent 6 }}
{{- end -}}

{{- define "onetool.secretVariable" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: {name: {{ .secret }}, key: {{ .key }}}
{{- end -}}

{{/* Variables of a server or worker; component: which of them. */}}
{{- define "onetool.env" -}}
{{- $secret := include "onetool.secret" .root -}}
{{- with .root.Values -}}
- name: HOME
  value: /tmp
{{- if .metrics.enabled }}
- name: ONETOOL_METRICS
  value: {{ printf "0.0.0.0:%v" .metrics.port | quote }}
{{- end }}
- name: ONETOOL_PUBLIC_URL
  value: {{ required "publicUrl is required, for example https://tools.example.com." .publicUrl | quote }}
{{ include "onetool.secretVariable" (dict "name" "ONETOOL_KEYS" "secret" $secret "key" "keys") }}
{{ include "onetool.secretVariable" (dict "name" "ONETOOL_DATABASE_URL" "secret" $secret "key" (printf "%s-database-url" $.component)) }}
{{- if .pgbouncer.enabled }}
{{ include "onetool.secretVariable" (dict "name" "ONETOOL_POOLED_DATABASE_URL" "secret" $secret "key" (printf "%s-pooled-database-url" $.component)) }}
{{- end }}
{{- range .clusters }}
{{ include "onetool.secretVariable" (dict "name" (printf "ONETOOL_CLUSTER_%s_URL" (upper .)) "secret" $secret "key" (printf "%s-cluster-%s-url" $.component .)) }}
{{- end }}
{{- if .redis.enabled }}
{{ include "onetool.secretVariable" (dict "name" "ONETOOL_REDIS_URL" "secret" $secret "key" "redis-url") }}
{{- end }}
{{- if .oidc.issuer }}
- name: ONETOOL_OIDC_ISSUER
  value: {{ .oidc.issuer | quote }}
- name: ONETOOL_OIDC_CLIENT_ID
  value: {{ required "oidc.clientId is required with oidc.issuer." .oidc.clientId | quote }}
{{- if .oidc.hasClientSecret }}
{{ include "onetool.secretVariable" (dict "name" "ONETOOL_OIDC_CLIENT_SECRET" "secret" $secret "key" "oidc-client-secret") }}
{{- end }}
{{- with .oidc.scopes }}
- name: ONETOOL_OIDC_SCOPES
  value: {{ . | quote }}
{{- end }}
{{- with .oidc.groupsClaim }}
- name: ONETOOL_OIDC_GROUPS_CLAIM
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := .env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* What servers and workers have in common; values: theirs. */}}
{{- define "onetool.pod" -}}
serviceAccountName: {{ include "onetool.serviceAccount" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- include "onetool.podSecurity" . | nindent 2 }}
topologySpreadConstraints: {{- include "onetool.spread" . | nindent 2 }}
volumes:
  - name: tmp
    emptyDir: {sizeLimit: 1Gi}
  {{- include "onetool.databaseCa" .root | nindent 2 }}
{{- include "onetool.placement" .values }}
{{- end -}}

{{/* Where pods run. */}}
{{- define "onetool.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The volume with the certificate of the database's authority, if there is one. */}}
{{- define "onetool.databaseCa" -}}
{{- with .Values.databaseCaSecret -}}
- name: database-ca
  secret: {secretName: {{ . }}, items: [{key: ca.crt, path: ca.crt}]}
{{- end -}}
{{- end -}}

{{/* A container of OneTool, without its arguments; values: those of the server, the worker or the migration. */}}
{{- define "onetool.container" -}}
image: {{ include "onetool.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext: {{- include "onetool.containerSecurity" . | nindent 2 }}
resources: {{- toYaml .values.resources | nindent 2 }}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  {{- if .root.Values.databaseCaSecret }}
  - {name: database-ca, mountPath: /etc/onetool/database, readOnly: true}
  {{- end }}
{{- end -}}
