/** The SDK's transport over standard input and output, which knows whether all requests are answered: at the end of the input the process waits for that. */
import type { Readable, Writable } from "node:stream"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js"

/** Counts requests and answers. */
export class AnsweredStdio extends StdioServerTransport {
  readonly #unanswered = new Set<RequestId>()
  readonly #waiting: (() => void)[] = []

  constructor(input: Readable, output: Writable) {
    super(input, output)
    // The SDK's Protocol calls this one before its own.
    this.onmessage = (message) => this.#note(message)
  }

  #note(message: JSONRPCMessage): void {
    if (!("method" in message)) return
    if ("id" in message) this.#unanswered.add(message.id)
    // A request that is cancelled gets no answer.
    else if (message.method === "notifications/cancelled") {
      const { requestId } = message.params ?? {}
      if (typeof requestId === "string" || typeof requestId === "number") this.#done(requestId)
    }
  }

  #done(id: RequestId): void {
    this.#unanswered.delete(id)
    if (this.#unanswered.size > 0) return
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message)
    if (!("method" in message) && message.id !== undefined) this.#done(message.id)
  }

  /** Resolves when no request is unanswered. */
  async answered(): Promise<void> {
    if (this.#unanswered.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
