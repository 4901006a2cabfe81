/** The process of a shard, against a model that only counts processes and signals. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { afterShardEvent, dueMs, type ShardEvent, type ShardLife } from "../../src/replicas/shard-life.ts"

const graceMs = 30_000

class Model {
  life: ShardLife = { tag: "none" }
  nowMs = 0
  processes = 0
  terminatedMs: number | undefined
  isKilled = false
  isOwned = false

  take(event: ShardEvent): void {
    const { life, command } = afterShardEvent(this.life, event, this.nowMs, graceMs)
    this.life = life
    if (command === "start") {
      this.processes++
      this.terminatedMs = undefined
      this.isKilled = false
    }
    if (command === "terminate") {
      expect(this.terminatedMs).toBeUndefined()
      this.terminatedMs = this.nowMs
    }
    if (command === "kill") {
      expect(this.nowMs - (this.terminatedMs ?? Number.NaN)).toBeGreaterThanOrEqual(graceMs)
      this.isKilled = true
    }
    expect(this.processes).toBeLessThanOrEqual(1)
    expect(this.processes === 1).toBe(life.tag === "running" || life.tag === "ending" || life.tag === "killed")
    expect(life.tag === "running" ? this.isOwned : true).toBe(true)
  }

  own(isOwned: boolean): void {
    this.isOwned = isOwned
    this.take({ tag: isOwned ? "owned" : "lost" })
  }

  end(pauseMs: number): void {
    if (this.processes === 0) return
    this.processes--
    this.terminatedMs = undefined
    this.take({ tag: "ended", pauseMs })
  }

  /** As the timer does: the event comes when it is due, and never earlier. */
  pass(ms: number): void {
    const until = this.nowMs + ms
    for (let due = dueMs(this.life); due !== undefined && due <= until; due = dueMs(this.life)) {
      this.nowMs = Math.max(this.nowMs, due)
      this.take({ tag: "time" })
    }
    this.nowMs = until
  }
}

const anyStep = fc.oneof(
  fc.record({ type: fc.constant("own" as const), isOwned: fc.boolean() }),
  fc.record({ type: fc.constant("end" as const), pauseMs: fc.integer({ min: 1, max: 60_000 }) }),
  fc.record({ type: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: 40_000 }) }),
)

test("there is never more than one process; an owned shard has one again, and one that is lost has none, by force at last", () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 60 }), fc.boolean(), (steps, isOwned) => {
      const model = new Model()
      for (const step of steps) {
        if (step.type === "own") model.own(step.isOwned)
        else if (step.type === "end") model.end(step.pauseMs)
        else model.pass(step.ms)
      }
      model.own(isOwned)
      model.pass(graceMs + 60_000)
      // A process that was told to end has ended, or was killed.
      if (model.terminatedMs !== undefined) {
        expect(model.isKilled).toBe(true)
        model.end(1)
      }
      expect(model.life.tag).toBe(isOwned ? "running" : "none")
    }),
  )
})
