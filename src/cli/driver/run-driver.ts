/**
 * A driver put together: clients, trace, certificate and stores for {@link driveSimulation}. It takes nothing from its process but files and the credentials of
 * object stores, so that several run in one.
 */

import { createPrivateKey, X509Certificate } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createServer } from "node:http"
import * as Effect from "effect/Effect"
import { type ExportTarget, openTarget, readTargetPath, TargetError } from "../../blob/index.ts"
import type { Clock } from "../../clock.ts"
import { ApiClient, backOff, type EndpointSource, isSafeToRepeat, type RetryPolicy } from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { formatMetrics, metricsContentType, text } from "../../recorder/index.ts"
import {
  DriverFailure,
  driveSimulation,
  isUndeclaredField,
  type Repetitions,
  type ReportStore,
  type WebhookIdentity,
} from "../../simulation/index.ts"

import { BadTraceError, InputUnreadable } from "../../trace/index.ts"
import { failureOf } from "../command-line/failures.ts"
import type { ListenAddress } from "../command-line/listen-option.ts"
import { isByOwnName, type ListeningServer, listenOn } from "../command-line/listening-server.ts"
import { readVersion } from "../command-line/version.ts"
import { metricsOf } from "../replay/control/control-state.ts"
import { replayRetries } from "../replay/replay-target.ts"
import type { DriverRequest } from "./driver-arguments.ts"
import { type PatienceOptions, TraceNotServed, traceOpener, withPatience } from "./driver-trace.ts"

// Full reports in an object store.

/** A store that is away for a moment is asked again. */
const reportStore = (patience: PatienceOptions): ReportStore => ({
  check: (url, signal) =>
    patiently(patience, signal, async () => {
      const target = await open(url, signal)
      await target.abort("it was only tried whether the report can be written")
    }),
  write: (url, json) =>
    patiently(patience, never, async () => {
      const target = await open(url, never)
      try {
        await target.write(Buffer.from(json))
        await target.finish()
      } catch (error) {
        await target.abort("the report could not be written")
        throw error
      }
    }),
})

/** The last request of a repetition, which must not be lost when the pod is terminated. */
const never = new AbortController().signal

const patiently = async (patience: PatienceOptions, signal: AbortSignal, work: () => Promise<void>): Promise<void> => {
  try {
    await withPatience(patience, signal, isMomentary, work)
  } catch (error) {
    if (!(error instanceof TargetError)) throw error
    throw new DriverFailure({ problem: `${error.message}; spec.report.url names where reports go` })
  }
}

const isMomentary = (error: unknown): boolean =>
  error instanceof TargetError && (error.code === "unreachable" || error.code === "deadline")

const open = (url: string, signal: AbortSignal): Promise<ExportTarget> => {
  const place = readTargetPath(url)
  if (place.tag !== "store") {
    const reason = place.tag === "refused" ? place.reason : "it is not in an object store"
    throw new DriverFailure({ problem: `no report can be written to ${url}: ${reason}; correct spec.report.url` })
  }
  return Effect.runPromise(openTarget(place.address, { contentType: "application/json" }), { signal })
}

// The certificate of a driver's webhook, as the kubelet mounts it.

/** Rejects with a DriverFailure if a file cannot be read, is not PEM, or the two do not belong together. */
const readPemFiles = async (certPath: string, keyPath: string): Promise<WebhookIdentity> => {
  const [certificate, key] = await Promise.all([read("--cert-path", certPath), read("--key-path", keyPath)])
  const parsed = parsedBy(`--cert-path ${certPath} is no certificate`, () => new X509Certificate(certificate))
  const secret = parsedBy(`--key-path ${keyPath} is no private key`, () => createPrivateKey(key))
  if (!parsed.checkPrivateKey(secret))
    throw unusable(`the key in ${keyPath} is not that of the certificate in ${certPath}`)
  return { certificate, key }
}

const read = async (option: string, path: string): Promise<string> => {
  try {
    return await readFile(path, "utf8")
  } catch (error) {
    throw unusable(`${option} ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? messageOf(error)}`)
  }
}

const parsedBy = <Parsed>(complaint: string, parse: () => Parsed): Parsed => {
  try {
    return parse()
  } catch (error) {
    throw unusable(`${complaint}: ${messageOf(error)}`)
  }
}

const unusable = (what: string): DriverFailure =>
  new DriverFailure({
    problem: `the webhook's certificate cannot be used: ${what}; the Secret of the Job must have tls.crt and tls.key, as PEM`,
  })

// The metrics of a driver's replay for Prometheus, as `reel replay --control` has them. Nothing can be changed there.

/** Rejects with AddressUnavailable. */
const serveMetrics = (address: ListenAddress, run: Repetitions): Promise<ListeningServer> => {
  const server = createServer((request, response) => {
    if (!isByOwnName(request, response, address)) return
    const path = request.url?.split("?", 1)[0]
    if (path !== "/metrics") return text(response, 404, "not found; available is /metrics\n")
    if (request.method !== "GET" && request.method !== "HEAD")
      return text(response, 405, "only GET and HEAD are allowed\n")
    text(response, 200, formatMetrics(metricsOf(run)), metricsContentType)
  })
  return listenOn(server, address, "--metrics-port")
}

/** What a driver uses of the world. */
interface DriverOptions {
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
    if (!(error instanceof DriverFailure || error instanceof TraceNotServed || (await failureOf(error)) !== undefined))
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
