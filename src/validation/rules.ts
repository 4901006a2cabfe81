/** All rules, in the order of their numbers. */
import {
  builtInTemplatePaths,
  hasPrescribedName,
  isBuiltInKind,
  type JsonObject,
  kindWithoutVersion,
  objectIn,
  objectsIn,
  textIn,
  withMember,
  withoutMember,
} from "../trace/index.ts"
import { containerLists, podSpecsOf, references, removalsOf, withChangedAt, withoutEntries } from "./references.ts"
import type { Place, Removal, Rule } from "./rule.ts"

// Environment variables that take their values from a Secret or a ConfigMap: `env` and `envFrom`, of all three kinds of containers.

/** The key in the Secret or ConfigMap plays no part (W-70). */
const environmentReferences = (kind: "Secret" | "ConfigMap", keyRef: string, ref: string) =>
  references({
    kind,
    inPods: containerLists.map((list) => ({
      holder: `${list}[*]`,
      fields: [
        ["env[*]", `valueFrom.${keyRef}.name`],
        ["envFrom[*]", `${ref}.name`],
      ],
    })),
    removes: "the environment variables",
    variable: "$e",
  })

// Volumes whose contents come from a Secret, a ConfigMap or a claim, also as one of the sources of a projected volume.

/** `by`: the field with the name in a volume; `projectedBy`: that in a source, absent if it cannot be projected. */
const volumeReferences = (kind: string, by: string, projectedBy?: string, isExempt?: (name: string) => boolean) =>
  references({
    kind,
    inPods: [
      {
        holder: "volumes[*]",
        fields: [["", by], ...(projectedBy === undefined ? [] : [["projected.sources[*]", projectedBy] as const])],
      },
    ],
    ...(isExempt !== undefined && { isExempt }),
    removes: "the volumes and their mounts",
    variable: "$v",
    after: withoutMounts,
    removals: (place, literal) =>
      place.element.endsWith(".sources[*]")
        ? removalsOf(place, literal, "$s")
        : [...mountRemovals(place, literal), ...removalsOf(place, literal, "$v")],
  })

const mountLists = ["volumeMounts", "volumeDevices"] as const

/** Without the mounts of the volumes that are gone. */
const withoutMounts = (left: JsonObject, before: JsonObject): JsonObject => {
  const namesIn = (spec: JsonObject): string[] => objectsIn(spec, "volumes").map((volume) => textIn(volume, "name"))
  const lost = namesIn(before)
  for (const kept of namesIn(left)) lost.splice(lost.indexOf(kept), 1)
  if (lost.length === 0) return left
  return withChangedAt(
    left,
    containerLists.map((list) => [list, "*"]),
    (container) =>
      mountLists.reduce(
        (holder, member) => withoutEntries(holder, member, (mount) => lost.includes(textIn(mount, "name"))),
        container,
      ),
  )
}

/** Mounts go first: afterwards nothing says which volumes they were of. */
const mountRemovals = ({ element, by }: Place, literal: string): ReadonlyArray<Removal> => {
  const spec = element.slice(0, element.length - ".volumes[*]".length)
  return containerLists.flatMap((list) =>
    // Only a claim can be a device.
    (by.startsWith("persistentVolumeClaim.") ? mountLists : (["volumeMounts"] as const)).map((member) => ({
      where: `$v := ${element} | $v.${by} == ${literal} && $m := ${spec}.${list}[*].${member}[*] | $m.name == $v.name`,
      path: "$m",
    })),
  )
}

/** Without an empty list of owners. */
const withoutNoOwners = (object: JsonObject): JsonObject => {
  const metadata = objectIn(object, "metadata")
  const owners = metadata?.ownerReferences
  if (metadata === undefined || !Array.isArray(owners) || owners.length > 0) return object
  return withMember(object, "metadata", withoutMember(metadata, "ownerReferences"))
}

/** Namespaces that every cluster has. */
const everywhere: ReadonlySet<string> = new Set(["default", "kube-node-lease", "kube-public", "kube-system"])

/** What a definition provides; no object has this kind. */
const defined = "defined kind"

/** What an object with a pod template at a path provides; no object has this kind. */
const podTemplate = "pod template"

/** Most characters of the name of a namespace, an RFC 1123 label, and of other objects, an RFC 1123 subdomain. */
const longestLabel = 63
const longestName = 253

/** The rules that a trace is checked against. */
export const rules: ReadonlyArray<Rule> = [
  {
    code: "W0000",
    name: "status_field_populated",
    severity: "warning",
    summary: "An object has a status.",
    explanation: [
      "Controllers write the status of objects. A status in a trace is what the recorded cluster's controllers found; in a replay it is removed, or other controllers overwrite it.",
      "Traces of a recorder that were not sanitised have a status in nearly every object. A replay leaves it out, so nothing is found in them.",
    ],
    isOfSanitised: true,
    *needs({ object }) {
      if (Object.hasOwn(object, "status") && object.status !== null)
        yield { kind: "", name: "", element: "", by: "status" }
    },
    fix: {
      removes: "the status",
      apply: ({ object }, isMissing) => (isMissing("", "") ? withoutMember(object, "status") : object),
      removals: () => [{ path: "status" }],
    },
  },
  {
    code: "E0001",
    name: "service_account_missing",
    severity: "error",
    summary: "A pod template names a ServiceAccount that the trace does not have in the object's namespace.",
    explanation: [
      "The API server refuses pods whose ServiceAccount does not exist, so that none of the workload's pods is created in the replay.",
      "The account default is exempt, because every namespace has it. serviceAccount and serviceAccountName are two names of one field and count once.",
      "Record ServiceAccounts too, or create the account in the replay's namespace before the replay. The fix lets the pods use the account default.",
    ],
    ...references({
      kind: "ServiceAccount",
      inPods: [
        {
          fields: [
            ["", "serviceAccountName"],
            ["", "serviceAccount"],
          ],
        },
      ],
      isExempt: (name) => name === "default",
      removes: "serviceAccountName and serviceAccount",
      variable: "$s",
    }),
  },
  {
    code: "E0002",
    name: "envvar_secret_missing",
    severity: "error",
    summary:
      "An environment variable of a container takes its value from a Secret that the trace does not have in the object's namespace.",
    explanation: [
      "A container whose environment refers to a missing Secret is not started. Virtual nodes do not look, so that a replay on them works; nodes that run containers refuse.",
      "Checked are env and envFrom of containers, init containers and ephemeral containers. What counts is the name of the Secret, not the key in it. References with optional: true are exempt.",
      "Record Secrets too, or create it in the replay's namespace. The fix removes the variables.",
    ],
    ...environmentReferences("Secret", "secretKeyRef", "secretRef"),
  },
  {
    code: "E0003",
    name: "envvar_configmap_missing",
    severity: "error",
    summary:
      "An environment variable of a container takes its value from a ConfigMap that the trace does not have in the object's namespace.",
    explanation: [
      "A container whose environment refers to a missing ConfigMap is not started. Virtual nodes do not look, so that a replay on them works; nodes that run containers refuse.",
      "Checked are env and envFrom of containers, init containers and ephemeral containers. What counts is the name of the ConfigMap, not the key in it. References with optional: true are exempt.",
      "Record ConfigMaps too, or create it in the replay's namespace. The fix removes the variables.",
    ],
    ...environmentReferences("ConfigMap", "configMapKeyRef", "configMapRef"),
  },
  {
    code: "E0004",
    name: "volume_secret_missing",
    severity: "error",
    summary: "A volume takes its contents from a Secret that the trace does not have in the object's namespace.",
    explanation: [
      "A pod with such a volume stays in ContainerCreating on a node that runs containers. Virtual nodes do not look.",
      "Checked are volumes and the sources of projected volumes. References with optional: true are exempt.",
      "Record Secrets too, or create it in the replay's namespace. The fix removes the volumes with their mounts, and from projected volumes only the source.",
    ],
    ...volumeReferences("Secret", "secret.secretName", "secret.name"),
  },
  {
    code: "E0005",
    name: "volume_configmap_missing",
    severity: "error",
    summary: "A volume takes its contents from a ConfigMap that the trace does not have in the object's namespace.",
    explanation: [
      "A pod with such a volume stays in ContainerCreating on a node that runs containers. Virtual nodes do not look.",
      "Checked are volumes and the sources of projected volumes. References with optional: true are exempt. kube-root-ca.crt is exempt, because every namespace has it.",
      "Record ConfigMaps too, or create it in the replay's namespace. The fix removes the volumes with their mounts, and from projected volumes only the source.",
    ],
    ...volumeReferences("ConfigMap", "configMap.name", "configMap.name", (name) => name === "kube-root-ca.crt"),
  },
  {
    code: "E0006",
    name: "volume_claim_missing",
    severity: "error",
    summary: "A volume is a PersistentVolumeClaim that the trace does not have in the object's namespace.",
    explanation: [
      "The scheduler leaves a pod pending as long as one of its claims does not exist, on virtual nodes too.",
      "Claims that a StatefulSet or an ephemeral volume makes of a template are not references of the template. A recorded pod of a StatefulSet names them, and counts.",
      "Record PersistentVolumeClaims too, or create the claim in the replay's namespace. The fix removes the volumes with their mounts.",
    ],
    ...volumeReferences("PersistentVolumeClaim", "persistentVolumeClaim.claimName"),
  },
  {
    code: "W0007",
    name: "image_pull_secret_missing",
    severity: "warning",
    summary: "A pod template names an image pull Secret that the trace does not have in the object's namespace.",
    explanation: [
      "A node that runs containers pulls without the Secret, which private registries refuse. Virtual nodes pull nothing.",
      "Create the Secret in the replay's namespace if its nodes are real. The fix removes the reference.",
    ],
    ...references({
      kind: "Secret",
      inPods: [{ fields: [["imagePullSecrets[*]", "name"]] }],
      removes: "the reference to the image pull Secret",
      variable: "$s",
    }),
  },
  {
    code: "W0008",
    name: "namespace_missing",
    severity: "warning",
    summary: "Objects are in a namespace that the trace does not have.",
    explanation: [
      "A replay creates the namespaces it needs, but without the labels and annotations that the recorded one had. Pod Security levels, the injection of sidecars, network policies and quotas select namespaces by them.",
      "The finding is about the namespace and counts the states of objects in it. default and those that begin with kube- and that every cluster has are exempt.",
      "Record Namespaces too if anything in the replay depends on their labels.",
    ],
    *needs({ namespace }) {
      if (namespace === "" || everywhere.has(namespace)) return
      const named = { kind: "Namespace", name: namespace }
      const about = { gvk: "v1.Namespace", namespace: "", name: namespace }
      yield { ...named, target: { ...named, namespace: "" }, about, element: "", by: "metadata.namespace" }
    },
  },
  {
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
      const about = { gvk, namespace: "", name: "" }
      yield { target, about, kind: "CustomResourceDefinition", name, element: "", by: "kind" }
    },
    *provides({ gvk, object }) {
      if (kindWithoutVersion(gvk) !== "apiextensions.k8s.io/CustomResourceDefinition") return
      const spec = objectIn(object, "spec")
      const name = `${textIn(spec, "group")}/${textIn(objectIn(spec, "names"), "kind")}`
      yield { kind: defined, namespace: "", name }
    },
  },
  {
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
    ...references({
      kind: (owner) => kindWithoutVersion(`${textIn(owner, "apiVersion")}.${textIn(owner, "kind")}`),
      inObjects: { "*": [{ fields: [["metadata.ownerReferences[*]", "name"]] }] },
      orClusterScoped: true,
      isOlder: true,
      removes: "the owner reference",
      variable: "$o",
      after: withoutNoOwners,
    }),
  },
  {
    code: "E0011",
    name: "priority_class_missing",
    severity: "error",
    summary: "A pod template names a PriorityClass that the trace does not have.",
    explanation: [
      "The API server refuses pods of an unknown PriorityClass. Classes whose names begin with system- are exempt, because the server makes them.",
      "Record PriorityClasses too, or create the class in the replay cluster. The fix removes priorityClassName, and priority, which would contradict it.",
    ],
    ...references({
      kind: "scheduling.k8s.io/PriorityClass",
      isClusterScoped: true,
      inPods: [{ fields: [["", "priorityClassName"]] }],
      isExempt: (name) => name.startsWith("system-"),
      removes: "priorityClassName and priority",
      variable: "$h",
      also: ["priority"],
    }),
  },
  {
    code: "E0012",
    name: "storage_class_missing",
    severity: "error",
    summary: "A claim, or a template of claims, names a StorageClass that the trace does not have.",
    explanation: [
      "A claim of an unknown StorageClass stays pending, and so do the pods that mount it.",
      "Checked are PersistentVolumeClaims, the claim templates of StatefulSets, and ephemeral volumes. An empty name asks for a volume without class and is exempt. A class that only names volumes made by hand needs no StorageClass; it counts all the same, because a replay does not write PersistentVolumes.",
      "Record StorageClasses too, or create the class in the replay cluster. The fix removes storageClassName, so that the cluster's default class is used.",
    ],
    ...references({
      kind: "storage.k8s.io/StorageClass",
      isClusterScoped: true,
      inObjects: {
        "v1.PersistentVolumeClaim": [{ fields: [["spec", "storageClassName"]] }],
        "apps/v1.StatefulSet": [{ fields: [["spec.volumeClaimTemplates[*].spec", "storageClassName"]] }],
      },
      inPods: [{ fields: [["volumes[*].ephemeral.volumeClaimTemplate.spec", "storageClassName"]] }],
      removes: "storageClassName",
      variable: "$h",
    }),
  },
  {
    code: "E0013",
    name: "runtime_class_missing",
    severity: "error",
    summary: "A pod template names a RuntimeClass that the trace does not have.",
    explanation: [
      "The API server refuses pods of an unknown RuntimeClass.",
      "Record RuntimeClasses too, or create the class in the replay cluster. The fix removes runtimeClassName, and overhead, which is refused without a class.",
    ],
    ...references({
      kind: "node.k8s.io/RuntimeClass",
      isClusterScoped: true,
      inPods: [{ fields: [["", "runtimeClassName"]] }],
      removes: "runtimeClassName and overhead",
      variable: "$h",
      also: ["overhead"],
    }),
  },
  {
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
  },
  {
    code: "E0015",
    name: "template_path_missing",
    severity: "error",
    summary: "The trace's configuration names a pod template path at which no object of the kind has a pod template.",
    explanation: [
      "A replay changes pod templates so that pods get to virtual nodes. SimKube creates what is missing at the path, which the API server refuses or ignores; reel replay leaves it. Either way the pods of the kind go to real nodes, or stay pending.",
      "The finding is about the kind. It is known at the end of the trace: one object with a template at the path is enough, because lists of templates may be empty. Kinds of Kubernetes itself are exempt; their paths are known.",
      "Correct podSpecTemplatePaths in the recorder's configuration: extended JSON pointers to templates, objects with metadata and spec, such as /spec/template or /spec/workers/*/template.",
    ],
    *needs({ gvk, templatePaths }) {
      if (builtInTemplatePaths(gvk) !== undefined) return
      const about = { gvk, namespace: "", name: "" }
      for (const name of templatePaths) {
        const target = { kind: podTemplate, namespace: gvk, name }
        yield { target, about, kind: podTemplate, name, element: "", by: "podSpecTemplatePaths" }
      }
    },
    *provides(traced) {
      if (builtInTemplatePaths(traced.gvk) !== undefined) return
      for (const name of traced.templatePaths)
        if (podSpecsOf({ ...traced, templatePaths: [name] }).length > 0)
          yield { kind: podTemplate, namespace: traced.gvk, name }
    },
  },
  {
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
  },
]

/** By code or name, in any letter case; `undefined`: there is none. */
export const ruleNamed = (text: string): Rule | undefined => {
  const wanted = text.toLowerCase()
  return rules.find(({ code, name }) => code.toLowerCase() === wanted || name === wanted)
}
