//go:build wasip1

package main

import (
	"context"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"kubereel.dev/guests/go"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// start is main of a process of its own, but for the rest.Config: no flags, no signals, no port, no election of a leader.
func start() error {
	ctrl.SetLogger(klog.Background())
	if err := kinds.AddToScheme(scheme.Scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(&rest.Config{
		Host:          "http://kubernetes",
		Transport:     host.Transport,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"},
		// The host has the limits of a module, in webapp.yaml.
		QPS: -1,
	}, ctrl.Options{Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0"})
	if err != nil {
		return err
	}
	if err := setup(manager); err != nil {
		return err
	}
	return manager.Start(context.Background())
}

func init() { host.Main(start) }

// main is never called: the host calls init functions, then run.
func main() {}
