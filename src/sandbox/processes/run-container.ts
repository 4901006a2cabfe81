/** How a container becomes a process: what {@link RunContainer} is given, and what it returns. */
import type { Container, Pod } from "../../kube/index.ts"

/** A container that is to be started now. */
export interface ContainerStart {
  readonly pod: Pod
  readonly container: Container
  /** The program. */
  readonly command: string
  /** Paths below a mount are those of this machine. */
  readonly args: ReadonlyArray<string>
  /** Of the pod alone, without this process's own. */
  readonly environment: Readonly<Record<string, string>>
  /** The pod's own directory, in which its mounts are. It is removed after the end. */
  readonly directory: string
  /** A new token of the pod's ServiceAccount, valid for an hour. Rejects with ApiError. */
  readonly token: () => Promise<string>
  /** The container is to end: SIGTERM. */
  readonly stop: AbortSignal
  /** The grace period is over: SIGKILL. */
  readonly kill: AbortSignal
}

/** How a container ended. */
export interface ContainerEnd {
  readonly exitCode: number
  /** The termination message, for people. Default: what the container has written as such. */
  readonly message?: string
}

/** Runs one container to its end. Rejects if it cannot be started. */
export type RunContainer = (start: ContainerStart) => Promise<ContainerEnd>
