/** The executor in its own thread, with a module worker in the thread of the test, and a sandbox over real HTTP. */
import * as Effect from "effect/Effect"
import { expect, onTestFinished, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import {
  completionsMailbox,
  type ExecutorReport,
  executorDefinition,
  executorName,
  operationsMailbox,
  type Registration,
} from "../../../src/host/executor/executor-interface.ts"
import { OperationSender } from "../../../src/host/executor/operation-sender.ts"
import type { GuestRequest } from "../../../src/host/guest/abi-values.ts"
import type { ApiEndpoint } from "../../../src/kube/index.ts"
import {
  type ActorBody,
  type ActorDefinition,
  ActorSystem,
  localThread,
  workerThread,
} from "../../../src/runtime/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { startWebServer } from "../../kube/http/web-server.ts"
import { guestRequest, statusOf } from "./requests.ts"

const entry = new URL("../../../dist/workers/executor.js", import.meta.url)

type Nothing = Record<string, never>
const workerDefinition: ActorDefinition<Nothing, Nothing, never> = { role: "module-worker", control: {} }

const start = async (modules: Registration[]) => {
  const system = new ActorSystem()
  onTestFinished(async () => void (await system.stop()))
  const reports: ExecutorReport[] = []
  let lives = 0
  const executor = system.spawn({
    definition: executorDefinition,
    name: executorName,
    start: workerThread(entry, { oldGenerationMb: 128, youngGenerationMb: 4 }),
    config: () => ({ modules }),
    incarnation: () => ++lives,
    onReport: (report) => reports.push(report),
  })
  const answers: string[] = []
  let operations: OperationSender | undefined
  const body: ActorBody<Nothing, Nothing, never> = (context) =>
    Effect.sync(() => {
      const sender = new OperationSender(
        context.outbox(operationsMailbox),
        context.clock,
        ({ module, id, response }) => {
          const isOwn = response !== undefined && response.status >= 500
          answers.push(
            `${module} ${id} ${response === undefined ? "over" : isOwn ? statusOf(response) : response.status}`,
          )
        },
      )
      const inbox = context.inbox(completionsMailbox(context.name), {
        attached: (_, incarnation) => {
          sender.attached(incarnation)
          return undefined
        },
        frame: (name, { incarnation, number, payload }) => {
          sender.receive(payload)
          inbox.acknowledge(name, incarnation, number)
        },
      })
      operations = sender
      return {}
    })
  let workerLives = 0
  const worker = system.spawn<Nothing, Nothing, never>({
    definition: workerDefinition,
    name: "worker-1",
    start: localThread(workerDefinition, body, systemClock),
    config: () => ({}),
    incarnation: () => ++workerLives,
  })
  system.link(operationsMailbox, worker, executor)
  system.link(completionsMailbox("worker-1"), executor, worker, "upstream")
  await Effect.runPromise(Effect.all([executor.running(), worker.running()]))
  const sender = (): OperationSender => operations as OperationSender
  const send = (id: number, request: GuestRequest, incarnation = 1, module = "m"): void => {
    sender().request({ module, incarnation, id: BigInt(id) }, request)
    sender().flush()
  }
  const statistics = async () => (await Effect.runPromise(executor.call("statistics", undefined)))[0]
  return { executor, worker, reports, answers, sender, send, statistics, lives: () => lives }
}

const registration = (endpoint: ApiEndpoint, limits: Registration["limits"] = {}): Registration => ({
  module: "m",
  endpoint,
  userAgent: "m/1",
  limits,
})

const configMaps = "/api/v1/namespaces/default/configmaps"
const create = (name: string): GuestRequest =>
  guestRequest("POST", configMaps, { body: JSON.stringify({ metadata: { name } }) })

/** Keeps every request open; `open` and `aborted` are their paths. */
const startSilentServer = async () => {
  const open: string[] = []
  const aborted: string[] = []
  const server = await startWebServer((request, response) => {
    open.push(request.url ?? "")
    response.on("close", () => aborted.push(request.url ?? ""))
  })
  onTestFinished(() => server[Symbol.asyncDispose]())
  return { open, aborted, endpoint: { server: `http://127.0.0.1:${server.port}`, headers: [] } }
}

test("requests and delays of modules are completed to their worker", async () => {
  await using sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  const { executor, answers, sender, send, statistics } = await start([])
  const call = executor.call("register", registration(sandbox.endpoint, { burst: 5 }))
  await Effect.runPromise(call)
  sender().delay({ module: "m", incarnation: 1, id: 0n }, 20n)
  sender().delay({ module: "m", incarnation: 1, id: 1n }, 2n ** 63n - 1n)
  send(2, create("a"))
  send(3, guestRequest("GET", `${configMaps}/nothing`))
  await eventually(() => expect(answers).toHaveLength(3))
  expect(answers.toSorted()).toEqual(["m 0 over", "m 2 201", "m 3 404"])
  expect(sender().outstanding({ module: "m", incarnation: 1 })).toBe(1)
  expect(await statistics()).toMatchObject({ module: "m", requests: 2, answered: 2 })
  expect(sandbox.get("v1.ConfigMap", "default", "a")).toBeDefined()
  sender().end({ module: "m", incarnation: 1 })
  send(0, guestRequest("GET", "/version"), 2)
  await eventually(() => expect(answers.at(-1)).toBe("m 0 200"))
  await Effect.runPromise(executor.call("remove", "m"))
  expect(await statistics()).toBeUndefined()
  send(1, guestRequest("GET", "/version"), 2)
  await eventually(() => expect(answers.at(-1)).toMatch(/^m 1 503 the module m is not registered/))
})

test("a new life of the executor answers the requests of the former one with 503, and continues the delays", async () => {
  const { endpoint, open } = await startSilentServer()
  const { executor, answers, sender, send, lives } = await start([registration(endpoint)])
  sender().delay({ module: "m", incarnation: 1, id: 0n }, 300n)
  send(1, guestRequest("POST", "/lost"))
  await eventually(() => expect(open).toEqual(["/lost"]))
  await executor.kill("a test")
  // Sent while there is no executor: kept by the mailbox, and carried out by the next life.
  send(2, guestRequest("GET", "/kept"))
  await eventually(() => expect(open).toEqual(["/lost", "/kept"]))
  await eventually(() => expect(answers).toHaveLength(2))
  expect(answers.toSorted()).toEqual([
    "m 0 over",
    "m 1 503 the response is lost, because the request executor was restarted meanwhile; the request may have been carried out",
  ])
  expect(lives()).toBe(2)
  expect(sender().outstanding({ module: "m", incarnation: 1 })).toBe(1)
})

test("what a worker that died had asked for is given up", async () => {
  const { endpoint, open, aborted } = await startSilentServer()
  const { worker, sender, send, statistics, answers } = await start([registration(endpoint)])
  send(0, guestRequest("GET", "/a"))
  sender().delay({ module: "m", incarnation: 1, id: 1n }, 1_000_000n)
  sender().flush()
  await eventually(() => expect(open).toEqual(["/a"]))
  await worker.kill("a test")
  await eventually(() => expect(aborted).toEqual(["/a"]))
  await Effect.runPromise(worker.running())
  send(0, guestRequest("GET", "/b"), 2)
  await eventually(() => expect(open).toEqual(["/a", "/b"]))
  expect(await statistics()).toMatchObject({ requests: 2, answered: 0, queued: 0 })
  expect(answers).toEqual([])
})

test("refused credentials are reported once, and their requests are sent again with the new ones", async () => {
  await using sandbox = await Sandbox.start({ token: "new" })
  const old = { ...sandbox.endpoint, headers: [["Authorization", "Bearer old"] as const] }
  const { executor, reports, answers, send } = await start([registration(old)])
  for (let id = 0; id < 3; id++) send(id, create(`a${id}`))
  await eventually(() => expect(reports).toEqual([{ type: "unauthorized", module: "m" }]))
  await Effect.runPromise(executor.call("credentials", { module: "m", endpoint: sandbox.endpoint }))
  await eventually(() => expect(answers.toSorted()).toEqual(["m 0 201", "m 1 201", "m 2 201"]))
})
