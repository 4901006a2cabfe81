/**
 * Pre-rendered watch lines: 2.9 kB Deployments as the API server writes them, chunk framing included, so that the generator
 * spends its time in the kernel and not in JSON.
 *
 * Each line has two places of fixed width that are overwritten before it is sent again: the resourceVersion, and an
 * environment variable in the pod template, so that every event is a change of `spec`.
 */

/** Digits of a version; 12 are enough for 10^12 events and keep the line's length constant. */
const versionDigits = 12
/** Smallest version: the first with that many digits. */
export const firstVersion = 100_000_000_000
/** Length of a Deployment line in bytes, chunk framing aside (architecture §7). */
const lineBytes = 2900

/** One MODIFIED event as a chunk, framing included. */
export interface EventFrame {
  readonly bytes: Buffer
  /** Where the digits of the version and of the change stand. */
  readonly versionOffset: number
  readonly changeOffset: number
}

export const objectName = (index: number): string => `web-${String(index).padStart(6, "0")}`

/** An object as both lists and watches show it. */
export const renderObject = (kind: BenchKind, index: number, version: number, bytes = lineBytes): string => {
  const name = objectName(index)
  const labels = { app: name, tier: "front", "app.kubernetes.io/managed-by": "bench" }
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name, uid: uidOf("ReplicaSet", index), controller: true }
  const metadata = {
    name,
    namespace: "bench",
    uid: uidOf(kind.kind, index),
    resourceVersion: String(version),
    generation: 1,
    creationTimestamp: "2026-11-21T09:38:03Z",
    labels,
    annotations: { "deployment.kubernetes.io/revision": "1" },
    ...(kind.kind === "Pod" && { ownerReferences: [owner] }),
    managedFields: [
      { manager: "kube-controller-manager", operation: "Update", apiVersion: kind.apiVersion, time: "2026-11-21T09:38:03Z", fieldsType: "FieldsV1", fieldsV1: managedFields, subresource: "status" }
    ]
  }
  const container = {
    name: "main",
    image: "registry.example/web:1.27",
    ports: [{ containerPort: 80, protocol: "TCP" }],
    env: [
      { name: "CHANGE", value: "0".repeat(versionDigits) },
      { name: "POD_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
      { name: "DATABASE_URL", valueFrom: { secretKeyRef: { name: "database", key: "url" } } },
      { name: "PADDING", value: "" }
    ],
    livenessProbe: { httpGet: { path: "/healthz", port: 8080, scheme: "HTTP" }, initialDelaySeconds: 5, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 },
    resources: { limits: { cpu: "500m", memory: "256Mi" }, requests: { cpu: "100m", memory: "64Mi" } },
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: "IfNotPresent"
  }
  const pod = { containers: [container], restartPolicy: "Always", dnsPolicy: "ClusterFirst", schedulerName: "default-scheduler", securityContext: {}, terminationGracePeriodSeconds: 30 }
  const spec =
    kind.kind === "Pod"
      ? pod
      : { replicas: 3, selector: { matchLabels: { app: name } }, template: { metadata: { labels }, spec: pod }, strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } }, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 }
  const status = { observedGeneration: 1, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3, conditions: ["Available", "Progressing"].map(condition) }
  const object = { kind: kind.kind, apiVersion: kind.apiVersion, metadata, spec, status }
  // The padding is what is missing to the wanted length, JSON and watch framing included.
  const overhead = '{"type":"MODIFIED","object":}\n'.length
  const missing = bytes - overhead - JSON.stringify(object).length
  const padding = container.env.at(-1)
  if (padding !== undefined && missing > 0) padding.value = "x".repeat(missing)
  return JSON.stringify(object)
}

const condition = (type: string) => ({ type, status: "True", lastUpdateTime: "2026-11-21T09:38:09Z", lastTransitionTime: "2026-11-21T09:38:03Z", reason: "NewReplicaSetAvailable", message: "ReplicaSet \"web-64c966cf88\" has successfully progressed." })

export interface BenchKind {
  readonly kind: string
  readonly apiVersion: string
  readonly path: string
  readonly plural: string
}

export const benchKinds: ReadonlyArray<BenchKind> = [
  { kind: "Deployment", apiVersion: "apps/v1", path: "/apis/apps/v1/deployments", plural: "deployments" },
  { kind: "ReplicaSet", apiVersion: "apps/v1", path: "/apis/apps/v1/replicasets", plural: "replicasets" },
  { kind: "Pod", apiVersion: "v1", path: "/api/v1/pods", plural: "pods" }
]

export const uidOf = (kind: string, index: number): string =>
  `${kind.length.toString(16).padStart(8, "0")}-0000-4000-8000-${index.toString(16).padStart(12, "0")}`

const managedFields = { "f:status": { "f:availableReplicas": {}, "f:conditions": { ".": {}, 'k:{"type":"Available"}': { ".": {}, "f:lastTransitionTime": {}, "f:lastUpdateTime": {}, "f:message": {}, "f:reason": {}, "f:status": {}, "f:type": {} } }, "f:observedGeneration": {}, "f:readyReplicas": {}, "f:replicas": {}, "f:updatedReplicas": {} } }

/** One MODIFIED event per object, `count` objects. */
export const renderFrames = (kind: BenchKind, count: number): ReadonlyArray<EventFrame> =>
  Array.from({ length: count }, (_, index) => {
    const line = Buffer.from(`{"type":"MODIFIED","object":${renderObject(kind, index, firstVersion)}}\n`)
    const bytes = Buffer.concat([Buffer.from(`${line.length.toString(16)}\r\n`), line, Buffer.from("\r\n")])
    return {
      bytes,
      versionOffset: bytes.indexOf(versionMark) + versionMark.length,
      changeOffset: bytes.indexOf(changeMark) + changeMark.length
    }
  })

const versionMark = '"resourceVersion":"'
const changeMark = '"CHANGE","value":"'

/** Gives the event another version and another content. */
export const renumber = (frame: EventFrame, version: number): void => {
  writeDigits(frame.bytes, frame.versionOffset, version)
  writeDigits(frame.bytes, frame.changeOffset, version)
}

const writeDigits = (bytes: Buffer, offset: number, value: number): void => {
  let high = Math.floor(value / 1_000_000)
  let low = value - high * 1_000_000
  for (let at = offset + versionDigits - 1; at >= offset + 6; at--) {
    const next = (low / 10) | 0
    bytes[at] = 48 + low - next * 10
    low = next
  }
  for (let at = offset + 5; at >= offset; at--) {
    const next = (high / 10) | 0
    bytes[at] = 48 + high - next * 10
    high = next
  }
}
