/** A module worker and the table of operations, without threads: frames are passed on when the test says so. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { type Completion, decodeOperations, encodeCompletions } from "../../../src/host/executor/operation-frames.ts"
import { OperationSender } from "../../../src/host/executor/operation-sender.ts"
import { OperationTable } from "../../../src/host/executor/operation-table.ts"
import { RequestExecutor } from "../../../src/host/executor/request-executor.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { guestRequest } from "./requests.ts"

const life = { module: "m", incarnation: 1 }
const key = (id: number) => ({ ...life, id: BigInt(id) })
const get = guestRequest("GET", "/version")

/** A worker, its mailboxes to and from the executor, and one life of that after the other. */
class Stage {
  readonly clock = new ManualClock()
  readonly story: string[] = []
  readonly sender: OperationSender
  /** On their way to the executor. */
  frames: Uint8Array[] = []
  /** The executor has taken them, and its acknowledgement is on its way. */
  taken: Uint8Array[] = []
  /** On their way to the worker. */
  completions: Completion[] = []
  #executor = this.#startExecutor()
  #lives = 0

  constructor() {
    const tell = ({ id, response }: Completion): void => void this.story.push(`${id} ${response?.status ?? "over"}`)
    this.sender = new OperationSender({ send: (payload) => this.frames.push(payload) }, this.clock, tell)
    this.sender.attached(++this.#lives)
  }

  /** So many frames reach the executor. */
  deliver(count = this.frames.length): void {
    for (const frame of this.frames.splice(0, count)) {
      this.taken.push(frame)
      this.#executor.table.receive("w", decodeOperations(frame))
    }
  }

  /** All completions reach the worker. */
  complete(): void {
    for (const completion of this.completions.splice(0)) this.sender.receive(encodeCompletions([completion]))
  }

  /** The executor's thread ends: the last frames that it took were not acknowledged, and what it has sent does not arrive. */
  restart(unacknowledged = 0): void {
    this.close()
    this.completions = []
    if (unacknowledged > 0) this.frames.unshift(...this.taken.slice(-unacknowledged))
    this.taken = []
    this.#executor = this.#startExecutor()
    this.sender.attached(++this.#lives)
  }

  close(): void {
    this.#executor.table.close()
    this.#executor.requests.close()
  }

  #startExecutor() {
    const { clock } = this
    const identity = () => ({
      transport: () => new Promise<never>(() => undefined),
      refresh: () => Promise.resolve(false),
      close: () => undefined,
    })
    const requests = new RequestExecutor({ clock, identity })
    requests.register("m", { timeoutMs: 10_000 })
    const completed = (_worker: string, completion: Completion): void => void this.completions.push(completion)
    return { requests, table: new OperationTable({ clock, requests, completed, overrun: () => undefined }) }
  }
}

test("A new life of the executor continues delays with what is left, however long, and loses requests with an answer", () => {
  const stage = new Stage()
  const { sender, clock, story } = stage
  const advance = (ms: number): void => {
    clock.advance(ms)
    stage.complete()
  }
  sender.delay(key(0), 100n)
  sender.delay(key(1), 2n ** 64n - 1n)
  sender.request(key(2), get)
  sender.flush()
  stage.deliver()
  advance(60)
  // It has not reached the former life, and is taken by the next one.
  sender.request(key(3), get)
  sender.flush()
  stage.restart()
  stage.deliver()
  stage.complete()
  expect(story).toEqual(["2 503"])
  advance(39)
  expect(story).toHaveLength(1)
  advance(1)
  expect(story).toEqual(["2 503", "0 over"])
  advance(10_000)
  expect(story.at(-1)).toBe("3 504")
  expect(sender.outstanding(life)).toBe(1)
  sender.end(life)
  sender.flush()
  expect(stage.frames).toHaveLength(1)
  sender.flush()
  expect(stage.frames).toHaveLength(1)
  stage.close()
})

test("Each operation is completed once, and each delay as one, not early, wherever frames are when threads of the executor end", () => {
  const step = fc.oneof(
    fc.record({ type: fc.constant("ask" as const), ms: fc.integer({ min: 0, max: 40 }), isRequest: fc.boolean() }),
    fc.record({ type: fc.constant("deliver" as const), count: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ type: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 30 }) }),
    fc.record({ type: fc.constant("restart" as const), unacknowledged: fc.integer({ min: 0, max: 3 }) }),
    fc.constantFrom({ type: "flush" as const }, { type: "complete" as const }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const stage = new Stage()
      const { sender, clock, story } = stage
      /** When a delay is due; `undefined` for a request. */
      const asked: Array<number | undefined> = []
      let told = 0
      const complete = (): void => {
        stage.complete()
        for (const line of story.slice(told)) {
          const dueMs = asked[Number.parseInt(line, 10)]
          expect(line.endsWith("over")).toBe(dueMs !== undefined)
          expect(clock.monotonicMs()).toBeGreaterThanOrEqual(dueMs ?? 0)
        }
        told = story.length
      }
      for (const each of steps) {
        if (each.type === "ask") {
          const id = asked.length
          asked.push(each.isRequest ? undefined : clock.monotonicMs() + each.ms)
          if (each.isRequest) sender.request(key(id), get)
          else sender.delay(key(id), BigInt(each.ms))
        } else if (each.type === "deliver") stage.deliver(each.count)
        else if (each.type === "pass") clock.advance(each.ms)
        else if (each.type === "restart") stage.restart(each.unacknowledged)
        else if (each.type === "flush") sender.flush()
        else complete()
      }
      sender.flush()
      stage.deliver()
      clock.advance(20_000)
      complete()
      expect(story.map((line) => Number.parseInt(line, 10)).sort((one, other) => one - other)).toEqual([
        ...asked.keys(),
      ])
      expect(sender.outstanding(life)).toBe(0)
      stage.close()
    }),
  )
})

test("Operations of a life that ended before they were sent are not sent", () => {
  const stage = new Stage()
  const { sender, clock, story } = stage
  sender.delay(key(0), 10n)
  sender.end(life)
  sender.delay({ ...key(0), incarnation: 2 }, 20n)
  sender.flush()
  stage.deliver()
  clock.advance(19)
  stage.complete()
  expect(story).toEqual([])
  clock.advance(1)
  stage.complete()
  expect(story).toEqual(["0 over"])
  stage.close()
})
