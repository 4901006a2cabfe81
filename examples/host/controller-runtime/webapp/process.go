//go:build !wasip1

package main

import (
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// The same in a process of its own.
func main() {
	ctrl.SetLogger(klog.Background())
	fail := func(err error) {
		if err != nil {
			klog.Fatal(err)
		}
	}
	fail(kinds.AddToScheme(scheme.Scheme))
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}})
	fail(err)
	fail(setup(manager))
	fail(manager.Start(ctrl.SetupSignalHandler()))
}
