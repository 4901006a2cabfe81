/**
 * Creates, changes and deletes ConfigMaps one after another, as fast as an API server accepts it, and keeps what the server
 * has acknowledged. Waits for an unreachable server; the outcome of the request that broke is unknown.
 */
import { Agent, request } from "node:https"
import { setTimeout as sleep } from "node:timers/promises"
import { type Connection, get, readText } from "../connection.ts"
import { at, type Json, parseExactly, textAt } from "../exact-json.ts"

/** A version of an object that the server has acknowledged. */
export interface Written {
  readonly uid: string
  readonly resourceVersion: string
}

export class Burst {
  readonly written: Written[] = []
  readonly #connection: Connection
  readonly #collection: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #ended: Promise<void>
  #isStopped = false

  /** Starts at once. The namespace must exist. `prefix` is the prefix of the names. */
  constructor(connection: Connection, namespace: string, prefix: string) {
    this.#connection = connection
    this.#collection = `/api/v1/namespaces/${namespace}/configmaps`
    this.#ended = this.#run(prefix)
  }

  /** Resolves when so many more versions were acknowledged. */
  async more(count: number): Promise<void> {
    const enough = this.written.length + count
    const deadline = performance.now() + 60_000
    while (this.written.length < enough) {
      if (performance.now() > deadline) throw new Error(`${this.written.length} of ${enough} writes within a minute`)
      await sleep(5)
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#ended
    this.#agent.destroy()
  }

  async #run(prefix: string): Promise<void> {
    for (let index = 0; !this.#isStopped; index++) {
      const name = `${prefix}-${index}`
      try {
        await this.#write("POST", "", { metadata: { name }, data: { step: "made" } })
        await this.#write("PATCH", `/${name}`, { data: { step: "changed" } })
        await this.#write("PATCH", `/${name}`, { data: { step: "changed again" } })
        if (index >= 20) await this.#send("DELETE", `/${prefix}-${index - 20}`)
      } catch {
        // The server is unreachable, or does not accept this client yet: only acknowledged versions count.
        await sleep(20)
      }
    }
  }

  async #write(method: string, path: string, body: object): Promise<void> {
    const answer = await this.#send(method, path, JSON.stringify(body))
    const uid = textAt(answer, "metadata", "uid")
    this.written.push({ uid, resourceVersion: textAt(answer, "metadata", "resourceVersion") })
  }

  #send(method: string, path: string, body = ""): Promise<Json> {
    const { server, options } = this.#connection
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json"
    const headers = { ...(options.headers as Readonly<Record<string, string>>), "content-type": type }
    return new Promise((resolve, reject) => {
      const url = new URL(server + this.#collection + path)
      const sent = request(url, { ...options, agent: this.#agent, method, headers, timeout: 5000 })
      sent.on("timeout", () => sent.destroy(new Error("no answer within 5 s")))
      sent.on("error", reject)
      sent.on("response", (response) => {
        readText(response).then((text) => {
          const code = response.statusCode ?? 0
          if (code >= 200 && code < 300) resolve(parseExactly(text))
          else reject(new Error(`${method} ${path}: ${code} ${text.slice(0, 200)}`))
        }, reject)
      })
      sent.end(body)
    })
  }
}

/** UID and version of each ConfigMap of a namespace, as the server lists them. */
export const listed = async (connection: Connection, namespace: string): Promise<ReadonlyMap<string, string>> => {
  const { body } = await get(connection, `/api/v1/namespaces/${namespace}/configmaps`)
  const items = at(body, "items")
  return new Map(
    (Array.isArray(items) ? items : []).map((item: Json) => [
      textAt(item, "metadata", "uid"),
      textAt(item, "metadata", "resourceVersion"),
    ]),
  )
}
