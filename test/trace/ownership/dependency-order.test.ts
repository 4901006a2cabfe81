import fc from "fast-check"
import { expect, test } from "vitest"
import { inDependencyOrder } from "../../../src/trace/ownership/dependency-order.ts"

const ordered = [
  "v1.Namespace",
  "apiextensions.k8s.io/v1.CustomResourceDefinition",
  "scheduling.k8s.io/v1.PriorityClass",
  "v1.ConfigMap",
  "v1.Secret",
  "v1.ServiceAccount",
  "rbac.authorization.k8s.io/v1.RoleBinding",
  "v1.PersistentVolumeClaim",
  "v1.Service",
  "apps/v1.DaemonSet",
  "apps/v1.Deployment",
  "example.com/v1.App",
  "serving.knative.dev/v1.Service",
  "batch/v1.Job",
  "v1.Pod",
  "autoscaling/v2.HorizontalPodAutoscaler",
  "admissionregistration.k8s.io/v1.ValidatingWebhookConfiguration",
]

test("dependencies come first, whatever the input order", () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(ordered), (some) => {
      expect(inDependencyOrder(some)).toEqual(ordered.filter((gvk) => some.includes(gvk)))
    }),
  )
})
