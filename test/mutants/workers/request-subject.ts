/** Sends mutants of requests to a sandbox with all its controllers, and says what no server may do. */
import type { Duplex } from "node:stream"
import { parentPort } from "node:worker_threads"
import { LocalCluster } from "../../../src/sandbox/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"
import { isKnownFailure } from "../known-failures.ts"
import { shownBytes } from "../mutant-run.ts"
import { isCut, sendRaw } from "../raw-exchange.ts"
import type { Received } from "../received.ts"
import { type RequestMutant, type SentRequest, sentRequest, wireBytes } from "../request-mutants.ts"
import { requestScripts, Variables } from "../script-requests.ts"
import type { Finding } from "../subject.ts"

export interface RequestTask {
  /** The script whose requests are sent, each after its mutants. */
  readonly script: number
  readonly mutants: ReadonlyArray<RequestMutant>
}

/** Processor time of a batch of 20 mutants, and of what the controllers do about them. */
const mostCpuMs = 8000
/** Turns of the event loop after which a request without a response counts as one that is never answered. */
const mostTurns = 2000
/** Turns that a watch is left open. */
const watchedTurns = 5
/** The same where the server may rightly wait for the rest of a request. */
const unclearTurns = 30
/** ms of the cluster's clock per turn. */
const pace = 5
const namespace = "mutants"

class Session {
  readonly #cluster: LocalCluster
  readonly #clock: ManualClock
  readonly troubles: string[]
  readonly problems: string[] = []
  readonly #watches: Duplex[] = []
  /** Paths of the collections that were written to. */
  readonly #collections = new Set<string>()

  private constructor(cluster: LocalCluster, clock: ManualClock, troubles: string[]) {
    this.#cluster = cluster
    this.#clock = clock
    this.troubles = troubles
  }

  static async start(): Promise<Session> {
    const clock = new ManualClock()
    const troubles: string[] = []
    const starting = LocalCluster.start({
      clock,
      nodes: 1,
      ledger: "none",
      bookmarkInterval: 0,
      onTrouble: (detail) => void troubles.push(detail),
    })
    return new Session(await passing(clock, starting), clock, troubles)
  }

  async send(request: SentRequest): Promise<Received> {
    const connection = this.#cluster.sandbox.connect()
    const received = sendRaw(connection, request, () => this.passes(1))
    if (isCut(request)) {
      await this.passes(2)
      return received
    }
    let open = 0
    for (let turns = 0; !received.isComplete && open < watchedTurns; turns++) {
      if (turns === (isUnclear(request) ? unclearTurns : mostTurns)) {
        connection.destroy()
        if (!isUnclear(request)) this.problem(request, received, "no response")
        return received
      }
      // A stream has begun, and ends when the client hangs up.
      if (received.isStream) open++
      await this.passes(1)
    }
    if (received.isComplete) connection.destroy()
    else this.#watches.push(connection)
    if (this.#watches.length > 3) this.#watches.shift()?.destroy()
    this.#note(request, received)
    return received
  }

  problem(request: SentRequest, received: Received | undefined, what: string): void {
    const answer = received === undefined ? "" : `\n  response: ${received.text.slice(0, 1500)}`
    this.problems.push(`${what}\n  request: ${shownBytes(wireBytes(request))}${answer}`)
  }

  async passes(turns: number): Promise<void> {
    for (let done = 0; done < turns; done++) {
      this.#clock.advance(pace)
      await turn()
    }
  }

  /** What was written is readable, in each form; the controllers have seen it. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 60; turns++) {
      this.#clock.advance(1000)
      await turn()
    }
    for (const path of this.#collections)
      for (const accept of ["application/json", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml"]) {
        const request = { method: "GET", path, headers: { accept }, body: undefined, cutAt: undefined }
        const { status } = await this.send(request)
        if (![200, 404, 405].includes(status)) this.problems.push(`GET ${path} as ${accept}: ${status}`)
      }
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.destroy()
    await passing(this.#clock, this.#cluster.close())
  }

  #note(request: SentRequest, received: Received): void {
    const problem = received.problem
    if (problem !== undefined) this.problem(request, received, problem)
    if (received.status >= 500 && !isKnownFailure(received.status, received.body))
      this.problem(request, received, `a ${received.status}`)
    if (request.method !== "POST" || received.status !== 201) return
    const [path = ""] = request.path.split("?")
    if (/^\/apis?\/[^%]*$/.test(path) && this.#collections.size < 4) this.#collections.add(path)
  }
}

/** Whether its headers claim another length than it has, or that more will follow. */
const isUnclear = ({ headers }: SentRequest): boolean =>
  ["content-length", "transfer-encoding", "expect", "connection", "upgrade"].some((name) => headers[name] !== undefined)

/** Lets time pass until the promise is settled. */
const passing = async <Value>(clock: ManualClock, promise: Promise<Value>): Promise<Value> => {
  let isSettled = false
  const settled = promise.finally(() => {
    isSettled = true
  })
  settled.catch(() => undefined)
  while (!isSettled) {
    clock.advance(pace)
    await turn()
  }
  return settled
}

const examine = async ({ script: number, mutants }: RequestTask): Promise<ReadonlyArray<string>> => {
  const script = requestScripts[number % requestScripts.length]
  if (script === undefined) return ["no script"]
  const session = await Session.start()
  try {
    const variables = new Variables(namespace)
    const plain = (request: { method: string; path: string; body?: object }): SentRequest => ({
      ...request,
      headers: { "content-type": "application/json" },
      body: request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body)),
      cutAt: undefined,
    })
    await session.send(plain({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name: namespace } } }))
    await session.passes(20)
    for (const [index, step] of script.steps.entries()) {
      for (const { step: which, edits } of mutants) {
        if (which % script.steps.length !== index) continue
        const donor = variables.requestOf(script.steps[(which >> 8) % script.steps.length] ?? step)
        await session.send(sentRequest(variables.requestOf(step), edits, donor))
      }
      const { body } = await session.send(sentRequest(variables.requestOf(step), [], variables.requestOf(step)))
      variables.capture(step, body)
    }
    await session.settle()
  } finally {
    await session.close()
  }
  const defects = session.troubles.filter(isDefect)
  return [...session.problems, ...defects.map((detail) => `a defect is reported: ${detail}`)].map(
    (problem) => `script ${script.name}: ${problem}`,
  )
}

/** Controllers also report what the server refused them; a defect has a stack. */
const isDefect = (detail: string): boolean => /\n\s+at /.test(detail)

parentPort?.on("message", async (task: RequestTask) => {
  const start = process.threadCpuUsage()
  const problems = [
    ...(await examine(task).catch((error: unknown) => [
      `a defect: ${error instanceof Error ? error.stack : String(error)}`,
    ])),
  ]
  const { user, system } = process.threadCpuUsage(start)
  const cpuMs = (user + system) / 1000
  if (cpuMs > mostCpuMs) problems.push(`${Math.round(cpuMs)} ms of processor time`)
  parentPort?.postMessage({ problems, cpuMs } satisfies Finding)
})
parentPort?.postMessage("ready")
