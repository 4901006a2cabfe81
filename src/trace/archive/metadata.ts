/** Few facts about a recording as a whole, by key: `clusterUid` (UID of namespace kube-system) and whatever its owner adds. */

import type { DatabaseSync, StatementSync } from "node:sqlite"

/** Reads what is stored; answers `undefined` for an unknown key. */
export const readMetadata = (database: DatabaseSync): ReadonlyMap<string, string> =>
  new Map(
    database
      .prepare("SELECT key, value FROM metadata")
      .all()
      .map((row) => [String(row.key), String(row.value)]),
  )

/** The writer's view: every `set` is stored before it returns. */
export class Metadata {
  readonly #values: Map<string, string>
  readonly #save: StatementSync

  constructor(database: DatabaseSync) {
    this.#values = new Map(readMetadata(database))
    this.#save = database.prepare("INSERT OR REPLACE INTO metadata (key, value) VALUES (?, ?)")
  }

  get(key: string): string | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: string): void {
    if (this.#values.get(key) === value) return
    this.#save.run(key, value)
    this.#values.set(key, value)
  }
}
