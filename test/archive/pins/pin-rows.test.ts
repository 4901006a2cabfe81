import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { maximumPins, PinRefused, type PinRequest } from "../../../src/archive/pins/pin.ts"
import { DATABASE_FILE } from "../../../src/archive/tables/schema.ts"
import { addChecksumFunction } from "../../../src/archive/tables/sound-rows.ts"
import { pinRecording, readPins, removePin } from "../../../src/archive/upkeep/pinned-recording.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { START } from "../sample-frames.ts"
import { sample, sampleMiddle, withDatabase } from "../sample-recording.ts"

const now = START + 120_000_000
const window: PinRequest = { from: sampleMiddle, until: sampleMiddle + 20_000_000, source: "command" }

const writing = <Answer>(directory: string, write: (writer: ArchiveWriter) => Answer): Answer => {
  const writer = ArchiveWriter.open(directory, { now: () => now })
  try {
    return write(writer)
  } finally {
    writer.close()
  }
}

describe("a pin", () => {
  test("of a recording without a recorder is made, read, and removed again", () => {
    const directory = sample()
    const pin = pinRecording(directory, { ...window, note: "the outage", labels: { severity: "page" } })
    expect(pin).toMatchObject({
      ...{ from: window.from, until: window.until, note: "the outage", source: "command", bytes: 0 },
      ...{ labels: { severity: "page" }, place: "recording" },
    })
    expect(pin.id).toMatch(/^\d{8}t\d{4}-[0-9a-f]{8}$/)
    expect(pin).not.toHaveProperty("lostThrough")
    expect(readPins(directory)).toEqual([pin])
    expect(removePin(directory, "20261129t0312-00000000")).toBe(false)
    expect(removePin(directory, pin.id)).toBe(true)
    expect(readPins(directory)).toEqual([])
  })

  test("is open while its window is not over, and until every kind is known to be complete or ten minutes have passed", () => {
    const directory = temporaryDirectory()
    writing(directory, ({ pins }) => pins.add({ ...window, until: now + 1 }))
    const [pin] = readPins(directory, now)
    expect(pin?.place).toBe("open")
    expect(readPins(directory, now + 600_000_000)[0]?.place).toBe("open")
    expect(readPins(directory, now + 600_000_001)[0]?.place).toBe("recording")
    withDatabase(directory, (database) => database.exec("UPDATE pin SET lost_through = from_time"))
    expect(readPins(directory, now + 600_000_000)[0]?.place).toBe("open")
    expect(readPins(directory, now + 600_000_001)[0]?.place).toBe("lost")
  })

  test("with a key begins earlier and ends as further requests with it say, and no other does", () => {
    const directory = sample()
    writing(directory, ({ pins }) => {
      const first = pins.add({ ...window, key: "group@start", labels: { alert: "a" } })
      const other = pins.add(window)
      const again = pins.add({
        ...{ from: window.from - 1, until: window.until + 5, source: "alert", key: "group@start" },
        labels: { alert: "b" },
      })
      expect(again).toMatchObject({ id: first.id, from: window.from - 1, until: window.until + 5 })
      expect(again.labels).toEqual({ alert: "b" })
      expect(pins.all().map(({ id }) => id)).toEqual([first.id, other.id])
      expect(pins.add({ ...window, key: "group@start" })).toMatchObject({
        ...{ id: first.id, from: window.from - 1, until: window.until },
      })
    })
  })

  test("remembers when it was exported", () => {
    const directory = sample()
    writing(directory, ({ pins }) => {
      const { id } = pins.add(window)
      expect(pins.noteExported("another", now)).toBe(false)
      expect(pins.noteExported(id, now)).toBe(true)
      expect(pins.all()[0]?.exported).toBe(now)
    })
  })

  test.each<[string, Partial<PinRequest>]>([
    ["the window ends before it begins", { until: window.from }],
    ["a pinned window has at most 7 days", { from: window.until - 8 * 86_400_000_000 }],
    ["a pinned window ends within the next 7 days", { from: now + 86_400_000_000, until: now + 8 * 86_400_000_000 }],
    ["a window has two moments after 1970", { from: 0.5 }],
    ["a note has at most 1024 characters", { note: "x".repeat(1025) }],
    ["at most 64 labels", { labels: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`l${at}`, ""])) }],
    ["at most 1024 characters", { labels: { a: "x".repeat(1025) } }],
  ])("is refused with the reason: %s", (reason, part) => {
    writing(temporaryDirectory(), ({ pins }) => {
      expect(() => pins.add({ ...window, ...part })).toThrow(reason)
      expect(pins.all()).toEqual([])
    })
  })

  test("is refused beyond the limit, which does not concern one that is extended", () => {
    const directory = temporaryDirectory()
    writing(directory, ({ pins }) => pins.add(window))
    const database = new DatabaseSync(join(directory, DATABASE_FILE))
    addChecksumFunction(database)
    database.exec(`WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${maximumPins - 1})
      INSERT INTO pin SELECT 'p' || i, 1, 2, '', 'page', '{}', '', 0, 0, 1, 0 FROM n`)
    database.close()
    writing(directory, ({ pins }) => {
      pins.add({ ...window, key: "last" })
      expect(() => pins.add(window)).toThrow(PinRefused)
      expect(pins.add({ ...window, key: "last", until: window.until + 1 }).until).toBe(window.until + 1)
    })
  })
})
