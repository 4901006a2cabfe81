/** The trace of a driver: what `reel replay` reads, and web addresses, whose content is kept on disk while it is replayed. */
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import * as Schema from "effect/Schema"
import { readSourcePath, TargetError } from "../../blob/index.ts"
import type { Clock } from "../../clock.ts"
import { pause } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { BackOff } from "../../runtime/index.ts"
import { DriverFailure, type DriverSetting, type DriverTrace } from "../../simulation/index.ts"

import { fileSpool, readAgain } from "../../trace/index.ts"
import { ofBytes, openSource } from "../replay/replay-source.ts"

// Repeats what may fail for a moment: a store that restarts, or a network that is not ready when a pod starts.

/** `random` returns a number in [0, 1). `log` gets one line for each failure that is followed by another attempt. */
export interface PatienceOptions {
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  readonly random: () => number
  readonly log: (line: string) => void
}

/** With the pauses between them about half a minute, as long as a server that restarts is away. */
const attempts = 6
const policy = { initialMs: 500, maximumMs: 10_000, factor: 2, jitter: 0.5, resetAfterMs: Number.POSITIVE_INFINITY }

/** Rejects with the last failure of `work`, or with the first that is not momentary, or that comes after `signal` was aborted. */
export const withPatience = async <Result>(
  { clock, random, log }: PatienceOptions,
  signal: AbortSignal,
  isMomentary: (error: unknown) => boolean,
  work: () => Promise<Result>,
): Promise<Result> => {
  const pauses = new BackOff(policy, random)
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === attempts || signal.aborted || !isMomentary(error)) throw error
      log(`${messageOf(error)}; trying again`)
    }
    await pause(clock, pauses.next(clock.monotonicMs()), signal)
  }
}

/** A web server does not give the trace. */
export class TraceNotServed extends Schema.TaggedError<TraceNotServed>()("TraceNotServed", {
  url: Schema.String,
  reason: Schema.String,
  /** Whether the same request may succeed soon. */
  isMomentary: Schema.Boolean,
}) {
  override get message(): string {
    return `cannot read ${this.url}: ${this.reason}`
  }
}

/** Opens traces by their addresses, and tries again what may be momentary. */
export const traceOpener =
  (patience: PatienceOptions, environment: Readonly<Record<string, string | undefined>>): DriverSetting["openTrace"] =>
  (address, window, signal) =>
    withPatience(patience, signal, isMomentary, async () => {
      const place = readSourcePath(address)
      if (place.tag === "refused") throw new DriverFailure({ problem: `${place.path} names no trace: ${place.reason}` })
      if (place.tag === "answer" && /^https?:\/\//i.test(address)) return download(address, signal)
      const trace = pathOf(address)
      if (trace === "-") throw new DriverFailure({ problem: "the trace of a driver cannot be its standard input" })
      const order = { trace, recorder: undefined, window, format: undefined, repetitions: 1 }
      const source = await openSource(order, { environment, signal })
      if (!source.isReadOnce) return source
      source.close()
      throw new DriverFailure({
        problem: `${address} is a pipe; the trace of a driver is read twice, so it must be a file`,
      })
    })

const isMomentary = (error: unknown): boolean =>
  error instanceof TargetError
    ? error.code === "unreachable" || error.code === "deadline"
    : error instanceof TraceNotServed && error.isMomentary

/** `file:` in all its forms, or a path. */
const pathOf = (address: string): string => {
  const [, rest] = /^file:(.*)$/i.exec(address) ?? []
  if (rest === undefined) return address
  try {
    return fileURLToPath(`file:${rest}`)
  } catch (error) {
    throw new DriverFailure({ problem: `${address} names no file: ${messageOf(error)}` })
  }
}

const download = async (url: string, signal: AbortSignal): Promise<DriverTrace> => {
  const spool = fileSpool(tmpdir())
  try {
    const response = await fetch(url, { signal })
    if (!response.ok || response.body === null) {
      await response.body?.cancel()
      const { status } = response
      throw new TraceNotServed({ url, reason: `HTTP ${status}`, isMomentary: status >= 500 || status === 429 })
    }
    for await (const piece of response.body) spool.append(piece)
    const name = new URL(url).pathname
    return ofBytes(
      name,
      async () => readAgain(spool),
      { format: undefined, signal },
      { close: () => spool[Symbol.dispose]() },
    )
  } catch (error) {
    spool[Symbol.dispose]()
    // fetch's errors have the reason in their cause.
    if (!(error instanceof TypeError)) throw error
    throw new TraceNotServed({ url, reason: messageOf(error.cause ?? error), isMomentary: true })
  }
}
