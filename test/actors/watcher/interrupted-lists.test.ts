/**
 * Lives of a watcher that end in the middle of a list, or begin with another selection, over a real recording: the next life must list, and
 * a gap must record what is not known.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { owedList } from "../../../src/actors/watcher/resume-point.ts"
import { selectionOf } from "../../../src/actors/watcher/selection.ts"
import { ArchiveReader, ArchiveWriter } from "../../../src/archive/index.ts"
import type { KindResumePoint } from "../../../src/wire/index.ts"
import { object, SinkBench } from "./sink-bench.ts"

const kind = "v1.ConfigMap"
const everything = "all namespaces"

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-lists-"))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** One life: what `live` does is recorded, even if it does not end in order. Returns the state for the next life. */
const life = (selection: string, live: (bench: SinkBench) => void): KindResumePoint => {
  const archive = ArchiveWriter.open(directory)
  const state = archive.kindState(kind)
  const bench = new SinkBench({
    resumeVersion: state.completeThrough,
    epoch: state.epoch,
    lastTime: state.lastEventTime,
    completeTime: state.completeThroughTime,
    objects: [...archive.liveObjects(kind)].flat(),
    listReason: state.listReason,
    selectionBefore: state.selection,
    selection,
  })
  live(bench)
  const incarnation = archive.nextIncarnation("watcher")
  for (const [index, payload] of bench.payloads().entries()) archive.append("watcher", incarnation, index + 1, payload)
  archive.commit()
  const { completeThrough, completeThroughTime, lastEventTime, ...rest } = archive.kindState(kind)
  archive.close()
  return { ...rest, resumeVersion: completeThrough, completeTime: completeThroughTime, lastTime: lastEventTime }
}

const recorded = () => {
  const reader = ArchiveReader.open(directory)
  const events = [...reader.events()].map((event) =>
    event.type === "gap"
      ? `gap ${event.reason} ${event.fromVersion}..${event.toVersion}`
      : `${event.action} ${event.name}@${event.resourceVersion}`,
  )
  const gaps = reader.gaps()
  reader.close()
  return { events, gaps }
}

/** A list that is not completed. */
const beginList = (
  bench: SinkBench,
  reason: "first" | "expired",
  ...objects: ReadonlyArray<ReturnType<typeof object>>
): void => {
  bench.sink.listStarted(reason)
  for (const listed of objects) bench.observe(1, true, listed)
  bench.sink.readDone()
}

describe("a watcher that ended in the middle of a list", () => {
  test("lists again instead of resuming before the list, and records nothing twice", () => {
    life(everything, (bench) => bench.list("first", "10", object("a", 1), object("b", 2), object("c", 3)))
    const told = life(everything, (bench) => beginList(bench, "expired", object("a", 11), object("b", 12)))
    expect(told).toMatchObject({ resumeVersion: "10", listReason: "expired" })
    expect(owedList(told, everything)?.reason).toBe("expired")
    const after = life(everything, (bench) => bench.list("first", "20", object("a", 11), object("b", 15)))
    expect(after).toMatchObject({ resumeVersion: "20", listReason: "" })
    expect(owedList(after, everything)).toBeUndefined()
    expect(recorded().events).toEqual([
      "applied a@1",
      "applied b@2",
      "applied c@3",
      "applied a@11",
      "applied b@12",
      "applied b@15",
      "vanished c@20",
      "gap expired 10..20",
    ])
  })

  test("owes the list through any number of further lives that end too early", () => {
    life(everything, (bench) => bench.list("first", "10", object("a", 1)))
    life(everything, (bench) => beginList(bench, "expired"))
    for (let times = 0; times < 3; times++) {
      const told = life(everything, (bench) => beginList(bench, "first", object("a", 11 + times)))
      expect(owedList(told, everything)?.reason).toBe("expired")
    }
    life(everything, (bench) => bench.list("first", "30", object("a", 13)))
    const { gaps } = recorded()
    expect(gaps).toMatchObject([{ reason: "expired", fromVersion: "10", toVersion: "30" }])
    expect(gaps[0]?.detail).toContain("the recorder ended before the list that followed was complete")
  })

  test("leaves a gap even if it was the first list, from the time at which that began", () => {
    const told = life(everything, (bench) => beginList(bench, "first", object("a", 1), object("b", 2)))
    expect(told).toMatchObject({ resumeVersion: "", listReason: "first" })
    expect(told.completeTime).toBeGreaterThan(0)
    life(everything, (bench) => bench.list("first", "9", object("b", 7)))
    const { events, gaps } = recorded()
    expect(events.at(-1)).toBe("gap stopped ..9")
    expect(gaps[0]?.fromTime).toBe(told.completeTime)
  })

  test("leaves no gap if nothing of the first list was recorded", () => {
    const told = life(everything, (bench) => beginList(bench, "first"))
    expect(owedList(told, everything)).toBeUndefined()
    life(everything, (bench) => bench.list("first", "9", object("a", 7)))
    expect(recorded().gaps).toEqual([])
  })

  test("leaves a gap if the first list is repeated in the same life after part of it was recorded", () => {
    life(everything, (bench) => {
      beginList(bench, "first", object("a", 1))
      bench.list("first", "9", object("a", 7))
    })
    const { gaps } = recorded()
    expect(gaps).toMatchObject([{ reason: "stopped", fromVersion: "", toVersion: "9" }])
    expect(gaps[0]?.detail).toContain("the first list was restarted")
    expect(gaps[0]?.fromTime).toBeGreaterThan(0)
  })
})

describe("a watcher with a changed selection", () => {
  const before = selectionOf({
    namespaces: undefined,
    labelSelector: undefined,
    fieldSelector: undefined,
    skipOwned: false,
  })
  const after = selectionOf({
    namespaces: ["b", "a"],
    labelSelector: "app=x",
    fieldSelector: undefined,
    skipOwned: false,
  })

  test("lists, lets objects that are no longer selected vanish, and says in a gap what was changed", () => {
    const told = life(before, (bench) => bench.list("first", "10", object("a", 1), object("b", 2)))
    expect(told.selection).toBe(before)
    expect(owedList(told, before)).toBeUndefined()
    expect(owedList(told, after)?.reason).toBe("stopped")
    const changed = life(after, (bench) => bench.list("first", "20", object("a", 1), object("c", 5)))
    expect(changed.selection).toBe(after)
    const { events, gaps } = recorded()
    expect(events.slice(2)).toEqual(["applied c@5", "vanished b@20", "gap stopped 10..20"])
    expect(gaps[0]?.detail).toBe(
      "the selection of this kind's objects was changed from all namespaces to namespaces a,b; labels app=x; its current state was listed",
    )
  })

  test("owes the list until it is complete", () => {
    life(before, (bench) => bench.list("first", "10", object("a", 1)))
    const told = life(after, (bench) => beginList(bench, "first", object("a", 1)))
    expect(told.selection).toBe(before)
    expect(owedList(told, after)).toBeDefined()
    expect(owedList(told, before)).toBeDefined()
  })

  test("resumes a recording whose selection is unknown, and stores it", () => {
    life("", (bench) => bench.list("first", "10", object("a", 1)))
    const told = life(after, (bench) => bench.applied(object("a", 11)))
    expect(told).toMatchObject({ selection: after, resumeVersion: "11", listReason: "" })
    expect(recorded().gaps).toEqual([])
  })

  test("has the same selection for any order of namespaces", () => {
    const other = selectionOf({
      namespaces: ["a", "b"],
      labelSelector: "app=x",
      fieldSelector: undefined,
      skipOwned: false,
    })
    expect(other).toBe(after)
    expect(new Set([before, after, selectionOf({ ...JSON.parse("{}"), skipOwned: true })]).size).toBe(3)
  })
})
