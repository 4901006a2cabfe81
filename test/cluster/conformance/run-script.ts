/** Runs a script against one server, in a namespace of its own that is deleted afterwards. */

import type { IncomingMessage } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { type Json, parseExactly, textAt } from "../exact-json.ts"
import { pointedAt } from "./pointer.ts"
import type { Captured, RawBody, RequestStep, Script, WatchStep } from "./script.ts"
import type { Answer, Request, Target } from "./target.ts"

/** A server's response to one step. */
export type Record =
  | { readonly type: "answer"; readonly step: string; readonly answer: Answer; readonly body: Json }
  | { readonly type: "events"; readonly step: string; readonly answer: Answer; readonly events: readonly Json[] }

/** All responses of a server to one script, in the order of the steps; watches come last. */
export interface Transcript {
  readonly script: Script
  readonly host: string
  /** The script's own namespace. */
  readonly namespace: string
  readonly records: readonly Record[]
}

/**
 * Limit for everything that a server does after its response (garbage collection, namespaces, new kinds), all waits of a
 * script together. The real namespace controller took longer than 25 s once, on a machine that was busy with other work.
 */
const patienceMs = 90_000
/** Limit for events of changes whose responses came long ago. */
const eventsMs = 10_000
/** An unexpected extra event would have come within this time. */
const silenceMs = 150

/**
 * @param variables beside the namespace. @param namespace the same name on both servers, so that it compares equal. @throws Error when the server cannot be
 * reached or the script cannot be run on it.
 */
export const runScript = async (
  target: Target,
  script: Script,
  namespace: string,
  variables: Readonly<globalThis.Record<string, string>> = {},
): Promise<Transcript> => {
  const captured = new Map<string, Json>([["ns", namespace], ...Object.entries(variables)])
  const watches: OpenWatch[] = []
  const records: Record[] = []
  const patience = new Patience()
  await createNamespace(target, namespace, patience)
  try {
    for (const step of script.steps) {
      if (step.type === "watch") watches.push(await OpenWatch.start(target, step, captured))
      else records.push(await perform(target, step, captured, patience))
    }
    for (const each of watches) records.push(await each.settle())
  } finally {
    for (const each of watches) each.close()
    for (const path of [...(script.leftovers ?? []), "/api/v1/namespaces/<ns>"])
      await target.send({ method: "DELETE", path: filled(path, captured), headers: {} })
  }
  return { script, host: target.host, namespace, records }
}

const createNamespace = async (target: Target, name: string, patience: Patience): Promise<void> => {
  const body = JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name } })
  const headers = { "content-type": "application/json" }
  const answer = await target.send({ method: "POST", path: "/api/v1/namespaces", headers, body })
  if (answer.status !== 201) throw new Error(`${target.name}: no namespace ${name}: ${answer.status} ${answer.text}`)
  // Controllers create both; a script that lists them or creates pods would notice.
  for (const path of ["serviceaccounts/default", "configmaps/kube-root-ca.crt"]) {
    const until = (status: number): boolean => status === 200
    await patience.repeat(target, { method: "GET", path: `/api/v1/namespaces/${name}/${path}`, headers: {} }, until)
  }
}

const perform = async (
  target: Target,
  step: RequestStep,
  captured: Map<string, Json>,
  patience: Patience,
): Promise<Record> => {
  const { name, method, headers, until, capture } = step
  const body = bodyOf(step, captured)
  const request: Request = {
    method,
    path: locationOf(step, captured),
    headers: Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, filled(value, captured)])),
    ...(body === undefined ? {} : { body }),
  }
  const answer = await (until === undefined ? target.send(request) : patience.repeat(target, request, until))
  const parsed = parsedBody(answer)
  for (const [variable, pointer] of Object.entries(capture)) captured.set(variable, pointedAt(parsed, pointer) ?? "")
  return { type: "answer", step: name, answer, body: parsed }
}

type Until = (status: number, body: Json) => boolean

/** Waits for a server's asynchronous work; if it never happens, a script waits only once. */
class Patience {
  #leftMs = patienceMs

  async repeat(target: Target, request: Request, until: Until): Promise<Answer> {
    const start = performance.now()
    for (;;) {
      const answer = await target.send(request)
      const waitedMs = performance.now() - start
      if (until(answer.status, parsedBody(answer)) || waitedMs > this.#leftMs) {
        this.#leftMs -= waitedMs
        return answer
      }
      await sleep(50)
    }
  }
}

const bodyOf = ({ body }: RequestStep, captured: Captured): string | Buffer | undefined => {
  if (body === undefined) return undefined
  if (typeof body === "function") return JSON.stringify(body(captured))
  if (!isRaw(body)) return filled(JSON.stringify(body), captured)
  return typeof body.raw === "string" ? filled(body.raw, captured) : body.raw
}

const isRaw = (body: Json | RawBody): body is RawBody => typeof body === "object" && body !== null && "raw" in body

const locationOf = ({ path, query }: RequestStep | WatchStep, captured: Captured): string => {
  const parameters = Object.entries(query).map(
    ([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(filled(value, captured))}`,
  )
  const ending = parameters.length === 0 ? "" : `${path.includes("?") ? "&" : "?"}${parameters.join("&")}`
  return filled(path, captured) + ending
}

/** `<nil>` and the like are not variables and stay. */
const filled = (text: string, captured: Captured): string =>
  text.replace(/<([A-Za-z][A-Za-z0-9]*)>/g, (whole, name: string) => {
    const value = captured.get(name)
    return value === undefined ? whole : typeof value === "string" ? value : JSON.stringify(value)
  })

const parsedBody = ({ contentType, text }: Answer): Json => {
  // The OpenAPI index is JSON with a text content type.
  if (!contentType.startsWith("application/json") && !text.startsWith("{")) return text
  try {
    return parseExactly(text)
  } catch {
    // Several documents, or none: compared as text.
    return text
  }
}

class OpenWatch {
  readonly #step: WatchStep
  readonly #response: IncomingMessage
  readonly #events: Json[] = []
  #rest = ""
  #isOver = false

  private constructor(step: WatchStep, response: IncomingMessage) {
    this.#step = step
    this.#response = response
    response.setEncoding("utf8")
    response.on("data", (text: string) => this.#take(text))
    response.on("close", () => {
      this.#isOver = true
    })
    // A connection that breaks ends the events, and too few of them are a difference.
    response.on("error", () => {
      this.#isOver = true
    })
  }

  static async start(target: Target, step: WatchStep, captured: Captured): Promise<OpenWatch> {
    const headers = { ...step.headers }
    return new OpenWatch(step, await target.open({ method: "GET", path: locationOf(step, captured), headers }))
  }

  async settle(): Promise<Record> {
    const deadline = performance.now() + eventsMs
    while (!this.#isOver && this.#events.length < this.#step.events && performance.now() < deadline) await sleep(20)
    if (!this.#isOver) await sleep(silenceMs)
    const { statusCode = 0, headers } = this.#response
    const contentType = headers["content-type"] ?? ""
    const answer: Answer = { status: statusCode, contentType, warnings: [], retryAfter: "", text: this.#rest }
    // A failure is one document without a line feed, or an indented one.
    const events = this.#rest === "" ? this.#events : [...this.#events, this.#rest]
    return { type: "events", step: this.#step.name, answer, events }
  }

  close(): void {
    this.#response.destroy()
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n")
    this.#rest = lines.pop() ?? ""
    this.#events.push(...lines.map(parsedLine).filter((event) => !isPeriodic(event)))
  }
}

/** A server sends bookmarks at any time; only the one that ends the initial events has a fixed position. */
const isPeriodic = (event: Json): boolean =>
  textAt(event, "type") === "BOOKMARK" && !JSON.stringify(event).includes("k8s.io/initial-events-end")

const parsedLine = (line: string): Json => {
  try {
    return parseExactly(line)
  } catch {
    // Compared as text.
    return line
  }
}
