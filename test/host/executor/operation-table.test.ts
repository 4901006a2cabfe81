import { describe, expect, onTestFinished, test } from "vitest"
import type { Completion, Operation, Operations } from "../../../src/host/executor/operation-frames.ts"
import { OperationTable } from "../../../src/host/executor/operation-table.ts"
import { RequestExecutor } from "../../../src/host/executor/request-executor.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { guestRequest } from "./requests.ts"

const start = (maximumOperations = 100) => {
  const clock = new ManualClock()
  // Requests are under way for ever: the credentials never come.
  const identity = () => ({
    transport: () => new Promise<never>(() => undefined),
    refresh: () => Promise.resolve(false),
    close: () => undefined,
  })
  const requests = new RequestExecutor({ clock, identity })
  requests.register("m", { maximumOperations, timeoutMs: 10_000 })
  const story: string[] = []
  const table = new OperationTable({
    clock,
    requests,
    completed: (worker, { module, incarnation, id, response }: Completion) =>
      story.push(`${worker}: ${module}/${incarnation} ${id} ${response?.status ?? "over"}`),
    overrun: ({ module, incarnation }, maximum) => story.push(`${module}/${incarnation} has more than ${maximum}`),
  })
  onTestFinished(() => {
    table.close()
    requests.close()
  })
  const receive = (worker: string, frame: Partial<Operations>): void =>
    table.receive(worker, { operations: [], ended: [], outstanding: [], ...frame })
  return { clock, requests, table, story, receive }
}

const key = (id: number, incarnation = 1, module = "m") => ({ module, incarnation, id: BigInt(id) })
const delay = (id: number, ms: number, incarnation = 1, module = "m"): Operation => ({
  ...key(id, incarnation, module),
  delayMs: BigInt(ms),
})
const request = (id: number, incarnation = 1): Operation => ({
  ...key(id, incarnation),
  request: guestRequest("GET", "/version"),
})

describe("The operations under way", () => {
  test("are carried out once, however often they are delivered", () => {
    const { receive, clock, story, requests } = start()
    for (let round = 0; round < 3; round++) receive("w", { operations: [delay(0, 100), request(1)] })
    clock.advance(10_000)
    expect(story).toEqual(["w: m/1 0 over", "w: m/1 1 504"])
    expect(requests.statistics("m")).toMatchObject({ requests: 1 })
  })

  test("end with the life that asked for them, and nothing is taken for a former life", () => {
    const { receive, clock, story, requests } = start()
    receive("w", { operations: [delay(0, 100), request(1)] })
    receive("w", { operations: [delay(0, 200, 2)] })
    expect(requests.statistics("m")).toMatchObject({ requests: 1, answered: 0, queued: 0 })
    receive("w", { operations: [delay(5, 1), request(6)], outstanding: [key(7)], ended: [key(0, 1)] })
    clock.advance(300)
    expect(story).toEqual(["w: m/2 0 over"])
    receive("w", { operations: [delay(1, 1, 2)], ended: [key(0, 2)] })
    clock.advance(300)
    expect(story).toHaveLength(1)
  })

  test("go on when their worker names them anew; a request that is not among them is answered 503", () => {
    const { receive, clock, story } = start()
    receive("w", { operations: [request(0)] })
    receive("w", { operations: [delay(1, 50)], outstanding: [key(0), key(1), key(2)] })
    // What the worker sent before to a former life of the executor arrives last.
    receive("w", { operations: [delay(1, 100)] })
    expect(story).toEqual(["w: m/1 2 503"])
    clock.advance(10_000)
    expect(story.slice(1)).toEqual(["w: m/1 1 over", "w: m/1 0 504"])
  })

  test("are given up when their worker dies, or their module is removed", () => {
    const { receive, clock, story, requests, table } = start()
    requests.register("n")
    receive("dead", { operations: [delay(0, 100), request(1)] })
    receive("w", { operations: [delay(0, 100, 1, "n"), delay(2, 100)] })
    table.workerLost("dead")
    table.remove("n")
    table.remove("n")
    clock.advance(1000)
    expect(story).toEqual(["w: m/1 2 over"])
    expect(requests.statistics("m")).toMatchObject({ requests: 1, answered: 0 })
  })

  test("of a module that is not registered are no delays", () => {
    const { receive, clock, story } = start()
    receive("w", { operations: [delay(0, 1, 1, "stranger")] })
    clock.advance(10)
    expect(story).toEqual([])
  })

  test("are bounded; the life that asks for more is reported once", () => {
    const { receive, clock, story } = start(3)
    receive("w", { operations: [0, 1, 2, 3, 4].map((id) => delay(id, 100 + id)) })
    expect(story).toEqual(["m/1 has more than 3"])
    clock.advance(200)
    expect(story).toHaveLength(4)
    receive("w", { operations: [delay(5, 1)] })
    clock.advance(1)
    expect(story.at(-1)).toBe("w: m/1 5 over")
  })
})
