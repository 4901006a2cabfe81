/** Copies of pins as they are opened for requests: few at once, and none for long. */
import { IncomingMessage, ServerResponse } from "node:http"
import { Socket } from "node:net"
import { expect, test } from "vitest"
import { idleMs, PinnedRecordings } from "../../../src/recorder/pins/pinned-recordings.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const opening = (fails = new Set<string>()) => {
  const [opened, closed, answered]: [string[], string[], string[]] = [[], [], []]
  const clock = new ManualClock()
  const copies = new PinnedRecordings(async (id) => {
    opened.push(id)
    if (fails.delete(id)) throw new Error("the disk is gone")
    return { answer: () => void answered.push(id), close: async () => void closed.push(id) }
  }, clock)
  const ask = async (id: string) => {
    const request = new IncomingMessage(new Socket())
    const response = new ServerResponse(request)
    const refusal = await copies.answer(id, request, response)
    return { response, refusal, end: () => response.emit("close") }
  }
  return { ...{ opened, closed, answered, clock, copies, ask } }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test("a copy is opened once for many questions, and closed when none has been asked for a while", async () => {
  const { opened, closed, answered, clock, ask } = opening()
  const first = await ask("a")
  const second = await ask("a")
  first.end()
  clock.advance(idleMs)
  expect([opened, answered, closed]).toEqual([["a"], ["a", "a"], []])
  second.end()
  clock.advance(idleMs - 1)
  await settle()
  expect(closed).toEqual([])
  clock.advance(1)
  await settle()
  expect(closed).toEqual(["a"])
  await ask("a")
  expect(opened).toEqual(["a", "a"])
})

test("for a third copy the one is closed that has been idle longest; while all are read, it is refused", async () => {
  const { closed, clock, ask } = opening()
  const [a, b] = [await ask("a"), await ask("b")]
  expect((await ask("c")).refusal).toMatchObject({ status: 503, retryAfterSeconds: 5 })
  b.end()
  clock.advance(1000)
  a.end()
  expect((await ask("c")).refusal).toBeUndefined()
  expect(closed).toEqual(["b"])
})

test("one that cannot be opened is an answer in words, and tried again", async () => {
  const { answered, ask } = opening(new Set(["a"]))
  const message = "the pinned window cannot be read: the disk is gone"
  expect((await ask("a")).refusal).toEqual({ status: 500, message })
  expect((await ask("a")).refusal).toBeUndefined()
  expect(answered).toEqual(["a"])
})

test("what is asked of a pin that is removed breaks off", async () => {
  const { closed, copies, ask } = opening()
  const { response } = await ask("a")
  await copies.forget("a")
  expect([response.destroyed, closed]).toEqual([true, ["a"]])
})

test("clients that left before their question was taken keep no copy open", async () => {
  const { opened, answered, copies, ask } = opening()
  for (const id of ["a", "b"]) {
    const request = new IncomingMessage(new Socket())
    const response = new ServerResponse(request)
    response.destroy()
    await settle()
    expect(await copies.answer(id, request, response)).toBeUndefined()
  }
  expect((await ask("c")).refusal).toBeUndefined()
  expect([opened, answered]).toEqual([["c"], ["c"]])
})
