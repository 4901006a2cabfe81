/** Notes when each version of each object became visible, over a connection of its own: the truth about times that a recorder estimates. */
import { setTimeout as sleep } from "node:timers/promises"
import { type Connection, get, open } from "../connection.ts"
import { parseExactly, textAt } from "../exact-json.ts"

/** `uid version` → ms since the Unix epoch. */
export type SeenTimes = ReadonlyMap<string, number>

export class TimedObserver {
  readonly #seen = new Map<string, number>()
  readonly #abort = new AbortController()
  #watches: Promise<unknown> = Promise.resolve()

  readonly #connection: Connection

  private constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Resolves once every kind is listed. @param paths of the kinds' collections */
  static async start(connection: Connection, paths: ReadonlyArray<string>): Promise<TimedObserver> {
    const observer = new TimedObserver(connection)
    const versions = await Promise.all(
      paths.map(async (path) => textAt((await get(connection, path)).body, "metadata", "resourceVersion")),
    )
    observer.#watches = Promise.all(paths.map((path, index) => observer.#follow(path, versions[index] ?? "")))
    return observer
  }

  get seen(): SeenTimes {
    return this.#seen
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#watches
  }

  async #follow(path: string, from: string): Promise<void> {
    let version = from
    const { signal } = this.#abort
    while (!signal.aborted) {
      try {
        const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=${version}`
        const response = await open(this.#connection, `${path}?${query}`, signal)
        if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`)
        let rest = ""
        for await (const chunk of response.setEncoding("utf8")) {
          const lines = (rest + String(chunk)).split("\n")
          rest = lines.pop() ?? ""
          for (const line of lines) {
            const event = parseExactly(line)
            const type = textAt(event, "type")
            // The server no longer has the changes since that version; their times stay unknown.
            if (type === "ERROR") {
              version = textAt((await get(this.#connection, path)).body, "metadata", "resourceVersion")
              continue
            }
            version = textAt(event, "object", "metadata", "resourceVersion")
            if (type === "BOOKMARK") continue
            this.#seen.set(`${textAt(event, "object", "metadata", "uid")} ${version}`, Date.now())
          }
        }
      } catch (cause) {
        if (signal.aborted) return
        // The API server is down; nothing happens meanwhile.
        if (!(cause instanceof Error)) throw cause
        await sleep(20)
      }
    }
  }
}
