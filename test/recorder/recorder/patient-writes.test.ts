/** The recorder's own writes are retried until they succeed, and reported if they never do. */
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { type AwaitedStore, PatientWrites, patiently } from "../../../src/recorder/recording/patient-writes.ts"
import { ActorGone, type ActorState } from "../../../src/runtime/index.ts"
import { until } from "./recorder-command.ts"

/** A store in the given state. */
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

test("a write that the store rejects is retried until it is accepted, and is then not reported", async () => {
  const store = new FakeStore()
  const writes = new PatientWrites(Effect.runFork)
  writes.put("the gap", store.write("gap"))
  await until(() => store.tries >= 2, "a second try")
  store.refuses = false
  await until(() => store.written.length > 0, "the write")
  expect(store.written).toEqual(["gap"])
  expect(writes.close()).toEqual([])
})

test("a write that is being retried when the store is stopped ends and is reported", async () => {
  const store = new FakeStore()
  const writes = new PatientWrites(Effect.runFork)
  writes.put("the gap", store.write("gap"))
  await until(() => store.tries > 0, "a try")
  store.state = "stopped"
  await expect(Effect.runPromise(store.write("another"))).rejects.toThrow("it is stopped")
  expect(writes.close()).toEqual(["the gap"])
  expect(writes.close()).toEqual([])
})

test("of two writes with the same description only the later one reaches the store", async () => {
  const store = new FakeStore()
  const writes = new PatientWrites(Effect.runFork)
  writes.put("the identity of the cluster", store.write("former"))
  writes.put("the identity of the cluster", store.write("present"))
  store.refuses = false
  await until(() => store.written.length > 0, "the write")
  expect(store.written).toEqual(["present"])
  expect(writes.close()).toEqual([])
})

test("what is kept is written again, as it was last, when a new recording is begun; other writes are not", async () => {
  const store = new FakeStore()
  store.refuses = false
  const writes = new PatientWrites(Effect.runFork)
  writes.put("the gap", store.write("gap"))
  for (const uid of ["former", "present"]) writes.keep("the identity of the cluster", store.write(uid))
  const isWritten = (times: number) => () => store.written.filter((text) => text === "present").length === times
  await until(isWritten(1), () => "the write")
  writes.again()
  await until(isWritten(2), () => "the second write")
  expect(store.written.filter((text) => text === "gap")).toEqual(["gap"])
  expect(writes.close()).toEqual([])
})
