/**
 * Problems that someone has to fix, as Kubernetes Events on the recorder's own pod: visible with `kubectl describe pod`, and to
 * programs that forward a cluster's Events.
 *
 * Rate-limited: the same Event at most once in ten minutes, and at most two Events a minute. Of warnings that come sooner, the
 * last one is posted when the limit allows it, unless the problem is fixed by then. If an Event cannot be posted, only that is
 * logged, because its content is in the log anyway.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Clock, Timer } from "../../clock.ts"
import { ApiClient, type ApiError, type ApiObject, type EndpointSource } from "../../kube/index.ts"
import type { RecorderLog } from "./notice-log.ts"

/** The pod that this process runs in, as the Deployment passes it through the downward API. */
interface OwnPod {
  readonly name: string
  readonly namespace: string
  readonly uid: string
}

/** Environment variables and their field paths, for the Deployment's downward API. */
export const podVariables = {
  POD_NAME: "metadata.name",
  POD_NAMESPACE: "metadata.namespace",
  POD_UID: "metadata.uid",
} as const

/** `undefined` outside of a cluster. */
export const ownPod = (environment: Readonly<Record<string, string | undefined>>): OwnPod | undefined => {
  const { POD_NAME: name, POD_NAMESPACE: namespace, POD_UID: uid } = environment
  return name && namespace && uid ? { name, namespace, uid } : undefined
}

/** One warning for an Event. */
export interface PodWarning {
  /** In CamelCase, for programs: at most 128 characters. */
  readonly reason: string
  /** The action that failed, in the same form. */
  readonly action: string
  /** For people. Truncated to one kilobyte, the API's limit. */
  readonly note: string
}

interface PodEventsOptions {
  readonly pod: OwnPod
  readonly credentials: EndpointSource
  readonly userAgent: string
  readonly clock: Clock
  /** Called with the reason if an Event could not be posted. */
  readonly failed: (reason: string) => void
}

/** ms between two Events. */
const intervalMs = 30_000
/** ms after which the same Event is posted again. */
const repeatMs = 600_000
/** Bytes of a note. */
const largestNote = 1024
/** ms for one request. */
const deadlineMs = 10_000

const events = {
  gvk: { group: "events.k8s.io", version: "v1", kind: "Event" },
  plural: "events",
  namespaced: true,
}

export class PodEvents {
  readonly #options: PodEventsOptions
  readonly #client: ApiClient
  #last: { readonly warning: PodWarning; readonly atMs: number } | undefined
  #waiting: Timer | undefined
  #isClosed = false

  constructor(options: PodEventsOptions) {
    this.#options = options
    const { credentials, userAgent } = options
    this.#client = new ApiClient({ server: credentials, userAgent, deadlineMs })
  }

  /** Posts the warning now or when the rate limit allows it. Does not wait for the request. */
  warn(warning: PodWarning): void {
    this.mended()
    if (this.#isClosed) return
    const { clock } = this.#options
    const sinceMs = this.#last === undefined ? Number.POSITIVE_INFINITY : clock.monotonicMs() - this.#last.atMs
    if (this.#last !== undefined && isSame(this.#last.warning, warning) && sinceMs < repeatMs) return
    if (sinceMs >= intervalMs) return this.#say(warning)
    this.#waiting = clock.after(intervalMs - sinceMs, () => this.#say(warning))
  }

  /** Drops a waiting warning, because the problem is fixed. */
  mended(): void {
    this.#waiting?.cancel()
    this.#waiting = undefined
  }

  close(): void {
    this.#isClosed = true
    this.mended()
    this.#client.close()
  }

  #say(warning: PodWarning): void {
    this.#waiting = undefined
    this.#last = { warning, atMs: this.#options.clock.monotonicMs() }
    this.#client.create(events, this.#event(warning), { isRepeatable: true }).catch((cause: ApiError) => {
      if (this.#isClosed) return
      const isUnreachable = cause._tag === "ApiUnreachableError"
      this.#options.failed(isUnreachable ? cause.detail : `HTTP ${cause.code}: ${cause.detail}`)
    })
  }

  #event({ reason, action, note }: PodWarning): ApiObject {
    const { pod, clock } = this.#options
    return {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "", generateName: `${pod.name}-`, namespace: pod.namespace },
      eventTime: microTime(clock.wallMicros()),
      reportingController: "kubereel.dev/recorder",
      reportingInstance: pod.name,
      type: "Warning",
      reason,
      action,
      note: beginningOf(note, largestNote),
      regarding: { apiVersion: "v1", kind: "Pod", ...pod },
    }
  }
}

/** For as long as the scope is open; `undefined` outside of a cluster. */
export const openPodEvents = (
  environment: Readonly<Record<string, string | undefined>>,
  { log, ...options }: Omit<PodEventsOptions, "pod" | "failed"> & { readonly log: Pick<RecorderLog, "warn"> },
): Effect.Effect<PodEvents | undefined, never, Scope.Scope> => {
  const pod = ownPod(environment)
  if (pod === undefined) return Effect.succeed(undefined)
  const failed = (reason: string): void =>
    log.warn(`no Event could be posted on pod ${pod.namespace}/${pod.name}: ${reason}`)
  return Effect.acquireRelease(
    Effect.sync(() => new PodEvents({ ...options, pod, failed })),
    (events) => Effect.sync(() => events.close()),
  )
}

const isSame = (one: PodWarning, other: PodWarning): boolean =>
  one.reason === other.reason && one.action === other.action && one.note === other.note

/** Kubernetes' MicroTime. */
const microTime = (micros: number): string =>
  new Date(micros / 1000).toISOString().replace(/Z$/, `${String(micros % 1000).padStart(3, "0")}Z`)

/** The longest prefix of whole characters that fits into the given number of bytes of UTF-8, with an ellipsis if it was cut. */
const beginningOf = (text: string, bytes: number): string => {
  const whole = Buffer.from(text)
  if (whole.length <= bytes) return text
  let end = bytes - Buffer.byteLength("…")
  // A byte 10xxxxxx continues a character.
  while (((whole[end] ?? 0) & 0xc0) === 0x80) end--
  return `${whole.subarray(0, end).toString("utf8")}…`
}
