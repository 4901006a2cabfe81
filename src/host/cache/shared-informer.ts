/**
 * One selection of objects, kept up to date for the whole process: a lossless watch that feeds an object cache.
 *
 * The guarantees of client-go's reflector and shared informer hold here:
 * - The last state of every object, and every deletion, reach every handler, over reconnects, expired versions (410), restored
 *   backups and servers that fall silent. A deletion during such a break is delivered with the next list, with the last known
 *   state.
 * - {@link SharedInformer.hasSynced} is true only after the first list is complete and the handlers have got all of it.
 * - A handler added late first gets the present objects. A handler that throws costs no handler an event, itself included.
 * - Changes of one object come in the order of its versions; handlers see each batch one after the other.
 */

import type { Clock, Timer } from "../../clock.ts"
import type { ApiConnection } from "../../kube/client/api-connection.ts"
import type { ApiObject, ObjectBase } from "../../kube/client/objects.ts"
import { type ObjectWatch, type WatchOptions, watchObjects } from "../../kube/client/watch-objects.ts"
import { ObjectCache } from "./object-cache.ts"

export interface InformerOptions extends WatchOptions {
  readonly connection: ApiConnection
  readonly clock: Clock
  /**
   * ms between two resyncs, which pass all objects to the handlers as if they had changed, for work that depends on
   * something that is not watched. Default: never; no event is lost that a resync would have to repair.
   */
  readonly resyncMs?: number | undefined
  /** Gets what an operator should see: refusals, alarms, handlers that throw. */
  readonly onTrouble?: ((detail: string) => void) | undefined
}

export class SharedInformer<T extends ObjectBase = ApiObject> {
  readonly cache: ObjectCache<T>
  /** Resolves when {@link hasSynced} becomes true. Never rejects. */
  readonly synced: Promise<void>
  readonly #options: InformerOptions
  readonly #watch: ObjectWatch
  #hasSynced = false
  #resync: Timer | undefined

  constructor(options: InformerOptions) {
    this.#options = options
    const { kind, connection, onTrouble } = options
    const trouble = (detail: string): void => onTrouble?.(`${kind.plural}: ${detail}`)
    const cache = new ObjectCache<T>({
      onHandlerError: (error) => trouble(`a handler threw: ${error instanceof Error ? error.stack : String(error)}`),
    })
    this.cache = cache
    let resolveSynced: () => void = () => undefined
    this.synced = new Promise((resolve) => {
      resolveSynced = resolve
    })
    this.#watch = watchObjects<T>(connection, options, {
      listStarted: () => cache.listStarted(),
      listed: (object) => cache.listedItem(object),
      listCompleted: (version) => {
        cache.listCompleted(version)
        this.#hasSynced = true
        resolveSynced()
      },
      changed: (object, isDeleted) => cache.watched(object, isDeleted),
      readDone: () => cache.flush(),
      progressed: (version) => cache.progressed(version),
      historyStarted: () => cache.newHistory(),
      stateChanged: (state, detail) => {
        if (state === "forbidden" || state === "failing") trouble(`${state}: ${detail}`)
      },
      alarm: trouble,
    })
  }

  get hasSynced(): boolean {
    return this.#hasSynced
  }

  start(): void {
    this.#watch.start()
    this.#scheduleResync()
  }

  stop(): void {
    this.#resync?.cancel()
    this.#watch.stop()
  }

  #scheduleResync(): void {
    const { resyncMs, clock } = this.#options
    if (resyncMs === undefined) return
    this.#resync = clock.after(resyncMs, () => {
      this.cache.resync()
      this.#scheduleResync()
    })
  }
}
