{{/* Prefix of all names. The release alone: it is unique in its namespace. A long one ends in its digest. */}}
{{- define "berth.fullname" -}}
{{- $name := .Values.fullnameOverride | default .Release.Name -}}
{{- if not (regexMatch "^[a-z]([a-z0-9-]*[a-z0-9])?$" $name) -}}
{{- fail (printf "the release name %s (expected: a letter, then a-z, 0-9 and -; or fullnameOverride)" $name) -}}
{{- end -}}
{{- if gt (len $name) 40 -}}
{{- printf "%s-%s" (trunc 31 $name | trimSuffix "-") (sha256sum $name | trunc 8) -}}
{{- else -}}
{{- $name -}}
{{- end -}}
{{- end -}}

{{- define "berth.selector" -}}
app.kubernetes.io/name: berth
app.kubernetes.io/instance: {{ include "berth.fullname" . }}
{{- end -}}

{{- define "berth.labels" -}}
{{ include "berth.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "berth.controlNode" -}}
{{ include "berth.fullname" . }}-control-0
{{- end -}}

{{- define "berth.tokensSecret" -}}
{{ .Values.tokens.secret | default (printf "%s-tokens" (include "berth.fullname" .)) }}
{{- end -}}

{{/* Secret with the certificate of a role: (list . "control"). */}}
{{- define "berth.tlsSecret" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- index $root.Values.certificates (printf "%sSecret" $role) | default (printf "%s-%s-tls" (include "berth.fullname" $root) $role) -}}
{{- end -}}

{{/* File of a node as JSON, which YAML includes and which keeps large integers: (list . "control"). */}}
{{- define "berth.config" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $tokens := list (dict "name" "operator" "token_file" "/etc/berth/tokens/operator") (dict "name" "prometheus" "token_file" "/etc/berth/tokens/prometheus" "role" "viewer") -}}
{{- $berth := dict "admin" (dict "host" "0.0.0.0" "port" 8265 "bearer_tokens" $tokens) "health" (dict "startup_s" 30) "state_dir" "/var/lib/berth/state" -}}
{{- $http := dict "host" "0.0.0.0" "port" 8000 -}}
{{- if $root.Values.http.tlsSecret -}}
{{- $_ := set $http "ssl_certfile" "/etc/berth/https/tls.crt" -}}
{{- $_ := set $http "ssl_keyfile" "/etc/berth/https/tls.key" -}}
{{- end -}}
{{- if ne $role "instance" -}}
{{- $control := include "berth.controlNode" $root -}}
{{- $address := printf "%s.%s-nodes:7420" $control (include "berth.fullname" $root) -}}
{{- $tls := dict "cert_file" "/etc/berth/tls/tls.crt" "key_file" "/etc/berth/tls/tls.key" "ca_file" "/etc/berth/tls/ca.crt" -}}
{{- $cluster := dict "name" (include "berth.fullname" $root) "role" $role "control" (list (printf "%s@%s" $control $address)) "tls" $tls -}}
{{- if eq $role "worker" -}}
{{- $_ := set $cluster "join" (list (printf "dns:%s" $address)) -}}
{{- end -}}
{{- $_ := set $berth "cluster" $cluster -}}
{{- end -}}
{{- $file := dict "http_options" $http "logging_config" (dict "encoding" "JSON") "berth" $berth -}}
{{- mergeOverwrite $file (deepCopy $root.Values.config) | toPrettyJson -}}
{{- end -}}

{{/* Drain time in whole seconds. 90 % of it is for requests, and must be longer than the longest one. */}}
{{- define "berth.drainSeconds" -}}
{{- $drain := (.Values.config.berth).shutdown_timeout_s | default 30 | float64 -}}
{{- $longest := (.Values.config.http_options).request_timeout_s | default 0 | float64 -}}
{{- if ge $longest (mulf 0.9 $drain) -}}
{{- fail (printf "config.berth.shutdown_timeout_s: %v (expected: more than %v, so that 90 %% of it is longer than config.http_options.request_timeout_s, or a deleted pod cuts its longest requests)" $drain (round (divf $longest 0.9) 1)) -}}
{{- end -}}
{{- ceil $drain | int -}}
{{- end -}}

{{/* Pod of a role: (list . "control"). */}}
{{- define "berth.pod" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $values := $root.Values -}}
{{- $memory := int $values.resources.memoryMiB -}}
metadata:
  labels:
    {{- include "berth.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $role }}
  annotations:
    checksum/config: {{ include "berth.config" (list $root $role) | sha256sum }}
    {{- with $values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "berth.fullname" $root }}
  automountServiceAccountToken: false
  # Variables such as BERTH_HTTP_PORT would look like settings of Berth.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ add $values.preStopSeconds (include "berth.drainSeconds" $root) 15 }}
  {{- with $values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- toYaml $values.podSecurityContext | nindent 4 }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if eq $role "worker" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "berth.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ $role }}
  {{- end }}
  containers:
    - name: berth
      image: {{ printf "%s:%s" $values.image.repository ($values.image.tag | default $root.Chart.AppVersion) | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args:
        - run
        - /etc/berth/config/{{ $role }}.yaml
        {{- if ne $role "instance" }}
        - --set
        - berth.cluster.node=$(POD_NAME)
        - --set
        - berth.cluster.bind='$(POD_IP)'
        {{- end }}
        {{- if and (eq $role "control") $values.control.adopt }}
        - --adopt={{ $values.control.adopt }}
        {{- end }}
      env:
        {{- if ne $role "instance" }}
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        - name: POD_IP
          valueFrom:
            fieldRef:
              fieldPath: status.podIP
        {{- end }}
        - name: BERTH_JAVA_OPTS
          value: {{ printf "-XX:MaxRAMPercentage=50 -XX:MaxDirectMemorySize=%dm %s" (div $memory 4) $values.javaOptions | trim | quote }}
      ports:
        - name: http
          containerPort: 8000
        - name: admin
          containerPort: 8265
        {{- if ne $role "instance" }}
        - name: control
          containerPort: 7420
        - name: bus
          containerPort: 7421
        - name: data
          containerPort: 7422
        - name: https
          containerPort: 7424
        {{- end }}
      startupProbe:
        httpGet:
          {{- include "berth.probe" (list $root "healthz") | nindent 10 }}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 300
      livenessProbe:
        httpGet:
          {{- include "berth.probe" (list $root "healthz") | nindent 10 }}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet:
          {{- include "berth.probe" (list $root "readyz") | nindent 10 }}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 3
      lifecycle:
        preStop:
          exec:
            # The node serves until every proxy has seen that the pod ends. Then SIGTERM drains.
            command: [sleep, {{ $values.preStopSeconds | int | toString | quote }}]
      resources:
        requests:
          cpu: {{ $values.resources.cpuRequest | quote }}
          memory: {{ $memory }}Mi
        limits:
          cpu: {{ $values.resources.cpuLimit | quote }}
          memory: {{ $memory }}Mi
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: config
          mountPath: /etc/berth/config
          readOnly: true
        - name: tokens
          mountPath: /etc/berth/tokens
          readOnly: true
        {{- if ne $role "instance" }}
        - name: tls
          mountPath: /etc/berth/tls
          readOnly: true
        {{- end }}
        {{- if $values.http.tlsSecret }}
        - name: https
          mountPath: /etc/berth/https
          readOnly: true
        {{- end }}
        - name: state
          mountPath: /var/lib/berth
        {{- with $values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "berth.fullname" $root }}-config
    - name: tokens
      secret:
        secretName: {{ include "berth.tokensSecret" $root }}
        defaultMode: 0440
    {{- if ne $role "instance" }}
    - name: tls
      secret:
        secretName: {{ include "berth.tlsSecret" (list $root $role) }}
        defaultMode: 0440
    {{- end }}
    {{- if $values.http.tlsSecret }}
    - name: https
      secret:
        secretName: {{ $values.http.tlsSecret }}
        defaultMode: 0440
    {{- end }}
    {{- if eq $role "worker" }}
    # Jars that the worker fetches from the control node.
    - name: state
      emptyDir:
        sizeLimit: {{ $values.workerStorage }}
    {{- end }}
    {{- with $values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "berth.probe" -}}
{{- $root := index . 0 -}}
path: /-/{{ index . 1 }}
port: http
{{- if $root.Values.http.tlsSecret }}
scheme: HTTPS
{{- end }}
{{- end -}}
