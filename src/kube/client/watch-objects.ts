/**
 * A watch of one kind that delivers parsed objects. After every interruption the listener gets each change that it
 * missed, in order, or a list of the present state; no change is delivered twice in a history. It retries until it is
 * stopped. An exception of the listener ends the process, as in any event handler.
 */

import type { Clock } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import type { ReadTransport, Transport } from "../http/transport.ts"
import type { Kind } from "../kinds/gvk.ts"
import { pause } from "../pause.ts"
import { compileDetectRules } from "../scanner/object/detect-rules.ts"
import { HttpEnquiries } from "../watch/enquiries.ts"
import { defaultWatchPolicy, type WatchPolicy } from "../watch/protocol/policy.ts"
import type { KindState } from "../watch/protocol/protocol.ts"
import { WatchSession } from "../watch/session.ts"
import type { WatchSink } from "../watch/session-options.ts"
import type { ApiConnection } from "./api-connection.ts"
import type { ApiObject, ObjectBase } from "./objects.ts"

/** The events of a watch. Objects belong to the listener and carry apiVersion and kind. */
interface WatchListener<T> {
  /** `listed` objects follow that are the present state. They replace those of an earlier list that was not completed. */
  listStarted(): void
  listed(object: T): void
  /** The list is complete: any object not in it is gone. Everything up to `version` has been delivered. */
  listCompleted(version: string): void
  /** `isDeleted`: `object` is its last state. */
  changed(object: T, isDeleted: boolean): void
  /** All objects of one network read have been delivered: the moment to act on them. */
  readDone(): void
  /** Everything up to `version` has been delivered; no change accompanies this. */
  progressed(version: string): void
  /** A new history starts, with a list: versions of the old and the new history cannot be compared. */
  historyStarted(detail: string): void
  stateChanged(state: KindState, detail: string): void
  /** Something an operator should see: malformed lines, relists in a row, credentials that cannot be refreshed. */
  alarm(detail: string): void
}

export interface WatchOptions {
  readonly kind: Kind
  /** Default: all namespaces. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly clock: Clock
  /** Returns a number in [0, 1). */
  readonly random: () => number
  readonly policy?: Partial<WatchPolicy> | undefined
}

export interface ObjectWatch {
  start(): void
  /** The listener is not called afterwards. */
  stop(): void
}

export const watchObjects = <T extends ObjectBase = ApiObject>(
  connection: ApiConnection,
  { kind, namespace, labelSelector, fieldSelector, clock, random, policy }: WatchOptions,
  listener: WatchListener<T>,
): ObjectWatch => {
  const stopping = new AbortController()
  let transport: Transport | undefined

  const credentialsFailed = (cause: unknown): void => listener.alarm(`no credentials: ${messageOf(cause)}`)

  const refresh = async (): Promise<void> => {
    try {
      const isFresh = await connection.refresh()
      // With the same credentials, a server that rejects them would be asked again as fast as it responds.
      if (isFresh && !stopping.signal.aborted) session.retryNow()
    } catch (cause) {
      // The session's own back-off leads to the next 401, and so to the next refresh.
      if (!stopping.signal.aborted) credentialsFailed(cause)
    }
  }

  const sink: WatchSink = {
    isWritable: true,
    observed: ({ action, fromList, bytes, start, end }) => {
      const object: T = JSON.parse(bytes.toString("utf8", start, end))
      if (fromList) listener.listed(object)
      else listener.changed(object, action === 2)
    },
    readDone: () => listener.readDone(),
    listStarted: () => listener.listStarted(),
    listCompleted: (version) => listener.listCompleted(version),
    progressed: (version) => listener.progressed(version),
    epochStarted: (detail) => listener.historyStarted(detail),
  }
  const current = (): Transport => {
    if (transport === undefined) throw new Error("a watch asks for nothing before it has a transport")
    return transport
  }
  const through: ReadTransport = { get: (path, headers, handler) => current().get(path, headers, handler) }
  const session = new WatchSession({
    transport: through,
    enquiries: new HttpEnquiries(through, kind.gvk, namespace),
    sink,
    listener: {
      stateChanged: (state, detail) => listener.stateChanged(state, detail),
      alarm: (detail) => listener.alarm(detail),
      unauthorized: () => void refresh(),
      clusterIdentified: () => undefined,
    },
    clock,
    random,
    policy: { ...defaultWatchPolicy, ...policy },
    gvk: kind.gvk,
    rules: compileDetectRules({ gvk: kind.gvk, detect: "all", ignore: [] }),
    labelSelector,
    fieldSelector,
    resumeVersion: undefined,
    clusterUid: undefined,
  })

  /** Retries credentials that are missing at the start again and again, as for a server that cannot be reached. */
  const begin = async (): Promise<void> => {
    const { initialMs, maximumMs, factor } = { ...defaultWatchPolicy, ...policy }.backOff
    for (let waitMs = initialMs; !stopping.signal.aborted; waitMs = Math.min(maximumMs, waitMs * factor)) {
      try {
        transport = await connection.transport()
        if (!stopping.signal.aborted) session.start()
        return
      } catch (cause) {
        credentialsFailed(cause)
        await pause(clock, waitMs * (1 + random()), stopping.signal)
      }
    }
  }

  return {
    start: () => void begin(),
    stop: () => {
      stopping.abort()
      if (transport !== undefined) session.stop()
    },
  }
}
