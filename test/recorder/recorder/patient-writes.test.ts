/** What the recorder itself has written down is tried until it is, and named if it never was. */
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { type AwaitedStore, PatientWrites, patiently } from "../../../src/recorder/patient-writes.ts"
import { ActorGone } from "../../../src/runtime/errors.ts"
import type { ActorState } from "../../../src/runtime/supervisor.ts"
import { until } from "./recorder-command.ts"

/** A store in the state that it is told to be in. */
class FakeStore implements AwaitedStore {
  state: ActorState = "running"
  refuses = true
  readonly written: string[] = []
  tries = 0

  running() {
    const gone = Effect.fail(new ActorGone({ actor: "store", reason: `it is ${this.state}` }))
    return Effect.suspend(() => (this.state === "running" ? Effect.void : gone))
  }

  write(text: string) {
    return patiently(
      this,
      Effect.suspend(() => {
        this.tries++
        if (this.refuses) return Effect.fail(new Error("no space left"))
        this.written.push(text)
        return Effect.void
      }),
    )
  }
}

test("a write that the store refuses is tried until it is taken, and is then not named", async () => {
  const store = new FakeStore()
  const writes = new PatientWrites(Effect.runFork)
  writes.put("the gap", store.write("gap"))
  await until(
    () => store.tries >= 2,
    () => "a second try",
  )
  store.refuses = false
  await until(
    () => store.written.length > 0,
    () => "the write",
  )
  expect(store.written).toEqual(["gap"])
  expect(writes.close()).toEqual([])
})

test("a write that is tried when the store is stopped ends and is named", async () => {
  const store = new FakeStore()
  const writes = new PatientWrites(Effect.runFork)
  writes.put("the gap", store.write("gap"))
  await until(
    () => store.tries > 0,
    () => "a try",
  )
  store.state = "stopped"
  await expect(Effect.runPromise(store.write("another"))).rejects.toThrow("it is stopped")
  expect(writes.close()).toEqual(["the gap"])
  expect(writes.close()).toEqual([])
})

test("of two writes of the same only the later one reaches the store", async () => {
  const store = new FakeStore()
  const writes = new PatientWrites(Effect.runFork)
  writes.put("the identity of the cluster", store.write("former"))
  writes.put("the identity of the cluster", store.write("present"))
  store.refuses = false
  await until(
    () => store.written.length > 0,
    () => "the write",
  )
  expect(store.written).toEqual(["present"])
  expect(writes.close()).toEqual([])
})
