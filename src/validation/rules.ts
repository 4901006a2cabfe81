/** All rules, in the order of their numbers. */

import type { JsonObject } from "../trace/json/exact-json.ts"
import { withMember, withoutMember } from "../trace/json/members.ts"
import { hasPrescribedName, isBuiltInKind } from "../trace/sanitising/built-in-kinds.ts"
import { kindWithoutVersion } from "./present-objects.ts"
import { withoutEntries } from "./references/list-entries.ts"
import { memberRemovals, withoutNamed } from "./references/member-references.ts"
import { listIn, objectIn, podSpecsOf, textIn, withPodSpecs } from "./references/pod-specs.ts"
import { volumeFix, volumeNeeds } from "./references/volume-references.ts"
import type { Rule } from "./rule.ts"
import { environmentConfigMapMissing } from "./rules/environment-config-map-missing.ts"
import { environmentSecretMissing } from "./rules/environment-secret-missing.ts"
import { imagePullSecretMissing } from "./rules/image-pull-secret-missing.ts"
import { namespaceMissing } from "./rules/namespace-missing.ts"
import { priorityClassMissing } from "./rules/priority-class-missing.ts"
import { serviceAccountMissing } from "./rules/service-account-missing.ts"
import { storageClassMissing } from "./rules/storage-class-missing.ts"
import { templatePathMissing } from "./rules/template-path-missing.ts"
import { volumeClaimMissing } from "./rules/volume-claim-missing.ts"
import { volumeConfigMapMissing } from "./rules/volume-config-map-missing.ts"

const ownerOf = (reference: JsonObject): { readonly kind: string; readonly name: string } => ({
  kind: kindWithoutVersion(`${textIn(reference, "apiVersion")}.${textIn(reference, "kind")}`),
  name: textIn(reference, "name"),
})

/** Owners that the trace lacks: the garbage collector deletes what they own. */
const ownerMissing: Rule = {
  code: "E0010",
  name: "owner_missing",
  severity: "error",
  isOfRecordedKinds: true,
  summary: "An object names an owner that the trace does not have.",
  explanation: [
    "The garbage collector deletes objects whose owners do not exist, seconds after SimKube has created them; reel replay leaves such references out, so that nothing manages the object.",
    "An owner may be in the object's namespace or in none. A trace for SimKube of Deployments and Pods without the ReplicaSets between them has such findings: record ReplicaSets too, or leave out owned objects (reel export --owned exclude). In a recorder's own trace (NDJSON) owners of kinds that it does not record are not looked for: if a kind above them is in the trace, such as Deployments, reel replay leaves their objects to the controllers, and else writes them without the reference.",
    "The fix removes the reference. Pods then count as pods without a controller.",
  ],
  *needs({ namespace, object }) {
    for (const reference of listIn(objectIn(object, "metadata") ?? {}, "ownerReferences")) {
      const { kind, name } = ownerOf(reference)
      if (name === "") continue
      yield {
        target: { kind, namespace, name, orClusterScoped: true, isOlder: true },
        kind,
        name,
        element: "metadata.ownerReferences[*]",
        by: "name",
      }
    }
  },
  fix: {
    removes: "the owner reference",
    apply: ({ object }, isMissing) => {
      const metadata = objectIn(object, "metadata")
      if (metadata === undefined) return object
      const left = withoutEntries(metadata, "ownerReferences", (reference) => {
        const { kind, name } = ownerOf(reference)
        return name !== "" && isMissing(kind, name)
      })
      if (left === metadata) return object
      const isLast = Array.isArray(left.ownerReferences) && left.ownerReferences.length === 0
      return withMember(object, "metadata", isLast ? withoutMember(left, "ownerReferences") : left)
    },
    removals: ({ element, by }, literal) => [{ where: `$o := ${element} | $o.${by} == ${literal}`, path: "$o" }],
  },
}

const definitions = "apiextensions.k8s.io/CustomResourceDefinition"
/** What a definition provides; no object has this kind. */
const defined = "defined kind"

/** Objects of a custom kind without its definition: a cluster that does not have it refuses them. */
const kindUndefined: Rule = {
  code: "E0009",
  name: "kind_undefined",
  severity: "error",
  summary: "Objects are of a custom kind whose CustomResourceDefinition the trace does not have.",
  explanation: [
    "An API server refuses objects of kinds that it does not know.",
    "The finding is about the kind and counts the states of its objects. Kinds of Kubernetes itself are exempt. A definition counts wherever the trace has it, also after the objects; the trace need not show that the server accepted it.",
    "Install the definition in the replay cluster (kubectl get crd NAME -o yaml in the recorded one), or record CustomResourceDefinitions too.",
  ],
  *needs({ gvk }) {
    if (gvk === "" || isBuiltInKind(gvk)) return
    const name = kindWithoutVersion(gvk)
    const target = { kind: defined, namespace: "", name }
    yield {
      target,
      about: { gvk, namespace: "", name: "" },
      kind: "CustomResourceDefinition",
      name,
      element: "",
      by: "kind",
    }
  },
  *provides({ gvk, object }) {
    if (kindWithoutVersion(gvk) !== definitions) return
    const spec = objectIn(object, "spec")
    const name = `${textIn(spec, "group")}/${textIn(objectIn(spec, "names"), "kind")}`
    yield { kind: defined, namespace: "", name }
  },
}

const kind = "node.k8s.io/RuntimeClass"
const member = "runtimeClassName"

/** Runtime classes that the trace lacks: the server refuses the pods. */
const runtimeClassMissing: Rule = {
  code: "E0013",
  name: "runtime_class_missing",
  severity: "error",
  summary: "A pod template names a RuntimeClass that the trace does not have.",
  explanation: [
    "The API server refuses pods of an unknown RuntimeClass.",
    "Record RuntimeClasses too, or create the class in the replay cluster. The fix removes runtimeClassName, and overhead, which is refused without a class.",
  ],
  *needs(traced) {
    for (const { spec, path } of podSpecsOf(traced)) {
      const name = textIn(spec, member)
      if (name !== "") yield { target: { kind, namespace: "", name }, kind, name, element: path, by: member }
    }
  },
  fix: {
    removes: "runtimeClassName and overhead",
    apply: (traced, isMissing) =>
      withPodSpecs(traced, (spec) => withoutNamed(spec, [member, "overhead"], (name) => isMissing(kind, name))),
    removals: memberRemovals(["overhead"]),
  },
}

/** Most characters of the name of a namespace, an RFC 1123 label, and of other objects, an RFC 1123 subdomain. */
const longestLabel = 63
const longestName = 253

/** Names that are too long with the prefix of the replay's namespaces: nothing in them can be created. */
const nameTooLong: Rule = {
  code: "E0014",
  name: "name_too_long",
  severity: "error",
  summary: "A namespace, or an object without namespace, has too long a name once the replay's prefix is before it.",
  explanation: [
    "A replay puts its objects into namespaces of its own: the prefix, a hyphen and the recorded name. A namespace may have 63 characters, and objects that are in none, which get the prefix too, 253.",
    "The finding is about the namespace or object. The prefix is virtual unless --namespace-prefix names another.",
    "Choose a shorter prefix for the replay: reel replay --namespace-prefix.",
  ],
  *needs({ gvk, namespace, name, namespacePrefix }) {
    if (namespacePrefix === "" || hasPrescribedName(gvk)) return
    const isNamespace = namespace !== "" || gvk === "v1.Namespace"
    const own = namespace === "" ? name : namespace
    const prefixed = `${namespacePrefix}-${own}`
    if (prefixed.length <= (isNamespace ? longestLabel : longestName)) return
    const about = { gvk: isNamespace ? "v1.Namespace" : gvk, namespace: "", name: own }
    const by = namespace === "" ? "metadata.name" : "metadata.namespace"
    yield { about, kind: "name", name: prefixed, element: "", by }
  },
}

/** Objects with a status, which the replay cluster's controllers write themselves. */
const statusPopulated: Rule = {
  code: "W0000",
  name: "status_field_populated",
  severity: "warning",
  isOfSanitised: true,
  summary: "An object has a status.",
  explanation: [
    "Controllers write the status of objects. A status in a trace is what the recorded cluster's controllers found; in a replay it is removed, or other controllers overwrite it.",
    "Traces of a recorder that were not sanitised have a status in nearly every object. A replay leaves it out, so nothing is found in them.",
  ],
  *needs({ object }) {
    if (Object.hasOwn(object, "status") && object.status !== null)
      yield { kind: "", name: "", element: "", by: "status" }
  },
  fix: {
    removes: "the status",
    apply: ({ object }, isMissing) => (isMissing("", "") ? withoutMember(object, "status") : object),
    removals: () => [{ path: "status" }],
  },
}

const source = { kind: "Secret", member: "secret", nameMember: "secretName", projected: "secret" }

/** Volumes from a Secret that the trace lacks: the kubelet does not start the pods. */
const volumeSecretMissing: Rule = {
  code: "E0004",
  name: "volume_secret_missing",
  severity: "error",
  summary: "A volume takes its contents from a Secret that the trace does not have in the object's namespace.",
  explanation: [
    "A pod with such a volume stays in ContainerCreating on a node that runs containers. Virtual nodes do not look.",
    "Checked are volumes and the sources of projected volumes. References with optional: true are exempt.",
    "Record Secrets too, or create it in the replay's namespace. The fix removes the volumes with their mounts, and from projected volumes only the source.",
  ],
  needs: (traced) => volumeNeeds(traced, source),
  fix: volumeFix(source),
}

/** Objects without kind or name: nothing can be written. */
const identityMissing: Rule = {
  code: "E0016",
  name: "identity_missing",
  severity: "error",
  summary: "An object has no name, or no apiVersion and kind.",
  explanation: [
    "A replay writes objects by kind and name; SimKube's tools stop at an object that lacks them.",
    "No recorder writes such objects: the trace was damaged, or changed by a program. The fields are to be corrected there.",
  ],
  *needs({ gvk, name }) {
    if (gvk === "") yield { kind: "", name: "", element: "", by: "kind" }
    else if (name === "") yield { kind: "", name: "", element: "", by: "metadata.name" }
  },
}

/** The rules that a trace is checked against. */
export const rules: ReadonlyArray<Rule> = [
  statusPopulated,
  serviceAccountMissing,
  environmentSecretMissing,
  environmentConfigMapMissing,
  volumeSecretMissing,
  volumeConfigMapMissing,
  volumeClaimMissing,
  imagePullSecretMissing,
  namespaceMissing,
  kindUndefined,
  ownerMissing,
  priorityClassMissing,
  storageClassMissing,
  runtimeClassMissing,
  nameTooLong,
  templatePathMissing,
  identityMissing,
]

/** By code or name, in any letter case; `undefined`: there is none. */
export const ruleNamed = (text: string): Rule | undefined => {
  const wanted = text.toLowerCase()
  return rules.find(({ code, name }) => code.toLowerCase() === wanted || name === wanted)
}
