/** The processes of scenario *sandbox* as it uses them: the server, its watchers, its writers. */
import { fileURLToPath } from "node:url"
import { fieldOf, LineProcess } from "../processes/line-process.ts"
import { readCpuSeconds } from "../processes/process-watch.ts"
import type { ReceivedWrite, ServerCommand, ServerProcessOptions } from "./sandbox-process.ts"
import type { WrittenKind } from "./sandbox-writes.ts"

/** ms for a process to start on a busy machine. */
const startMs = 30_000
/** ms for one thing that is measured. */
const patienceMs = 120_000

const scriptOf = (name: string): string => fileURLToPath(new URL(`./${name}.ts`, import.meta.url))

/** Lines of a child that contain `field`. */
const said = <Answer>(child: LineProcess, field: string, timeoutMs = patienceMs): Promise<Answer> =>
  child.hear(field, timeoutMs, fieldOf<Answer>(field))

export class BenchServer implements AsyncDisposable {
  readonly port: number
  readonly #process: LineProcess

  static async start(options: ServerProcessOptions, profileDirectory?: string): Promise<BenchServer> {
    const flags =
      profileDirectory === undefined
        ? []
        : ["--cpu-prof", "--cpu-prof-interval=500", `--cpu-prof-dir=${profileDirectory}`]
    const script = [...flags, scriptOf("sandbox-process"), JSON.stringify(options)]
    const child = new LineProcess({ script, endsBy: "input" })
    return new BenchServer(child, await said<number>(child, "port", startMs))
  }

  private constructor(child: LineProcess, port: number) {
    this.#process = child
    this.port = port
  }

  get pid(): number {
    return this.#process.pid
  }

  /** CPU of the process so far, s. */
  get cpuSeconds(): number {
    return readCpuSeconds(this.pid)
  }

  async perform(command: Exclude<ServerCommand, { readonly writes: object }>): Promise<void> {
    const done = said(this.#process, "done")
    this.#process.tell(command)
    await done
  }

  /** The applies of a kind in a namespace that it still knows, in the order in which they were received. */
  async writes(resource: string, namespace: string): Promise<ReadonlyArray<ReceivedWrite>> {
    const writes = said<ReadonlyArray<ReceivedWrite>>(this.#process, "writes")
    this.#process.tell({ writes: { resource, namespace } } satisfies ServerCommand)
    return await writes
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process[Symbol.asyncDispose]()
  }
}

/** Watchers in one separate process, each with its own connection. */
export class BenchWatchers implements AsyncDisposable {
  readonly #process: LineProcess

  static async start(server: BenchServer, path: string, count: number): Promise<BenchWatchers> {
    const script = [scriptOf("sandbox-watchers"), String(server.port), path, String(count)]
    const child = new LineProcess({ script, endsBy: "input" })
    await said(child, "listed", startMs)
    return new BenchWatchers(child)
  }

  private constructor(child: LineProcess) {
    this.#process = child
  }

  /** When each watcher has had that many events since it was connected, the state at that time included. */
  async taken(events: number): Promise<void> {
    const taken = said(this.#process, "taken")
    this.#process.tell({ until: events })
    await taken
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process[Symbol.asyncDispose]()
  }
}

/** Clients in one separate process with their own connections, each waiting for its response before the next write. */
export class BenchWriters implements AsyncDisposable {
  readonly #process: LineProcess

  static async start(server: BenchServer, kind: WrittenKind, connections: number): Promise<BenchWriters> {
    const script = [scriptOf("sandbox-writers"), String(server.port), kind, String(connections)]
    const child = new LineProcess({ script, endsBy: "input" })
    await said(child, "open", startMs)
    return new BenchWriters(child)
  }

  private constructor(child: LineProcess) {
    this.#process = child
  }

  /** Returns the bytes of one response body. */
  async write(count: number): Promise<number> {
    const bytes = said<number>(this.#process, "bytes")
    this.#process.tell({ writes: count })
    return await bytes
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process[Symbol.asyncDispose]()
  }
}
