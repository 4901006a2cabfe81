/** `reel driver`: one repetition of a Simulation as a process. */

import { stat, writeFile } from "node:fs/promises"
import * as Result from "effect/Result"
import { systemClock } from "../clock.ts"
import { loadCredentials } from "../kube/index.ts"
import { messageOf } from "../message-of.ts"
import { type Command, command } from "./command-line/command.ts"
import type { ExitCode } from "./command-line/exit-codes.ts"
import { failureOf } from "./command-line/failures.ts"
import { expectAccepted } from "./command-line/refused-credentials.ts"
import { readVersion } from "./command-line/version.ts"
import { driverSyntax, requestOf } from "./driver/driver-arguments.ts"
import { type DriverOutcome, runDriver } from "./driver/run-driver.ts"
import { interruption } from "./terminal/terminal.ts"

// The message in which a container says why it ended.

/** Where the kubelet looks if the pod does not say. */
const usualPath = "/dev/termination-log"

/** Writes the message if there is a kubelet to read it, or `KUBEREEL_TERMINATION_LOG` names a file. Never rejects: the log has the message as well. */
const leaveMessage = async (
  message: string,
  { KUBEREEL_TERMINATION_LOG: path }: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> => {
  try {
    // The kubelet makes the file. Elsewhere there is none, and none is needed.
    if (path === undefined && !(await isThere(usualPath))) return
    await writeFile(path ?? usualPath, message)
  } catch (error) {
    say(`the termination message was not written: ${messageOf(error)}`)
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    (status) => status.isFile(),
    () => false,
  )

export const driverCommand = (): Command =>
  command(driverSyntax, async (given, terminal) => {
    const { environment, say: log } = terminal
    const request = requestOf(given, environment)
    if (Result.isFailure(request)) {
      const problem = request.failure
      await leaveMessage(problem, environment, log)
      return problem
    }
    using interrupted = interruption(terminal)
    const run = async (): Promise<Omit<DriverOutcome, "exitCode"> & { readonly exitCode: ExitCode }> => {
      try {
        const { kubeconfig, context } = given
        const endpoints = await loadCredentials({ kubeconfig, context, environment })
        await expectAccepted(endpoints, `kubereel/${readVersion()}`)
        const world = {
          endpoints,
          environment,
          clock: systemClock,
          random: Math.random,
          signal: interrupted.signal,
          log,
        }
        return await runDriver({ request: request.success, ...world })
      } catch (error) {
        const failure = await failureOf(error)
        if (failure === undefined) throw error
        return { exitCode: failure.exitCode, message: failure.line }
      }
    }
    const { exitCode, message } = await run()
    if (message !== "") {
      log(message)
      await leaveMessage(message, environment, log)
    }
    return exitCode
  })
