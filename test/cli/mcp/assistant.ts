/** `reel mcp` in this process, over streams in memory, asked by the SDK's own client. */
import { PassThrough } from "node:stream"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { expect } from "vitest"
import { mcpCommand } from "../../../src/cli/mcp.ts"
import { capturedTerminal } from "../captured-terminal.ts"

export interface Answer {
  readonly isComplete: boolean | null
  // biome-ignore lint/suspicious/noExplicitAny: items differ from tool to tool.
  readonly items: any[]
  readonly further?: number
  readonly continue?: string
  readonly notes?: ReadonlyArray<string>
  readonly gaps?: ReadonlyArray<object>
  readonly unrecorded?: ReadonlyArray<object>
}

export class Assistant implements AsyncDisposable {
  readonly client = new Client({ name: "test", version: "1" })
  readonly #input = new PassThrough()
  readonly #output = new PassThrough()
  readonly #ended: Promise<unknown>

  static async connected(words: ReadonlyArray<string>, environment = {}): Promise<Assistant> {
    const assistant = new Assistant(words, environment)
    // Both sides have the same transport: lines that are read, and lines that are written.
    await assistant.client.connect(new StdioServerTransport(assistant.#output, assistant.#input))
    return assistant
  }

  private constructor(words: ReadonlyArray<string>, environment: Record<string, string>) {
    const terminal = { ...capturedTerminal({ environment }), standardOutput: this.#output }
    this.#ended = mcpCommand(undefined, this.#input).run(words, terminal)
  }

  /** The text of an answer, and whether it is an error. */
  async text(name: string, given: object): Promise<readonly [text: string, isError: boolean]> {
    const { content, isError } = await this.client.callTool({ name, arguments: { ...given } })
    const [part] = content as ReadonlyArray<{ readonly text: string }>
    return [part?.text ?? "", isError === true]
  }

  async call(name: string, given: object = {}): Promise<Answer> {
    const [text, isError] = await this.text(name, given)
    expect(isError, text).toBe(false)
    return JSON.parse(text) as Answer
  }

  async refusal(name: string, given: object = {}): Promise<string> {
    const [text, isError] = await this.text(name, given)
    expect(isError, text).toBe(true)
    return text
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close()
    this.#input.end()
    await this.#ended
  }
}
