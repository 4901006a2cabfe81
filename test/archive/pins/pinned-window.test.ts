/** A pinned window reads the same from its copy, after retention has removed all around it, as from the recording before. */
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, onTestFinished, test } from "vitest"
import type { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { verifyRecording } from "../../../src/archive/damage/verify-recording.ts"
import { takeLease } from "../../../src/archive/leases/lease.ts"
import { readRecordedSince } from "../../../src/archive/reading/recorded-since.ts"
import { backupRecording } from "../../../src/archive/upkeep/backup-recording.ts"
import { compactRecording } from "../../../src/archive/upkeep/compact-recording.ts"
import { pinRecording, readPins, removePin } from "../../../src/archive/upkeep/pinned-recording.ts"
import { podLivesKind } from "../../../src/trace/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame } from "../sample-frames.ts"
import { sampleKinds, withDatabase } from "../sample-recording.ts"
import {
  answers,
  at,
  differenceOf,
  exported,
  lateKind,
  openHistory,
  recordedHistory,
  retain,
  second,
  seconds,
  window,
} from "./pinned-history.ts"

const later = at(seconds + 3600)
const pinned = { ...window, source: "command" as const }
const everything = { forMicros: second, kinds: new Map() }

const opened = (directory = recordedHistory(), micros = later) => {
  const clock = { micros }
  const writer = openHistory(directory, clock)
  onTestFinished(() => writer.close())
  return { directory, clock, writer }
}

const copyOf = (directory: string, id: string): string => join(directory, "pins", id)

const removedOf = (directory: string): ReadonlyArray<number> =>
  readRecordedSince(directory).map(({ removedThrough }) => removedThrough)

/** The modes of everything in a directory. */
const modesOf = (path: string): ReadonlyArray<string> =>
  readdirSync(path, { recursive: true, withFileTypes: true }).map((entry) =>
    (statSync(join(entry.parentPath, entry.name)).mode & 0o777).toString(8),
  )

const finished = async (writer: ArchiveWriter): Promise<void> => {
  for (let round = 0; round < 20 && (await retain(writer)) > 0; round++);
}

describe("a window that retention would remove", () => {
  /** What is in the window before anything is removed: the same in each recording of this history. */
  let unpinned:
    | { readonly answers: Readonly<Record<string, string>>; readonly ndjson: string; readonly simkube: string }
    | undefined

  test.each([
    ["time", everything],
    ["bytes", { bytes: 40_000, kinds: new Map() }],
    ["the time of one kind", { kinds: new Map([["v1.Pod", { forMicros: second }]]) }],
    ["the time of each kind", { kinds: new Map([["v1.Pod", { forMicros: 2 * second }]]), each: { forMicros: second } }],
  ])("with a limit of %s is copied before, and reads the same to the byte", async (_, policy) => {
    const { directory, writer } = opened()
    unpinned ??= {
      answers: await answers(directory),
      ndjson: await exported(directory, "ndjson"),
      simkube: await exported(directory, "simkube"),
    }
    const { answers: before, ...traces } = unpinned
    expect(before.changes?.length).toBeGreaterThan(50_000)
    expect(before.tiles?.length).toBeGreaterThan(1000)
    expect(before.lanes?.includes("pod-3")).toBe(true)
    expect(before.changes?.includes("user-2")).toBe(true)
    expect(before.coverage).toContain("410 Gone")
    expect(traces.ndjson.includes("disconnected")).toBe(true)
    const { id } = writer.pins.add(pinned)
    writer.retention.setPolicy(policy)
    await finished(writer)
    const [pin] = writer.pins.all()
    const copy = copyOf(directory, id)
    expect(pin).toMatchObject({ place: "kept", bytes: statSync(join(copy, "recording.db")).size })
    expect(pin).not.toHaveProperty("lostThrough")
    expect(Math.max(...removedOf(directory))).toBeGreaterThan(window.from)
    expect(verifyRecording(copy)).toMatchObject({ faults: [], damagedBlocks: [] })
    expect(differenceOf(traces.ndjson, await exported(copy, "ndjson"))).toBeUndefined()
    expect(differenceOf(traces.simkube, await exported(copy, "simkube"))).toBeUndefined()
    const after = await answers(copy)
    for (const [about, text] of Object.entries(before))
      expect([about, differenceOf(text, after[about])]).toEqual([about, undefined])
    expect(modesOf(join(directory, "pins")).filter((mode) => mode !== "700" && mode !== "600")).toEqual([])
    expect(verifyRecording(directory)).toMatchObject({ faults: [], damagedBlocks: [] })
  })

  test("costs nothing until then", async () => {
    const { directory, writer } = opened()
    writer.pins.add(pinned)
    writer.retention.setPolicy({ forMicros: 24 * 3600 * second, kinds: new Map() })
    await finished(writer)
    expect(existsSync(join(directory, "pins"))).toBe(false)
    expect(writer.pins.all()[0]?.place).toBe("recording")
  })

  test("holds the beginning back while it is not over, and no longer", async () => {
    const { directory, writer, clock } = opened(recordedHistory(), at(seconds))
    writer.pins.add({ ...pinned, until: at(seconds + 1000) })
    writer.retention.setPolicy(everything)
    await finished(writer)
    expect(writer.pins.all()[0]?.place).toBe("open")
    expect(Math.max(...removedOf(directory))).toBeLessThan(window.from)
    expect(writer.retention.statistics.isHeldUp).toBe(true)
    clock.micros = at(seconds + 1000 + 600)
    await finished(writer)
    expect(writer.pins.all()[0]?.place).toBe("kept")
    expect(Math.max(...removedOf(directory))).toBeGreaterThan(window.until)
    expect(writer.retention.statistics.isHeldUp).toBe(false)
  })

  test("of several that overlap has a copy of its own", async () => {
    const { directory, writer } = opened()
    const first = await exported(directory, "ndjson")
    const ids = [pinned, { ...pinned, from: at(30), until: at(90) }, { ...pinned, from: at(100), until: at(200) }].map(
      (request) => writer.pins.add(request).id,
    )
    writer.retention.setPolicy(everything)
    await finished(writer)
    expect(writer.pins.all().map(({ place }) => place)).toEqual(["kept", "kept", "kept"])
    expect(differenceOf(first, await exported(copyOf(directory, ids[0] ?? ""), "ndjson"))).toBeUndefined()
    expect(readdirSync(join(directory, "pins")).sort()).toEqual([...ids].sort())
  })

  test("that began before the recording does is lost up to there, and the rest is kept", async () => {
    const { directory, writer, clock } = opened(recordedHistory(), at(seconds))
    writer.retention.setPolicy({ forMicros: (seconds - 90) * second, kinds: new Map() })
    await finished(writer)
    const removed = Math.max(...removedOf(directory))
    expect(removed).toBeGreaterThan(window.from)
    const pin = writer.pins.add(pinned)
    expect(pin).toMatchObject({ place: "open", lostThrough: removed, bytes: 0 })
    const rest = { fromTime: removed + 1 }
    const before = await exported(directory, "ndjson", rest)
    clock.micros = later
    writer.retention.setPolicy(everything)
    await finished(writer)
    expect(writer.pins.all()[0]).toMatchObject({ place: "kept", lostThrough: removed })
    expect(differenceOf(before, await exported(copyOf(directory, pin.id), "ndjson", rest))).toBeUndefined()
    const whole = writer.pins.add(pinned)
    expect(whole).toMatchObject({ place: "lost", lostThrough: window.until })
  })

  test("has a copy of the kinds that have it, although others had lost it when it was pinned", async () => {
    const { directory, writer } = opened()
    const changes = async (of: string) =>
      (await exported(of, "ndjson")).split("\n").filter((line) => line.includes('"gvk":"v1.ConfigMap"'))
    const before = await changes(directory)
    expect(before.length).toBeGreaterThan(50)
    writer.retention.setPolicy({ kinds: new Map([["v1.Pod", { forMicros: second }]]) })
    await finished(writer)
    const { id } = writer.pins.add(pinned)
    writer.retention.setPolicy(everything)
    await finished(writer)
    expect(writer.pins.all()).toMatchObject([{ id, place: "kept", lostThrough: window.until }])
    expect(verifyRecording(copyOf(directory, id))).toMatchObject({ faults: [], damagedBlocks: [] })
    expect(await changes(copyOf(directory, id))).toEqual(before)
  })

  test("of which each kind has lost all is lost, although there is a kind whose events came later", async () => {
    const directory = recordedHistory()
    const first = openHistory(directory, { micros: at(seconds) })
    const event = { action: "applied" as const, number: 1, version: 1, object: "{}", time: at(seconds - 5) }
    const frame = { gvk: "v1.Endpoints", newObjects: [1], completeThrough: "7", events: [event] }
    first.append("watcher/endpoints", 1, 1, encodeFrame(frame))
    first.commit()
    first.close()
    withDatabase(directory, (database) =>
      database.exec(`UPDATE kind SET recorded_since = ${at(1)} WHERE gvk = 'v1.Endpoints'`),
    )
    const { writer } = opened(directory)
    const kinds = [...sampleKinds, lateKind, podLivesKind].map((gvk) => [gvk, { forMicros: second }] as const)
    writer.retention.setPolicy({ kinds: new Map(kinds) })
    await finished(writer)
    const { id } = writer.pins.add(pinned)
    writer.retention.setPolicy(everything)
    await finished(writer)
    expect(writer.pins.all()).toMatchObject([{ id, place: "lost", lostThrough: window.until, bytes: 0 }])
    expect(existsSync(copyOf(directory, id))).toBe(false)
  })

  test("is copied by `compact`, of a recording without a recorder", async () => {
    const directory = recordedHistory()
    const before = await exported(directory, "ndjson")
    const { id } = pinRecording(directory, pinned)
    compactRecording(directory, { forMicros: second, kinds: new Map() })
    expect(readPins(directory)[0]).toMatchObject({ id, place: "kept" })
    expect(differenceOf(before, await exported(copyOf(directory, id), "ndjson"))).toBeUndefined()
    expect(removePin(directory, id)).toBe(true)
    expect(readdirSync(join(directory, "pins"))).toEqual([])
  })

  test("is not copied any more once its pin is removed, nor is its copy kept when that happens meanwhile", async () => {
    const { directory, writer } = opened()
    const { id } = writer.pins.add(pinned)
    writer.retention.setPolicy(everything)
    for (let steps = 0; !existsSync(join(directory, "pins", `.${id}.partial`)); steps++) {
      expect(steps).toBeLessThan(1000)
      await retain(writer, 1)
    }
    expect(writer.pins.remove(id)).toBe(true)
    await finished(writer)
    expect(readdirSync(join(directory, "pins"))).toEqual([])
    expect(Math.max(...removedOf(directory))).toBeGreaterThan(window.until)
  })

  test("is copied to the end although another pin is removed meanwhile", async () => {
    const { directory, writer } = opened()
    const { id } = writer.pins.add(pinned)
    const other = writer.pins.add({ ...pinned, from: at(100) })
    writer.retention.setPolicy(everything)
    const draft = join(directory, "pins", `.${id}.partial`)
    for (let steps = 0; !existsSync(draft); steps++) {
      expect(steps).toBeLessThan(1000)
      await retain(writer, 1)
    }
    expect(writer.pins.remove(other.id)).toBe(true)
    expect(existsSync(draft)).toBe(true)
    await finished(writer)
    expect(writer.pins.all()).toMatchObject([{ id, place: "kept" }])
  })

  test("that is extended while it is copied is copied anew", async () => {
    const { directory, writer } = opened()
    const keyed = { ...pinned, key: "alert" }
    const { id } = writer.pins.add(keyed)
    writer.retention.setPolicy(everything)
    for (let steps = 0; !existsSync(join(directory, "pins", `.${id}.partial`)); steps++) {
      expect(steps).toBeLessThan(1000)
      await retain(writer, 1)
    }
    writer.pins.add({ ...keyed, until: at(180) })
    await finished(writer)
    expect(writer.pins.all()).toMatchObject([{ id, place: "kept", until: at(180) }])
    const more = { untilTime: at(180), knownUntil: at(180) }
    expect((await exported(copyOf(directory, id), "ndjson", more)).includes('"second":179')).toBe(true)
    // What follows a copy is a pin of its own.
    const next = writer.pins.add({ ...keyed, until: at(200) })
    expect(next).toMatchObject({ from: at(180), until: at(200) })
    expect(next.id).not.toBe(id)
    expect(writer.pins.add({ ...keyed, until: at(210) })).toMatchObject({ id: next.id, from: at(180), until: at(210) })
  })
})

describe("a copy", () => {
  const kept = async () => {
    const { directory, writer, clock } = opened()
    const { id } = writer.pins.add(pinned)
    writer.retention.setPolicy(everything)
    await finished(writer)
    return { directory, writer, clock, id, copy: copyOf(directory, id) }
  }

  test("stays while it is read under a lease, although its pin was removed", async () => {
    const { writer, clock, id, copy } = await kept()
    clock.micros = Date.now() * 1000
    const lease = takeLease(copy, { fromTime: 0, purpose: "test" })
    expect(lease.isHeld).toBe(true)
    expect(writer.pins.remove(id)).toBe(true)
    expect(writer.pins.all()).toEqual([])
    await finished(writer)
    expect(existsSync(join(copy, "recording.db"))).toBe(true)
    lease.release()
    writer.retention.step(() => true)
    expect(existsSync(copy)).toBe(false)
  })

  test("is noted by the next writer if this one ended before it was, and one that is not whole is removed", async () => {
    const directory = recordedHistory()
    const { id } = pinRecording(directory, pinned)
    const untouched = readFileSync(join(directory, "recording.db"))
    compactRecording(directory, everything)
    const whole = readPins(directory)[0]
    writeFileSync(join(directory, "recording.db"), untouched)
    expect(readPins(directory)[0]).toMatchObject({ id, place: "recording" })
    renameSync(copyOf(directory, id), join(directory, "pins", `.${id}.partial`))
    const first = openHistory(directory, { micros: later })
    expect(readdirSync(join(directory, "pins"))).toEqual([])
    first.close()
    compactRecording(directory, everything)
    writeFileSync(join(directory, "recording.db"), untouched)
    const second = openHistory(directory, { micros: later })
    expect(second.pins.all()).toEqual([{ ...whole, bytes: second.pins.all()[0]?.bytes }])
    second.close()
  })

  test("that could not be noted when it was made is noted by the next attempt", async () => {
    const directory = recordedHistory()
    const { id } = pinRecording(directory, pinned)
    const other = temporaryDirectory()
    cpSync(directory, other, { recursive: true })
    compactRecording(other, everything)
    const { writer } = opened(directory)
    cpSync(join(other, "pins"), join(directory, "pins"), { recursive: true })
    writer.retention.setPolicy(everything)
    await finished(writer)
    expect(writer.retention.pinTrouble).toBeUndefined()
    expect(writer.pins.all()).toMatchObject([{ id, place: "kept" }])
    expect(Math.max(...removedOf(directory))).toBeGreaterThan(window.until)
  })

  test("that no pin knows stays, as after an older recording was restored; a pin that is removed takes its copy along", () => {
    const directory = recordedHistory()
    const older = readFileSync(join(directory, "recording.db"))
    const { id } = pinRecording(directory, pinned)
    compactRecording(directory, everything)
    const noted = readFileSync(join(directory, "recording.db"))
    const copy = join(copyOf(directory, id), "recording.db")
    writeFileSync(join(directory, "recording.db"), older)
    openHistory(directory, { micros: later }).close()
    expect(existsSync(copy)).toBe(true)
    writeFileSync(join(directory, "recording.db"), noted)
    // The pin was about to be removed when the process ended.
    writeFileSync(join(directory, "pins", `.${id}.removed`), "")
    openHistory(directory, { micros: later }).close()
    expect(readdirSync(join(directory, "pins"))).toEqual([id])
    expect(removePin(directory, id)).toBe(true)
    expect(readdirSync(join(directory, "pins"))).toEqual([])
  })

  test("is a recording that its owner reads without leaving anything in it", async () => {
    const { copy } = await kept()
    const before = readdirSync(copy)
    await answers(copy)
    expect(readdirSync(copy)).toEqual(before)
    expect(before.sort()).toEqual(["leases", "recording.db"])
  })

  test("is not in a backup, whose pins say that it is lost", async () => {
    const { directory } = await kept()
    const target = join(temporaryDirectory(), "backup")
    await backupRecording(directory, target)
    expect(readPins(target)[0]).toMatchObject({ place: "lost", lostThrough: window.until, bytes: 0 })
  })

  test("of which the directory cannot be made keeps the beginning where it is, and says why", async () => {
    const { directory, writer } = opened()
    writeFileSync(join(directory, "pins"), "")
    const { id } = writer.pins.add(pinned)
    writer.retention.setPolicy(everything)
    await finished(writer)
    expect(writer.retention.pinTrouble).toMatch(new RegExp(`^Pin ${id} keeps them: .*ENOTDIR`))
    expect(Math.max(...removedOf(directory))).toBeLessThan(window.from)
    rmSync(join(directory, "pins"))
    await finished(writer)
    expect(writer.pins.all()[0]?.place).toBe("kept")
    writer.retention.step(() => true)
    expect(writer.retention.pinTrouble).toBeUndefined()
  })

  test("has no kind that began later, nor what happened after its end", async () => {
    const { copy } = await kept()
    for (const { completeTime } of readRecordedSince(copy).filter(({ gvk }) => gvk !== lateKind))
      expect(completeTime).toBe(window.until)
  })
})
