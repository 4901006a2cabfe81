/** Notes when each version of each object became visible, over a connection of its own: the truth about times that a recorder estimates. */
import { setTimeout as sleep } from "node:timers/promises"
import { type Connection, get, open } from "../connection.ts"
import { parseExactly, textAt } from "../exact-json.ts"
import { type TrueChange, TrueTimes } from "./true-times.ts"

export class TimedObserver {
  readonly seen = new TrueTimes()
  readonly #abort = new AbortController()
  #watches: Promise<unknown> = Promise.resolve()

  readonly #connection: Connection

  private constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Resolves once every kind is listed. @param kinds with the paths of their collections */
  static async start(connection: Connection, kinds: ReadonlyMap<string, string>): Promise<TimedObserver> {
    const observer = new TimedObserver(connection)
    const listed = await Promise.all(
      [...kinds].map(async ([gvk, path]) => {
        const { body } = await get(connection, path)
        return { gvk, path, version: textAt(body, "metadata", "resourceVersion") }
      }),
    )
    observer.#watches = Promise.all(listed.map(({ gvk, path, version }) => observer.#follow(gvk, path, version)))
    return observer
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#watches
  }

  async #follow(gvk: string, path: string, from: string): Promise<void> {
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
            this.seen.add({
              ...{ gvk, version, micros: Date.now() * 1000, type: type as TrueChange["type"] },
              uid: textAt(event, "object", "metadata", "uid"),
            })
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
