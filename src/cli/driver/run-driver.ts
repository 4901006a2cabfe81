/**
 * A driver put together: clients, trace, certificate and stores for {@link driveSimulation}. It takes nothing from its process but files and the credentials of
 * object stores, so that several run in one.
 */

import { TargetError } from "../../blob/target-error.ts"
import type { Clock } from "../../clock.ts"
import { ApiClient } from "../../kube/client/api-client.ts"
import { backOff, isSafeToRepeat, type RetryPolicy } from "../../kube/client/retry-policy.ts"
import type { EndpointSource } from "../../kube/endpoint.ts"
import { messageOf } from "../../message-of.ts"
import { driveSimulation } from "../../simulation/driver/drive-simulation.ts"
import { DriverFailure } from "../../simulation/driver/driver-failure.ts"
import { isUndeclaredField } from "../../simulation/driver/driver-status.ts"
import { InputUnreadable } from "../../trace/files/trace-input.ts"
import { BadTraceError } from "../../trace/formats/format.ts"
import { isReportable } from "../replay/replay-failures.ts"
import { replayRetries } from "../replay/replay-target.ts"
import { readVersion } from "../version.ts"
import type { DriverRequest } from "./driver-arguments.ts"
import { serveMetrics } from "./driver-metrics.ts"
import { TraceNotServed, traceOpener } from "./driver-trace.ts"
import { readPemFiles } from "./pem-files.ts"
import { reportStore } from "./report-store.ts"

/** What a driver uses of the world. */
export interface DriverOptions {
  readonly request: DriverRequest
  /** The API server, over HTTP. */
  readonly endpoints: EndpointSource
  /** Of hooks. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Returns a number in [0, 1). */
  readonly random: () => number
  /** As SIGTERM: what was created is removed, and the exit code is 1. */
  readonly signal: AbortSignal
  /** Gets one line for people. */
  readonly log: (line: string) => void
  /** Where the webhook and the metrics listen. Default `0.0.0.0`: all addresses of the pod. */
  readonly listenAddress?: string | undefined
}

/** How a driver ended. */
export interface DriverOutcome {
  readonly exitCode: 0 | 1
  /** Why it failed, in one sentence of at most {@link longestMessage} bytes; empty if it did not. */
  readonly message: string
}

/** Bytes of a termination message that the kubelet keeps. */
const longestMessage = 4096

/** An API server that restarts is away for some seconds. */
const ownRetries = (random: () => number): RetryPolicy =>
  backOff({
    random,
    attempts: 8,
    baseMs: 200,
    maximumMs: 5000,
    mayRepeat: (error) => isSafeToRepeat(error) && !isUndeclaredField(error),
  })

/** Never rejects. */
export const runDriver = async (options: DriverOptions): Promise<DriverOutcome> => {
  const { request, endpoints, environment, clock, random, signal, log, listenAddress = "0.0.0.0" } = options
  const userAgent = `kubereel/${readVersion()}`
  const server = { server: endpoints, userAgent, timers: clock }
  const clients = {
    own: new ApiClient({ ...server, retries: ownRetries(random) }),
    replay: new ApiClient({ ...server, maximumConcurrent: request.concurrency, retries: replayRetries }),
    pods: new ApiClient({ ...server, maximumConcurrent: request.concurrency, retries: replayRetries }),
  }
  const { metricsPort, webhookPort, certPath, keyPath } = request
  try {
    await driveSimulation({
      ...request,
      clients,
      endpoints,
      userAgent,
      openTrace: traceOpener({ clock, random, log }, environment),
      reports: reportStore({ clock, random, log }),
      webhook: { address: listenAddress, port: webhookPort, readIdentity: () => readPemFiles(certPath, keyPath) },
      environment,
      clock,
      random,
      signal,
      ...(metricsPort !== undefined && {
        onRun: (run) => serveMetrics({ host: listenAddress, port: metricsPort }, run),
      }),
      log,
    })
    return { exitCode: 0, message: "" }
  } catch (error) {
    if (!(error instanceof DriverFailure || error instanceof TraceNotServed || isReportable(error)))
      log(
        `this is a bug in kubereel ${readVersion()}, please report it: ${error instanceof Error ? error.stack : messageOf(error)}`,
      )
    return { exitCode: 1, message: cut(describe(error)) }
  } finally {
    for (const client of Object.values(clients)) client.close()
  }
}

const traceErrors = [InputUnreadable, BadTraceError, TargetError, TraceNotServed]

/** Says where the address of a trace that cannot be read comes from. */
const describe = (error: unknown): string => {
  const isOfTrace = traceErrors.some((each) => error instanceof each)
  const text = messageOf(error).replaceAll(/\s+/g, " ").trim()
  return isOfTrace ? `${text}; spec.driver.tracePath names the trace` : text
}

const cut = (text: string): string => {
  const bytes = Buffer.from(text)
  return bytes.length <= longestMessage
    ? text
    : `${bytes
        .subarray(0, longestMessage - 4)
        .toString("utf8")
        .replace(/\uFFFD+$/, "")}…`
}
