module berth.dev/deploy/custom-resources

go 1.24.0

require (
	github.com/cert-manager/cert-manager v1.18.2
	github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring v0.83.0
	sigs.k8s.io/yaml v1.4.0
)
