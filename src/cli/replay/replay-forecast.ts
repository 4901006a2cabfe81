/** `reel replay --dry-run`: prints what a replay would do. */
import { systemClock } from "../../clock.ts"
import { visible } from "../../recorder/configuration/quoted.ts"
import { forecastReplay } from "../../simulation/replay/forecast.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { reported } from "./replay-failures.ts"
import { listenForInterrupts } from "./replay-interrupts.ts"
import type { ReplayOrder, Say } from "./replay-order.ts"
import { withStage } from "./replay-stage.ts"
import { describeForecast } from "./replay-summary.ts"

/** Rejects only for defects. */
export const runForecast = (requested: ReplayOrder, terminal: Terminal, say: Say): Promise<ExitCode> =>
  reported(say, async () => {
    const interrupts = listenForInterrupts(terminal)
    const { signal } = interrupts.first
    const surroundings = { environment: terminal.environment, signal }
    const unchecked = (): Promise<void> => Promise.resolve()
    try {
      return await withStage(requested, surroundings, unchecked, async ({ order, source, target, reports }) => {
        const items = await source.open()
        const window = { ...order.window, now: systemClock.wallMicros() }
        const followsLives = order.pods === "recorded"
        const { client, serveKinds } = target
        const forecast = await forecastReplay({ ...order, followsLives, items, window, client, serveKinds, signal })
        for (const text of describeForecast(forecast)) terminal.standardOutput.write(`${visible(text)}\n`)
        await reports.write(forecast)
        return forecast.lacking.length + forecast.gaps > 0 ? exitCodes.incomplete : exitCodes.ok
      })
    } finally {
      interrupts.stop()
    }
  })
