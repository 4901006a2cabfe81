/** Module workers and the table of operations, without threads: frames are passed on when the test says so. */
import { expect, onTestFinished, test } from "vitest"
import { OperationSender } from "../../../../src/host/executor/actor/operation-sender.ts"
import { type Completion, decodeOperations, encodeCompletions } from "../../../../src/host/executor/operation-frames.ts"
import { OperationTable } from "../../../../src/host/executor/operation-table.ts"
import { RequestExecutor } from "../../../../src/host/executor/request-executor.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"
import { guestRequest } from "../requests.ts"

const life = { module: "m", incarnation: 1 }
const key = (id: number) => ({ ...life, id: BigInt(id) })
const get = guestRequest("GET", "/version")

const start = () => {
  const clock = new ManualClock()
  const story: string[] = []
  const senders = new Map<string, OperationSender>()
  /** Frames on their way to the executor. */
  const frames: Array<() => void> = []
  const startExecutor = () => {
    const identity = () => ({
      transport: () => new Promise<never>(() => undefined),
      refresh: () => Promise.resolve(false),
      close: () => undefined,
    })
    const requests = new RequestExecutor({ clock, identity })
    requests.register("m", { timeoutMs: 10_000 })
    const completed = (worker: string, completion: Completion): void =>
      senders.get(worker)?.receive(encodeCompletions([completion]))
    const table = new OperationTable({ clock, requests, completed, overrun: () => undefined })
    const stop = (): void => {
      table.close()
      requests.close()
    }
    onTestFinished(stop)
    return { table, stop }
  }
  let executor = startExecutor()
  const startWorker = (name: string): OperationSender => {
    const send = (payload: Uint8Array): number =>
      frames.push(() => executor.table.receive(name, decodeOperations(payload)))
    const sender = new OperationSender({ send }, clock, ({ id, response }) =>
      story.push(`${name}: ${id} ${response?.status ?? "over"}`),
    )
    sender.attached(1)
    senders.set(name, sender)
    return sender
  }
  const deliver = (): void => {
    for (const frame of frames.splice(0)) frame()
  }
  const restart = (): void => {
    executor.stop()
    executor = startExecutor()
    for (const sender of senders.values()) sender.attached(2)
  }
  return { clock, story, frames, startWorker, deliver, restart }
}

test("A new life of the executor continues delays with what is left, however long, and loses requests with an answer", () => {
  const { clock, story, startWorker, deliver, restart, frames } = start()
  const sender = startWorker("w")
  sender.delay(key(0), 100n)
  sender.delay(key(1), 2n ** 64n - 1n)
  sender.request(key(2), get)
  sender.flush()
  deliver()
  clock.advance(60)
  // It has not reached the former life, and is taken by the next one.
  sender.request(key(3), get)
  sender.flush()
  restart()
  deliver()
  expect(story).toEqual(["w: 2 503"])
  clock.advance(39)
  expect(story).toHaveLength(1)
  clock.advance(1)
  expect(story).toEqual(["w: 2 503", "w: 0 over"])
  clock.advance(10_000)
  expect(story.at(-1)).toBe("w: 3 504")
  expect(sender.outstanding(life)).toBe(1)
  sender.end(life)
  sender.flush()
  expect(frames).toHaveLength(1)
  sender.flush()
  expect(frames).toHaveLength(1)
})

test("Operations of a life that ended before they were sent are not sent", () => {
  const { clock, story, startWorker, deliver } = start()
  const sender = startWorker("w")
  sender.delay(key(0), 10n)
  sender.end(life)
  sender.delay({ ...key(0), incarnation: 2 }, 20n)
  sender.flush()
  deliver()
  clock.advance(19)
  expect(story).toEqual([])
  clock.advance(1)
  expect(story).toEqual(["w: 0 over"])
})
