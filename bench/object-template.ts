/**
 * Objects of the benchmarks' cluster, rendered once and then only renumbered, so that the generator spends its time in the
 * kernel and not in JSON.
 *
 * A template is the text of an object with places of fixed width for its index, its version and its latest change (an
 * environment variable of the container, so that every change is one of `spec`). What differs between objects of a real
 * cluster without being a number (hashes, image tags, addresses) differs between templates, so that zstd meets about
 * the variety it meets in life: some 80 bytes an event remain, a real cluster's changes took 76 (architecture §5).
 */
import type { BenchKind } from "./bench-kinds.ts"

/** Digits of a version; 12 suffice for 10^12 events and keep every line of a kind equally long. */
const versionDigits = 12
/** Smallest version: the first with that many digits. */
export const firstVersion = 100_000_000_000

/** Digits of an object's index in its name and in its UID. */
const nameDigits = 6
const uidDigits = 12

/** Runs of these characters stand for digits until they are overwritten; nothing else in an object contains them. */
const placeholders = { index: "@", version: "#", change: "~" } as const

type Field = keyof typeof placeholders

interface Place {
  readonly offset: number
  readonly width: number
}

/** Bytes with places to be numbered. */
export class ObjectTemplate {
  readonly bytes: Buffer
  readonly #places: Readonly<Record<Field, ReadonlyArray<Place>>>

  constructor(text: string) {
    this.bytes = Buffer.from(text)
    this.#places = {
      index: placesOf(text, placeholders.index),
      version: placesOf(text, placeholders.version),
      change: placesOf(text, placeholders.change),
    }
  }

  /** Writes the numbers into the template's copy at `offset` of `target`; the default is the template itself. */
  number(field: Field, value: number, target: Buffer = this.bytes, offset = 0): void {
    for (const place of this.#places[field]) writeDigits(target, offset + place.offset, place.width, value)
  }

  /** Copies the template to `offset` of `target` with all its numbers; answers the offset behind it. */
  copyTo(target: Buffer, offset: number, index: number, version: number): number {
    this.bytes.copy(target, offset)
    this.number("index", index, target, offset)
    this.number("version", version, target, offset)
    this.number("change", version, target, offset)
    return offset + this.bytes.length
  }
}

const placesOf = (text: string, character: string): ReadonlyArray<Place> =>
  [...text.matchAll(new RegExp(`${character}+`, "g"))].map(({ index, 0: run }) => ({ offset: index, width: run.length }))

/** Right-aligned decimal digits. In two halves, because divisions of small integers are much cheaper. */
const writeDigits = (bytes: Buffer, offset: number, width: number, value: number): void => {
  let high = Math.floor(value / 1_000_000)
  let low = value - high * 1_000_000
  for (let at = offset + width - 1; at >= offset; at--) {
    const isLow = at >= offset + width - 6
    const rest = isLow ? low : high
    const next = (rest / 10) | 0
    bytes[at] = 48 + rest - next * 10
    if (isLow) low = next
    else high = next
  }
}

/**
 * The text of an object of `kind`, as a template.
 *
 * @param variety objects of different variety differ as two objects of a cluster do, beyond their names.
 */
export const objectText = (kind: BenchKind, variety: number): string => {
  const random = randomDigits(variety)
  const name = `web-${placeholders.index.repeat(nameDigits)}`
  const labels = { app: name, tier: "front", "app.kubernetes.io/managed-by": "bench", "pod-template-hash": random(10) }
  const object = {
    kind: kind.kind,
    apiVersion: kind.apiVersion,
    metadata: {
      name,
      namespace: "bench",
      uid: uidOf(kind.kind, random(4)),
      resourceVersion: placeholders.version.repeat(versionDigits),
      generation: 1,
      creationTimestamp: "2026-11-21T09:38:03Z",
      labels,
      annotations: { "deployment.kubernetes.io/revision": "1", "example.com/padding": "" },
      ...(kind.kind === "Pod" && { ownerReferences: [ownerOf(name)] }),
      managedFields: [managedFields(kind)],
    },
    ...(kind.kind === "Pod" ? podParts(random) : workloadParts(name, labels, random)),
  }
  const missing = kind.lineBytes - '{"type":"MODIFIED","object":}\n'.length - JSON.stringify(object).length
  object.metadata.annotations["example.com/padding"] = "x".repeat(Math.max(0, missing))
  return JSON.stringify(object)
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

const podSpec = (random: (digits: number) => string) => ({
  containers: [
    {
      name: "main",
      image: `registry.example/web:${random(7)}`,
      ports: [{ containerPort: 80, protocol: "TCP" }],
      env: [
        { name: "CHANGE", value: placeholders.change.repeat(versionDigits) },
        { name: "POD_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
        { name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: "database", key: "url" } } },
        { name: "RELEASE", value: random(24) },
      ],
      livenessProbe: { httpGet: { path: "/healthz", port: 8080, scheme: "HTTP" }, periodSeconds: 10 },
      resources: { limits: { cpu: "500m", memory: "256Mi" }, requests: { cpu: "100m", memory: "64Mi" } },
      terminationMessagePath: "/dev/termination-log",
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

const condition = (type: string) => ({
  type,
  status: "True",
  lastUpdateTime: "2026-11-21T09:38:09Z",
  lastTransitionTime: "2026-11-21T09:38:03Z",
  reason: "NewReplicaSetAvailable",
  message: 'ReplicaSet "web-64c966cf88" has successfully progressed.',
})

const workloadParts = (name: string, labels: object, random: (digits: number) => string) => ({
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels }, spec: podSpec(random) },
    strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } },
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
  },
  status: {
    observedGeneration: 1,
    replicas: 3,
    updatedReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    conditions: ["Available", "Progressing"].map(condition),
  },
})

const podParts = (random: (digits: number) => string) => ({
  spec: {
    ...podSpec(random),
    nodeName: `node-${random(3)}`,
    serviceAccountName: "default",
    priority: 0,
    preemptionPolicy: "PreemptLowerPriority",
    tolerations: ["not-ready", "unreachable"].map((taint) => ({
      key: `node.kubernetes.io/${taint}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 300,
    })),
    volumes: [{ name: `kube-api-access-${random(5)}`, projected: { defaultMode: 420, sources: [] } }],
  },
  status: {
    phase: "Running",
    conditions: ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].map(condition),
    hostIP: "10.1.0.7",
    podIP: `10.2.${Number.parseInt(random(2), 16)}.${Number.parseInt(random(2), 16)}`,
    startTime: "2026-11-21T09:38:03Z",
    containerStatuses: [
      {
        name: "main",
        state: { running: { startedAt: "2026-11-21T09:38:05Z" } },
        lastState: {},
        ready: true,
        restartCount: 0,
        image: "registry.example/web",
        imageID: `registry.example/web@sha256:${random(16)}${"0".repeat(48)}`,
        containerID: `containerd://${random(16)}${"0".repeat(48)}`,
        started: true,
      },
    ],
    qosClass: "Burstable",
  },
})

const managedFields = (kind: BenchKind) => ({
  manager: "kube-controller-manager",
  operation: "Update",
  apiVersion: kind.apiVersion,
  time: "2026-11-21T09:38:03Z",
  fieldsType: "FieldsV1",
  fieldsV1: {
    "f:status": {
      "f:availableReplicas": {},
      "f:conditions": {
        ".": {},
        'k:{"type":"Available"}': {
          ".": {},
          "f:lastTransitionTime": {},
          "f:lastUpdateTime": {},
          "f:message": {},
          "f:reason": {},
          "f:status": {},
          "f:type": {},
        },
      },
      "f:observedGeneration": {},
      "f:readyReplicas": {},
      "f:replicas": {},
      "f:updatedReplicas": {},
    },
  },
  subresource: "status",
})
