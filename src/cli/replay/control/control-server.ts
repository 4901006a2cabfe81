/**
 * The HTTP interface of a running replay: `GET /replay`, `PUT` or `POST /replay`, `GET /metrics`, `GET /healthz`. Without a token it listens
 * on loopback addresses only, where web pages can neither read nor change anything (see browser-guard.ts). With a token, which pages do not
 * have, everything but `/healthz` requires it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { systemClock } from "../../../clock.ts"
import { messageOf } from "../../../message-of.ts"
import {
  type Access,
  type Action,
  anonymousAccess,
  bracketed,
  formatMetrics,
  isForeignPage,
  isLoopback,
  isOwnHost,
  json,
  type Metric,
  metricsContentType,
  type Refusal,
  RequestBodies,
  readTokenFile,
  refuse as refuseRequest,
  text,
  tokenFileAccess,
} from "../../../recorder/index.ts"
import { speedLimits } from "../../../simulation/index.ts"
import type { ListenAddress } from "../../command-line/listen-option.ts"
import { type ListeningServer, listenOn } from "../../command-line/listening-server.ts"
import type { ReplayState } from "./control-state.ts"
import type { ReplayControl } from "./replay-control.ts"

// The body of a request that changes a running replay.

/** Steps of one request; more is meant as resuming. */
const mostSteps = 1_000_000

/** The members of a body, all optional; {@link readControlRequest} requires at least one. */
const ControlRequest = Schema.Struct({
  paused: Schema.optionalKey(Schema.Boolean),
  speed: Schema.optionalKey(Schema.Union([Schema.Literal("max"), Schema.Finite.check(Schema.isBetween(speedLimits))])),
  /** Moments of the trace that become due; only while the replay is paused. */
  step: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: mostSteps }))),
  stop: Schema.optionalKey(Schema.Literal(true)),
})
/** What a valid body requests. */
type ControlRequest = typeof ControlRequest.Type

/** A request, or the status and message to respond with instead. */
type ControlReading =
  | { readonly tag: "request"; readonly request: ControlRequest }
  | { readonly tag: "refused"; readonly status: number; readonly message: string }

/** Never throws. */
const readControlRequest = (body: string): ControlReading => {
  const refused = (message: string): ControlReading => ({ tag: "refused", status: 400, message })
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch (cause) {
    return refused(`the body is not JSON: ${messageOf(cause)}`)
  }
  const decoded = Schema.decodeUnknownResult(ControlRequest)(parsed, { errors: "all", onExcessProperty: "error" })
  if (Result.isFailure(decoded)) {
    // One line: the fault comes before its position.
    const faults = decoded.failure.message.replaceAll(/\n\s+at /g, " at ").replaceAll(/\s*\n\s*/g, "; ")
    return refused(`${faults.slice(0, longestFaults)}; ${allowed}`)
  }
  return Object.keys(decoded.success).length === 0
    ? refused(`nothing is requested; ${allowed}`)
    : { tag: "request", request: decoded.success }
}

const longestFaults = 1000

const allowed = `allowed are paused (true or false), speed (${speedLimits.minimum} to ${speedLimits.maximum}, or "max"), step (from 1 on) and stop (true)`

/** Does everything that is requested, or nothing: returns the refusal of a step without a pause, or at the end. */
export const follow = (
  { paused, speed, step, stop }: ControlRequest,
  { run, stop: end }: ReplayControl,
): Extract<ControlReading, { tag: "refused" }> | undefined => {
  const conflict = (message: string) => ({ tag: "refused", status: 409, message }) as const
  if (step !== undefined && !(paused ?? run.isPaused))
    return conflict('the replay is not paused, so it cannot be stepped; add "paused": true')
  if (step !== undefined && run.isOver)
    return conflict("the replay is at the end of its trace, and no repetition follows: there is nothing to step to")
  if (speed !== undefined) run.setSpeed(speed)
  if (paused === true) run.pause()
  if (paused === false) run.resume()
  if (step !== undefined) run.step(step)
  if (stop === true) end()
  return undefined
}

/** Where to listen, and who may control. */
export interface ControlSettings extends ListenAddress {
  /** Accepted tokens, one a line; `undefined`: anyone on this machine may control, and the host is a loopback address. */
  readonly tokenFile: string | undefined
}

/** Why these settings are refused, for people; `undefined`: they are not. */
export const faultOfControl = (
  address: ListenAddress | undefined,
  tokenFile: string | undefined,
): string | undefined => {
  if (address === undefined) return tokenFile === undefined ? undefined : "--control-token-file requires --control"
  const { host, port } = address
  if (tokenFile !== undefined || isLoopback(host)) return undefined
  return `other machines can reach --control ${bracketed(host)}:${port} and could control the replay: name a file with a token with --control-token-file, or listen on this machine only with --control ${port}`
}

interface ControlSources {
  readonly control: ReplayControl
  readonly state: () => ReplayState
  readonly metrics: () => ReadonlyArray<Metric>
  /** Gets one sentence for each reason why the token file cannot be used. */
  readonly onTrouble: (reason: string) => void
}

/** Rejects with {@link AddressUnavailable}, or with TokenFileError. */
export const serveControl = async (
  { host, port, tokenFile }: ControlSettings,
  sources: ControlSources,
): Promise<ListeningServer> => {
  if (tokenFile !== undefined) await readTokenFile(tokenFile)
  const guard =
    tokenFile === undefined
      ? ownPagesOnly
      : tokenFileAccess(tokenFile, (error) => error !== undefined && sources.onTrouble(error.message))
  const bodies = new RequestBodies(systemClock)
  const server = createServer((request, response) => {
    answer(request, response, { ...sources, bodies }, guard).catch((cause: unknown) => {
      if (response.headersSent) response.destroy()
      else text(response, 500, `${messageOf(cause)}\n`)
    })
  })
  return listenOn(server, { host, port }, "--control")
}

/** For a loopback address without a token. */
const ownPagesOnly: Pick<Access, "decide"> = {
  decide: async (headers, action) => {
    if (!isOwnHost(headers.host, localNames))
      return refusal(421, "this host name is not allowed: the replay accepts localhost and IP addresses")
    if (action === "export" && isForeignPage(headers))
      return refusal(403, "requests by web pages of other origins are rejected")
    return anonymousAccess.decide(headers, action)
  },
}

const localNames: ReadonlySet<string> = new Set(["localhost"])

const refusal = (status: Refusal["status"], message: string): Refusal => ({ tag: "refused", status, message })

const paths: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["/replay", ["GET", "HEAD", "PUT", "POST"]],
  ["/metrics", ["GET", "HEAD"]],
  ["/healthz", ["GET", "HEAD"]],
])

/** In the recorder's words: a change is what pages of other origins may not do, as they may not export. */
const actionOf = (path: string, isChange: boolean): Action =>
  isChange ? "export" : path === "/metrics" ? "metrics" : "coverage"

const answer = async (
  request: IncomingMessage,
  response: ServerResponse,
  { control, state, metrics, bodies }: ControlSources & { readonly bodies: RequestBodies },
  guard: Pick<Access, "decide">,
): Promise<void> => {
  const { method = "", headers } = request
  const path = URL.parse(request.url ?? "/", "http://localhost")?.pathname ?? ""
  const allowed = paths.get(path)
  const refuse = (status: number, message: string): void => text(response, status, `${message}\n`)
  if (allowed === undefined) return refuse(404, `not found; available are ${[...paths.keys()].join(", ")}`)
  if (!allowed.includes(method)) {
    response.setHeader("Allow", allowed.join(", "))
    return refuse(405, `only ${allowed.join(", ")} are allowed`)
  }
  if (path === "/healthz") return refuse(200, "ok")
  const isChange = method === "PUT" || method === "POST"
  const decision = await guard.decide(headers, actionOf(path, isChange))
  if (decision.tag === "refused") {
    if (decision.status === 401) response.setHeader("WWW-Authenticate", "Bearer")
    return refuse(decision.status, decision.message)
  }
  if (path === "/metrics") return text(response, 200, formatMetrics(metrics()), metricsContentType)
  if (isChange) {
    const from = request.socket.remoteAddress ?? ""
    const body = await bodies.receive(request, response, from)
    if (body.tag === "gone") return
    if (body.tag === "refused") return refuseRequest(response, body)
    const reading = readControlRequest(body.text)
    const refusal = reading.tag === "refused" ? reading : follow(reading.request, control)
    if (refusal !== undefined) return refuse(refusal.status, refusal.message)
  }
  json(response, 200, state())
}
