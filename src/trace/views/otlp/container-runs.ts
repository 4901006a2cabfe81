/**
 * The runs of one container: each from when it was started until it ended. A container that was seen only when it had ended has the begin that
 * its status states.
 */
import type { ContainerState, ObservedContainer } from "../lives/container-states.ts"
import type { Attributes } from "./attributes.ts"

/** A run that has ended, or that was cut off by the end of its pod's life. Times are µs since the Unix epoch. */
export interface ContainerRun {
  readonly begin: number
  readonly end: number
  readonly image: string | undefined
  readonly attributes: Attributes
  /** Why it failed; `undefined`: it did not, or it is not known. */
  readonly error: string | undefined
}

/** Follows one container. `earliest`: when the life of its pod begins. */
export class ContainerRuns {
  readonly #earliest: number
  #running: { readonly since: number; readonly container: ObservedContainer } | undefined

  constructor(earliest: number) {
    this.#earliest = earliest
  }

  /** The container enters a state; returns the run that ended with that. */
  enter(time: number, container: ObservedContainer, state: ContainerState): ContainerRun | undefined {
    const ended = state.isEnd ? this.#ended(time, container, state) : this.stop(time)
    if (state.kind === "running") this.#running = { since: time, container }
    return ended
  }

  /** The run that goes on ends without its end having been seen. */
  stop(time: number): ContainerRun | undefined {
    const running = this.#running
    if (running === undefined) return undefined
    this.#running = undefined
    return run(running.since, time, running.container)
  }

  #ended(time: number, container: ObservedContainer, state: ContainerState): ContainerRun {
    const since = this.#running?.since ?? Math.max(this.#earliest, state.startedAt ?? time)
    this.#running = undefined
    return run(since, time, container, state)
  }
}

const run = (begin: number, end: number, container: ObservedContainer, state?: ContainerState): ContainerRun => ({
  begin: Math.min(begin, end),
  end,
  image: container.image,
  attributes: {
    "k8s.container.restart_count": container.restarts,
    "k8s.container.status.state": state?.kind,
    "k8s.container.status.reason": state?.reason,
    "process.exit.code": state?.exitCode,
    "kubereel.container.kind": container.kind,
    "kubereel.container.signal": state?.signal,
    "kubereel.container.message": state?.message,
  },
  error: state === undefined ? undefined : failureOf(state),
})

/** A container that was killed for its memory may have any exit code. */
const failureOf = ({ name, reason, exitCode = 0, message }: ContainerState): string | undefined => {
  if (exitCode === 0 && reason !== "OOMKilled") return undefined
  return message === undefined ? name : `${name}: ${message}`
}
