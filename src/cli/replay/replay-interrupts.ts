/** Ctrl-C during a replay: the first ends it, the second ends the removal of what it created. */
import type { Terminal } from "../terminal/terminal.ts"
import type { Say } from "./replay-order.ts"

/** What Ctrl-C does, until {@link Interrupts.stop}. */
export interface Interrupts {
  /** Aborted by the first Ctrl-C. */
  readonly first: AbortController
  /** Aborted by the second. */
  readonly second: AbortController
  /** As Ctrl-C, but a second call does nothing. */
  readonly interrupt: () => void
  readonly stop: () => void
}

/** `say` gets the line that the first Ctrl-C prints. */
export const listenForInterrupts = (terminal: Terminal, say: Say = () => undefined): Interrupts => {
  const [first, second] = [new AbortController(), new AbortController()]
  const interrupt = (): void => {
    if (first.signal.aborted) return
    say("interrupted: removing what was created; press Ctrl-C again to leave it")
    first.abort()
  }
  const stop = terminal.onInterrupt(() => (first.signal.aborted ? second.abort() : interrupt()))
  return { first, second, interrupt, stop }
}
