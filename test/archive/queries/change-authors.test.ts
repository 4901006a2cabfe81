import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, describe, expect, test } from "vitest"
import {
  ArchiveWriter,
  ChangeAuthors,
  changeSteps,
  DATABASE_FILE,
  QueriedRecording,
} from "../../../src/archive/index.ts"
import { discoveryKey, withDiscovered } from "../../../src/archive/rows/discovery.ts"
import type { AuthoredWrite } from "../../../src/trace/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, nameOf, type SampleEvent, START } from "../sample-frames.ts"

const gvk = "v1.Pod"
const second = 1_000_000

const open: Array<{ readonly close: () => void }> = []
afterEach(() => {
  for (const each of open.splice(0)) each.close()
})

const pod = (node?: string): string =>
  JSON.stringify({ metadata: { ...nameOf(gvk, 1) }, spec: node === undefined ? {} : { nodeName: node } })

/** What one object went through, from version 10 on, a second each. */
const life: ReadonlyArray<Pick<SampleEvent, "action" | "object">> = [
  { action: "applied", object: pod() },
  { action: "applied", object: pod("node-1") },
  { action: "applied", object: pod("node-1").replace("{", '{"a":1,') },
  { action: "deleted", object: pod("node-1") },
]

const timeOf = (version: number): number => START + (version - 10) * second

const openWriter = (directory = temporaryDirectory(), now = () => START): ArchiveWriter => {
  const writer = ArchiveWriter.open(directory, { now })
  open.push(writer)
  return writer
}

const known = { singular: "", shortNames: [], categories: [], namespaced: true }

const record = (writer: ArchiveWriter, received?: number): void => {
  writer.metadata.set(discoveryKey, withDiscovered(undefined, { gvk, plural: "pods", ...known }))
  const events = life.map((event, index) => ({ ...event, number: 1, time: timeOf(10 + index), version: 10 + index }))
  const given = received === undefined ? events : events.map((event) => ({ ...event, received }))
  writer.append("watcher/pods", 1, 1, encodeFrame({ gvk, newObjects: [1], events: given, completeThrough: "20" }))
  writer.commit()
}

const write = (user: string, version: number, more: Partial<AuthoredWrite> = {}): AuthoredWrite => ({
  ...{ group: "", resource: "pods", uid: nameOf(gvk, 1).uid, effect: "wrote", version: String(version) },
  ...{ isCertain: true, action: "update", received: timeOf(version) - 5000, completed: timeOf(version) },
  author: { user, groups: ["g"], userAgent: "test", sourceIPs: ["10.0.0.1"] },
  ...more,
})

const add = (writer: ArchiveWriter, ...writes: ReadonlyArray<AuthoredWrite>): number =>
  writer.addAuthors(writes, { from: START, to: START + 60 * second })

/** By change, who is named. */
const named = (directory: string): ReadonlyArray<string> => {
  const recording = QueriedRecording.open(directory)
  open.push(recording)
  const authors = new ChangeAuthors(recording)
  const users: string[] = []
  for (const change of changeSteps(recording, { from: 0, withBefore: true }))
    if (change !== undefined) users.push(authors.of(change)?.user ?? "")
  return users
}

describe("a change names who made it", () => {
  const all = [
    write("creator", 10),
    write("scheduler", 11, { effect: "bound", version: "" }),
    write("kubelet", 12),
    write("reaper", 13, { effect: "removed", version: "" }),
  ]
  const names = ["creator", "scheduler", "kubelet", "reaper"]

  test.each(["after", "before"])("if the audit event arrives %s it", (order) => {
    const writer = openWriter()
    const parts = [() => record(writer), () => void add(writer, ...all)]
    if (order === "before") {
      writer.metadata.set(discoveryKey, withDiscovered(undefined, { gvk, plural: "pods", ...known }))
      parts.reverse()
    }
    for (const part of parts) part()
    expect(named(writer.directory)).toEqual(names)
  })

  test("although the recorder ends in between, and batches come twice", () => {
    const directory = temporaryDirectory()
    const first = openWriter(directory)
    record(first)
    expect(add(first, ...all.slice(0, 2))).toBe(2)
    open.pop()
    first.abandon()
    const next = openWriter(directory)
    add(next, ...all.slice(1))
    add(next, ...all)
    expect(named(directory)).toEqual(names)
    const recording = QueriedRecording.open(directory)
    open.push(recording)
    expect(recording.database.prepare("SELECT count(*) AS n FROM audited_write").get()).toEqual({ n: 4 })
    expect(new ChangeAuthors(recording).range()).toEqual({ from: START, to: START + 60 * second })
  })
})

test("an author whom retention has removed is named again, and no other one has his number", () => {
  const writer = openWriter()
  record(writer)
  add(writer, write("alice", 10))
  // As retention does when nothing is kept that is younger than a day after the last write.
  const other = new DatabaseSync(join(writer.directory, DATABASE_FILE))
  other.exec("DELETE FROM author")
  other.close()
  const later = timeOf(12) + 2 * 86_400 * second
  add(writer, write("bob", 11), write("alice", 12, { received: later, completed: later + 5000 }))
  expect(named(writer.directory).slice(0, 3)).toEqual(["alice", "bob", "alice"])
})

describe("no one is named", () => {
  const userOf = (version: number, ...writes: ReadonlyArray<AuthoredWrite>): string => {
    const writer = openWriter()
    record(writer)
    add(writer, ...writes)
    return named(writer.directory)[version - 10] ?? "no change"
  }
  const possible = (user: string, version: number, after = 0): AuthoredWrite =>
    write(user, version, {
      ...{
        isCertain: false,
        action: "patch",
        received: timeOf(version) - 5000 + after,
        completed: timeOf(version) + after,
      },
    })

  test("by a request to another object, version or kind", () => {
    expect(
      userOf(12, write("other", 12, { uid: "another" }), write("other", 13), write("other", 12, { resource: "nodes" })),
    ).toBe("")
  })

  test("if a request that may have changed nothing came long after the change", () => {
    expect(userOf(12, possible("alice", 12))).toBe("alice")
    expect(userOf(12, possible("alice", 12, 4 * second))).toBe("")
  })

  test("if two requests at once may have made it; one that began after the other was done has not", () => {
    expect(userOf(12, possible("alice", 12), possible("mallory", 12, 2000))).toBe("")
    expect(userOf(12, possible("mallory", 12, 6000), possible("alice", 12))).toBe("alice")
    expect(userOf(12, possible("mallory", 12, -2000), write("alice", 12))).toBe("alice")
  })

  test("if two are said to have removed the object", () => {
    const removed = (user: string) => write(user, 13, { effect: "removed", version: "" })
    expect(userOf(13, removed("a"), removed("b"))).toBe("")
  })
})

test("retention removes authors with the changes that they belong to", () => {
  const directory = temporaryDirectory()
  let now = START
  const writer = openWriter(directory, () => now)
  record(writer)
  const later = Array.from({ length: 1500 }, (_, index) =>
    write(`user-${index % 7}`, 12, { version: String(100 + index) }),
  )
  add(writer, write("old", 10), write("old", 13, { effect: "removed", version: "" }), ...later)
  const young = write("young", 5000, { received: START + 6000 * second, completed: START + 6000 * second })
  // Requests that changed nothing have the version of an old write, and must not keep others from being removed.
  const idle = Array.from({ length: 600 }, (_, index) => {
    const received = START + (6000 + index) * second
    return write("young", 11, { isCertain: false, received, completed: received })
  })
  add(writer, young, ...idle)
  now = START + 7200 * second
  for (let frame = 2; frame < 40; frame++) {
    const time = START + frame * 60 * second
    const event = {
      action: "applied" as const,
      number: 2,
      time,
      version: 1000 + frame,
      object: `{"n":${frame},"x":"${"y".repeat(90_000)}"}`,
    }
    writer.append(
      "watcher/pods",
      1,
      frame,
      encodeFrame({ gvk, newObjects: frame === 2 ? [2] : [], events: [event], completeThrough: "9" }),
    )
    writer.commit()
  }
  const rows = (): unknown =>
    writer.retention &&
    QueriedRecording.open(directory).database.prepare("SELECT count(*) AS n FROM audited_write").get()
  expect(rows()).toEqual({ n: 2103 })
  writer.retention.setPolicy({ forMicros: 5400 * second, kinds: new Map() })
  while (writer.retention.step(() => false));
  expect(rows()).toEqual({ n: 601 })
})

test("a write takes few bytes", () => {
  const directory = temporaryDirectory()
  const writer = openWriter(directory)
  record(writer)
  const before = writer.retention.diskUse()
  const writes = Array.from({ length: 20_000 }, (_, index) =>
    write(`system:serviceaccount:kube-system:controller-${index % 20}`, 12, {
      ...{
        uid: `uid-${index % 3000}`,
        version: String(1_000_000 + 3 * index),
        action: index % 2 === 0 ? "update status" : "patch",
      },
      ...{ received: START + index * 1000, completed: START + index * 1000 + 3000 },
    }),
  )
  for (let start = 0; start < writes.length; start += 400) add(writer, ...writes.slice(start, start + 400))
  writer.shrinkLog()
  const after = writer.retention.diskUse()
  const each = (after.database - before.database) / writes.length
  expect(each).toBeLessThan(70)
  expect(each).toBeGreaterThan(20)
})
