// Command custom-resources decodes the custom resources of rendered manifests strictly into the Go
// types of their operators: an unknown field, or one of another type, is an error.
package main

import (
	"fmt"
	"os"
	"strings"

	certificates "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

func target(kind string) any {
	switch kind {
	case "cert-manager.io/v1/Certificate":
		return &certificates.Certificate{}
	case "cert-manager.io/v1/Issuer":
		return &certificates.Issuer{}
	case "monitoring.coreos.com/v1/PrometheusRule":
		return &monitoring.PrometheusRule{}
	case "monitoring.coreos.com/v1/ServiceMonitor":
		return &monitoring.ServiceMonitor{}
	}
	return nil
}

func main() {
	failed := false
	count := 0
	for _, name := range os.Args[1:] {
		content, err := os.ReadFile(name)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for _, document := range strings.Split("\n"+string(content), "\n---\n") {
			var head struct{ APIVersion, Kind string }
			if err := yaml.Unmarshal([]byte(document), &head); err != nil {
				fmt.Printf("%s: %v\n", name, err)
				failed = true
				continue
			}
			kind := head.APIVersion + "/" + head.Kind
			into := target(kind)
			if into == nil {
				if strings.Contains(strings.Split(head.APIVersion, "/")[0], ".") && !strings.HasSuffix(strings.Split(head.APIVersion, "/")[0], ".k8s.io") {
					fmt.Printf("%s: %s: no type for it\n", name, kind)
					failed = true
				}
				continue
			}
			if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
				fmt.Printf("%s: %s: %v\n", name, kind, err)
				failed = true
			}
			count++
		}
	}
	fmt.Printf("%d custom resources\n", count)
	if failed || count == 0 {
		os.Exit(1)
	}
}
