/** The process of a shard, against a model that only counts processes and signals. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { Shard } from "../../src/replicas/shard.ts"
import type { ShardListener } from "../../src/replicas/shard-process.ts"
import { ManualClock } from "../runtime/manual-clock.ts"

const graceMs = 30_000
const longestPauseMs = 60_000

class Model {
  readonly clock = new ManualClock()
  readonly shard: Shard
  isOwned = false
  terminatedMs: number | undefined
  isKilled = false
  #listener: ShardListener | undefined

  constructor() {
    this.shard = new Shard({
      ...{ clock: this.clock, random: () => 0, line: () => undefined, heard: () => undefined, ended: () => undefined },
      start: (listener) => {
        expect(this.#listener).toBeUndefined()
        expect(this.isOwned).toBe(true)
        this.#listener = listener
        this.terminatedMs = undefined
        this.isKilled = false
        return { signal: (name) => this.#signalled(name) }
      },
    })
  }

  get hasProcess(): boolean {
    return this.#listener !== undefined
  }

  own(isOwned: boolean): void {
    this.isOwned = isOwned
    this.shard.own(isOwned)
  }

  end(): void {
    const listener = this.#listener
    this.#listener = undefined
    this.terminatedMs = undefined
    listener?.ended({ code: 1, facts: "ended" })
  }

  #signalled(name: NodeJS.Signals): void {
    if (name === "SIGTERM") {
      expect(this.terminatedMs).toBeUndefined()
      this.terminatedMs = this.clock.monotonicMs()
    } else {
      expect(this.clock.monotonicMs() - (this.terminatedMs ?? Number.NaN)).toBeGreaterThanOrEqual(graceMs)
      this.isKilled = true
    }
  }
}

const anyStep = fc.oneof(
  fc.record({ type: fc.constant("own" as const), isOwned: fc.boolean() }),
  fc.record({ type: fc.constant("end" as const) }),
  fc.record({ type: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: 40_000 }) }),
)

test("there is never more than one process; an owned shard has one again, and one that is lost has none, by force at last", () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 60 }), fc.boolean(), (steps, isOwned) => {
      const model = new Model()
      for (const step of steps) {
        if (step.type === "own") model.own(step.isOwned)
        else if (step.type === "end") model.end()
        else model.clock.advance(step.ms)
        expect(model.shard.isRunning).toBe(model.hasProcess && model.terminatedMs === undefined)
        expect(model.shard.isNone).toBe(!(model.hasProcess || model.isOwned))
      }
      model.own(isOwned)
      model.clock.advance(graceMs + longestPauseMs)
      // A process that was told to end has ended, or was killed.
      if (model.terminatedMs !== undefined) {
        expect(model.isKilled).toBe(true)
        model.end()
      }
      expect(model.hasProcess).toBe(isOwned)
    }),
  )
})

test("a process that ends by itself is followed by another one after a pause that grows, and one that was told to end at once", () => {
  const model = new Model()
  model.own(true)
  for (const pauseMs of [1000, 2000, 4000]) {
    model.end()
    model.clock.advance(pauseMs - 1)
    expect(model.hasProcess).toBe(false)
    model.clock.advance(1)
    expect(model.hasProcess).toBe(true)
  }
  expect(model.shard.ends).toBe(3)
  model.own(false)
  model.own(true)
  model.end()
  expect(model.hasProcess).toBe(true)
  expect(model.shard.ends).toBe(3)
})
