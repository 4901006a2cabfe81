/** `spec.hooks`: commands before and after a simulation and each of its runs. */
import * as Schema from "effect/Schema"
import { additional, anyText, flag, list, optional, rules, text } from "./fields.ts"

/** How long a hook may take if it does not say, as in the manifest. Long enough to pull images and wait for a roll-out. */
export const defaultHookTimeout = "5m"

/** Go's durations as src/kube/duration.ts reads them, from 1 ms on. */
const timeoutRule = {
  rule: "self.matches(r'^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1ms')",
  message: "must be a duration from 1ms on, such as 30s, 5m or 1h30m",
}

const Hook = Schema.Struct({
  cmd: anyText("The program. It is looked up in the image of the controller or driver, depending on the hook's phase."),
  args: optional(list(anyText("An argument."), 1024, "Arguments of the program. No shell interprets them.")),
  sendSim: optional(flag("Whether the program gets this Simulation as JSON on its standard input. Default: false.")),
  ignoreFailure: optional(
    flag("Whether the simulation continues if the program fails, cannot be started or takes too long. Default: false."),
  ),
  timeout: additional(
    text(32, "How long the program may take, then it is killed and has failed. Default: 5m.").annotate({
      ...rules(timeoutRule),
      default: defaultHookTimeout,
    }),
  ),
})

/** One command. */
export type Hook = typeof Hook.Type

/** More than people write; the status has room for as many. */
const most = 100

const phase = (description: string) => optional(list(Hook, most, description))

/** Commands by when they run, each list in order. */
export const SimulationHooks = Schema.Struct({
  preStartHooks: phase("Run once by the controller, before anything is created."),
  preRunHooks: phase("Run by the driver before each repetition."),
  postRunHooks: phase("Run by the driver after each repetition, when its objects have been removed."),
  postStopHooks: phase("Run once by the controller, at the end, also after a failure."),
}).annotate({ description: "Commands before and after the simulation and each of its repetitions." })

/** Decoded, which is also how it is in JSON. */
export type SimulationHooks = typeof SimulationHooks.Type
