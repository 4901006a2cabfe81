/** The trace of a driver: what `reel replay` reads, and web addresses, whose content is kept on disk while it is replayed. */
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import * as Schema from "effect/Schema"
import { readSourcePath } from "../../blob/target-address.ts"
import { TargetError } from "../../blob/target-error.ts"
import { messageOf } from "../../message-of.ts"
import { DriverFailure } from "../../simulation/driver/driver-failure.ts"
import type { DriverSetting, DriverTrace } from "../../simulation/driver/driver-setting.ts"
import { readAgain } from "../../trace/files/trace-input.ts"
import { fileSpool } from "../../trace/spool.ts"
import { ofBytes, openSource } from "../replay/source/replay-source.ts"
import { type PatienceOptions, withPatience } from "./patience.ts"

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
