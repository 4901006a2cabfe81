/** The modules of a worker, entered in turn, and unloaded when they are idle. */
import { expect, test } from "vitest"
import { ModuleRunner } from "../../../../src/host/dispatcher/worker/module-runner.ts"
import { RunnerTable } from "../../../../src/host/dispatcher/worker/runner-table.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"
import { imageWith } from "../../guest/image-with.ts"

class Worker {
  readonly clock = new ManualClock()
  readonly woken: string[] = []
  readonly soon: Array<() => void> = []
  readonly table = new RunnerTable({
    clock: this.clock,
    soon: (action) => void this.soon.push(action),
    unloadAfterMs: 1000,
    sliceMs: 5,
  })

  /** Starts a module that watches; each of its calls takes 2 ms. */
  start(slot: number, name: string): ModuleRunner {
    const wake = (what: string): void => {
      this.woken.push(`${name} ${what}`)
      this.clock.advance(2)
    }
    const runner: ModuleRunner = new ModuleRunner({
      make: (calls) => ({
        start: () => calls.watch(0n, {} as never),
        wakeFuture: () => wake("future"),
        wakeStream: (_id, value) => wake(Buffer.from(value ?? []).toString()),
        memoryBytes: 1,
        image: () => imageWith(),
      }),
      operations: { watch: () => undefined, request: () => undefined, delay: () => undefined },
      unloading: {
        images: { write: () => undefined, read: () => imageWith(), remove: () => undefined },
        onFailed: () => undefined,
      },
      clock: this.clock,
      entry: { begin: () => undefined, end: () => undefined },
      onEnded: (cause) => {
        throw cause
      },
    })
    runner.run(1)
    this.table.add(slot, runner)
    return runner
  }

  /** One turn of the event loop. Returns whether there was anything to do. */
  turn(): boolean {
    const actions = this.soon.splice(0)
    for (const action of actions) action()
    return actions.length > 0
  }
}

test("a module with much to do lets the others run after its slice, and the event loop after each round", () => {
  const worker = new Worker()
  const busy = worker.start(1, "busy")
  const other = worker.start(2, "other")
  worker.turn()
  for (let value = 0; value < 6; value++) busy.streamed(0n, Buffer.from(String(value)))
  other.streamed(0n, Buffer.from("a"))
  worker.table.schedule()
  worker.table.schedule()
  expect(worker.soon).toHaveLength(1)
  worker.turn()
  expect(worker.woken).toEqual(["busy 0", "busy 1", "busy 2", "other a"])
  worker.turn()
  expect(worker.woken.slice(4)).toEqual(["busy 3", "busy 4", "busy 5"])
  expect(worker.turn()).toBe(false)
})

test("idle modules are unloaded, then no timer is left, and work loads them again", () => {
  const worker = new Worker()
  const first = worker.start(1, "first")
  const second = worker.start(2, "second")
  worker.turn()
  worker.clock.advance(600)
  second.streamed(0n, Buffer.from("a"))
  worker.table.schedule()
  worker.turn()
  worker.clock.advance(500)
  expect([first.isLoaded, second.isLoaded]).toEqual([false, true])
  worker.clock.advance(1000)
  expect([second.isLoaded, worker.clock.pending]).toEqual([false, 0])
  first.streamed(0n, Buffer.from("b"))
  worker.table.schedule()
  worker.turn()
  expect(worker.woken).toEqual(["second a", "first b"])
  expect([first.isLoaded, worker.clock.pending]).toEqual([true, 1])
})

test("a removed module is not entered again, and a closed table has no timer", () => {
  const worker = new Worker()
  const runner = worker.start(1, "gone")
  worker.turn()
  runner.streamed(0n, Buffer.from("a"))
  worker.table.schedule()
  worker.table.remove(1)
  worker.turn()
  expect(worker.woken).toEqual([])
  const left = worker.start(2, "left")
  worker.turn()
  worker.table.close()
  expect([left.hasEnded, worker.clock.pending]).toEqual([true, 0])
})
