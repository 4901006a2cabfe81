/** The body of a request that changes a running replay. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { messageOf } from "../../../message-of.ts"
import { speedLimits } from "../../../simulation/replay/replay-clock.ts"
import type { ReplayControl } from "./replay-control.ts"

/** Steps of one request; more is meant as resuming. */
const mostSteps = 1_000_000

/** The members of a body, all optional; {@link readControlRequest} requires at least one. */
export const ControlRequest = Schema.Struct({
  paused: Schema.optionalKey(Schema.Boolean),
  speed: Schema.optionalKey(Schema.Union([Schema.Literal("max"), Schema.Finite.check(Schema.isBetween(speedLimits))])),
  /** Moments of the trace that become due; only while the replay is paused. */
  step: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: mostSteps }))),
  stop: Schema.optionalKey(Schema.Literal(true)),
})
/** What a valid body requests. */
export type ControlRequest = typeof ControlRequest.Type

/** A request, or the status and message to respond with instead. */
export type ControlReading =
  | { readonly tag: "request"; readonly request: ControlRequest }
  | { readonly tag: "refused"; readonly status: number; readonly message: string }

/** Never throws. */
export const readControlRequest = (body: string): ControlReading => {
  const refused = (message: string): ControlReading => ({ tag: "refused", status: 400, message })
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch (cause) {
    return refused(`the body is not JSON: ${messageOf(cause)}`)
  }
  const decoded = Schema.decodeUnknownResult(ControlRequest)(parsed, { errors: "all", onExcessProperty: "error" })
  if (Result.isFailure(decoded)) {
    // One line: the fault comes before its position.
    const faults = decoded.failure.message.replaceAll(/\n\s+at /g, " at ").replaceAll(/\s*\n\s*/g, "; ")
    return refused(`${faults.slice(0, longestFaults)}; ${allowed}`)
  }
  return Object.keys(decoded.success).length === 0
    ? refused(`nothing is requested; ${allowed}`)
    : { tag: "request", request: decoded.success }
}

const longestFaults = 1000

const allowed = `allowed are paused (true or false), speed (${speedLimits.minimum} to ${speedLimits.maximum}, or "max"), step (from 1 on) and stop (true)`

/** Does everything that is requested, or nothing: returns the refusal of a step without a pause, or at the end. */
export const follow = (
  { paused, speed, step, stop }: ControlRequest,
  control: ReplayControl,
): Extract<ControlReading, { tag: "refused" }> | undefined => {
  const conflict = (message: string) => ({ tag: "refused", status: 409, message }) as const
  if (step !== undefined && !(paused ?? control.isPaused))
    return conflict('the replay is not paused, so it cannot be stepped; add "paused": true')
  if (step !== undefined && control.isOver)
    return conflict("the replay is at the end of its trace, and no repetition follows: there is nothing to step to")
  if (speed !== undefined) control.setSpeed(speed)
  if (paused === true) control.pause()
  if (paused === false) control.resume()
  if (step !== undefined) control.step(step)
  if (stop === true) control.stop()
  return undefined
}
