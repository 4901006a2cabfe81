/** What the page of `reel serve` asks about: the source that is served, opened as a recording with the first question. A trace is copied into one for that. */

import type { IncomingMessage, ServerResponse } from "node:http"
import { refuse } from "../../recorder/index.ts"
import { placeOfOperand } from "../export/connection/recorder-place.ts"
import { ofDirectory, openPast } from "../past/past-places.ts"
import { isQuestion } from "./passed-on.ts"
import { PastOnDemand } from "./past-on-demand.ts"

/** ms without a byte of a recorder. */
const recorderSilentMs = 120_000

export class ServedHistory implements AsyncDisposable {
  readonly #past: PastOnDemand

  constructor(source: string, { terminal, say, signal }: Parameters<typeof openPast>[1]) {
    this.#past = new PastOnDemand(async (own) => {
      const place = await placeOfOperand({}, source)
      if (typeof place === "string") throw new Error(place)
      const dataDir = place?.dataDir === undefined ? [] : [place.dataDir]
      const trace = place === undefined ? [source] : []
      const options = { ...ofDirectory(""), timeout: recorderSilentMs, server: place?.server, dataDir, trace }
      return openPast(options, { terminal, say, signal: AbortSignal.any([own, signal]) })
    })
  }

  /** Reading only: what is served cannot be changed. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "", method } = request
    if (method !== "GET" && method !== "HEAD") return refuse(response, { status: 405, message: "only GET is possible" })
    const [path = ""] = url.split("?")
    if (!isQuestion(path)) return refuse(response, { status: 404, message: "not found" })
    await this.#past.answer(request, response, url)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#past.close()
  }
}
