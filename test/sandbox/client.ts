/** A client for tests of the server: plain node:http, nothing of our own protocol code. */

import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http"

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** The members of an API object that these tests use. */
export interface ApiObject {
  readonly kind?: string
  readonly apiVersion?: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly labels?: Record<string, string>
    readonly annotations?: Record<string, string>
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly items: ReadonlyArray<ApiObject>
  readonly spec?: unknown
  readonly data?: unknown
  readonly message?: string
  readonly reason?: string
  readonly code?: number
}

export interface WatchEvent {
  readonly type: string
  readonly object: ApiObject
}

export const get = (url: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { headers, method, agent: false }, (response) => {
      const parts: Buffer[] = []
      response.on("data", (part: Buffer) => parts.push(part))
      response.on("error", reject)
      response.on("end", () => {
        const text = Buffer.concat(parts).toString("utf8")
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
      })
    })
    sent.on("error", reject)
    sent.end()
  })

export const getJson = async (url: string): Promise<ApiObject> => JSON.parse((await get(url)).text) as ApiObject

/** An open watch. Lines arrive in order and wait until they are taken. */
export class Watch {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** `clean` if the server ended the response, `cut` if the connection broke. Never rejects. */
  readonly ended: Promise<"clean" | "cut">
  /** All complete lines received so far, taken or not. */
  readonly lines: string[] = []
  /** What followed the last line feed. */
  rest = ""
  readonly #response: IncomingMessage
  #taken = 0
  #over = false
  #wake: () => void = () => undefined

  private constructor(response: IncomingMessage) {
    this.#response = response
    this.status = response.statusCode ?? 0
    this.headers = response.headers
    response.setEncoding("utf8")
    response.on("data", (text: string) => {
      const parts = (this.rest + text).split("\n")
      this.rest = parts.pop() ?? ""
      this.lines.push(...parts)
      this.#wake()
    })
    this.ended = new Promise((resolve) => {
      response.once("end", () => resolve("clean"))
      response.once("error", () => resolve("cut"))
      response.once("close", () => resolve(response.complete ? "clean" : "cut"))
    })
    void this.ended.then(() => {
      this.#over = true
      this.#wake()
    })
  }

  /** Resolves when the head has arrived. */
  static open(url: string, headers: Record<string, string> = {}): Promise<Watch> {
    return new Promise((resolve, reject) => {
      const agent = new Agent({ keepAlive: false })
      const sent = request(url, { headers, agent }, (response) => resolve(new Watch(response)))
      sent.on("error", reject)
      sent.end()
    })
  }

  /** The next line; rejects if the stream ends before. */
  async line(): Promise<string> {
    while (this.#taken >= this.lines.length) {
      if (this.#over) throw new Error(`the watch ended after ${this.lines.length} lines`)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.lines[this.#taken++] ?? ""
  }

  async next(): Promise<WatchEvent> {
    return JSON.parse(await this.line()) as WatchEvent
  }

  async take(count: number): Promise<ReadonlyArray<WatchEvent>> {
    const events: WatchEvent[] = []
    while (events.length < count) events.push(await this.next())
    return events
  }

  /** Lines received but not taken. */
  get waiting(): number {
    return this.lines.length - this.#taken
  }

  pause(): void {
    this.#response.pause()
  }

  resume(): void {
    this.#response.resume()
  }

  close(): void {
    this.#response.destroy()
  }
}

/** `MODIFIED web@1007`: the form that most assertions use. */
export const brief = ({ type, object }: WatchEvent): string =>
  `${type} ${object.metadata.name ?? ""}@${object.metadata.resourceVersion}`
