// Informers of client-go for the resources that are named (pods, deployments.apps). Prints the versions of all objects once the caches are in step, and again
// with each change, until it is ended.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"sort"
	"sync"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// What the caches hold: by resource, NAMESPACE/NAME@VERSION.
type printer struct {
	sync.Mutex
	stores   map[string]cache.Store
	isInStep bool
}

func (p *printer) print() {
	p.Lock()
	defer p.Unlock()
	if !p.isInStep {
		return
	}
	held := map[string][]string{}
	for name, store := range p.stores {
		held[name] = []string{}
		for _, each := range store.List() {
			object := each.(metav1.Object)
			held[name] = append(held[name], fmt.Sprintf("%s/%s@%s", object.GetNamespace(), object.GetName(), object.GetResourceVersion()))
		}
		sort.Strings(held[name])
	}
	line, _ := json.Marshal(held)
	fmt.Println(string(line))
}

func run(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	printed := &printer{stores: map[string]cache.Store{}}
	for _, name := range os.Args[1:] {
		group := schema.ParseGroupResource(name)
		informer := factory.ForResource(group.WithVersion("v1")).Informer()
		printed.stores[name] = informer.GetStore()
		changed := func(any) { printed.print() }
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    changed,
			UpdateFunc: func(_, _ any) { printed.print() },
			DeleteFunc: changed,
		}); err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	for resource, isInStep := range factory.WaitForCacheSync(ctx.Done()) {
		if !isInStep {
			return fmt.Errorf("the cache of %s is not in step", resource)
		}
	}
	printed.Lock()
	printed.isInStep = true
	printed.Unlock()
	printed.print()
	<-ctx.Done()
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
