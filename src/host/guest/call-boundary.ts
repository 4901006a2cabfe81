/**
 * The boundary between a guest and the host: runs code of the guest, and knows how each call ended. A trap becomes a {@link GuestTrap}; an import can
 * end the guest, with a reason or with {@link GuestExit}; if an import of the host fails, the guest is over and the caller gets that error.
 *
 * An import leaves the guest by an exception that the guest's language may catch, so what happened is kept here, and counts even if the guest returns.
 */
import { messageOf } from "../../message-of.ts"
import { GuestExit, GuestTrap, type TrapFault } from "./errors.ts"
import { AskingRefused } from "./guest-operations.ts"

/** What the engine tells of a guest's failure. */
interface TrapReport {
  readonly fault: TrapFault
  readonly reason: string
  readonly frames: ReadonlyArray<string>
}

/** Nested too deeply; the engine throws the same for JavaScript and for calls of WebAssembly. */
const isStackOverflow = (cause: unknown): boolean => cause instanceof RangeError && cause.message.includes("call stack")

const stackOverflow: TrapReport = {
  fault: "stack-overflow",
  reason: "its calls were nested too deeply",
  frames: [],
}

/** The report of what left a guest; `undefined` if that was no failure of the guest. */
const reportOf = (cause: unknown): TrapReport | undefined => {
  const frames = framesOf(cause)
  if (cause instanceof WebAssembly.RuntimeError) return { fault: "trap", reason: cause.message, frames }
  if (cause instanceof WebAssembly.Exception)
    return { fault: "exception", reason: "it threw an exception that it did not catch", frames: [] }
  return isStackOverflow(cause) ? { ...stackOverflow, frames } : undefined
}

/** Innermost functions that are reported. */
const mostFrames = 6

/** The guest's functions on the stack, innermost first, by the names that its binary has. */
const framesOf = (cause: unknown): ReadonlyArray<string> => {
  const lines = cause instanceof Error ? (cause.stack ?? "").split("\n") : []
  return lines
    .map((line) => line.match(/^\s+at (?:(.+) \()?wasm:\/\/wasm\/[^:]*:wasm-function\[(\d+)\]/))
    .filter((match) => match !== null)
    .map(([, name, index]) => name ?? `function ${index}`)
    .slice(0, mostFrames)
}

/** How a call of the guest is left from within one of its imports. */
class Unwinding extends Error {}

interface BoundaryOptions {
  readonly guest: string
  /** Of linear memory. */
  readonly limitBytes: number
  readonly memoryBytes: () => number
  /** The guest has ended; called before the error is thrown. */
  readonly onEnded: () => void
}

export class CallBoundary {
  readonly #options: BoundaryOptions
  /** The export that is running. */
  #during: string | undefined
  #ended: GuestTrap | GuestExit | undefined
  /** The stack ended in one of the imports, where there was no room left to say so. */
  #isExhausted = false
  /** What the host itself threw while the guest had called it. */
  #hostFailure: { readonly cause: unknown } | undefined

  constructor(options: BoundaryOptions) {
    this.#options = options
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined
  }

  /** Throws if the guest has ended, and if it is running, which is a bug of the host. */
  checkIdle(): void {
    // Before the end: what has ended may still be on the stack.
    if (this.#during !== undefined)
      throw new Error(`module ${this.#options.guest} is running ${this.#during} and cannot be entered again`)
    if (this.#ended !== undefined) throw this.#ended
  }

  /** Runs code of the guest until {@link leave}, and throws the error with which it ended, if it did. */
  run<Result>(during: string, call: () => Result): Result {
    this.#during = during
    let result: Result | undefined
    try {
      result = call()
    } catch (cause) {
      if (!(cause instanceof Unwinding)) {
        const report = reportOf(cause)
        if (report === undefined) this.fail(cause)
        else this.end(report)
      }
    }
    // It may have caught the exception.
    if (this.#isExhausted) this.end(stackOverflow)
    if (this.#ended !== undefined) this.#options.onEnded()
    if (this.#hostFailure !== undefined) throw this.#hostFailure.cause
    if (this.#ended !== undefined) throw this.#ended
    return result as Result
  }

  /** Within {@link run}: another export runs now. */
  enters(during: string): void {
    this.#during = during
  }

  /** Nothing of the guest is on the stack any more. */
  leave(): void {
    this.#during = undefined
  }

  /**
   * An import: makes sure that the guest does not continue after its end, and that an error of the host is not taken
   * for one of the guest.
   */
  guarded(call: (...values: never[]) => unknown): (...values: never[]) => unknown {
    return (...values) => {
      // It can catch what its imports throw, if its language has exceptions.
      if (this.#ended !== undefined || this.#isExhausted) throw new Unwinding()
      try {
        return call(...values)
      } catch (cause) {
        if (cause instanceof Unwinding) throw cause
        if (cause instanceof AskingRefused) throw this.end({ fault: cause.fault, reason: cause.message, frames: [] })
        if (isStackOverflow(cause)) {
          this.#isExhausted = true
          throw cause
        }
        throw this.fail(cause)
      }
    }
  }

  /** Notes why the guest has ended, if it had not, and returns what to throw within a call. */
  end(report: TrapReport): Error {
    const { guest, limitBytes, memoryBytes } = this.#options
    const during = this.#during ?? "instantiation"
    this.#ended ??= new GuestTrap({ ...report, guest, during, memoryBytes: memoryBytes(), limitBytes })
    return new Unwinding()
  }

  /** As {@link end}, because of a failure of the host's own code, which the caller gets. */
  fail(cause: unknown): Error {
    this.#hostFailure ??= { cause }
    return this.end({ fault: "host-failure", reason: `the host failed: ${messageOf(cause)}`, frames: [] })
  }

  /** The guest has asked for its end. */
  exit(code: number): never {
    this.#ended ??= new GuestExit({ guest: this.#options.guest, during: this.#during ?? "instantiation", code })
    throw new Unwinding()
  }
}
