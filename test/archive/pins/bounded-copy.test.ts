/** Commits wait for one step of a pin's copy, and for a copy that is removed: neither grows with the recording. */
import { existsSync, readdirSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setImmediate as turn } from "node:timers/promises"
import { expect, onTestFinished, test } from "vitest"
import { DATABASE_FILE } from "../../../src/archive/tables/schema.ts"
import { pinRecording } from "../../../src/archive/upkeep/pinned-recording.ts"
import { withDatabase } from "../sample-recording.ts"
import { at, openHistory, recordedHistory, retain, second, seconds, window } from "./pinned-history.ts"

/** From the beginning on, so that retention removes nothing before it is copied. */
const pinned = { from: at(0), until: window.until, source: "command" as const }
const everything = { forMicros: second, kinds: new Map() }
const many = 3500

/** Rows that a copy takes, in tables of which others have few. */
const added: Readonly<Record<string, string>> = {
  owner: "SELECT 'uid-' || i, 'example.com/v1.Owner', 'shop', 'owner-' || i, '[]', 'learnt' FROM n",
  author: "SELECT 1000 + i, '{}', $window FROM n",
  audited_write: "SELECT 1, 1000000 + i, i, 1, 1000 + i, $window, 1, 1, '' FROM n",
  owner_set: "SELECT 1000 + i, '[]' FROM n",
  former_owner_set: "SELECT 1, i, $late, $late, 1000 + i FROM n",
  kind_namespace: "SELECT 1, 'team-' || i, '', 0, '', 0 FROM n",
  gap: "SELECT -i, 1, '', '', '', $window, $late, '410 Gone', '' FROM n",
  late_range: "SELECT 1, 'team-' || i, $window, 'disconnected', $late, $window, $late, 1, $sequence FROM n",
  pod_life: "SELECT 1000000 + i, 1, 1, NULL, 0, $window, $window, NULL FROM n",
}

const crowdedHistory = (): string => {
  const directory = recordedHistory()
  withDatabase(directory, (database) => {
    for (const [table, select] of Object.entries(added)) {
      const columns = database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all()
      const written = columns.map(({ name }) => name).join(", ")
      const values = select
        .replaceAll("$window", String(at(100)))
        .replaceAll("$late", String(at(seconds)))
        .replaceAll("$sequence", "700")
      database.exec(
        `INSERT INTO ${table} (${written}) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${many}) ${values}`,
      )
    }
  })
  return directory
}

/** Rows of each table of a database that is written meanwhile. */
const counted = (path: string): ReadonlyMap<string, number> => {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    return new Map(
      tables.map(({ name }) => [
        String(name),
        Number(database.prepare(`SELECT count(*) AS rows FROM ${name}`).get()?.rows),
      ]),
    )
  } finally {
    database.close()
  }
}

test("each step of a copy takes at most 1,000 rows of a table, and one checkpoint", async () => {
  const directory = crowdedHistory()
  const { id } = pinRecording(directory, pinned)
  const writer = openHistory(directory, { micros: at(seconds + 3600) })
  onTestFinished(() => writer.close())
  writer.retention.setPolicy(everything)
  const path = join(directory, "pins", `.${id}.partial`, DATABASE_FILE)
  const most = new Map<string, number>()
  let before: ReadonlyMap<string, number> = new Map()
  for (let steps = 0; writer.pins.all()[0]?.place !== "kept"; steps++) {
    expect(steps).toBeLessThan(3000)
    await retain(writer, 1)
    if (!existsSync(path)) continue
    const now = counted(path)
    for (const [table, rows] of now) most.set(table, Math.max(most.get(table) ?? 0, rows - (before.get(table) ?? 0)))
    before = now
  }
  const beyond = [...most].filter(([table, rows]) => rows > (table === "checkpoint" ? 1 : 1000))
  expect(beyond).toEqual([])
  for (const table of Object.keys(added)) expect(before.get(table), table).toBeGreaterThanOrEqual(many)
})

test("a large copy that is removed goes on another thread, also if the process ended before", async () => {
  const directory = recordedHistory()
  const { id } = pinRecording(directory, pinned)
  const open = () => openHistory(directory, { micros: at(seconds + 3600) })
  const first = open()
  first.retention.setPolicy(everything)
  while ((await retain(first)) > 0) await turn()
  expect(first.pins.all()[0]?.place).toBe("kept")
  truncateSync(join(directory, "pins", id, DATABASE_FILE), 64 * 1024 * 1024)
  first.pins.remove(id)
  expect(readdirSync(join(directory, "pins"))).toEqual([`.${id}.gone`])
  while (readdirSync(join(directory, "pins")).length > 0) await turn()
  first.close()
  writeFileSync(join(directory, "pins", `.${id}.gone`), "")
  open().close()
  while (readdirSync(join(directory, "pins")).length > 0) await turn()
})
