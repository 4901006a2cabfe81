/** What is on disk after a crash, and what becomes of files that cannot be used. Crashes are copies of the files at that moment. */
import { spawnSync } from "node:child_process"
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import fc from "fast-check"
import { expect, onTestFinished, test } from "vitest"
import { Checkpoint, type CheckpointOptions } from "../../../src/host/checkpoint/checkpoint.ts"
import { CheckpointUnavailable, keptSeconds } from "../../../src/host/checkpoint/checkpoint-file.ts"
import type { ApiObject } from "../../../src/kube/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const object = (name: string, more: Partial<ApiObject["metadata"]> = {}): ApiObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace: "shop", name, uid: `uid-${name}`, ...more },
  data: { password: "hunter2" },
})

interface Opened {
  readonly checkpoint: Checkpoint
  readonly said: string[]
  readonly clock: ManualClock
}
const open = (directory: string, options: Partial<CheckpointOptions> = {}): Opened => {
  const said: string[] = []
  const clock = new ManualClock()
  const checkpoint = new Checkpoint({
    directory,
    name: "module-m",
    clock,
    say: (detail) => said.push(detail),
    ...options,
  })
  onTestFinished(() => checkpoint.close())
  return { checkpoint, said, clock }
}
const path = (directory: string): string => join(directory, "module-m.checkpoint")
/** The directory as it would be after SIGKILL now. */
const crashed = (directory: string): string => {
  const copy = temporaryDirectory()
  for (const name of readdirSync(directory)) copyFileSync(join(directory, name), join(copy, name))
  return copy
}
const uids = (checkpoint: Checkpoint, selection = "all"): ReadonlyArray<string> =>
  checkpoint
    .selection(selection)
    .all()
    .map(({ metadata }) => metadata.uid)
    .sort()
const unavailable = (work: () => unknown): CheckpointUnavailable => {
  try {
    work()
  } catch (error) {
    if (error instanceof CheckpointUnavailable) return error
    throw error
  }
  throw new Error("it did not fail")
}

test("what was committed is there after a crash, and nothing else, for any sequence of changes and crashes", () => {
  const change = fc.record({
    type: fc.constantFrom("know", "gone", "forget", "commit", "crash"),
    name: fc.constantFrom("a", "b", "c"),
    label: fc.constantFrom("x", "y"),
    /** Which of the deletions so far is forgotten. */
    which: fc.nat({ max: 5 }),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 25 }), (changes) => {
      let directory = temporaryDirectory()
      let { checkpoint } = open(directory)
      // In memory, and as of the last commit: labels by UID.
      let known = new Map<string, { label: string; deletion?: object }>()
      let deletions: Array<{ readonly uid: string; readonly generation: number }> = []
      let committed = new Map<string, string>()
      for (const { type, name, label, which } of changes) {
        const uid = `uid-${name}`
        const all = checkpoint.selection("all")
        if (type === "know") {
          all.know(object(name, { labels: { label } }))
          known.set(uid, { label })
        } else if (type === "gone") {
          const deletion = { uid, generation: all.gone(uid) }
          deletions.push(deletion)
          const one = known.get(uid)
          if (one !== undefined) one.deletion = deletion
        } else if (type === "forget") {
          const deletion = deletions[which % Math.max(deletions.length, 1)]
          if (deletion === undefined) continue
          all.forget(deletion.uid, deletion.generation)
          if (known.get(deletion.uid)?.deletion === deletion) known.delete(deletion.uid)
        } else if (type === "commit") {
          checkpoint.commit()
          committed = new Map([...known].map(([key, one]) => [key, one.label]))
        } else {
          directory = crashed(directory)
          checkpoint.close()
          checkpoint = open(directory).checkpoint
          known = new Map([...committed].map(([key, one]) => [key, { label: one }]))
          deletions = []
        }
        const found = checkpoint.selection("all").all()
        const labels = new Map(found.map(({ metadata }) => [metadata.uid, metadata.labels?.label ?? ""]))
        expect(labels).toEqual(new Map([...known].map(([key, one]) => [key, one.label])))
      }
      checkpoint.close()
    }),
    { numRuns: 40 },
  )
})

test("names, labels and owners of an object are kept; data and annotations never reach the disk", () => {
  const directory = temporaryDirectory()
  const { checkpoint } = open(directory)
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u", controller: true }
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": '{"data":"hunter3"}' }
  checkpoint.selection("all").know(object("s", { labels: { app: "web" }, ownerReferences: [owner], annotations }))
  checkpoint.commit()
  const copy = crashed(directory)
  const bytes = readdirSync(copy).map((name) => readFileSync(join(copy, name), "latin1"))
  expect(bytes.join()).toContain("uid-s")
  expect(bytes.join()).not.toMatch(/hunter/)
  const [found] = open(copy).checkpoint.selection("all").all()
  expect(found).toEqual({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s", namespace: "shop", uid: "uid-s", labels: { app: "web" }, ownerReferences: [owner] },
  })
})

test("an object that comes back while its deletion is dealt with stays known", () => {
  const { checkpoint } = open(temporaryDirectory())
  const all = checkpoint.selection("all")
  all.know(object("a"))
  const generation = all.gone("uid-a")
  all.know(object("a"))
  all.forget("uid-a", generation)
  expect(uids(checkpoint)).toEqual(["uid-a"])
})

test("an object that comes back and goes again stays known until that deletion is dealt with too", () => {
  const { checkpoint } = open(temporaryDirectory())
  const all = checkpoint.selection("all")
  all.know(object("a"))
  const first = all.gone("uid-a")
  all.know(object("a"))
  const second = all.gone("uid-a")
  all.forget("uid-a", first)
  expect(uids(checkpoint)).toEqual(["uid-a"])
  all.forget("uid-a", second)
  expect(uids(checkpoint)).toEqual([])
  all.know(object("a"))
  const third = all.gone("uid-a")
  for (const former of [first, second]) all.forget("uid-a", former)
  expect(uids(checkpoint)).toEqual(["uid-a"])
  all.forget("uid-a", third)
  expect(uids(checkpoint)).toEqual([])
})

test.each([
  ["damaged", (file: string) => writeFileSync(file, "no database at all".repeat(1000)), /it is damaged/],
  ["foreign", (file: string) => new DatabaseSync(file).exec("CREATE TABLE t (a)"), /it was not written by kubereel/],
  [
    "format-9",
    (file: string) =>
      new DatabaseSync(file).exec("PRAGMA application_id = 0x726c6370; PRAGMA user_version = 9; CREATE TABLE t (a)"),
    /it has format 9, and this program reads 1/,
  ],
] as const)("a file that is %s is set aside, which is said, and a new one begins", (name, spoil, problem) => {
  const directory = temporaryDirectory()
  spoil(path(directory))
  const { checkpoint, said } = open(directory)
  checkpoint.selection("all").know(object("a"))
  checkpoint.commit()
  expect(said).toEqual([expect.stringMatching(problem)])
  expect(said[0]).toMatch(/deletions since its last use may be missed/)
  expect(readdirSync(directory).filter((file) => file.includes(`.checkpoint.${name}-`))).toHaveLength(1)
  expect(uids(open(crashed(directory)).checkpoint)).toEqual(["uid-a"])
})

test("damage in the middle of a file is found when it is opened, and damage to a row as well", () => {
  const filled = (): string => {
    const directory = temporaryDirectory()
    const { checkpoint } = open(directory)
    for (let index = 0; index < 500; index++) checkpoint.selection("all").know(object(`object-${index}`))
    checkpoint.commit()
    checkpoint.close()
    return directory
  }
  const torn = filled()
  const bytes = readFileSync(path(torn))
  bytes.fill(0xa5, 8192, 8192 + 4096 * 4)
  writeFileSync(path(torn), bytes)
  expect(open(torn).said).toEqual([expect.stringMatching(/it is damaged/)])
  const edited = filled()
  const database = new DatabaseSync(path(edited))
  database.exec("UPDATE object SET state = '{}' WHERE uid = 'uid-object-7'")
  database.close()
  expect(open(edited).said).toEqual([expect.stringMatching(/it is damaged \(a row is not an object\)/)])
})

test("two controllers, or two processes, cannot have one checkpoint open; the end of a process frees it", () => {
  const directory = temporaryDirectory()
  const { checkpoint } = open(directory)
  expect(unavailable(() => open(directory))).toMatchObject({ problem: "in-use" })
  expect(open(directory, { name: "module-n" }).said).toEqual([])
  checkpoint.close()
  const source = new URL("../../../src/host/checkpoint/checkpoint.ts", import.meta.url)
  const script = `
    const { Checkpoint } = await import(${JSON.stringify(source.href)})
    const clock = { after: () => ({ cancel() {} }), wallMicros: () => Date.now() * 1000 }
    const checkpoint = new Checkpoint({ directory: ${JSON.stringify(directory)}, name: "module-m", clock, say: console.log })
    checkpoint.selection("all").know(${JSON.stringify(object("of-the-dead"))})
    checkpoint.commit()
    process.kill(process.pid, "SIGKILL")
  `
  const { signal, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" })
  expect([signal, stderr]).toEqual(["SIGKILL", ""])
  expect(uids(open(directory).checkpoint)).toEqual(["uid-of-the-dead"])
})

test("a full disk refuses a commit and loses nothing: with room, everything is written", () => {
  const directory = temporaryDirectory()
  const { checkpoint } = open(directory, { maximumBytes: 64 * 1024 })
  const all = checkpoint.selection("all")
  all.know(object("first"))
  checkpoint.commit()
  for (let index = 0; index < 1000; index++) all.know(object(`object-${index}`, { labels: { text: "x".repeat(60) } }))
  expect(unavailable(() => checkpoint.commit())).toMatchObject({ problem: "disk-full" })
  expect(checkpoint.isDurable).toBe(false)
  expect(uids(open(crashed(directory)).checkpoint)).toEqual(["uid-first"])
  for (let index = 10; index < 1000; index++) {
    const uid = `uid-object-${index}`
    all.forget(uid, all.gone(uid))
  }
  checkpoint.commit()
  expect(uids(open(crashed(directory)).checkpoint)).toHaveLength(11)
})

test("what no host has used for 30 days is removed: files, and selections that are not watched any more", () => {
  const directory = temporaryDirectory()
  const day = 24 * 3600
  const first = open(directory, { name: "module-old" })
  first.checkpoint.close()
  const { checkpoint, clock } = open(directory)
  for (const selection of ["watched", "former"]) checkpoint.selection(selection).know(object(selection))
  checkpoint.commit()
  checkpoint.close()
  const wall = clock.wallMicros()
  const later = (days: number) => ({
    clock: { after: clock.after.bind(clock), wallMicros: () => wall + days * day * 1e6 },
  })
  const seconds = wall / 1e6
  utimesSync(join(directory, "module-old.checkpoint"), seconds, seconds)

  const inTime = open(directory, later(29))
  expect(uids(inTime.checkpoint, "watched")).toEqual(["uid-watched"])
  clock.advance(10_000)
  inTime.checkpoint.close()
  expect(inTime.said).toEqual([])
  expect(existsSync(join(directory, "module-old.checkpoint"))).toBe(true)
  expect(keptSeconds).toBe(30 * day)

  const after = open(directory, later(31))
  expect(after.said).toEqual([
    expect.stringMatching(/^module-old\.checkpoint in .* was not used for 30 days and is removed$/),
  ])
  expect(uids(after.checkpoint, "former")).toEqual([])
  expect(uids(after.checkpoint, "watched")).toEqual(["uid-watched"])
})

test("an open file counts as used, however quiet its controller is", () => {
  const directory = temporaryDirectory()
  const { clock } = open(directory)
  const before = statSync(path(directory)).mtimeMs
  clock.advance(10_000)
  clock.advance(24 * 3600 * 1000)
  expect(statSync(path(directory)).mtimeMs - before).toBeGreaterThanOrEqual(24 * 3600 * 1000 - 1000)
})
