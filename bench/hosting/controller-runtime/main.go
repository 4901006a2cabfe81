// One controller as a process of its own, built with controller-runtime as its documentation shows it: a manager with a cache of
// typed objects, and one reconciler. It is for the first kind; objects of the others wake it as well.
//
// Arguments: the port, then the kinds as `v1.Pod` or `apps/v1.ControllerRevision`. Prints `{"synced":true}` when the list of every kind has been
// reconciled, then `{"measured":{"latencies":[[MICROS,1],…]}}` for each mark (bench/hosting/change-stamp.ts). Ends with its standard input.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	changeAnnotation = "bench/at"
	pollInterval     = 20 * time.Millisecond
)

// say prints one line; only one goroutine at a time calls it.
func say(line any) error {
	return json.NewEncoder(os.Stdout).Encode(line)
}

type measured struct {
	Latencies [][2]int64 `json:"latencies"`
}

// reconciler notes when changes arrived. One worker runs it, which is the default of controller-runtime, so its state needs no lock.
type reconciler struct {
	cached  client.Reader
	kinds   []schema.GroupVersionKind
	entries atomic.Int64
	tally   measured
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	entered := time.Now().UnixMicro()
	defer r.entries.Add(1)
	kind, name := r.keyOf(request.Name)
	object, err := newObject(r.kinds[kind])
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.cached.Get(ctx, types.NamespacedName{Namespace: request.Namespace, Name: name}, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	stamp, isChange := object.GetAnnotations()[changeAnnotation]
	if !isChange {
		return ctrl.Result{}, nil
	}
	if strings.HasPrefix(stamp, "0") {
		told := r.tally
		r.tally = measured{Latencies: [][2]int64{}}
		return ctrl.Result{}, say(map[string]measured{"measured": told})
	}
	sent, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.tally.Latencies = append(r.tally.Latencies, [2]int64{entered - sent, 1})
	return ctrl.Result{}, nil
}

// keyOf is the inverse of nameOf: no object of the bench has a dot in its name.
func (r *reconciler) keyOf(name string) (kind int, object string) {
	if number, rest, isOther := strings.Cut(name, "."); isOther {
		if kind, err := strconv.Atoi(number); err == nil {
			return kind, rest
		}
	}
	return 0, name
}

func nameOf(kind int, name string) string { return fmt.Sprintf("%d.%s", kind, name) }

func newObject(kind schema.GroupVersionKind) (client.Object, error) {
	object, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	return object.(client.Object), nil
}

// kindOf reads `apps/v1.ControllerRevision`.
func kindOf(text string) (schema.GroupVersionKind, error) {
	dot := strings.LastIndex(text, ".")
	if dot < 0 {
		return schema.GroupVersionKind{}, fmt.Errorf("%q is no kind: it needs a version, as in v1.Pod", text)
	}
	return schema.FromAPIVersionAndKind(text[:dot], text[dot+1:]), nil
}

func run(ctx context.Context, port string, kinds []schema.GroupVersionKind) error {
	config := &rest.Config{Host: "http://127.0.0.1:" + port, WarningHandler: rest.NoWarnings{}}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme.Scheme,
		Metrics: server.Options{BindAddress: "0"},
		// What the host drops as well; the objects would be twice as large.
		Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return err
	}
	reconciler := &reconciler{cached: manager.GetClient(), kinds: kinds, tally: measured{Latencies: [][2]int64{}}}
	subject, err := newObject(kinds[0])
	if err != nil {
		return err
	}
	builder := ctrl.NewControllerManagedBy(manager).Named("bench").For(subject)
	for index, kind := range kinds[1:] {
		watched, err := newObject(kind)
		if err != nil {
			return err
		}
		toRequest := func(_ context.Context, object client.Object) []ctrl.Request {
			name := types.NamespacedName{Namespace: object.GetNamespace(), Name: nameOf(index+1, object.GetName())}
			return []ctrl.Request{{NamespacedName: name}}
		}
		builder = builder.Watches(watched, handler.EnqueueRequestsFromMapFunc(toRequest))
	}
	if err := builder.Complete(reconciler); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	listed, err := listedObjects(ctx, manager.GetCache(), kinds)
	if err != nil {
		return err
	}
	for reconciler.entries.Load() < listed {
		select {
		case err := <-ended:
			return err
		case <-time.After(pollInterval):
		}
	}
	if err := say(map[string]bool{"synced": true}); err != nil {
		return err
	}
	return <-ended
}

// listedObjects waits for the lists of all kinds: each object in them is reconciled at least once.
func listedObjects(ctx context.Context, cached cache.Cache, kinds []schema.GroupVersionKind) (int64, error) {
	if !cached.WaitForCacheSync(ctx) {
		return 0, fmt.Errorf("the cache has ended before it was complete")
	}
	var count int64
	for _, kind := range kinds {
		list, err := scheme.Scheme.New(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err != nil {
			return 0, err
		}
		if err := cached.List(ctx, list.(client.ObjectList), client.UnsafeDisableDeepCopy); err != nil {
			return 0, err
		}
		count += int64(meta.LenList(list))
	}
	return count, nil
}

func main() {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "arguments: PORT KIND…")
		os.Exit(2)
	}
	kinds := make([]schema.GroupVersionKind, 0, len(os.Args)-2)
	for _, text := range os.Args[2:] {
		kind, err := kindOf(text)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		kinds = append(kinds, kind)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := run(ctx, os.Args[1], kinds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
