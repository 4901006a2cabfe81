/**
 * One running guest: a module with its memory, entered by `start`, `wakeFuture` and `wakeStream`, and left when the guest has nothing more to
 * do. Synchronous, and knows neither threads nor network: what the guest asks for goes to a {@link GuestHost}.
 *
 * Guaranteed:
 * - A guest that traps, exits, recurses without end or passes nonsense throws a typed error out of the call that entered it, and is never
 *   entered again. It cannot end the process, nor use more memory than its limit. One thing it can do: never return. Who runs it needs a deadline.
 * - The guest is woken only for operations of its own that have not ended, each future once, and never while it runs: anything else would trap
 *   a guest of the original's library.
 */
import type { Clock } from "../../clock.ts"
import { CallBoundary } from "./call-boundary.ts"
import { type CompiledGuest, hostModule, startExport } from "./compiled-guest.ts"
import { GuestImageError, GuestMemoryRefused, GuestMisuse } from "./errors.ts"
import type { GuestImage, OperationKind } from "./guest-image.ts"
import {
  AskingRefused,
  defaultGuestLimits,
  type GuestLimits,
  GuestOperations,
  type OperationHost,
} from "./guest-operations.ts"
import { GuestClock } from "./wasi/guest-clock.ts"
import { GuestLog, type GuestStream } from "./wasi/guest-log.ts"
import { GuestMemory } from "./wasi/guest-memory.ts"
import { wasiImports } from "./wasi/wasi.ts"
import { wasiModule } from "./wasi/wasi-functions.ts"

/**
 * What a guest asks for. Operations are passed on in their order when the guest has returned from the call in which it asked, so they run on a
 * stack that the guest has not exhausted; if it trapped in that call, none of them is. Log lines are passed on while the guest runs, so that
 * one that never returns can be understood; a guest that exhausts its stack may interrupt `log` anywhere.
 */
export interface GuestHost extends OperationHost {
  /** @param line without its end, at most 8 KiB. */
  log(stream: GuestStream, line: string): void
}

/** Of one instance. */
export interface GuestOptions {
  readonly host: GuestHost
  /** For messages, and the guest's first argument. Default: the name with which it was compiled. */
  readonly name?: string
  /** Environment variables in order. Default: none. */
  readonly env?: ReadonlyArray<{ readonly name: string; readonly value: string }>
  readonly clock: Pick<Clock, "wallMicros" | "monotonicMs">
  /** Fills the bytes with random ones; they may be as many as the guest's memory has. */
  readonly random: (bytes: Uint8Array) => void
  /** The guest's linear memory; pages of 64 KiB that do not fit completely do not count. A guest that wants more gets none, and usually traps. */
  readonly maximumMemoryBytes: number
  readonly limits?: Partial<GuestLimits>
  /** Continue from there, instead of starting. */
  readonly image?: GuestImage
}

const pageBytes = 65_536
/** Pages that 32 bits can address. */
const mostPages = 65_536

interface GuestExports {
  readonly run: () => void
  readonly allocate: (size: number) => number
  readonly wakeup_future: (id: bigint, pointer: number, length: number) => void
  readonly wakeup_stream: (id: bigint, pointer: number, length: number) => void
  readonly _initialize?: () => void
  readonly [startExport]?: () => void
}

export class GuestInstance {
  readonly name: string
  readonly #compiled: CompiledGuest
  readonly #host: GuestHost
  readonly #limitBytes: number
  readonly #memory: GuestMemory
  readonly #clock: GuestClock
  readonly #log: GuestLog
  readonly #exports: GuestExports
  readonly #operations: GuestOperations
  readonly #boundary: CallBoundary
  #isStarted: boolean

  /**
   * Runs nothing of the guest.
   *
   * @throws {GuestMemoryRefused} if the module or the image is larger than the limit.
   * @throws {GuestImageError} if the image is of another module.
   * @throws {GuestTrap} if the module's data does not fit into its own memory.
   * @throws {GuestMisuse} if an environment variable cannot be one.
   */
  constructor(compiled: CompiledGuest, options: GuestOptions) {
    const { image, env = [] } = options
    this.name = options.name ?? compiled.name
    this.#compiled = compiled
    this.#host = options.host
    if (image !== undefined) checkImage(compiled, image)
    for (const { name, value } of env)
      if (name === "" || /[=\0]/.test(name) || value.includes("\0"))
        throw this.#misuse("bad-option", `${JSON.stringify(name)} is no environment variable with that value`)

    const pages = Math.max(compiled.minimumPages, (image?.memory.length ?? 0) / pageBytes)
    const allowed = Math.floor(options.maximumMemoryBytes / pageBytes)
    const maximum = Math.min(allowed, compiled.maximumPages ?? mostPages, mostPages)
    this.#limitBytes = maximum * pageBytes
    this.#memory = this.#reserve(pages, maximum)
    this.#clock = new GuestClock(options.clock)
    this.#log = new GuestLog((stream, line) => this.#host.log(stream, line))
    this.#boundary = new CallBoundary({
      guest: this.name,
      limitBytes: this.#limitBytes,
      memoryBytes: () => this.memoryBytes,
      onEnded: () => this.#log.flush(),
    })
    this.#operations = new GuestOperations(this.#memory, { ...defaultGuestLimits, ...options.limits }, image)
    this.#isStarted = image !== undefined

    const environment = env.map(({ name, value }) => `${name}=${value}`)
    this.#exports = this.#instantiate(options.random, environment)
    if (image !== undefined) this.#restore(image)
  }

  /** Bytes of linear memory that the guest has at the moment. */
  get memoryBytes(): number {
    return this.#memory.byteLength
  }

  /** Whether the guest has trapped or exited: from then on every call throws that error again. */
  get hasTrapped(): boolean {
    return this.#boundary.hasEnded
  }

  /** What the guest waits for; a view that changes. */
  get operations(): ReadonlyMap<bigint, OperationKind> {
    return this.#operations.open
  }

  /**
   * Runs a new guest until it waits: its start function, `_initialize` and `run`. Not for one that continues from an image.
   *
   * @throws {GuestTrap | GuestExit | GuestMisuse}
   */
  start(): void {
    if (this.#isStarted) throw this.#misuse("already-started", "it has been started, or continues from an image")
    this.#enter("start", () => {
      const { run, _initialize, [startExport]: start } = this.#exports
      this.#isStarted = true
      start?.()
      if (_initialize !== undefined) {
        this.#boundary.enters("_initialize")
        _initialize()
      }
      this.#boundary.enters("run")
      run()
    })
  }

  /**
   * The end of a request or delay.
   *
   * @param value the bincode of the response to a request, which is copied; nothing for a delay.
   * @returns false if the guest waits for no such operation; it was not entered then.
   * @throws {GuestTrap | GuestExit | GuestMisuse}
   */
  wakeFuture(id: bigint, value: Uint8Array | undefined): boolean {
    const kind = this.#kindOf(id)
    if (kind === undefined) return false
    if (kind === "watch") throw this.#misuse("wrong-kind", `operation ${id} is a watch, whose values are of a stream`)
    // The original's library unwraps the response: no value would trap it.
    if (kind === "request" && isEmpty(value))
      throw this.#misuse("no-value", `request ${id} must end with a response; use one of status 503 if there is none`)
    if (kind === "delay" && value !== undefined)
      throw this.#misuse("unexpected-value", `delay ${id} ends without a value`)
    this.#enter("wakeup_future", () => {
      this.#operations.close(id)
      this.#exports.wakeup_future(id, this.#pass(value), value?.length ?? 0)
    })
    return true
  }

  /**
   * The next value of a watch, or its end.
   *
   * @param value the JSON of one watch event, which is copied; nothing at the end of the watch.
   * @returns false if the guest has no such watch; it was not entered then.
   * @throws {GuestTrap | GuestExit | GuestMisuse}
   */
  wakeStream(id: bigint, value: Uint8Array | undefined): boolean {
    const kind = this.#kindOf(id)
    if (kind === undefined) return false
    if (kind !== "watch") throw this.#misuse("wrong-kind", `operation ${id} is a ${kind}, which ends with a future`)
    if (value?.length === 0) throw this.#misuse("no-value", `a value of watch ${id} is empty`)
    this.#enter("wakeup_stream", () => {
      if (value === undefined) this.#operations.close(id)
      this.#exports.wakeup_stream(id, this.#pass(value), value?.length ?? 0)
    })
    return true
  }

  /**
   * A copy of everything that the guest is, between two calls. The guest can go on.
   *
   * @throws {GuestImageError} `unsupported`, if the module has state that cannot be read.
   * @throws {GuestTrap | GuestExit | GuestMisuse} if the guest has ended, is running or has not been started.
   */
  image(): GuestImage {
    this.#boundary.checkIdle()
    const { hash, globals, imageObstacle } = this.#compiled
    if (imageObstacle !== undefined)
      throw new GuestImageError({ fault: "unsupported", reason: `module ${this.name}: ${imageObstacle}` })
    if (!this.#isStarted) throw this.#misuse("not-started", "an image needs a guest that has been started")
    // There may be no other end of a line after it.
    this.#log.flush()
    return {
      moduleHash: hash,
      nextId: this.#operations.nextId,
      operations: new Map(this.#operations.open),
      globals: globals.map(({ exportName, type }) => ({ type, value: this.#global(exportName).value })),
      memory: new Uint8Array(this.#memory.memory.buffer.slice(0)),
    }
  }

  #reserve(pages: number, maximum: number): GuestMemory {
    const refused = () =>
      new GuestMemoryRefused({ guest: this.name, wantedBytes: pages * pageBytes, limitBytes: this.#limitBytes })
    if (pages > maximum) throw refused()
    try {
      return new GuestMemory(new WebAssembly.Memory({ initial: pages, maximum }))
    } catch (cause) {
      // The machine has no memory or no addresses left.
      if (cause instanceof RangeError) throw refused()
      throw cause
    }
  }

  #instantiate(random: GuestOptions["random"], environment: ReadonlyArray<string>): GuestExports {
    const wasi = wasiImports({
      memory: this.#memory,
      clock: this.#clock,
      log: this.#log,
      random,
      arguments: [this.name],
      environment,
      exit: (code) => this.#boundary.exit(code),
      sleep: (nanos) => {
        const ms = Number(nanos) / 1e6
        throw new AskingRefused(
          "sleep",
          `it tried to sleep for ${ms} ms, which would hold up others; use delay of the ABI`,
        )
      },
    })
    const operations = this.#operations
    const abi = {
      "http-proxy-abi": { request: (pointer: number, length: number) => operations.request(pointer, length) },
      "kube-watch-abi": { watch: (pointer: number, length: number) => operations.watch(pointer, length) },
      "delay-abi": { delay: (ms: bigint) => operations.delay(ms) },
    }
    const modules = { ...abi, [wasiModule]: wasi }
    const guarded = Object.entries(modules).map(([module, functions]) => {
      const entries = Object.entries(functions as Record<string, (...values: unknown[]) => unknown>)
      return [module, Object.fromEntries(entries.map(([name, call]) => [name, this.#boundary.guarded(call)]))]
    })
    const imports = { ...Object.fromEntries(guarded), [hostModule]: { memory: this.#memory.memory } }
    try {
      const { module } = this.#compiled
      return this.#boundary.run("instantiation", () => new WebAssembly.Instance(module, imports))
        .exports as unknown as GuestExports
    } finally {
      this.#boundary.leave()
    }
  }

  /** Memory of the guest with the value in it; 0 for no value. */
  #pass(value: Uint8Array | undefined): number {
    if (value === undefined) return 0
    const address = this.#exports.allocate(value.length) >>> 0
    if (address === 0 || !this.#memory.has(address, value.length))
      throw this.#boundary.end({
        fault: "bad-allocation",
        reason: `allocate(${value.length}) returned ${address}, which is no memory of that size`,
        frames: [],
      })
    this.#memory.bytes(address, value.length).set(value)
    return address
  }

  #enter(during: string, call: () => void): void {
    this.#boundary.checkIdle()
    this.#operations.begin()
    try {
      this.#boundary.run(during, call)
      this.#deliver()
    } finally {
      this.#boundary.leave()
      // Last, because the host's log can fail: what the guest asked for is on its way by now.
      this.#log.endOfCall()
    }
  }

  #deliver(): void {
    try {
      this.#operations.deliver(this.#host)
    } catch (cause) {
      // The guest would wait for ever for what was not passed on.
      this.#boundary.fail(cause)
      throw cause
    }
  }

  #kindOf(id: bigint): OperationKind | undefined {
    this.#boundary.checkIdle()
    return this.#operations.open.get(id)
  }

  #restore(image: GuestImage): void {
    this.#memory.bytes(0, this.#memory.byteLength).set(image.memory)
    for (const [index, { exportName }] of this.#compiled.globals.entries()) {
      const saved = image.globals[index]
      if (saved !== undefined) this.#global(exportName).value = saved.value
    }
  }

  #global(exportName: string): WebAssembly.Global {
    return (this.#exports as unknown as Readonly<Record<string, WebAssembly.Global>>)[exportName] as WebAssembly.Global
  }

  #misuse(misuse: GuestMisuse["misuse"], reason: string): GuestMisuse {
    return new GuestMisuse({ guest: this.name, misuse, reason })
  }
}

const isEmpty = (value: Uint8Array | undefined): boolean => value === undefined || value.length === 0

const checkImage = (compiled: CompiledGuest, image: GuestImage): void => {
  const other = (reason: string) => new GuestImageError({ fault: "other-module", reason })
  if (image.moduleHash !== compiled.hash)
    throw other(`it is of a module with hash ${image.moduleHash}; module ${compiled.name} has ${compiled.hash}`)
  const types = (list: ReadonlyArray<{ readonly type: string }>) => list.map(({ type }) => type).join(" ")
  if (types(image.globals) !== types(compiled.globals))
    throw other(`its globals are not those of module ${compiled.name}`)
}
