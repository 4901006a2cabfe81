/** Short ways to write the items of a trace. Times are seconds after {@link epoch}. */
import type { Action, GapEvent } from "../../../src/trace/event.ts"
import type { TraceEncoder } from "../../../src/trace/formats/format.ts"
import type { TraceHeader, TraceItem } from "../../../src/trace/trace-item.ts"

/** 2025-11-21T00:00:00Z in µs. */
export const epoch = Date.UTC(2025, 10, 21) * 1000

/** As Kubernetes writes times. */
export const timeText = (seconds: number): string =>
  new Date(epoch / 1000 + seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z")

/** A header with a window. */
export const header = (start: number, end: number, more: Partial<TraceHeader> = {}): TraceItem => ({
  type: "header",
  window: { start: epoch + start * 1e6, end: epoch + end * 1e6 },
  cut: 0,
  kinds: [],
  incomplete: [],
  ...more,
})

/** An object as JSON. */
export interface Described {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid?: string
    readonly resourceVersion?: string
    readonly [more: string]: unknown
  }
  readonly [more: string]: unknown
}

let sequence = 0

/** An event of an object at a time. `vanished` has no object. */
export const event = (action: Action | "existed", seconds: number, object: Described): TraceItem => ({
  type: "event",
  isSnapshot: action === "existed",
  event: {
    type: "object",
    sequence: ++sequence,
    time: Math.round(epoch + seconds * 1e6),
    gvk: `${object.apiVersion}.${object.kind}`,
    action: action === "existed" ? "applied" : action,
    uid: object.metadata.uid ?? "",
    namespace: object.metadata.namespace ?? "",
    name: object.metadata.name,
    resourceVersion: object.metadata.resourceVersion ?? "",
    object: action === "vanished" ? new Uint8Array(0) : Buffer.from(JSON.stringify(object)),
  },
})

/** An object of the core group. */
export const core = (kind: string, metadata: Described["metadata"], more: object = {}): Described => ({
  apiVersion: "v1",
  kind,
  metadata,
  ...more,
})

/** One object with several statuses, each with the time when it was seen. */
export const seen = (
  object: (status: object) => Described,
  ...statuses: ReadonlyArray<readonly [seconds: number, status: object]>
): ReadonlyArray<TraceItem> => statuses.map(([seconds, status]) => event("applied", seconds, object(status)))

/** Lifecycles that SimKube lists for the Deployment `owner`, of one pod spec; seconds after the epoch, without an end if it runs. */
export const listed = (
  owner: string,
  hash: bigint,
  ...lives: ReadonlyArray<readonly [number, number?]>
): TraceItem => ({
  type: "lifecycles",
  gvk: "apps/v1.Deployment",
  owner,
  pods: new Map([
    [
      hash,
      lives.map(([start, end]) =>
        end === undefined
          ? { state: "running", start: epoch / 1e6 + start }
          : { state: "finished", start: epoch / 1e6 + start, end: epoch / 1e6 + end },
      ),
    ],
  ]),
})

/** A gap. */
export const gap = (
  gvk: string,
  from: number,
  to: number,
  namespace = "",
): TraceItem & { readonly event: GapEvent } => ({
  type: "event",
  isSnapshot: false,
  event: {
    type: "gap",
    sequence: ++sequence,
    time: epoch + to * 1e6,
    gvk,
    namespace,
    fromVersion: "1",
    toVersion: "2",
    fromTime: epoch + from * 1e6,
    toTime: epoch + to * 1e6,
    reason: "expired",
    detail: "the server forgot",
  },
})

/** An object with an owner. */
export const ownedBy = <Owned extends Described>(owned: Owned, ...owners: ReadonlyArray<Described>): Owned => ({
  ...owned,
  metadata: {
    ...owned.metadata,
    ownerReferences: owners.map(({ apiVersion, kind, metadata: { name, uid } }, index) => ({
      apiVersion,
      kind,
      name,
      ...(uid !== undefined && uid !== "" && { uid }),
      controller: index === 0,
    })),
  },
})

/** A Deployment and its ReplicaSet. */
export const webIn = (namespace: string): { readonly deployment: Described; readonly replicaSet: Described } => {
  const deployment: Described = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace, uid: "d" },
    spec: { replicas: 1 },
  }
  const metadata = { name: "web-1", namespace, uid: "r" }
  return { deployment, replicaSet: ownedBy({ apiVersion: "apps/v1", kind: "ReplicaSet", metadata }, deployment) }
}

/** The status of a container that runs; seconds after the epoch. */
export const running = (startedAt: number, more: object = {}): object => ({
  name: "main",
  image: "nginx:1",
  restartCount: 0,
  state: { running: { startedAt: timeText(startedAt) } },
  ...more,
})

/** The state of a container that has ended; seconds after the epoch. */
export const terminated = (startedAt: number, finishedAt: number, exitCode: number, reason: string): object => ({
  terminated: { startedAt: timeText(startedAt), finishedAt: timeText(finishedAt), exitCode, reason },
})

/** All bytes of what an encoder makes of items. */
export const encoded = (encoder: TraceEncoder, items: Iterable<TraceItem>): Buffer => {
  const pieces: Uint8Array[] = []
  for (const item of items) {
    encoder.add(item)
    const piece = encoder.take()
    if (piece !== undefined) pieces.push(piece)
  }
  pieces.push(...encoder.finish())
  return Buffer.concat(pieces)
}
