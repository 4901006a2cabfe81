/**
 * Events as the real components record them: one object per (source, object, reason, message), whose `count` and
 * `lastTimestamp` are updated when it happens again.
 *
 * Controllers never wait for their Events. Guaranteed: Events are sent one after the other in the order recorded. Under
 * overload (1,000 waiting, as client-go's broadcaster) further ones are dropped; an Event that the server refuses is
 * reported as trouble and dropped.
 */

import type { Clock } from "../../../clock.ts"
import { type ApiClient, isEndedNamespace, kinds, NotFoundError, type ObjectBase } from "../../../kube/index.ts"

export type EventType = "Normal" | "Warning"

interface RecordedEvent {
  readonly object: ObjectBase
  readonly type: EventType
  readonly reason: string
  readonly message: string
  /** Part of the object, such as `spec.containers{web}`. */
  readonly fieldPath?: string
  /** What was done or failed, in one word. Default: none. */
  readonly action?: string
}

/** The source that a component's Events name. */
export interface EventSource {
  /** `deployment-controller`, `kubelet`, … */
  readonly component: string
  /** Node name, for the kubelet. */
  readonly host?: string
}

interface KnownEvent {
  readonly namespace: string
  readonly name: string
  readonly count: number
}

const maximumWaiting = 1000
/** client-go's LRU of known events. */
const maximumKnown = 4096

/** The part of a cluster that Events need. */
interface EventCluster {
  readonly api: Pick<ApiClient, "create" | "patch">
  readonly clock: Pick<Clock, "wallMicros">
  /** Now, in RFC 3339 with whole seconds. */
  readonly now: () => string
  readonly trouble: (detail: string) => void
}

export class EventRecorder {
  readonly #cluster: EventCluster
  readonly #known = new Map<string, KnownEvent>()
  readonly #waiting: Array<{ readonly source: EventSource; readonly event: RecordedEvent; readonly at: string }> = []
  #sending: Promise<void> | undefined
  #serial = 0

  constructor(cluster: EventCluster) {
    this.#cluster = cluster
  }

  record(source: EventSource, event: RecordedEvent): void {
    if (this.#waiting.length >= maximumWaiting) return
    this.#waiting.push({ source, event, at: this.#cluster.now() })
    this.#sending ??= this.#send()
  }

  /** Resolves when everything recorded so far has been sent. */
  async drained(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending
  }

  async #send(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      try {
        await this.#sendOne(next.source, next.event, next.at)
      } catch (error) {
        // A namespace's end deletes everything in it, Events as well.
        if (!isEndedNamespace(error)) this.#cluster.trouble(`event ${next.event.reason} not recorded: ${String(error)}`)
      }
    }
    this.#sending = undefined
  }

  async #sendOne(source: EventSource, event: RecordedEvent, at: string): Promise<void> {
    const { metadata, kind } = event.object
    const identity = [source.component, source.host, kind, metadata.namespace, metadata.name, metadata.uid, event.type]
    const key = [...identity, event.reason, event.message, event.fieldPath].join("\n")
    const known = this.#known.get(key)
    if (known !== undefined) {
      const count = known.count + 1
      try {
        const body = { count, lastTimestamp: at }
        await this.#cluster.api.patch(kinds.events, known, "strategic-merge", body)
        this.#remember(key, { ...known, count })
        return
      } catch (error) {
        // It has expired meanwhile: a new one is created.
        if (!(error instanceof NotFoundError)) throw error
      }
    }
    const namespace = metadata.namespace ?? "default"
    const name = `${metadata.name}.${this.#uniqueSuffix()}`
    await this.#cluster.api.create(kinds.events, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace },
      involvedObject: {
        kind,
        ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
        name: metadata.name,
        uid: metadata.uid,
        apiVersion: event.object.apiVersion,
        resourceVersion: metadata.resourceVersion,
        fieldPath: event.fieldPath,
      },
      reason: event.reason,
      message: event.message.slice(0, 1024),
      source,
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
      type: event.type,
      ...(event.action !== undefined && { action: event.action }),
      reportingComponent: source.component,
      reportingInstance: source.host ?? "",
    })
    this.#remember(key, { namespace, name, count: 1 })
  }

  #remember(key: string, event: KnownEvent): void {
    this.#known.delete(key)
    this.#known.set(key, event)
    const [oldest] = this.#known.keys()
    if (this.#known.size > maximumKnown && oldest !== undefined) this.#known.delete(oldest)
  }

  /** Hexadecimal ns since the epoch, as client-go names events; the last digits count, so that none repeats. */
  #uniqueSuffix(): string {
    this.#serial = (this.#serial + 1) % 1000
    return (BigInt(this.#cluster.clock.wallMicros()) * 1000n + BigInt(this.#serial)).toString(16)
  }
}
