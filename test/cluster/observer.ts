/**
 * An independent observer of a cluster: lists each kind once, watches it from that list's version, and writes every
 * change to a file (see ledger.ts). It uses `node:https` and nothing of the recorder, since it verifies the recorder.
 *
 * Guaranteed: every change of an observed kind after the list is in the file exactly once, in the server's order, even
 * across watches that the server or the network closes: the next one resumes at the last version seen. A line cut off
 * by a close is dropped; its event comes again. If the server no longer has the versions in between (410), or sends
 * something the observer does not understand, {@link Observer.settle} and {@link Observer.stop} throw: the file is then
 * not a ledger. Memory grows with the number of live objects only.
 */

import { createWriteStream, type WriteStream } from "node:fs"
import type { IncomingMessage } from "node:http"
import { finished } from "node:stream/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { type Connection, get, open, readText } from "./connection.ts"
import { at, type JsonObject, parseExactly, textAt } from "./exact-json.ts"
import { type LedgerLine, type ObjectLine, objectLine } from "./ledger.ts"

/** A kind and where its objects are. */
export interface ObservedKind {
  /** `apps/v1.Deployment`. */
  readonly gvk: string
  /** `/apis/apps/v1/deployments`, below the server's address. */
  readonly path: string
}

export interface ObserverOptions {
  readonly connection: Connection
  readonly kinds: readonly ObservedKind[]
  /** The ledger; overwritten. */
  readonly file: string
  /**
   * Length of one watch in seconds, requested from the server. Default 300. Tests use 1, so that watches resume often.
   */
  readonly watchSeconds?: number
}

interface KindState {
  readonly kind: ObservedKind
  /** The start of the next watch: the version of the last event or bookmark. */
  resourceVersion: string
  /** UID → version of every object that exists according to the events so far. */
  readonly live: Map<string, string>
}

export class Observer {
  /** Watches that ended and were resumed, over all kinds. */
  resumed = 0
  readonly #options: ObserverOptions
  readonly #file: WriteStream
  readonly #abort = new AbortController()
  readonly #states: KindState[] = []
  #watches: Promise<unknown> = Promise.resolve()
  #failure: Error | undefined

  private constructor(options: ObserverOptions) {
    this.#options = options
    this.#file = createWriteStream(options.file)
  }

  /** Resolves once every kind is listed: what changes from then on is in the ledger. */
  static async start(options: ObserverOptions): Promise<Observer> {
    const observer = new Observer(options)
    await Promise.all(options.kinds.map((kind) => observer.#list(kind)))
    observer.#watches = Promise.all(observer.#states.map((state) => observer.#follow(state)))
    return observer
  }

  /**
   * Resolves when the ledger has reached the present: a fresh list of every kind has the objects and versions that
   * are live according to the ledger. Events of a kind come in order, so all earlier ones are in it as well.
   *
   * @throws Error when the ledger broke, or when a minute was not enough: something changes all the time, or an event is missing.
   */
  async settle(): Promise<void> {
    const deadline = performance.now() + 60_000
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure
      const behind = (await Promise.all(this.#states.map((state) => this.#isBehind(state)))).filter((gvk) => gvk !== "")
      if (behind.length === 0) return
      if (performance.now() > deadline)
        throw new Error(`the observer does not agree with a list of ${behind.join(", ")}`)
      await sleep(200)
    }
  }

  /** Ends the watches and closes the file. @throws Error when the ledger broke. */
  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#watches
    this.#file.end()
    await finished(this.#file)
    if (this.#failure !== undefined) throw this.#failure
  }

  async #list(kind: ObservedKind): Promise<void> {
    const { body } = await get(this.#options.connection, kind.path)
    const state: KindState = { kind, resourceVersion: textAt(body, "metadata", "resourceVersion"), live: new Map() }
    this.#states.push(state)
    this.#write({ line: "list", gvk: kind.gvk, resourceVersion: state.resourceVersion })
    for (const item of itemsOf(body)) {
      const line = objectLine("listed", kind.gvk, item)
      state.live.set(line.uid, line.resourceVersion)
      this.#write(line)
    }
  }

  async #isBehind({ kind, live }: KindState): Promise<string> {
    const items = itemsOf((await get(this.#options.connection, kind.path)).body)
    const same = (item: JsonObject): boolean =>
      live.get(textAt(item, "metadata", "uid")) === textAt(item, "metadata", "resourceVersion")
    return items.length === live.size && items.every(same) ? "" : kind.gvk
  }

  async #follow(state: KindState): Promise<void> {
    let failures = 0
    while (!this.#abort.signal.aborted && this.#failure === undefined) {
      try {
        await this.#watchOnce(state)
        failures = 0
      } catch (cause) {
        if (this.#abort.signal.aborted) return
        if (cause instanceof BrokenLedger) this.#failure = cause
        // A watch whose connection breaks is resumed like one that ends; the wait for an unreachable server is limited.
        else if (++failures >= 30) this.#failure = new BrokenLedger(`${state.kind.gvk}: ${String(cause)}`)
        else await sleep(200)
      }
      this.resumed++
    }
  }

  async #watchOnce(state: KindState): Promise<void> {
    const { connection, watchSeconds = 300 } = this.#options
    const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=${watchSeconds}&resourceVersion=${state.resourceVersion}`
    const response = await open(connection, `${state.kind.path}?${query}`, this.#abort.signal)
    if (response.statusCode === 410) throw new BrokenLedger(`${state.kind.gvk}: ${await readText(response)}`)
    if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${await readText(response)}`)
    for await (const line of wholeLines(response)) this.#take(state, line)
  }

  #take(state: KindState, text: string): void {
    const event = parseExactly(text)
    const object = at(event, "object")
    const type = textAt(event, "type")
    switch (type) {
      case "ADDED":
      case "MODIFIED":
      case "DELETED": {
        const line = objectLine(type, state.kind.gvk, object)
        this.#write(line)
        this.#applyToLive(state, line)
        state.resourceVersion = line.resourceVersion
        return
      }
      case "BOOKMARK":
        state.resourceVersion = textAt(object, "metadata", "resourceVersion")
        return
      default:
        throw new BrokenLedger(`${state.kind.gvk}: the watch answered ${text.slice(0, 300)}`)
    }
  }

  #applyToLive(state: KindState, line: ObjectLine): void {
    if (line.line === "DELETED") state.live.delete(line.uid)
    else state.live.set(line.uid, line.resourceVersion)
  }

  #write(line: LedgerLine): void {
    this.#file.write(`${JSON.stringify(line)}\n`)
  }
}

/** The observer missed something or got something it does not understand; its file is useless. */
class BrokenLedger extends Error {}

const itemsOf = (list: Parameters<typeof at>[0]): readonly JsonObject[] => {
  const items = at(list, "items")
  return Array.isArray(items) ? (items as JsonObject[]) : []
}

/** The lines of a body; what follows the last line feed was cut off and is dropped. */
async function* wholeLines(response: IncomingMessage): AsyncGenerator<string> {
  let rest = Buffer.alloc(0)
  for await (const chunk of response) {
    rest = Buffer.concat([rest, chunk as Buffer])
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      yield rest.subarray(0, end).toString("utf8")
      rest = rest.subarray(end + 1)
    }
  }
}
