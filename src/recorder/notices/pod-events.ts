/**
 * What somebody has to mend, as Kubernetes Events on the recorder's own pod: there for who looks with `kubectl describe pod`, and for
 * whatever forwards a cluster's events.
 *
 * Rare by construction: the same is said once in ten minutes, and anything at most twice a minute; of what comes sooner the last is
 * said when its time has come, unless it was mended by then. An Event that cannot be posted is told to the log and nothing else:
 * whatever it says stands there too.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ApiEndpoint } from "../../kube/endpoint.ts"
import { HttpClient } from "../../kube/http/http-client.ts"
import { describeFailure, postOnce } from "../../kube/http/request-once.ts"
import { statusOfResponse } from "../../kube/status.ts"
import type { Clock, Timer } from "../../runtime/clock.ts"
import { messageOf } from "../../runtime/errors.ts"
import type { RecorderLog } from "./notice-log.ts"

/** Where this process runs, as the Deployment has the kubelet tell it. */
export interface OwnPod {
  readonly name: string
  readonly namespace: string
  readonly uid: string
}

/** Environment variables by what they say, for the Deployment's downward API. */
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

/** One thing that somebody should know. */
export interface PodWarning {
  /** In CamelCase, for programs: at most 128 characters. */
  readonly reason: string
  /** What was being done, likewise. */
  readonly action: string
  /** For people. What is beyond a kilobyte, the API's limit, is left out. */
  readonly note: string
}

export interface PodEventsOptions {
  readonly pod: OwnPod
  readonly credentials: { endpoint(): Promise<ApiEndpoint>; onUnauthorized(): Promise<void> }
  readonly userAgent: string
  readonly clock: Clock
  /** An Event could not be posted, and why. */
  readonly failed: (reason: string) => void
}

/** ms between two Events. */
const intervalMs = 30_000
/** ms after which the same is said again. */
const repeatMs = 600_000
/** Bytes of a note. */
const largestNote = 1024
/** ms for one request. */
const deadlineMs = 10_000

export class PodEvents {
  readonly #options: PodEventsOptions
  #client: HttpClient | undefined
  #last: { readonly warning: PodWarning; readonly atMs: number } | undefined
  #waiting: Timer | undefined
  #isClosed = false

  constructor(options: PodEventsOptions) {
    this.#options = options
  }

  /** Says it, now or when its time has come. Not waited for. */
  warn(warning: PodWarning): void {
    this.mended()
    if (this.#isClosed) return
    const { clock } = this.#options
    const sinceMs = this.#last === undefined ? Number.POSITIVE_INFINITY : clock.monotonicMs() - this.#last.atMs
    if (this.#last !== undefined && isSame(this.#last.warning, warning) && sinceMs < repeatMs) return
    if (sinceMs >= intervalMs) return this.#say(warning)
    this.#waiting = clock.after(intervalMs - sinceMs, () => this.#say(warning))
  }

  /** What is waiting to be said is so no longer. */
  mended(): void {
    this.#waiting?.cancel()
    this.#waiting = undefined
  }

  close(): void {
    this.#isClosed = true
    this.mended()
    this.#client?.close()
  }

  #say(warning: PodWarning): void {
    this.#waiting = undefined
    this.#last = { warning, atMs: this.#options.clock.monotonicMs() }
    void this.#post(JSON.stringify(this.#event(warning))).catch((cause: unknown) => {
      if (!this.#isClosed) this.#options.failed(messageOf(cause))
    })
  }

  #event({ reason, action, note }: PodWarning): object {
    const { pod, clock } = this.#options
    return {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { generateName: `${pod.name}-`, namespace: pod.namespace },
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

  /** Rejects with what is to be told. */
  async #post(body: string): Promise<void> {
    const { pod, credentials } = this.#options
    const path = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(pod.namespace)}/events`
    const ask = async () => {
      const outcome = await postOnce(await this.#connected(), path, body, { deadlineMs })
      if (outcome.tag === "response") return outcome
      throw new Error(describeFailure(outcome))
    }
    let answer = await ask()
    if (answer.status === 401) {
      await credentials.onUnauthorized()
      answer = await ask()
    }
    if (answer.status < 300) return
    const { message } = statusOfResponse(answer.status, answer.headers, answer.body)
    throw new Error(`HTTP ${answer.status}: ${message}`)
  }

  async #connected(): Promise<HttpClient> {
    const { credentials, userAgent } = this.#options
    const endpoint = await credentials.endpoint()
    if (this.#client === undefined) this.#client = new HttpClient(endpoint, { userAgent })
    else this.#client.updateEndpoint(endpoint)
    return this.#client
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

/** As many whole characters as fit into so many bytes of UTF-8, with a mark where something is left out. */
const beginningOf = (text: string, bytes: number): string => {
  const whole = Buffer.from(text)
  if (whole.length <= bytes) return text
  let end = bytes - Buffer.byteLength("…")
  // A byte 10xxxxxx goes on with a character.
  while (((whole[end] ?? 0) & 0xc0) === 0x80) end--
  return `${whole.subarray(0, end).toString("utf8")}…`
}
