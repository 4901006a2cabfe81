/**
 * One kind kept up to date for all controllers of one manager: the project's own watch session, feeding an object cache.
 *
 * What the session guarantees holds here: no change is lost over reconnects, expired versions, restored backups and
 * servers that fall silent; the cache is complete when `synced` resolves and catches up after every outage.
 */

import { apiVersionOfKind, type Kind } from "../kube/client/kinds.ts"
import type { ApiObject } from "../kube/client/objects.ts"
import type { HttpClient } from "../kube/http/http-client.ts"
import { compileDetectRules } from "../kube/scanner/object/detect-rules.ts"
import { HttpEnquiries } from "../kube/watch/enquiries.ts"
import { defaultWatchPolicy, type WatchPolicy } from "../kube/watch/protocol/policy.ts"
import { WatchSession } from "../kube/watch/session.ts"
import type { WatchSink } from "../kube/watch/sink.ts"
import type { Clock } from "../runtime/clock.ts"
import { ObjectCache } from "./object-cache.ts"

export interface InformerOptions {
  readonly client: HttpClient
  readonly kind: Kind
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  readonly policy?: Partial<WatchPolicy>
  /** Told what an operator should see: refusals, alarms. */
  readonly onTrouble?: (detail: string) => void
}

export class SharedInformer<T extends ApiObject> {
  readonly cache = new ObjectCache<T>()
  /** Resolves when the first list is complete and its changes have been told. Never rejects. */
  readonly synced: Promise<void>
  readonly #session: WatchSession

  constructor({ client, kind, clock, random, policy, onTrouble }: InformerOptions) {
    let markSynced: () => void = () => undefined
    this.synced = new Promise((resolve) => {
      markSynced = resolve
    })
    const { cache } = this
    const trouble = (detail: string): void => onTrouble?.(`${kind.plural}: ${detail}`)
    const sink: WatchSink = {
      isWritable: true,
      observed: (action, fromList, _version, bytes, start, end) => {
        const object = parseObject<T>(bytes.toString("utf8", start, end), kind)
        if (fromList) cache.listedItem(object)
        else cache.watched(object, action === 2)
      },
      readDone: () => cache.flush(),
      listStarted: () => cache.listStarted(),
      listCompleted: (version) => {
        cache.listCompleted(version)
        markSynced()
      },
      progressed: (version) => cache.progressed(version),
      epochStarted: () => cache.newHistory(),
      clusterIdentified: () => undefined,
      stateChanged: (state, detail) => {
        if (state === "forbidden" || state === "failing") trouble(`${state}: ${detail}`)
      },
      alarm: trouble,
      unauthorized: () => trouble("the server does not accept the credentials"),
    }
    this.#session = new WatchSession({
      transport: client,
      enquiries: new HttpEnquiries(client, kind.gvk, undefined),
      sink,
      clock,
      random,
      policy: { ...defaultWatchPolicy, ...policy },
      rules: compileDetectRules({ gvk: kind.gvk, detect: "all", ignore: [] }),
      labelSelector: undefined,
      fieldSelector: undefined,
      resumeVersion: undefined,
      clusterUid: undefined,
    })
  }

  start(): void {
    this.#session.start()
  }

  stop(): void {
    this.#session.stop()
  }
}

/** Items of a list carry no apiVersion and kind; everything in the cache does. */
const parseObject = <T extends ApiObject>(text: string, kind: Kind): T => {
  const object = JSON.parse(text) as T
  return object.apiVersion === undefined || object.kind === undefined
    ? { ...object, apiVersion: apiVersionOfKind(kind), kind: kind.gvk.kind }
    : object
}
