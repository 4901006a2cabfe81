/**
 * Every way in which a guest, or the use of one, fails. None of them ends the process: a guest that is refused never
 * runs, and one that trapped or exited is dropped with its instance while others continue.
 */
import * as Schema from "effect/Schema"

const refusals = [
  "not-wasm",
  "component",
  "malformed",
  "unsupported",
  "successor-abi",
  "command",
  "missing-exports",
  "unknown-imports",
] as const

/** Why a module is refused before it runs. */
export type Refusal = (typeof refusals)[number]

/**
 * The bytes are not a module of ABI `rust_v1alpha1`, and were not run:
 * - `not-wasm`: they do not begin like WebAssembly
 * - `component`: a WebAssembly component; the ABI is one of core modules
 * - `malformed`: WebAssembly that does not parse or does not validate
 * - `unsupported`: valid, but needs what guests do not get: threads, 64-bit or several memories, garbage-collected types, a huge table
 * - `successor-abi`: speaks the ABI of the original host's successor
 * - `command`: a WASI command, which has `_start` and nothing else
 * - `missing-exports`, `unknown-imports`: `names` lists all of them
 */
export class GuestRefused extends Schema.TaggedError<GuestRefused>()("GuestRefused", {
  guest: Schema.String,
  refusal: Schema.Literals(refusals),
  /** The imports (`module.function`) or exports concerned; empty for other refusals. */
  names: Schema.Array(Schema.String),
  reason: Schema.String,
}) {
  override get message(): string {
    return `module ${this.guest} is refused: ${this.reason}`
  }
}

/** A guest does not fit into its memory limit when it starts. Raise the limit or change the module. */
export class GuestMemoryRefused extends Schema.TaggedError<GuestMemoryRefused>()("GuestMemoryRefused", {
  guest: Schema.String,
  /** What the module begins with. */
  wantedBytes: Schema.Number,
  limitBytes: Schema.Number,
}) {
  override get message(): string {
    return `module ${this.guest} needs ${this.wantedBytes} bytes of memory to start, and may have ${this.limitBytes}`
  }
}

const trapFaults = [
  "trap",
  "stack-overflow",
  "exception",
  "bad-allocation",
  "bad-value",
  "too-many-operations",
  "too-many-bytes",
  "sleep",
  "abi-version",
  "host-failure",
] as const

/** What ended a guest. */
export type TrapFault = (typeof trapFaults)[number]

/**
 * The guest failed while it ran. Its instance is of no use any more: drop it, with everything that was meant for it.
 * - `trap`: a WebAssembly trap: unreachable code (how panics of Rust and Go end), access outside its memory, a division by zero, …
 * - `stack-overflow`: its calls were nested too deeply
 * - `exception`: it threw a WebAssembly exception and did not catch it
 * - `bad-allocation`: `allocate` returned no memory, or memory that the guest does not have
 * - `bad-value`: it asked for something with bytes outside its memory, or that are not what the ABI says
 * - `too-many-operations`, `too-many-bytes`: it asked for more than {@link GuestLimits} allow
 * - `sleep`: it tried to sleep, which would hold up others; `delay` of the ABI wakes it later
 * - `abi-version`: it and the host speak no common version of the ABI
 * - `host-failure`: the host's own code failed in a call of the guest; that call threw the cause
 */
export class GuestTrap extends Schema.TaggedError<GuestTrap>()("GuestTrap", {
  guest: Schema.String,
  fault: Schema.Literals(trapFaults),
  /** The export that was running, or `instantiation`. */
  during: Schema.String,
  /** One line. */
  reason: Schema.String,
  /** The innermost functions of the guest, where the engine knows them. */
  frames: Schema.Array(Schema.String),
  /** The guest's memory when it failed, and what it may have: close to each other, it probably ran out of memory. */
  memoryBytes: Schema.Number,
  limitBytes: Schema.Number,
}) {
  override get message(): string {
    const where = this.frames.length === 0 ? "" : ` (in ${this.frames.join(" < ")})`
    return `module ${this.guest} failed in ${this.during}: ${this.reason}${where}; it had ${this.memoryBytes} of ${this.limitBytes} bytes of memory`
  }
}

/** The guest called `proc_exit`. A guest lives until the host drops it, so code 0 is a failure too. Its instance is of no use any more. */
export class GuestExit extends Schema.TaggedError<GuestExit>()("GuestExit", {
  guest: Schema.String,
  /** The export that was running, or `instantiation`. */
  during: Schema.String,
  /** Exit code; what the guest wrote before is in its log. */
  code: Schema.Number,
}) {
  override get message(): string {
    return `module ${this.guest} ended itself in ${this.during} with exit code ${this.code}`
  }
}
