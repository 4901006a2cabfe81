/** `reel replay --clean NAME`: removes what a replay created. */
import { systemClock } from "../../clock.ts"
import { cleanUp, RemovalUnchecked } from "../../simulation/target/clean-up.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { reported } from "./replay-failures.ts"
import { listenForInterrupts } from "./replay-interrupts.ts"
import type { ReplayOrder, Say } from "./replay-order.ts"
import { openTarget } from "./replay-target.ts"

/** Rejects only for defects. */
export const runCleanUp = (
  name: string,
  target: ReplayOrder["target"],
  terminal: Terminal,
  say: Say,
): Promise<ExitCode> =>
  reported(say, async () => {
    const interrupts = listenForInterrupts(terminal)
    try {
      await using open = await openTarget({ ...target, concurrency: 16 })
      const { signal } = interrupts.first
      const { removed, unchecked } = await cleanUp({ client: open.client, clock: systemClock, replay: name, signal })
      terminal.standardOutput.write(
        removed === 0
          ? `nothing of replay ${name} is in ${open.description}\n`
          : `removed ${removed} labelled objects of replay ${name}, and what was in its namespaces\n`,
      )
      if (unchecked.length === 0) return exitCodes.ok
      say(new RemovalUnchecked({ replay: name, unchecked }).message)
      return exitCodes.incomplete
    } finally {
      interrupts.stop()
    }
  })
