/** The blocks of a window are those that hold its events when they are found, also if a commit sealed the open one meanwhile. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, onTestFinished, test } from "vitest"
import { blocksOfWindow } from "../../../src/archive/pins/window-copy.ts"
import { numberOf } from "../../../src/archive/tables/database.ts"
import { DATABASE_FILE } from "../../../src/archive/tables/schema.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame } from "../sample-frames.ts"
import { recordSample } from "../sample-recording.ts"
import { at } from "./pinned-history.ts"

test("a block that is sealed while the blocks of a window are looked for is one of them", () => {
  const directory = temporaryDirectory()
  const writer = recordSample(directory, 120)
  onTestFinished(() => writer.close())
  const database = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true })
  onTestFinished(() => database.close())
  const parts = numberOf(database, "SELECT count(*) AS value FROM block WHERE sealed = 0")
  expect(parts).toBeGreaterThan(0)
  const window = { fromTime: at(100), untilTime: at(120) }
  const finding = blocksOfWindow(database, window)
  const kinds = numberOf(database, "SELECT count(*) AS value FROM kind")
  for (let looked = 0; looked < kinds; looked++) expect(finding.next().done).toBe(false)
  writer.append(
    ...["watcher/next", 1, 1],
    encodeFrame({
      ...{ gvk: "example.com/v1.Next", newObjects: [1], completeThrough: "7" },
      events: [{ action: "applied", number: 1, version: 1, object: "x".repeat(30_000), time: at(200) }],
    }),
  )
  writer.commit()
  expect(numberOf(database, "SELECT count(*) AS value FROM block WHERE sealed = 0")).toBe(0)
  let step = finding.next()
  while (step.done !== true) step = finding.next()
  const last = numberOf(database, "SELECT max(last_sequence) AS value FROM block")
  expect(step.value).toMatchObject({ lastSequence: last, isOpen: false })
})
