//go:build wasip1

// What operators use of controller-runtime beside what examples/host/controller-runtime does: finalizers, apply, requests from other kinds, filters of
// events, and requests after some time. It keeps a copy of each ConfigMap, with a word from the Secret of its name.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applied "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"kubereel.dev/guests/go"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	finalizer = "example.com/copy"
	suffix    = "-copy"
	mostBeats = 3
)

type reconciler struct {
	client.Client
	// beats counts the runs of an object that came by themselves.
	beats map[types.NamespacedName]int
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if strings.HasSuffix(request.Name, suffix) {
		panic("a copy came through the filter")
	}
	var config corev1.ConfigMap
	if err := r.Get(ctx, request.NamespacedName, &config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	name := config.Name + suffix
	if !config.DeletionTimestamp.IsZero() {
		copied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: config.Namespace}}
		if err := client.IgnoreNotFound(r.Delete(ctx, copied)); err != nil || !controllerutil.RemoveFinalizer(&config, finalizer) {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.Update(ctx, &config)
	}
	if controllerutil.AddFinalizer(&config, finalizer) {
		return ctrl.Result{}, r.Update(ctx, &config)
	}
	var secret corev1.Secret
	if err := r.Get(ctx, request.NamespacedName, &secret); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	beat := min(r.beats[request.NamespacedName]+1, mostBeats)
	r.beats[request.NamespacedName] = beat
	data := map[string]string{"word": string(secret.Data["word"]), "beats": fmt.Sprint(beat)}
	copied := applied.ConfigMap(name, config.Namespace).WithData(data)
	if err := r.Apply(ctx, copied, client.FieldOwner("guest"), client.ForceOwnership); err != nil || beat == mostBeats {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil
}

func start() error {
	ctrl.SetLogger(klog.Background())
	manager, err := ctrl.NewManager(&rest.Config{
		Host:          "http://kubernetes",
		Transport:     host.Transport,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}, ctrl.Options{
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Cache:                  cache.Options{DefaultNamespaces: map[string]cache.Config{"default": {}}},
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&corev1.ConfigMap{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, secret client.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(secret)}}
		})).
		WithEventFilter(predicate.NewPredicateFuncs(func(object client.Object) bool {
			return !strings.HasSuffix(object.GetName(), suffix)
		})).
		Complete(&reconciler{manager.GetClient(), map[types.NamespacedName]int{}})
	if err != nil {
		return err
	}
	return manager.Start(context.Background())
}

func init() { host.Main(start) }

func main() {}
