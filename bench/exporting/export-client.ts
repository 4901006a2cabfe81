/** A client that requests a trace from a recorder, in its own process, which also counts what arrived. */
import { fileURLToPath } from "node:url"
import { fieldOf, LineProcess } from "../processes/line-process.ts"
import type { ExportAnswer, ExportMoments, ReadExport, TakenExport } from "./export-client-process.ts"
import type { TraceCount, TraceFormat } from "./export-trace-count.ts"

/** ms for a process to start on a busy machine. */
const startMs = 15_000
/** ms for an export, or for counting one. */
const patienceMs = 120_000

const script = fileURLToPath(new URL("./export-client-process.ts", import.meta.url))

export class ExportClient implements AsyncDisposable {
  readonly #process: LineProcess

  /** @param server such as `http://127.0.0.1:7777` */
  static async start(server: string, format: TraceFormat): Promise<ExportClient> {
    const child = new LineProcess({ script: [script, server, format], endsBy: "input" })
    try {
      await child.hear("the export's client", startMs, fieldOf<boolean>("ready"))
      return new ExportClient(child)
    } catch (cause) {
      await child[Symbol.asyncDispose]()
      throw cause
    }
  }

  private constructor(child: LineProcess) {
    this.#process = child
  }

  /** Requests everything that is recorded and reads it as fast as it arrives. */
  take(): Promise<TakenExport> {
    return this.#order({ export: true }, "taken")
  }

  /** Counts what was read. Rejects if it is incomplete, or does not match its trailer. */
  count(): Promise<TraceCount> {
    return this.#order({ count: true }, "counted")
  }

  /** Requests everything and reads it slowly. Resolves when the response has begun. */
  read(bytesPerSecond: number): Promise<ExportMoments> {
    return this.#order({ read: bytesPerSecond }, "reading")
  }

  /** Closes the connection midway. */
  stop(): Promise<ReadExport> {
    return this.#order({ stop: true }, "read")
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]()
  }

  #order<Name extends keyof ExportAnswer>(order: object, name: Name): Promise<NonNullable<ExportAnswer[Name]>> {
    const answer = this.#process.hear(
      `the export's client: ${name}`,
      patienceMs,
      fieldOf<NonNullable<ExportAnswer[Name]>>(name),
    )
    this.#process.tell(order)
    return answer
  }
}
