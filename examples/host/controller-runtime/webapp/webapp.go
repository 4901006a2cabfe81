// Keeps a Deployment, a Service and a ConfigMap for each WebApp, as examples/host/webapp/webapp.ts does, with controller-runtime. What is not as in a process of its
// own is in main.go.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

const (
	manager   = "webapp"
	finalizer = "example.com/routes"
	routes    = "webapp-routes"
)

type WebAppSpec struct {
	Image          string            `json:"image"`
	Replicas       int32             `json:"replicas"`
	Port           int32             `json:"port"`
	Settings       map[string]string `json:"settings,omitempty"`
	SharedSettings string            `json:"sharedSettings,omitempty"`
}

type WebAppStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	ReadyReplicas      int32              `json:"readyReplicas"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type WebApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              WebAppSpec   `json:"spec"`
	Status            WebAppStatus `json:"status,omitzero"`
}

func (w *WebApp) DeepCopyObject() runtime.Object {
	copied := *w
	w.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Status.Conditions = slices.Clone(w.Status.Conditions)
	return &copied
}

type WebAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []WebApp `json:"items"`
}

func (l *WebAppList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = nil
	for _, each := range l.Items {
		copied.Items = append(copied.Items, *each.DeepCopyObject().(*WebApp))
	}
	return &copied
}

var kinds = (&scheme.Builder{GroupVersion: schema.GroupVersion{Group: "example.com", Version: "v1"}}).
	Register(&WebApp{}, &WebAppList{})

type reconciler struct {
	client.Client
	events events.EventRecorder
}

// setup registers the controller, as in any program with a manager.
func setup(manager ctrl.Manager) error {
	r := &reconciler{manager.GetClient(), manager.GetEventRecorder("webapp")}
	return ctrl.NewControllerManagedBy(manager).For(&WebApp{}).
		Owns(&appsv1.Deployment{}).Owns(&corev1.Service{}).Owns(&corev1.ConfigMap{}).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.sharing)).
		Complete(r)
}

// sharing finds the WebApps that use a ConfigMap.
func (r *reconciler) sharing(ctx context.Context, object client.Object) (requests []reconcile.Request) {
	var apps WebAppList
	if r.List(ctx, &apps, client.InNamespace(object.GetNamespace())) != nil {
		return nil
	}
	for _, app := range apps.Items {
		if app.Spec.SharedSettings == object.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&app)})
		}
	}
	return requests
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var app WebApp
	if err := r.Get(ctx, request.NamespacedName, &app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := app.DeepCopyObject().(client.Object)
	if !app.DeletionTimestamp.IsZero() {
		if err := r.route(ctx, &app, nil); err != nil || !controllerutil.RemoveFinalizer(&app, finalizer) {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, client.IgnoreNotFound(r.Patch(ctx, &app, client.MergeFrom(before)))
	}
	if controllerutil.AddFinalizer(&app, finalizer) {
		return ctrl.Result{}, r.Patch(ctx, &app, client.MergeFrom(before))
	}

	sources := []string{app.Name}
	var shared corev1.ConfigMap
	missing := false
	if app.Spec.SharedSettings != "" {
		sources = append(sources, app.Spec.SharedSettings)
		err := r.Get(ctx, types.NamespacedName{Namespace: app.Namespace, Name: app.Spec.SharedSettings}, &shared)
		if missing = apierrors.IsNotFound(err); err != nil && !missing {
			return ctrl.Result{}, err
		}
	}
	if err := r.applyParts(ctx, &app, sources, shared.Data); err != nil {
		return ctrl.Result{}, err
	}
	address := app.Name + ":" + strconv.Itoa(int(app.Spec.Port))
	if err := r.route(ctx, &app, &address); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.say(ctx, &app, missing)
}

func (r *reconciler) applyParts(ctx context.Context, app *WebApp, sources []string, shared map[string]string) error {
	labels := map[string]string{"app.kubernetes.io/name": app.Name, "app.kubernetes.io/managed-by": manager}
	owner := applymeta.OwnerReference().WithAPIVersion("example.com/v1").WithKind("WebApp").WithName(app.Name).
		WithUID(app.UID).WithController(true).WithBlockOwnerDeletion(true)
	text, err := json.Marshal([]map[string]string{app.Spec.Settings, shared})
	if err != nil {
		return err
	}
	hash := sha256.Sum256(text)
	var environment []*applycore.EnvFromSourceApplyConfiguration
	for _, name := range sources {
		environment = append(environment, applycore.EnvFromSource().WithConfigMapRef(applycore.ConfigMapEnvSource().WithName(name)))
	}
	container := applycore.Container().WithName("web").WithImage(app.Spec.Image).WithEnvFrom(environment...).
		WithPorts(applycore.ContainerPort().WithContainerPort(app.Spec.Port))
	template := applycore.PodTemplateSpec().WithLabels(labels).
		WithAnnotations(map[string]string{"example.com/settings": hex.EncodeToString(hash[:8])}).
		WithSpec(applycore.PodSpec().WithContainers(container))
	for _, part := range []runtime.ApplyConfiguration{
		applycore.ConfigMap(app.Name, app.Namespace).WithLabels(labels).WithOwnerReferences(owner).WithData(app.Spec.Settings),
		applycore.Service(app.Name, app.Namespace).WithLabels(labels).WithOwnerReferences(owner).
			WithSpec(applycore.ServiceSpec().WithSelector(labels).WithPorts(applycore.ServicePort().WithPort(app.Spec.Port))),
		applyapps.Deployment(app.Name, app.Namespace).WithLabels(labels).WithOwnerReferences(owner).
			WithSpec(applyapps.DeploymentSpec().WithReplicas(app.Spec.Replicas).WithTemplate(template).
				WithSelector(applymeta.LabelSelector().WithMatchLabels(labels))),
	} {
		if err := r.Apply(ctx, part, client.FieldOwner(manager), client.ForceOwnership); err != nil {
			return err
		}
	}
	return nil
}

// route enters the WebApp in the ConfigMap of all routes, or takes it out.
func (r *reconciler) route(ctx context.Context, app *WebApp, address *string) error {
	var all corev1.ConfigMap
	err := r.Get(ctx, types.NamespacedName{Namespace: app.Namespace, Name: routes}, &all)
	if apierrors.IsNotFound(err) && address != nil {
		all.Name, all.Namespace, all.Data = routes, app.Namespace, map[string]string{app.Name: *address}
		return r.Create(ctx, &all)
	}
	known, isKnown := all.Data[app.Name]
	if err != nil || (address == nil && !isKnown) || (address != nil && known == *address) {
		return client.IgnoreNotFound(err)
	}
	text, err := json.Marshal(map[string]any{"data": map[string]*string{app.Name: address}})
	if err != nil {
		return err
	}
	return r.Patch(ctx, &all, client.RawPatch(types.MergePatchType, text))
}

func (r *reconciler) say(ctx context.Context, app *WebApp, missing bool) error {
	var deployment appsv1.Deployment
	if err := r.Get(ctx, client.ObjectKeyFromObject(app), &deployment); client.IgnoreNotFound(err) != nil {
		return err
	}
	ready := deployment.Status.ReadyReplicas
	condition := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "ReplicasNotReady", ObservedGeneration: app.Generation}
	condition.Message = fmt.Sprintf("%d of %d replicas are ready", ready, app.Spec.Replicas)
	switch {
	case missing:
		condition.Reason, condition.Message = "SettingsMissing", "there is no ConfigMap "+app.Spec.SharedSettings
	case ready >= app.Spec.Replicas:
		condition.Status, condition.Reason = metav1.ConditionTrue, "AllReady"
	}
	before := app.DeepCopyObject().(*WebApp)
	former := meta.FindStatusCondition(before.Status.Conditions, "Ready")
	changed := meta.SetStatusCondition(&app.Status.Conditions, condition)
	if !changed && app.Status.ReadyReplicas == ready && app.Status.ObservedGeneration == app.Generation {
		return nil
	}
	app.Status.ReadyReplicas, app.Status.ObservedGeneration = ready, app.Generation
	if err := r.Status().Patch(ctx, app, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	if former == nil || former.Reason != condition.Reason {
		kind := corev1.EventTypeWarning
		if condition.Status == metav1.ConditionTrue {
			kind = corev1.EventTypeNormal
		}
		r.events.Eventf(app, nil, kind, condition.Reason, "Reconcile", "%s", condition.Message)
	}
	return nil
}
