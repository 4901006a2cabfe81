/** A running replay as its user controls it: by keys, by signals, and over HTTP. */

import type { Repetitions } from "../../../simulation/replay/repetitions.ts"
import { type Speed, speedLimits } from "../../../simulation/schedule/replay-clock.ts"
import type { Terminal } from "../../terminal/terminal.ts"

/** What a user can do to a running replay. */
export interface ReplayControl {
  readonly isPaused: boolean
  readonly speed: Speed
  /** No moment of the trace is left, and no repetition follows. */
  readonly isOver: boolean
  pause(): void
  resume(): void
  setSpeed(speed: Speed): void
  /** Without effect unless it is paused. Before and between repetitions it is for the next one. */
  step(moments?: number): void
  /** As Ctrl-C: ends the replay and removes what it created. */
  stop(): void
}

/** The control of all repetitions; `stop` ends the run. */
export const controlOf = (run: Repetitions, stop: () => void): ReplayControl => ({
  get isPaused() {
    return run.isPaused
  },
  get speed() {
    return run.speed
  },
  get isOver() {
    return run.isOver
  },
  pause: () => run.pause(),
  resume: () => run.resume(),
  setSpeed: (speed) => run.setSpeed(speed),
  step: (moments) => run.step(moments),
  stop,
})

/** Pauses, or resumes if it is paused. */
const togglePause = (control: ReplayControl): void => (control.isPaused ? control.resume() : control.pause())

/** Multiplies the speed within its limits. The maximum is not multiplied, and is halved to the fastest speed. */
const multiplySpeed = (control: ReplayControl, factor: number): void => {
  const { minimum, maximum } = speedLimits
  if (control.speed !== "max") control.setSpeed(Math.min(maximum, Math.max(minimum, control.speed * factor)))
  else if (factor < 1) control.setSpeed(maximum)
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
  ["m", (control) => control.setSpeed("max")],
  ["s", (control) => control.step()],
  ["right", (control) => control.step()],
  ["q", (control) => control.stop()],
])

/** Ends listening; for keys, the terminal is as before. */
type StopListening = () => void

/** `undefined` if no one can press keys. */
export const listenForKeys = (terminal: Terminal, control: ReplayControl): StopListening | undefined =>
  terminal.onKey?.((key) => commands.get(key)?.(control))

/** SIGUSR1 pauses and resumes, SIGUSR2 steps. Not on Windows, which has neither. */
export const listenForSignals = (terminal: Terminal, control: ReplayControl): StopListening =>
  terminal.onUserSignal?.((signal) => (signal === "SIGUSR1" ? togglePause(control) : control.step())) ??
  (() => undefined)
