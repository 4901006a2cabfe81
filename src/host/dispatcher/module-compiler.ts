/**
 * Checks, rewrites and compiles modules in a thread of its own, so that no module waits for the compilation of another one.
 *
 * The compiled code is posted to the worker that runs the module; threads share it. The thread starts with the first module and ends some
 * seconds after the last, so a host whose modules run pays nothing for it. A compilation that takes too long ends with its thread;
 * those that wait get the next one.
 */
import { fileURLToPath } from "node:url"
import type { Piscina } from "piscina"
import type { Clock } from "../../clock.ts"
import type { CompiledGuest } from "../guest/compiled-guest.ts"

/** What the thread is asked for. */
export interface CompileTask {
  /** Path of the WebAssembly file. */
  readonly file: string
  /** For messages. */
  readonly module: string
}

/** What it returns. Errors do not keep their class between threads. */
export type CompileResult = { readonly compiled: CompiledGuest } | { readonly refusal: string }

interface ModuleCompilerOptions {
  /** The bundled entry point. */
  readonly entry: URL
  /** ms that a compilation may take, without the time that it waits. */
  readonly deadlineMs: number
  readonly clock: Pick<Clock, "after">
}

/** The file is no module that can run, and a later attempt with the same file would fail the same way. */
export class ModuleRefused extends Error {}

/** The compilation did not end within its deadline. */
export class CompilationOverrun extends Error {}

/** ms after the last compilation for which the thread lives on. Its start takes some 50 ms, a directory with 100 modules a second. */
const idleMs = 5000

/** MiB. A module is read, rewritten and compiled there; its bytes are outside of the old generation. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 3 }

export class ModuleCompiler {
  readonly #options: ModuleCompilerOptions
  #pool: Promise<Piscina<CompileTask, CompileResult>> | undefined
  /** What the thread is asked for, one after the other: the deadline of one begins when the one before has ended. */
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(options: ModuleCompilerOptions) {
    this.#options = options
  }

  /** Rejects with {@link ModuleRefused} or {@link CompilationOverrun}, and with another Error if the thread ends. */
  compile(file: string, module: string): Promise<CompiledGuest> {
    const compiled = this.#last.then(() => this.#compile({ file, module }))
    // A failure belongs to its own caller, and does not stop the next.
    this.#last = compiled.catch(() => undefined)
    return compiled
  }

  /** Ends the thread at once; what it was asked for rejects. */
  async close(): Promise<void> {
    this.#isClosed = true
    const pool = await this.#pool
    await pool?.destroy()
  }

  async #compile(task: CompileTask): Promise<CompiledGuest> {
    this.#pool ??= startPool(fileURLToPath(this.#options.entry))
    const pool = await this.#pool
    if (this.#isClosed) throw new Error("the compiler of modules has been closed")
    const { deadlineMs, clock } = this.#options
    const overrun = new AbortController()
    const timer = clock.after(deadlineMs, () => overrun.abort())
    try {
      const result = await pool.run(task, { signal: overrun.signal })
      if ("refusal" in result) throw new ModuleRefused(result.refusal)
      return result.compiled
    } catch (cause) {
      throw overrun.signal.aborted ? new CompilationOverrun(`it was not compiled within ${deadlineMs} ms`) : cause
    } finally {
      timer.cancel()
    }
  }
}

const startPool = async (filename: string): Promise<Piscina<CompileTask, CompileResult>> => {
  const { Piscina } = await import("piscina")
  const pool = new Piscina<CompileTask, CompileResult>({
    filename,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: idleMs,
    resourceLimits,
    // Workers must not inherit flags of the main thread, such as a test runner's loader.
    execArgv: [],
    recordTiming: false,
  })
  // Of a thread that ends while it has nothing to do: the next module gets another one. Without a listener it would end the process.
  pool.on("error", () => undefined)
  return pool
}
