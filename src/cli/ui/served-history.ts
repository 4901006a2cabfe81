/** What the page of `reel serve` asks about: the source that is served, opened as a recording with the first question. A trace is copied into one for that. */

import type { IncomingMessage, ServerResponse } from "node:http"
import { messageOf } from "../../message-of.ts"
import { refuse } from "../../recorder/index.ts"
import { visible } from "../../text/index.ts"
import { placeOfOperand } from "../export/connection/recorder-place.ts"
import { type OpenPast, openPast } from "../past/past-places.ts"
import { isQuestion, passOn } from "./passed-on.ts"

interface HistorySurroundings {
  readonly terminal: Parameters<typeof openPast>[1]["terminal"]
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** ms without a byte of a recorder. */
const recorderSilentMs = 120_000

const nowhere = {
  ...{ server: undefined, inCluster: undefined, kubeconfig: undefined, context: undefined, tokenFile: undefined },
  timeout: recorderSilentMs,
}

export class ServedHistory implements AsyncDisposable {
  readonly #source: string
  readonly #surroundings: HistorySurroundings
  #past: Promise<OpenPast> | undefined

  constructor(source: string, surroundings: HistorySurroundings) {
    this.#source = source
    this.#surroundings = surroundings
  }

  /** Reading only: what is served cannot be changed. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "", method } = request
    if (method !== "GET" && method !== "HEAD") return refuse(response, { status: 405, message: "only GET is possible" })
    const [path = ""] = url.split("?")
    if (!isQuestion(path)) return refuse(response, { status: 404, message: "not found" })
    try {
      const { places } = await this.#opened()
      for (const place of places) await passOn(place, request, response, url)
    } catch (cause) {
      refuse(response, { status: 502, message: visible(messageOf(cause)) })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Who asked was told why it could not be opened.
    const past = await this.#past?.catch(() => undefined)
    await past?.close()
  }

  /** One that could not be opened is tried again with the next question. */
  #opened(): Promise<OpenPast> {
    this.#past ??= this.#open().catch((cause: unknown) => {
      this.#past = undefined
      throw cause
    })
    return this.#past
  }

  async #open(): Promise<OpenPast> {
    const place = await placeOfOperand({}, this.#source)
    if (typeof place === "string") throw new Error(place)
    const directory = place?.dataDir === undefined ? [] : [place.dataDir]
    const trace = place === undefined ? [this.#source] : []
    return openPast({ ...nowhere, server: place?.server, dataDir: directory, trace }, this.#surroundings)
  }
}
