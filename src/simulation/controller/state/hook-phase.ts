/** How far the hooks of a phase are, by what the status says. */
import type { Hook } from "../../api/hooks.ts"
import type { HookRun } from "../../api/status.ts"
import { describeHookFailure, isRunOf } from "../../hooks/run-phase.ts"
import type { PhaseState } from "./observation.ts"

/** For phases that are run once. */
export const phaseState = (
  phase: "preStart" | "postStop",
  hooks: ReadonlyArray<Hook>,
  runs: ReadonlyArray<HookRun>,
): PhaseState => {
  for (const [index, hook] of hooks.entries()) {
    const run = runs.find((each) => isRunOf(each, { phase, repetition: undefined, index }))
    if (run?.endTime === undefined) return { tag: "open" }
    if (run.exitCode !== 0 && hook.ignoreFailure !== true)
      return { tag: "failed", message: describeHookFailure({ hook, run }) }
  }
  return { tag: "done" }
}
