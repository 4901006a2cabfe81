// Keeps one pod for each SimplePod: named like it, owned by it, with its image. A pod that is deleted is made again; one with another
// image is deleted, and so made again. Pods of deleted SimplePods are left to Kubernetes' garbage collector.
package main

import (
	"fmt"
	"os"

	"kubereel.dev/examples/host/guest"
)

const (
	// So that only these pods are watched, not all of the cluster.
	label, labelValue = "app.kubernetes.io/managed-by", "simplepods.slinky.dev"
	// The image that the pod was made with: the one in its container may have been changed by a webhook.
	imageAnnotation = "slinky.dev/image"
)

type key struct{ namespace, name string }

func (k key) String() string { return k.namespace + "/" + k.name }

type owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

type metadata struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	UID               string            `json:"uid,omitempty"`
	DeletionTimestamp string            `json:"deletionTimestamp,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	OwnerReferences   []owner           `json:"ownerReferences,omitempty"`
}

type object interface{ key() key }

func (m metadata) key() key { return key{m.Namespace, m.Name} }

func (m metadata) isControlledBy(uid string) bool {
	for _, owner := range m.OwnerReferences {
		if owner.Controller {
			return owner.UID == uid
		}
	}
	return false
}

type simplePod struct {
	metadata `json:"metadata"`
	Spec     struct{ Image string }
}

type pod struct {
	metadata `json:"metadata"`
}

// Objects of both kinds; nil before they are listed.
var (
	simplePods map[key]simplePod
	pods       map[key]pod
	// busy has the objects that a task takes care of; true if something changed since the task last looked.
	busy = map[key]bool{}
)

type write struct {
	method, uri string
	body        any
}

// nextWrite is what has to be written so that the pod is as it should be; nil if it is.
func nextWrite(of key) *write {
	wanted, isWanted := simplePods[of]
	if !isWanted || wanted.DeletionTimestamp != "" || pods == nil {
		return nil
	}
	path := "/api/v1/namespaces/" + of.namespace + "/pods"
	present, isPresent := pods[of]
	switch {
	case !isPresent:
		return &write{"POST", path, podOf(wanted)}
	case present.DeletionTimestamp != "" || !present.isControlledBy(wanted.UID):
		// It goes first: its deletion brings us here again.
		return nil
	case present.Annotations[imageAnnotation] != wanted.Spec.Image:
		return &write{"DELETE", path + "/" + of.name, map[string]any{"preconditions": map[string]any{"uid": present.UID}}}
	}
	return nil
}

func podOf(wanted simplePod) any {
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "Pod",
		"metadata": metadata{
			Name:            wanted.Name,
			Namespace:       wanted.Namespace,
			Labels:          map[string]string{label: labelValue},
			Annotations:     map[string]string{imageAnnotation: wanted.Spec.Image},
			OwnerReferences: []owner{{"slinky.dev/v1", "SimplePod", wanted.Name, wanted.UID, true}},
		},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": wanted.Spec.Image}}},
	}
}

// reconcile takes care of one object until there is nothing to write. At most one such task runs for an object.
func reconcile(of key) {
	defer delete(busy, of)
	var backoff guest.Backoff
	for {
		busy[of] = false
		write := nextWrite(of)
		if write == nil {
			return
		}
		response := guest.Request(write.method, write.uri, write.body)
		if err := response.Err(); err != nil {
			pause := backoff.Next()
			fmt.Fprintf(os.Stderr, "%s of pod %v: %v; next attempt in %v\n", write.method, of, err, pause)
			guest.Sleep(pause)
			continue
		}
		backoff.Reset()
		fmt.Printf("%s of pod %v: %d\n", write.method, of, response.Status)
		// The watch will show the pod. Until then there is nothing to do unless something else has changed.
		if !busy[of] {
			return
		}
	}
}

func touch(of key) {
	if _, isBusy := busy[of]; isBusy {
		busy[of] = true
		return
	}
	busy[of] = false
	guest.Go(func() { reconcile(of) })
}

// follow keeps one of the two maps up to date, and has every object looked at that may need it.
func follow[Object object](objects *map[key]Object, selection guest.Selection) {
	for event := range guest.Watch[Object](selection) {
		if event.Type == guest.Listed {
			*objects = map[key]Object{}
		}
		for _, object := range event.Objects {
			if event.Type == guest.Deleted {
				delete(*objects, object.key())
			} else {
				(*objects)[object.key()] = object
			}
			touch(object.key())
		}
		if event.Type == guest.Listed {
			for key := range simplePods {
				touch(key)
			}
		}
	}
}

func init() {
	guest.Main(func() {
		namespace := os.Getenv("NAMESPACE")
		guest.Go(func() {
			follow(&simplePods, guest.Selection{
				Group: "slinky.dev", Version: "v1", Kind: "SimplePod", Plural: "simplepods", Namespace: namespace,
			})
		})
		guest.Go(func() {
			follow(&pods, guest.Selection{
				Version: "v1", Kind: "Pod", Plural: "pods", Namespace: namespace, LabelSelector: label + "=" + labelValue,
			})
		})
	})
}

// main is never called: the host calls init functions, then run.
func main() {}
