/** A running replay as its user controls it: by keys, by signals, and over HTTP. */

import { type Repetitions, speedLimits } from "../../../simulation/index.ts"
import type { Terminal } from "../../terminal/terminal.ts"

/** What a user can do to a running replay. */
export interface ReplayControl {
  readonly run: Pick<Repetitions, "isPaused" | "speed" | "isOver" | "pause" | "resume" | "setSpeed" | "step">
  /** As Ctrl-C: ends the replay and removes what it created. */
  readonly stop: () => void
}

/** Pauses, or resumes if it is paused. */
const togglePause = ({ run }: ReplayControl): void => (run.isPaused ? run.resume() : run.pause())

/** Multiplies the speed within its limits. The maximum is not multiplied, and is halved to the fastest speed. */
const multiplySpeed = ({ run }: ReplayControl, factor: number): void => {
  const { minimum, maximum } = speedLimits
  if (run.speed !== "max") run.setSpeed(Math.min(maximum, Math.max(minimum, run.speed * factor)))
  else if (factor < 1) run.setSpeed(maximum)
}

// The keys and signals that control a replay.

/** What the keys do, for people. */
export const keysHelp =
  "space pauses and resumes, + and - double and halve the speed, m means without waiting, s steps while it is paused, q stops"

const commands: ReadonlyMap<string, (control: ReplayControl) => void> = new Map([
  [" ", togglePause],
  ["+", (control) => multiplySpeed(control, 2)],
  // The same key without Shift.
  ["=", (control) => multiplySpeed(control, 2)],
  ["-", (control) => multiplySpeed(control, 1 / 2)],
  ["m", ({ run }) => run.setSpeed("max")],
  ["s", ({ run }) => run.step()],
  ["right", ({ run }) => run.step()],
  ["q", ({ stop }) => stop()],
])

/** Ends listening; for keys, the terminal is as before. */
type StopListening = () => void

/** `undefined` if there is no keyboard to read. */
export const listenForKeys = (terminal: Terminal, control: ReplayControl): StopListening | undefined =>
  terminal.onKey?.((key) => commands.get(key)?.(control))

/** SIGUSR1 pauses and resumes, SIGUSR2 steps. Not on Windows, which has neither. */
export const listenForSignals = (terminal: Terminal, control: ReplayControl): StopListening =>
  terminal.onUserSignal?.((signal) => (signal === "SIGUSR1" ? togglePause(control) : control.run.step())) ??
  (() => undefined)
