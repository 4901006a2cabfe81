/**
 * Containers as processes of this machine: their command is looked up in a table of programs, since there is no image.
 * A process gets a kubeconfig with the token of its pod's ServiceAccount, so it may do exactly what it might do in its
 * pod.
 */
import { spawn } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { ApiEndpoint } from "../kube/index.ts"
import { kubeconfigOf } from "./local-cluster.ts"
import { UnsupportedPod } from "./processes/container-setup.ts"
import type { RunContainer } from "./processes/run-container.ts"

export interface LocalProcessOptions {
  /** What is run for a command: `/sk-driver` to a program and its first arguments. */
  readonly programs: Readonly<Record<string, readonly [program: string, ...args: string[]]>>
  /** The API server as processes reach it. */
  readonly endpoint: Pick<ApiEndpoint, "server" | "certificateAuthority">
  /** Beside the pod's own: `PATH`, for example. Default: none. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Gets what a pod's process writes. Default: dropped. */
  readonly onOutput?: (pod: string, chunk: Buffer) => void
}

/** Of processes that a signal has ended: 128 and its number, as a shell says it. */
const signalCodes: Readonly<Record<string, number>> = { SIGINT: 130, SIGKILL: 137, SIGTERM: 143 }

/** A process and what it starts are one process group, which gets the signals and is gone at the end. */
export const localProcess = (options: LocalProcessOptions): RunContainer => {
  const { programs, endpoint, environment = {}, onOutput } = options
  return async ({ pod, command, args, environment: own, directory, token, stop, kill }) => {
    const program = Object.hasOwn(programs, command) ? programs[command] : undefined
    if (program === undefined) throw new UnsupportedPod({ what: `the program ${command}` })
    const kubeconfig = join(directory, "kubeconfig")
    const text = kubeconfigOf(endpoint.server, await token(), endpoint.certificateAuthority)
    await writeFile(kubeconfig, text, { mode: 0o600 })
    return new Promise((resolve, reject) => {
      const [file, ...first] = program
      const env = { ...environment, ...own, KUBECONFIG: kubeconfig }
      const child = spawn(file, [...first, ...args], { env, detached: true, stdio: ["ignore", "pipe", "pipe"] })
      const signal = (name: NodeJS.Signals): void => {
        if (child.pid === undefined) return
        try {
          process.kill(-child.pid, name)
        } catch (error) {
          // The group has ended.
          if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
        }
      }
      const onStop = (): void => signal("SIGTERM")
      const onKill = (): void => signal("SIGKILL")
      stop.addEventListener("abort", onStop, { once: true })
      kill.addEventListener("abort", onKill, { once: true })
      if (stop.aborted) onStop()
      if (kill.aborted) onKill()
      for (const output of [child.stdout, child.stderr])
        output.on("data", (chunk: Buffer) => onOutput?.(pod.metadata.name, chunk))
      child.on("error", reject)
      child.on("exit", () => onKill())
      child.on("close", (code, by) => {
        stop.removeEventListener("abort", onStop)
        kill.removeEventListener("abort", onKill)
        resolve({ exitCode: code ?? signalCodes[by ?? ""] ?? 1 })
      })
    })
  }
}
