/** Questions about a damaged recording, by `reel get` and the others, and over HTTP: what is damaged is named, and the rest is there. */

import { statSync, truncateSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { text } from "node:stream/consumers"
import { expect, test } from "vitest"
import { addChecksumFunction } from "../../src/archive/tables/sound-rows.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { eventsCommand } from "../../src/cli/events.ts"
import { getCommand } from "../../src/cli/get.ts"
import { historyCommand } from "../../src/cli/history.ts"
import { openOfflineRecording } from "../../src/recorder/index.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { ran } from "./commands-in.ts"
import { recordStory } from "./past-recording.ts"

/** The story, of which one block has other bytes than were written. */
const damagedBlock = (which: "first" | "last"): string => {
  const directory = temporaryDirectory()
  recordStory(directory)
  const database = new DatabaseSync(join(directory, "recording.db"))
  addChecksumFunction(database)
  const key = `SELECT ${which === "first" ? "min" : "max"}(last_sequence) FROM block WHERE sealed = 1`
  const damage = `UPDATE block SET data = zeroblob(length(data)) WHERE last_sequence = (${key})`
  const { changes } = database.prepare(damage).run()
  database.close()
  expect(changes).toBe(1)
  return directory
}

test("a damaged block is named by reel events, and what other blocks have is printed", async () => {
  const directory = damagedBlock("first")
  const { code, output, error } = await ran(eventsCommand(), ["--data-dir", directory])
  expect(code).toBe(exitCodes.incomplete)
  expect(error).toMatch(/is damaged/)
  expect(output).toContain("shop/api")
})

test("over HTTP a damaged block is a gap of the answer, beside the changes of the others", async () => {
  const directory = damagedBlock("first")
  const recording = await openOfflineRecording(directory, () => undefined)
  try {
    const sent = request({ path: "/v1/changes", createConnection: () => recording.connect() }).end()
    const body = await new Promise<string>((resolve, reject) => {
      sent.on("error", reject)
      sent.on("response", (response) => text(response).then(resolve, reject))
    })
    const { items, isComplete, gaps } = JSON.parse(body)
    expect(isComplete).toBe(false)
    expect(gaps).toContainEqual(expect.objectContaining({ reason: "damaged" }))
    expect(items.length).toBeGreaterThan(3)
  } finally {
    await recording.close()
  }
})

test.each([0.9, 0.5, 0.01, 0])(
  "a database cut off at %f of its size is called damaged, by every command",
  async (part) => {
    const directory = temporaryDirectory()
    recordStory(directory)
    const path = join(directory, "recording.db")
    truncateSync(path, Math.floor(statSync(path).size * part))
    for (const [command, ...words] of [
      [getCommand(), "deploy"],
      [eventsCommand()],
      [historyCommand(), "deploy/web"],
    ] as const) {
      const { code, output, error } = await ran(command, [...words, "--data-dir", directory])
      expect([code, output]).toEqual([exitCodes.failed, ""])
      expect(error).toMatch(/the recording in .* is damaged: .* reel store salvage/)
    }
    await expect(openOfflineRecording(directory, () => undefined)).rejects.toThrow(/is damaged/)
  },
)
