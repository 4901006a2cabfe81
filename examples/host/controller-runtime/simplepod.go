// Keeps one pod for each SimplePod, as examples/host/go does, with controller-runtime. What is not as in a process of its own is in main.go.
package main

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

const (
	// So that only these pods are watched, not all of the cluster.
	label, labelValue = "app.kubernetes.io/managed-by", "simplepods.slinky.dev"
	// The image that the pod was made with: the one in its container may have been changed by a webhook.
	imageAnnotation = "slinky.dev/image"
)

type SimplePod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Image string `json:"image"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

func (s *SimplePod) DeepCopyObject() runtime.Object {
	copied := *s
	s.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Status.Conditions = slices.Clone(s.Status.Conditions)
	return &copied
}

type SimplePodList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []SimplePod `json:"items"`
}

func (l *SimplePodList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = nil
	for _, each := range l.Items {
		copied.Items = append(copied.Items, *each.DeepCopyObject().(*SimplePod))
	}
	return &copied
}

var kinds = (&scheme.Builder{GroupVersion: schema.GroupVersion{Group: "slinky.dev", Version: "v1"}}).
	Register(&SimplePod{}, &SimplePodList{})

type reconciler struct {
	client.Client
	events events.EventRecorder
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var wanted SimplePod
	if err := r.Get(ctx, request.NamespacedName, &wanted); err != nil || !wanted.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var pod corev1.Pod
	err := r.Get(ctx, request.NamespacedName, &pod)
	switch {
	case apierrors.IsNotFound(err):
		made := podOf(&wanted)
		if err := ctrl.SetControllerReference(&wanted, made, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		log.FromContext(ctx).Info("creates the pod")
		if err := r.Create(ctx, made); err != nil {
			return ctrl.Result{}, err
		}
		r.events.Eventf(&wanted, made, corev1.EventTypeNormal, "Created", "Create", "made a pod with image %s", wanted.Spec.Image)
		return ctrl.Result{}, nil
	case err != nil || !pod.DeletionTimestamp.IsZero() || !metav1.IsControlledBy(&pod, &wanted):
		// It goes first: its deletion brings us here again.
		return ctrl.Result{}, err
	case pod.Annotations[imageAnnotation] != wanted.Spec.Image:
		log.FromContext(ctx).Info("deletes the pod, which has another image")
		return ctrl.Result{}, client.IgnoreNotFound(r.Delete(ctx, &pod, client.Preconditions{UID: &pod.UID}))
	}
	return ctrl.Result{}, r.say(ctx, &wanted, &pod)
}

// say puts the pod's condition Ready into the object's status.
func (r *reconciler) say(ctx context.Context, wanted *SimplePod, pod *corev1.Pod) error {
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "PodNotReady", ObservedGeneration: wanted.Generation}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			ready.Status, ready.Reason = metav1.ConditionTrue, "PodReady"
		}
	}
	before := wanted.DeepCopyObject().(client.Object)
	if !meta.SetStatusCondition(&wanted.Status.Conditions, ready) {
		return nil
	}
	return client.IgnoreNotFound(r.Status().Patch(ctx, wanted, client.MergeFrom(before)))
}

func podOf(wanted *SimplePod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:        wanted.Name,
			Namespace:   wanted.Namespace,
			Labels:      map[string]string{label: labelValue},
			Annotations: map[string]string{imageAnnotation: wanted.Spec.Image},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: wanted.Spec.Image}}},
	}
}
