/**
 * The texts of the benchmarks' objects, shaped as an API server writes them: a seventh of the bytes are quotes and half of a Deployment is
 * `managedFields`, as in the recordings of test/data. Scanners and parsers are slow at those; an object of the same length with long
 * strings costs them half as much.
 *
 * What differs between objects of a real cluster without being a number (hashes, image tags, addresses) differs between varieties, so that
 * zstd compresses as in practice: a real cluster's changes took 76 bytes (docs/reference/architecture.md#budgets).
 *
 * Objects that are to be longer get more environment variables and the fields that own them, so that the share of quotes stays; shorter
 * ones have no `managedFields` and only the container of their pod.
 */
import type { BenchKind } from "./bench-kinds.ts"
import { firstMoment, nameDigits, placeholders, timePlaceholder, uidDigits, versionDigits } from "./object-template.ts"

/**
 * An object of `kind` as JSON, with placeholders for its numbers; as long as the kind says.
 *
 * @param variety objects of different variety differ as two objects of a cluster do, beyond their names.
 * @throws RangeError below some 1,000 bytes (Pods: 4,200)
 */
export const objectText = (kind: BenchKind, variety: number): string => {
  const bytes = kind.lineBytes - '{"type":"MODIFIED","object":}\n'.length
  const detail = lengthOf(objectOf(kind, variety, "whole", 0)) > bytes ? "bare" : "whole"
  const least = lengthOf(objectOf(kind, variety, detail, 0))
  const variableBytes = lengthOf(objectOf(kind, variety, detail, 1)) - least
  const variables = kind.kind === "Pod" ? 0 : Math.max(0, Math.floor((bytes - least) / variableBytes))
  return filled(objectOf(kind, variety, detail, variables), kind, bytes, variety)
}

/** `bare`: without managedFields and what a pod has beside its container. */
type Detail = "whole" | "bare"

interface BenchObject {
  readonly metadata: { readonly annotations: { "example.com/note": string } }
}

const lengthOf = (object: BenchObject): number => JSON.stringify(object).length

/** Padded to the wanted length with a note, which is shorter than anything else that could be added. */
const filled = (object: BenchObject, kind: BenchKind, bytes: number, variety: number): string => {
  const missing = bytes - lengthOf(object)
  if (missing < 0) throw new RangeError(`a ${kind.kind} takes ${-missing} bytes more than ${kind.lineBytes}`)
  object.metadata.annotations["example.com/note"] = randomDigits(variety + 1_000_000)(missing)
  return JSON.stringify(object)
}

const objectOf = (kind: BenchKind, variety: number, detail: Detail, variables: number): BenchObject => {
  const random = randomDigits(variety)
  const name = `web-${placeholders.index.repeat(nameDigits)}`
  const isPod = kind.kind === "Pod"
  const labels = isPod ? { app: name, "pod-template-hash": random(10) } : { app: name }
  const parts = isPod ? podParts(random) : workloadParts(name, labels, random, variables)
  const { spec, status } = detail === "whole" || isPod ? parts : bareParts(random, variables)
  return {
    kind: kind.kind,
    apiVersion: kind.apiVersion,
    metadata: {
      name,
      namespace: "bench",
      uid: uidOf(kind.kind, random(4)),
      resourceVersion: placeholders.version.repeat(versionDigits),
      generation: 1,
      creationTimestamp: firstMoment,
      labels,
      annotations: {
        ...(detail === "whole" && { "deployment.kubernetes.io/revision": "1" }),
        "example.com/note": "",
      },
      ...(isPod && { ownerReferences: [ownerOf(name)] }),
      ...(detail === "whole" && {
        managedFields: [
          managed(kind, "kubectl", timePlaceholder, { "f:metadata": fieldsOf({ labels }), "f:spec": fieldsOf(spec) }),
          managed(
            kind,
            isPod ? "kubelet" : "kube-controller-manager",
            firstMoment,
            { "f:status": fieldsOf(status) },
            "status",
          ),
        ],
      }),
    },
    spec,
    status,
  } as BenchObject
}

/** Deterministic hexadecimal digits: two runs send the same bytes. */
const randomDigits = (seed: number): ((digits: number) => string) => {
  let state = (seed + 1) * 2_654_435_761
  const digit = (): string => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state >>> 28).toString(16)
  }
  return (digits) => Array.from({ length: digits }, digit).join("")
}

const uidOf = (kind: string, digits: string): string =>
  `${kind.length.toString(16).padStart(8, "0")}-0000-4000-${digits}-${placeholders.index.repeat(uidDigits)}`

const ownerOf = (name: string) => ({
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  name,
  uid: uidOf("ReplicaSet", "8000"),
  controller: true,
  blockOwnerDeletion: true,
})

const managed = (kind: BenchKind, manager: string, time: string, fieldsV1: object, subresource?: string) => ({
  manager,
  operation: "Update",
  apiVersion: kind.apiVersion,
  time,
  fieldsType: "FieldsV1",
  fieldsV1,
  ...(subresource !== undefined && { subresource }),
})

/** Who owns which field, as server-side apply writes it: `f:` before members, `k:` before keyed elements. */
const fieldsOf = (value: unknown): object => {
  if (Array.isArray(value)) {
    return Object.fromEntries(
      value.flatMap((element: { readonly name?: string; readonly type?: string }) => {
        const key = element.name === undefined ? { type: element.type } : { name: element.name }
        return Object.values(key)[0] === undefined
          ? []
          : [[`k:${JSON.stringify(key)}`, { ".": {}, ...fieldsOf(element) }]]
      }),
    )
  }
  if (typeof value !== "object" || value === null) return {}
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [`f:${key}`, fieldsOf(member)]))
}

const changeVariable = { name: "CHANGE", value: placeholders.change.repeat(versionDigits) }

const furtherVariables = (random: (digits: number) => string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    name: `VARIABLE_${String(index).padStart(5, "0")}`,
    value: random(16),
  }))

/** Differs between heartbeats, which change nothing else. */
const heartbeatText = `at ${placeholders.heartbeat.repeat(versionDigits)}`

/** The minimum of a workload. */
const bareParts = (random: (digits: number) => string, variables: number) => ({
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    template: {
      spec: { containers: [{ name: "main", env: [changeVariable, ...furtherVariables(random, variables)] }] },
    },
  },
  status: { replicas: 3, conditions: [{ type: "Available", status: "True", message: heartbeatText }] },
})

const podSpec = (random: (digits: number) => string, variables = 0) => ({
  containers: [
    {
      name: "main",
      image: `registry.example/web:${random(7)}`,
      env: [changeVariable, ...furtherVariables(random, variables)],
      resources: {},
      terminationMessagePolicy: "File",
      imagePullPolicy: "IfNotPresent",
    },
  ],
  restartPolicy: "Always",
  terminationGracePeriodSeconds: 30,
  dnsPolicy: "ClusterFirst",
  securityContext: {},
  schedulerName: "default-scheduler",
})

const workloadParts = (name: string, labels: object, random: (digits: number) => string, variables: number) => ({
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels }, spec: podSpec(random, variables) },
    strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } },
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
  },
  status: {
    observedGeneration: 1,
    replicas: 3,
    readyReplicas: 3,
    conditions: ["Available", "Progressing"].map((type) => ({
      type,
      status: "True",
      lastUpdateTime: firstMoment,
      lastTransitionTime: firstMoment,
      reason: type === "Available" ? "MinimumReplicasAvailable" : "NewReplicaSetAvailable",
      message: `ReplicaSet "web-${random(10)}" ${type === "Available" ? heartbeatText : "has progressed"}.`,
    })),
  },
})

const podParts = (random: (digits: number) => string) => ({
  spec: {
    ...podSpec(random),
    nodeName: `node-${random(3)}`,
    serviceAccountName: "default",
    serviceAccount: "default",
    priority: 0,
    enableServiceLinks: true,
    preemptionPolicy: "PreemptLowerPriority",
    tolerations: ["not-ready", "unreachable"].map((taint) => ({
      key: `node.kubernetes.io/${taint}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 300,
    })),
    volumes: [
      {
        name: `kube-api-access-${random(5)}`,
        projected: {
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
            { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
          ],
          defaultMode: 420,
        },
      },
    ],
  },
  status: {
    phase: "Running",
    conditions: ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({
      type,
      status: "True",
      lastProbeTime: null,
      lastTransitionTime: firstMoment,
    })),
    hostIP: "10.1.0.7",
    podIP: `10.2.${Number.parseInt(random(2), 16)}.${Number.parseInt(random(2), 16)}`,
    startTime: firstMoment,
    containerStatuses: [
      {
        name: "main",
        state: { running: { startedAt: firstMoment } },
        lastState: {},
        ready: true,
        restartCount: 0,
        image: "registry.example/web",
        imageID: `registry.example/web@sha256:${random(64)}`,
        containerID: `containerd://${random(64)}`,
        started: true,
      },
    ],
    qosClass: "Burstable",
  },
})
