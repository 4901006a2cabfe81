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
import type { CompiledGuest } from "./compiled-guest.ts"
import { GuestMemoryRefused } from "./errors.ts"
import { GuestLog, type GuestStream } from "./guest-log.ts"
import {
  AskingRefused,
  defaultGuestLimits,
  type GuestLimits,
  GuestOperations,
  type OperationHost,
  type OperationKind,
} from "./guest-operations.ts"
import { hostModule, memoryName } from "./prepared-binary.ts"
import { GuestMemory, wasiImports, wasiModule } from "./wasi.ts"

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
}

const pageBytes = 65_536
/** Pages that 32 bits can address. */
const mostPages = 65_536

/**
 * Versions of the ABI, of which a guest without `negotiate` speaks the first:
 * 1. `rust_v1alpha1` of the original.
 * 2. The import `kube-watch-abi.cancel` ends a watch.
 */
const newestAbiVersion = 2

interface GuestExports {
  readonly run: () => void
  readonly allocate: (size: number) => number
  readonly wakeup_future: (id: bigint, pointer: number, length: number) => void
  readonly wakeup_stream: (id: bigint, pointer: number, length: number) => void
  readonly _initialize?: () => void
  readonly negotiate?: (newest: number) => number
}

export class GuestInstance {
  readonly name: string
  readonly #compiled: CompiledGuest
  readonly #options: GuestOptions
  readonly #limitBytes: number
  readonly #memory: GuestMemory
  readonly #log: GuestLog
  readonly #operations: GuestOperations
  readonly #boundary: CallBoundary
  /** Absent until it is started. */
  #exports: GuestExports | undefined

  /**
   * Runs nothing of the guest.
   *
   * @throws {GuestMemoryRefused} if the module begins with more than the limit.
   */
  constructor(compiled: CompiledGuest, options: GuestOptions) {
    this.name = options.name ?? compiled.name
    this.#compiled = compiled
    this.#options = options
    const allowed = Math.floor(options.maximumMemoryBytes / pageBytes)
    const maximum = Math.min(allowed, compiled.maximumPages ?? mostPages, mostPages)
    this.#limitBytes = maximum * pageBytes
    this.#memory = this.#reserve(compiled.minimumPages, maximum)
    this.#log = new GuestLog((stream, line) => options.host.log(stream, line))
    this.#boundary = new CallBoundary({
      guest: this.name,
      limitBytes: this.#limitBytes,
      memoryBytes: () => this.memoryBytes,
      onEnded: () => this.#log.flush(),
    })
    this.#operations = new GuestOperations(this.#memory, { ...defaultGuestLimits, ...options.limits })
  }

  /** Its linear memory as it is now; another one once the guest has run. */
  get memory(): Uint8Array {
    return this.#memory.bytes(0, this.#memory.byteLength)
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
   * Runs the guest until it waits: its start function, `_initialize`, `negotiate` and `run`. Once.
   *
   * @throws {GuestTrap | GuestExit}
   */
  start(): void {
    if (this.#exports !== undefined) throw new Error(`module ${this.name} has been started already`)
    this.#enter("instantiation", () => {
      const instance = new WebAssembly.Instance(this.#compiled.module, this.#imports())
      // Their names were compared with the ABI's; one of another type fails when it is called.
      this.#exports = instance.exports as unknown as GuestExports
      const { run, _initialize, negotiate } = this.#exports
      if (_initialize !== undefined) {
        this.#boundary.enters("_initialize")
        _initialize()
      }
      if (negotiate !== undefined) {
        this.#boundary.enters("negotiate")
        this.#checkVersion(negotiate(newestAbiVersion))
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
   * @throws {GuestTrap | GuestExit}
   */
  wakeFuture(id: bigint, value: Uint8Array | undefined): boolean {
    return this.#wake("wakeup_future", (kind) => kind !== "watch", id, value, true)
  }

  /**
   * The next value of a watch, or its end.
   *
   * @param value the JSON of one watch event, which is copied; nothing at the end of the watch.
   * @returns false if the guest has no such watch; it was not entered then.
   * @throws {GuestTrap | GuestExit}
   */
  wakeStream(id: bigint, value: Uint8Array | undefined): boolean {
    return this.#wake("wakeup_stream", (kind) => kind === "watch", id, value, value === undefined)
  }

  #wake(
    wakeUp: "wakeup_future" | "wakeup_stream",
    fits: (kind: OperationKind) => boolean,
    id: bigint,
    value: Uint8Array | undefined,
    isLast: boolean,
  ): boolean {
    this.#boundary.checkIdle()
    const exports = this.#exports
    const kind = this.#operations.open.get(id)
    if (exports === undefined || kind === undefined || !fits(kind)) return false
    this.#enter(wakeUp, () => {
      if (isLast) this.#operations.close(id)
      exports[wakeUp](id, this.#pass(exports, value), value?.length ?? 0)
    })
    return true
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

  #checkVersion(version: number): void {
    if (version >= 1 && version <= newestAbiVersion) return
    const reason = `it speaks none of the versions 1 to ${newestAbiVersion} of the ABI (negotiate returned ${version})`
    throw this.#boundary.end({ fault: "abi-version", reason, frames: [] })
  }

  #imports(): WebAssembly.Imports {
    const { clock, random, env = [] } = this.#options
    const imported = WebAssembly.Module.imports(this.#compiled.module)
    const wasi = wasiImports(
      {
        memory: this.#memory,
        clock,
        log: this.#log,
        random,
        arguments: [this.name],
        environment: env.map(({ name, value }) => `${name}=${value}`),
        exit: (code) => this.#boundary.exit(code),
        sleep: (nanos) => {
          const ms = Number(nanos) / 1e6
          const reason = `it tried to sleep for ${ms} ms, which would hold up others; use delay of the ABI`
          throw new AskingRefused("sleep", reason)
        },
      },
      imported.flatMap(({ module, name }) => (module === wasiModule ? [name] : [])),
    )
    const operations = this.#operations
    const abi = {
      "http-proxy-abi": { request: (pointer: number, length: number) => operations.request(pointer, length) },
      "kube-watch-abi": {
        watch: (pointer: number, length: number) => operations.watch(pointer, length),
        cancel: (id: bigint) => operations.cancel(BigInt.asUintN(64, id)),
      },
      "delay-abi": { delay: (ms: bigint) => operations.delay(ms) },
    }
    const modules = { ...abi, [wasiModule]: wasi }
    const guarded = Object.entries(modules).map(([module, functions]) => {
      const entries = Object.entries<(...values: never[]) => unknown>(functions)
      return [module, Object.fromEntries(entries.map(([name, call]) => [name, this.#boundary.guarded(call)]))]
    })
    return { ...Object.fromEntries(guarded), [hostModule]: { [memoryName]: this.#memory.memory } }
  }

  /** Memory of the guest with the value in it; 0 for no value. */
  #pass({ allocate }: GuestExports, value: Uint8Array | undefined): number {
    if (value === undefined) return 0
    const address = allocate(value.length) >>> 0
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
      this.#operations.deliver(this.#options.host)
    } catch (cause) {
      // The guest would wait for ever for what was not passed on.
      this.#boundary.fail(cause)
      throw cause
    }
  }
}
