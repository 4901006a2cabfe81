/**
 * Runs the hooks of one phase of a Simulation in order, each at most once.
 *
 * The start of a hook is recorded before its process is started. So a controller or driver that crashes and comes back knows of it: the hook may have had its
 * effect, and is not run again; it counts as failed.
 */
import type { Hook } from "../api/hooks.ts"
import type { HookRun, hookPhases } from "../api/status.ts"
import { type HookOutcome, interrupted } from "./run-hook.ts"

/** The hooks of one phase, what is known of them, and how they are run. */
interface PhaseOptions {
  readonly phase: (typeof hookPhases)[number]
  /** From 1; `undefined` for phases that are run once. */
  readonly repetition: number | undefined
  readonly hooks: ReadonlyArray<Hook>
  /** `status.hooks`, as it is. */
  readonly earlier: ReadonlyArray<HookRun>
  /** Puts a run into `status.hooks`, instead of the one with the same phase, repetition and index. What it rejects with ends the phase. */
  readonly record: (run: HookRun) => Promise<void>
  readonly run: (hook: Hook) => Promise<HookOutcome>
  /** RFC 3339. */
  readonly now: () => string
}

/** A hook whose failure is not to be ignored. */
interface HookFailure {
  readonly hook: Hook
  readonly run: HookRun
}

/**
 * The first failure that is not to be ignored; the hooks after it are not run. `undefined`: the simulation may go on. Rejects with what `record` rejects with.
 */
export const runPhase = async (options: PhaseOptions): Promise<HookFailure | undefined> => {
  for (const [index, hook] of options.hooks.entries()) {
    const run = await ranOnce(options, hook, index)
    if (run.exitCode !== 0 && hook.ignoreFailure !== true) return { hook, run }
  }
  return undefined
}

const ranOnce = async (options: PhaseOptions, hook: Hook, index: number): Promise<HookRun> => {
  const { phase, repetition, earlier, record, run, now } = options
  const known = earlier.find((each) => isRunOf(each, { phase, repetition, index }))
  if (known?.endTime !== undefined) return known
  if (known !== undefined) {
    const lost = { ...known, endTime: now(), message: interrupted }
    await record(lost)
    return lost
  }
  const started: HookRun = { phase, index, ...(repetition !== undefined && { repetition }), startTime: now() }
  await record(started)
  const { exitCode, message, output } = await run(hook)
  const ended = {
    ...started,
    endTime: now(),
    ...(exitCode !== undefined && { exitCode }),
    ...(message !== undefined && { message: message.slice(0, 1024) }),
    ...(output !== "" && { output }),
  }
  await record(ended)
  return ended
}

/** Whether it is a run of that hook. */
export const isRunOf = (
  run: HookRun,
  { phase, repetition, index }: { phase: string; repetition: number | undefined; index: number },
): boolean => run.phase === phase && run.index === index && run.repetition === repetition

/** One sentence for people. */
export const describeHookFailure = ({ hook, run }: HookFailure): string => {
  const reason = run.exitCode === undefined ? (run.message ?? interrupted) : `it ended with exit code ${run.exitCode}`
  const output = run.output?.trim().split("\n").at(-1)
  const excerpt = output === undefined || output === "" ? "" : `; the end of its output: ${output.slice(-300)}`
  return `the ${run.phase} hook ${run.index + 1} (${[hook.cmd, ...(hook.args ?? [])].join(" ").slice(0, 200)}) failed: ${reason}${excerpt}`
}
