/** What views are told of the lives in a trace: each once, in order, within the trace, and with a place. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { type JsonObject, parseExactJson } from "../../../../src/trace/json/exact-json.ts"
import { Conditions } from "../../../../src/trace/views/lives/conditions.ts"
import type { LifePlace, LifeSketch, LifeSubject } from "../../../../src/trace/views/lives/life-sketch.ts"
import { Lives } from "../../../../src/trace/views/lives/lives.ts"
import { anyEvents } from "../any-events.ts"
import { epoch, event, header } from "../items.ts"

/** Notes what it is told. */
class NotedLife implements LifeSketch {
  readonly told: string[] = []
  readonly times: number[] = []
  readonly subject: LifeSubject
  placed: LifePlace<NotedLife> | undefined

  constructor(subject: LifeSubject) {
    this.subject = subject
  }

  place(place: LifePlace<this>): void {
    expect(this.placed).toBeUndefined()
    this.placed = place
  }

  begin(time: number): void {
    this.#note("begin", time)
  }

  changed(time: number): void {
    this.#note("changed", time)
  }

  deletionRequested(time: number): void {
    this.#note("deletion requested", time)
  }

  phase(time: number): void {
    this.#note("phase", time)
  }

  containerState(time: number): void {
    this.#note("container", time)
  }

  condition(time: number): void {
    this.#note("condition", time)
  }

  end(time: number): void {
    this.#note("end", time)
  }

  #note(what: string, time: number): void {
    this.told.push(what)
    this.times.push(time)
  }
}

test("whatever happens, each life begins and ends once, and has a place below its owner", () => {
  fc.assert(
    fc.property(anyEvents, (items) => {
      const noted: NotedLife[] = []
      const lives = new Lives<NotedLife>({
        view: "test",
        sketch: (subject) => {
          const sketch = new NotedLife(subject)
          noted.push(sketch)
          return sketch
        },
      })
      lives.add(header(0, 60))
      for (const item of items) lives.add(item)
      const end = lives.end()
      const alive = [...lives.finish()].length
      expect(alive).toBeLessThanOrEqual(noted.length)
      for (const { told, times, placed, subject } of noted) {
        expect(told[0]).toBe("begin")
        expect(told.indexOf("end")).toBe(told.length - 1)
        expect(told.filter((what) => what === "begin" || what === "deletion requested").length).toBeLessThanOrEqual(2)
        for (const time of times) expect(time).toBeGreaterThanOrEqual(epoch)
        for (const time of times) expect(time).toBeLessThanOrEqual(end)
        if (placed === undefined) throw new Error(`${subject.label} has no place`)
        expect(placed.isTop).toBe(subject.owner === undefined)
        if (placed.owner !== undefined) expect(placed.owner.placed?.root.identity).toBe(placed.root.identity)
      }
    }),
    { numRuns: 200 },
  )
})

test("an object that existed when the trace began says so, and begins with the trace", () => {
  const subjects: LifeSubject[] = []
  const lives = new Lives<NotedLife>({
    view: "test",
    sketch: (subject) => {
      subjects.push(subject)
      return new NotedLife(subject)
    },
  })
  const object = { apiVersion: "v1", kind: "Node", metadata: { name: "n" } }
  for (const item of [header(0, 60), event("existed", -5, object)]) lives.add(item)
  lives.add(event("applied", 5, { ...object, metadata: { name: "m" } }))
  expect(subjects.map(({ name, existed, number }) => [name, existed, number])).toEqual([
    ["n", true, 0],
    ["m", false, 1],
  ])
})

test("a condition is wrong since its own transition, but not before the state that was seen without it", () => {
  const times: number[] = []
  const conditions = Conditions.of("v1.Node", { condition: (time) => times.push(time) })
  const observe = (status: string, seen: number, since: number): void => {
    const lastTransitionTime = `${new Date(since / 1000).toISOString().slice(0, 19)}Z`
    const condition = { type: "Ready", status, lastTransitionTime }
    conditions?.observe(parseExactJson(JSON.stringify({ status: { conditions: [condition] } })) as JsonObject, seen)
  }
  const second = 1_000_000
  observe("False", epoch, epoch - 600 * second)
  observe("True", epoch + 60 * second, epoch + 20 * second)
  observe("False", epoch + 90 * second, epoch + 30 * second)
  observe("True", epoch + 95.5 * second, epoch + 95 * second)
  expect(times.map((time) => (time - epoch) / second)).toEqual([0, 20, 60, 95.5])
})
