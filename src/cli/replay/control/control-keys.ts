/** The keys and signals that control a replay. */
import type { Terminal } from "../../terminal/terminal.ts"
import { multiplySpeed, type ReplayControl, togglePause } from "./replay-control.ts"

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
