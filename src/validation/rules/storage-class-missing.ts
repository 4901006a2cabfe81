import type { JsonObject } from "../../trace/json/exact-json.ts"
import { withChangedAt } from "../references/changed-objects.ts"
import { memberRemovals, withoutNamed } from "../references/member-references.ts"
import { listIn, objectIn, podSpecsOf, textIn, withPodSpecs } from "../references/pod-specs.ts"
import type { Need, Rule } from "../rule.ts"

const kind = "storage.k8s.io/StorageClass"
const member = "storageClassName"

/** Storage classes that the trace lacks: claims stay pending, and their pods with them. */
export const storageClassMissing: Rule = {
  code: "E0012",
  name: "storage_class_missing",
  severity: "error",
  summary: "A claim, or a template of claims, names a StorageClass that the trace does not have.",
  explanation: [
    "A claim of an unknown StorageClass stays pending, and so do the pods that mount it.",
    "Checked are PersistentVolumeClaims, the claim templates of StatefulSets, and ephemeral volumes. An empty name asks for a volume without class and is exempt. A class that only names volumes made by hand needs no StorageClass; it counts all the same, because a replay does not write PersistentVolumes.",
    "Record StorageClasses too, or create the class in the replay cluster. The fix removes storageClassName, so that the cluster's default class is used.",
  ],
  *needs(traced) {
    const { gvk, object } = traced
    const spec = objectIn(object, "spec")
    if (gvk === "v1.PersistentVolumeClaim") yield* needOf(spec, "spec")
    if (gvk === "apps/v1.StatefulSet")
      for (const template of listIn(spec ?? {}, "volumeClaimTemplates"))
        yield* needOf(objectIn(template, "spec"), "spec.volumeClaimTemplates[*].spec")
    for (const pod of podSpecsOf(traced))
      for (const volume of listIn(pod.spec, "volumes")) {
        const template = objectIn(objectIn(volume, "ephemeral"), "volumeClaimTemplate")
        yield* needOf(objectIn(template, "spec"), `${pod.path}.volumes[*].ephemeral.volumeClaimTemplate.spec`)
      }
  },
  fix: {
    removes: "storageClassName",
    apply: (traced, isMissing) => {
      const change = (holder: JsonObject): JsonObject => withoutNamed(holder, [member], (name) => isMissing(kind, name))
      const object = withPodSpecs(traced, (spec) =>
        withChangedAt(spec, [["volumes", "*", "ephemeral", "volumeClaimTemplate", "spec"]], change),
      )
      if (traced.gvk === "v1.PersistentVolumeClaim") return withChangedAt(object, [["spec"]], change)
      if (traced.gvk !== "apps/v1.StatefulSet") return object
      return withChangedAt(object, [["spec", "volumeClaimTemplates", "*", "spec"]], change)
    },
    removals: memberRemovals(),
  },
}

function* needOf(holder: JsonObject | undefined, element: string): Generator<Need> {
  const name = textIn(holder, member)
  if (name !== "") yield { target: { kind, namespace: "", name }, kind, name, element, by: member }
}
