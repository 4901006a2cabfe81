/** Lets a replay be controlled while it runs: by keys, by signals, and over HTTP if that was requested. */
import type { Repetitions } from "../../../simulation/replay/repetitions.ts"
import { isLive, type Terminal } from "../../terminal/terminal.ts"
import type { ReplayOrder, Say } from "../replay-order.ts"
import { keysHelp, listenForKeys, listenForSignals } from "./control-keys.ts"
import { serveControl } from "./control-server.ts"
import { metricsOf, stateOf } from "./control-state.ts"
import { controlOf } from "./replay-control.ts"

interface ControlSurroundings {
  readonly terminal: Terminal
  /** Ends the replay as Ctrl-C does. */
  readonly interrupt: () => void
  readonly tell: Say
}

/** Rejects with AddressUnavailable or TokenFileError before `work` is called, or with what that rejects with. */
export const controlled = async <Result>(
  order: ReplayOrder,
  run: Repetitions,
  { terminal, interrupt, tell }: ControlSurroundings,
  work: () => Promise<Result>,
): Promise<Result> => {
  const control = controlOf(run, interrupt)
  await using server =
    order.control === undefined
      ? undefined
      : await serveControl(order.control, {
          control,
          state: () => stateOf(order.name, run),
          metrics: () => metricsOf(run),
          onTrouble: tell,
        })
  if (server !== undefined) tell(`control and metrics: ${server.url}/replay, ${server.url}/metrics`)
  const stopSignals = listenForSignals(terminal, control)
  // Standard input may be the trace, and keys without a progress line would have no visible effect.
  const hasKeys = order.trace !== "-" && isLive(terminal.standardError, terminal.environment)
  const stopKeys = hasKeys ? listenForKeys(terminal, control) : undefined
  if (stopKeys !== undefined) tell(`keys: ${keysHelp}`)
  try {
    return await work()
  } finally {
    stopKeys?.()
    stopSignals()
  }
}
