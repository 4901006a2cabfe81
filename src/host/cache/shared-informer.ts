/**
 * One selection of objects, kept up to date for the whole process, with the guarantees of client-go's reflector and shared informer: the last state of
 * every object, and every deletion, reach every handler in the order of versions, over reconnects, expired versions (410), restored backups and
 * silence. What was deleted during such a break is delivered with the next list, with its last known state.
 */

import type { Clock } from "../../clock.ts"
import {
  type ApiConnection,
  type ApiObject,
  type ObjectBase,
  type ObjectWatch,
  type WatchOptions,
  watchObjects,
} from "../../kube/index.ts"
import { ObjectCache } from "./object-cache.ts"

export interface InformerOptions extends WatchOptions {
  readonly connection: ApiConnection
  readonly clock: Clock
  /** Gets what an operator should see: refusals, alarms, handlers that throw. */
  readonly onTrouble?: ((detail: string) => void) | undefined
}

export class SharedInformer<T extends ObjectBase = ApiObject> {
  readonly cache: ObjectCache<T>
  /** Resolves when {@link hasSynced} becomes true. Never rejects. */
  readonly synced: Promise<void>
  readonly #watch: ObjectWatch
  #hasSynced = false

  constructor(options: InformerOptions) {
    const { kind, connection, onTrouble } = options
    const trouble = (detail: string): void => onTrouble?.(`${kind.plural}: ${detail}`)
    const cache = new ObjectCache<T>({
      onHandlerError: (error) => trouble(`a handler threw: ${error instanceof Error ? error.stack : String(error)}`),
    })
    this.cache = cache
    const { promise, resolve } = Promise.withResolvers<void>()
    this.synced = promise
    this.#watch = watchObjects<T>(connection, options, {
      listStarted: () => cache.listStarted(),
      listed: (object) => cache.listedItem(object),
      listCompleted: (version) => {
        cache.listCompleted(version)
        this.#hasSynced = true
        resolve()
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
  }

  stop(): void {
    this.#watch.stop()
  }
}
