/** Recordings that are opened with the first question about them, and again after a failure. */

import type { IncomingMessage, ServerResponse } from "node:http"
import { messageOf } from "../../message-of.ts"
import { refuse } from "../../recorder/index.ts"
import { visible } from "../../text/index.ts"
import type { OpenPast } from "../past/past-places.ts"
import { passOn } from "./passed-on.ts"

export class PastOnDemand {
  readonly #open: (signal: AbortSignal) => Promise<OpenPast>
  readonly #abort = new AbortController()
  #past: Promise<OpenPast> | undefined
  /** Questions under way. */
  asked = 0
  /** Why it could not be read the last time. */
  trouble: string | undefined

  constructor(open: (signal: AbortSignal) => Promise<OpenPast>) {
    this.#open = open
  }

  /** `url`: path and query of a question, as {@link passOn} takes it. */
  async answer(request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
    this.asked++
    response.once("close", () => this.asked--)
    try {
      this.#past ??= this.#open(this.#abort.signal).catch((cause: unknown) => {
        this.#past = undefined
        throw cause
      })
      const { places } = await this.#past
      this.trouble = undefined
      for (const place of places) await passOn(place, request, response, url)
    } catch (cause) {
      this.trouble = visible(messageOf(cause))
      refuse(response, { status: 502, message: this.trouble })
    }
  }

  /** Gives up opening it, too. */
  async close(): Promise<void> {
    this.#abort.abort()
    // Who asked was told why it could not be opened.
    await (await this.#past?.catch(() => undefined))?.close()
  }
}
