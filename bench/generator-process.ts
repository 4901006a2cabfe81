/** The generator as the scenarios use it: a cluster of its own process. */
import { fileURLToPath } from "node:url"
import type { GeneratorOptions } from "./generator.ts"
import { fieldOf, LineProcess } from "./line-process.ts"

/** ms for a process to come up on a busy machine. */
const startMs = 15_000

/** An API server that lists, and sends changes when told. */
export class BenchCluster implements AsyncDisposable {
  readonly port: number
  readonly #process: LineProcess
  /** Changes ordered since the start. */
  #ordered = 0

  static async start(options: GeneratorOptions = {}): Promise<BenchCluster> {
    const script = fileURLToPath(new URL("./generator.ts", import.meta.url))
    const child = new LineProcess({ script: [script, JSON.stringify(options)], endsBy: "input" })
    try {
      return new BenchCluster(child, await child.hear("the generator's port", startMs, fieldOf<number>("port")))
    } catch (cause) {
      await child[Symbol.asyncDispose]()
      throw cause
    }
  }

  private constructor(child: LineProcess, port: number) {
    this.#process = child
    this.port = port
  }

  get server(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /**
   * Sends `count` more changes of Deployments on every watch of them. Resolves when the last was given to a socket: the
   * wall clock, ms. Rejects after `timeoutMs`.
   */
  change(count: number, timeoutMs: number): Promise<number> {
    this.#ordered += count
    const ordered = this.#ordered
    const sent = this.#process.hear(`${count} changes`, timeoutMs, (line) => {
      const answer = JSON.parse(line) as { sent?: number; atMs: number }
      return answer.sent === ordered ? answer.atMs : undefined
    })
    this.#process.tell({ changes: count })
    return sent
  }

  /** As `promise`, or rejects when the generator fails before that, so that nobody waits for what cannot come. */
  during<Value>(promise: Promise<Value>): Promise<Value> {
    return this.#process.during("the generator", promise)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]()
  }
}
