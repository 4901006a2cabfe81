//go:build wasip1

package main

import (
	"context"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"kubereel.dev/guests/go"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	}, ctrl.Options{
		Scheme:                 scheme.Scheme,
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Cache: cache.Options{
			DefaultNamespaces: namespaces(),
			ByObject:          map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: labels.SelectorFromSet(labels.Set{label: labelValue})}},
		},
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).For(&SimplePod{}).Owns(&corev1.Pod{}).
		Complete(&reconciler{manager.GetClient(), manager.GetEventRecorder("simplepods")})
	if err != nil {
		return err
	}
	return manager.Start(context.Background())
}

// namespaces is nil for all of them.
func namespaces() map[string]cache.Config {
	if namespace := os.Getenv("NAMESPACE"); namespace != "" {
		return map[string]cache.Config{namespace: {}}
	}
	return nil
}

func init() { host.Main(start) }

// main is never called: the host calls init functions, then run.
func main() {}
