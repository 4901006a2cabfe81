/**
 * A watch of one kind as parsed objects: the watch session of `src/kube/watch` for whoever works with objects, not bytes.
 *
 * Guaranteed by the session: after every interruption (hang-ups, 410, a server restored from a backup, silence, overload) the
 * listener either gets each change it missed, in order, or a list of the present state to compare with; no change is delivered twice
 * in a history. It tries for ever, with back-off, until stopped. After a 401 the connection's credentials are refreshed and it
 * goes on at once.
 * An exception of the listener is not caught: it ends the process, as one in any event handler.
 */

import type { Clock } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import { apiVersionOf } from "../gvk.ts"
import type { ReadTransport, Transport } from "../http/transport.ts"
import type { Kind } from "../kind.ts"
import { compileDetectRules } from "../scanner/object/detect-rules.ts"
import { HttpEnquiries } from "../watch/enquiries.ts"
import { defaultWatchPolicy, type WatchPolicy } from "../watch/protocol/policy.ts"
import type { KindState } from "../watch/protocol/protocol.ts"
import { WatchSession } from "../watch/session.ts"
import type { WatchSink } from "../watch/sink.ts"
import type { ApiConnection } from "./api-connection.ts"
import type { ApiObject } from "./objects.ts"

/** What a watch tells. Objects are the listener's own and carry apiVersion and kind. */
interface WatchListener<T> {
  /** `listed` objects follow that are the present state. A list begun before and not completed counts for nothing. */
  listStarted(): void
  listed(object: T): void
  /** The list is whole: what is not in it is gone. Everything up to `version` has been told. */
  listCompleted(version: string): void
  /** `isDeleted`: `object` is its last state. */
  changed(object: T, isDeleted: boolean): void
  /** The objects of one network read have been told: the moment to act on them. */
  readDone(): void
  /** Everything up to `version` has been told, without a change that says so. */
  progressed(version: string): void
  /** A new history begins, with a list: versions of the old one compare with none of the new. */
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
  /** In [0, 1). */
  readonly random: () => number
  readonly policy?: Partial<WatchPolicy> | undefined
}

export interface ObjectWatch {
  start(): void
  /** Nothing is told afterwards. */
  stop(): void
}

export const watchObjects = <T extends ApiObject>(
  connection: ApiConnection,
  { kind, namespace, labelSelector, fieldSelector, clock, random, policy }: WatchOptions,
  listener: WatchListener<T>,
): ObjectWatch => {
  const apiVersion = apiVersionOf(kind.gvk)
  let isStopped = false
  let transport: Transport | undefined
  let endWait = (): void => undefined

  const credentialsFailed = (cause: unknown): void => listener.alarm(`no credentials: ${messageOf(cause)}`)

  const refresh = async (): Promise<void> => {
    try {
      const isFresh = await connection.refresh()
      // With the same credentials a server that refuses them would be asked as fast as it answers.
      if (isFresh && !isStopped) session.retryNow()
    } catch (cause) {
      // The session's own back-off leads to the next 401, and here again.
      if (!isStopped) credentialsFailed(cause)
    }
  }

  const sink: WatchSink = {
    isWritable: true,
    observed: ({ action, fromList, bytes, start, end }) => {
      const parsed = JSON.parse(bytes.toString("utf8", start, end)) as T
      // Items of a list carry neither.
      const object =
        parsed.apiVersion === undefined || parsed.kind === undefined
          ? { ...parsed, apiVersion, kind: kind.gvk.kind }
          : parsed
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
    rules: compileDetectRules({ gvk: kind.gvk, detect: "all", ignore: [] }),
    labelSelector,
    fieldSelector,
    resumeVersion: undefined,
    clusterUid: undefined,
  })

  /** Credentials that cannot be had at the start are tried for again and again, like a server that cannot be reached. */
  const begin = async (): Promise<void> => {
    const { initialMs, maximumMs, factor } = { ...defaultWatchPolicy, ...policy }.backOff
    for (let waitMs = initialMs; !isStopped; waitMs = Math.min(maximumMs, waitMs * factor)) {
      try {
        transport = await connection.transport()
        if (!isStopped) session.start()
        return
      } catch (cause) {
        credentialsFailed(cause)
        const delayMs = waitMs * (1 + random())
        await new Promise<void>((resolve) => {
          const timer = clock.after(delayMs, resolve)
          endWait = () => {
            timer.cancel()
            resolve()
          }
        })
      }
    }
  }

  return {
    start: () => void begin(),
    stop: () => {
      isStopped = true
      endWait()
      if (transport !== undefined) session.stop()
    },
  }
}
