import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, describe, expect, test } from "vitest"
import {
  ArchiveWriter,
  type ChangeAuthor,
  ChangeAuthors,
  changeSteps,
  DATABASE_FILE,
  QueriedRecording,
} from "../../../src/archive/index.ts"
import { discoveryKey, withDiscovered } from "../../../src/archive/rows/discovery.ts"
import type { Author, AuthoredWrite, JsonObject } from "../../../src/trace/index.ts"
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

/** As an API server writes it. */
const instantOf = (version: number): string => new Date(timeOf(version) / 1000).toISOString().replace(".000Z", "Z")

const openWriter = (directory = temporaryDirectory(), now = () => START): ArchiveWriter => {
  const writer = ArchiveWriter.open(directory, { now })
  open.push(writer)
  return writer
}

const known = { singular: "", shortNames: [], categories: [], namespaced: true }

const record = (writer: ArchiveWriter, received?: number, lived = life): void => {
  writer.metadata.set(discoveryKey, withDiscovered(undefined, { gvk, plural: "pods", ...known }))
  const events = lived.map((event, index) => ({ ...event, number: 1, time: timeOf(10 + index), version: 10 + index }))
  const given = received === undefined ? events : events.map((event) => ({ ...event, received }))
  writer.append("watcher/pods", 1, 1, encodeFrame({ gvk, newObjects: [1], events: given, completeThrough: "20" }))
  writer.commit()
}

const write = (user: string, version: number, more: Partial<AuthoredWrite> = {}): AuthoredWrite => ({
  ...{ group: "", resource: "pods", object: nameOf(gvk, 1).uid, effect: "wrote", version: String(version) },
  ...{ isCertain: true, auditID: "", received: timeOf(version) - 5000, completed: timeOf(version) },
  author: authorOf(user),
  ...more,
})

const authorOf = (user: string, more: Partial<Author> = {}): Author => ({
  ...{ user, groups: ["g"], userAgent: "test", sourceIPs: ["10.0.0.1"], verb: "update" },
  ...more,
})

const add = (writer: ArchiveWriter, ...writes: ReadonlyArray<AuthoredWrite>): number =>
  writer.addAuthors(writes, { from: START, to: START + 60 * second })

const authorsIn = (directory: string): ReadonlyArray<ChangeAuthor | undefined> => {
  const recording = QueriedRecording.open(directory)
  open.push(recording)
  const authors = new ChangeAuthors(recording)
  const found: (ChangeAuthor | undefined)[] = []
  for (const change of changeSteps(recording, { from: 0, withBefore: true }))
    if (change !== undefined) found.push(authors.of(change))
  return found
}

/** By change, who is named. */
const named = (directory: string): ReadonlyArray<string> => authorsIn(directory).map((author) => author?.user ?? "")

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
        author: authorOf(user, { verb: "patch" }),
        received: timeOf(version) - 5000 + after,
        completed: timeOf(version) + after,
      },
    })

  test("by a request to another object, version or kind", () => {
    expect(
      userOf(
        12,
        write("other", 12, { object: "another" }),
        write("other", 13),
        write("other", 12, { resource: "nodes" }),
      ),
    ).toBe("")
  })

  test("if a request that may have changed nothing came long after the change", () => {
    expect(userOf(12, possible("alice", 12))).toBe("alice")
    expect(userOf(12, possible("alice", 12, 4 * second))).toBe("")
    expect(userOf(12, possible("alice", 12, second / 2))).toBe("")
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

test("an author has the audit ID of the request, whatever the client chose", () => {
  const ids = ["3b9e3a10-6b1f-4f0c-9a86-8d3a0c2f6d11", "3B9E3A10-6B1F-4F0C-9A86-8D3A0C2F6D11", "deploy 7", ""]
  const found = ids.map((auditID) => {
    const writer = openWriter()
    record(writer)
    add(writer, write("alice", 10, { auditID }))
    return authorsIn(writer.directory)[0]?.auditID ?? ""
  })
  expect(found).toEqual(ids)
})

describe("what an object says of its writer", () => {
  const entry = (manager: string, version: number, more: JsonObject = {}): JsonObject => ({
    ...{ manager, operation: "Update", apiVersion: "v1", time: instantOf(version) },
    ...{ fieldsType: "FieldsV1", fieldsV1: { [`f:${manager}-${version}`]: {} } },
    ...more,
  })
  const state = (metadata: JsonObject): Pick<SampleEvent, "action" | "object"> => ({
    ...{ action: "applied", object: JSON.stringify({ metadata: { ...nameOf(gvk, 1), ...metadata } }) },
  })
  const creationTimestamp = instantOf(10)
  const made = { creationTimestamp, managedFields: [entry("deployer", 10)] }
  /**
   * Made in the second of version 10, written by `editor` in that of version 11, marked in that of version 12, gone.
   */
  const written = [
    state(made),
    state({ ...made, managedFields: [entry("deployer", 10), entry("editor", 11)] }),
    state({
      ...{ ...made, managedFields: [entry("deployer", 10), entry("editor", 11)] },
      ...{ deletionTimestamp: instantOf(42), deletionGracePeriodSeconds: 30 },
    }),
    { ...state(made), action: "deleted" } as const,
  ]
  const free = [state(made), { ...state(made), action: "deleted" } as const]
  const { namespace, name } = nameOf(gvk, 1)

  const authors = (lived: typeof life, writes: ReadonlyArray<AuthoredWrite>, received?: number) => {
    const writer = openWriter()
    record(writer, received, lived)
    add(writer, ...writes)
    return authorsIn(writer.directory).map((author) => author && `${author.user}${author.isInferred ? " by time" : ""}`)
  }

  /** 5 ms in the second of the version. */
  const during = (version: number) => ({ received: timeOf(version) + 100_000, completed: timeOf(version) + 105_000 })
  const request = (user: string, version: number, author: Partial<Author>, more: Partial<AuthoredWrite> = {}) =>
    write(user, 0, {
      ...{ effect: "requested", version: "", isCertain: false, object: `${namespace}/${name}` },
      ...{ ...during(version), author: authorOf(user, { fieldManager: "editor", ...author }), ...more },
    })
  const update = (user: string, version: number, author: Partial<Author> = {}) => request(user, version, author)
  const ofVersion = (user: string, author: Partial<Author>, at: number) =>
    write(user, 11, { ...during(at), isCertain: false, author: authorOf(user, { verb: "patch", ...author }) })

  test("excludes a request that changed nothing, soon after a writer whom the log does not have", () => {
    expect(authors(written, [ofVersion("alice", { fieldManager: "editor" }, 11)])[1]).toBe("alice")
    const others = [
      ofVersion("mallory", { fieldManager: "labeller" }, 11),
      ofVersion("mallory", { fieldManager: "editor", subresource: "status" }, 11),
      ofVersion("mallory", { fieldManager: "editor" }, 12),
      ofVersion("mallory", { verb: "delete" }, 11),
    ].map((each) => authors(written, [each])[1])
    expect(others).toEqual([undefined, undefined, undefined, undefined])
    const both = [
      ofVersion("mallory", { fieldManager: "labeller" }, 11),
      ofVersion("alice", { fieldManager: "editor" }, 11),
    ]
    expect(authors(written, both)[1]).toBe("alice")
  })

  test("names the user of a request of which the log has no version, and says so", () => {
    expect(authors(written, [update("alice", 11)])[1]).toBe("alice by time")
    expect(authors(written, [update("alice", 11)], timeOf(20))[1]).toBe("alice by time")
    const strangers = [
      [update("alice", 12)],
      [update("alice", 11, { fieldManager: "labeller" })],
      [update("alice", 11, { subresource: "status" })],
      [update("alice", 11), update("bob", 11)],
      [request("alice", 11, {}, { object: `${namespace}/other` })],
    ]
    for (const writes of strangers) expect(authors(written, writes)[1]).toBeUndefined()
  })

  test("names who made it by its creation", () => {
    const made = (user: string, version: number, fieldManager: string) =>
      request(user, version, { verb: "create", fieldManager }, { isCertain: true })
    expect(authors(written, [made("alice", 10, "deployer")])[0]).toBe("alice by time")
    expect(authors(written, [made("alice", 11, "deployer")])[0]).toBeUndefined()
    expect(authors(written, [made("alice", 10, "another")])[0]).toBeUndefined()
  })

  test("names who marked it: by a deletion, an eviction, or that of a namespace's objects", () => {
    const all = (isCertain: boolean) =>
      request("alice", 12, { verb: "deletecollection" }, { object: `${namespace}/`, isCertain })
    const evict = request("alice", 12, { verb: "create", subresource: "eviction" })
    for (const each of [request("alice", 12, { verb: "delete" }), evict, all(true)])
      expect(authors(written, [each])[2]).toBe("alice by time")
    expect(authors(written, [all(false)])[2]).toBeUndefined()
    expect(authors(written, [evict, request("bob", 12, { verb: "delete" })])[2]).toBeUndefined()
    expect(authors(written, [request("alice", 11, { verb: "delete" })])[2]).toBeUndefined()
  })

  test("names who ended its grace period: who removed it", () => {
    const deletionTimestamp = instantOf(11)
    const ended = (more: JsonObject) => [
      ...written.slice(0, 3),
      state({ ...made, deletionTimestamp, deletionGracePeriodSeconds: 0, ...more }),
    ]
    const removal = write("kubelet", 13, {
      effect: "removed",
      version: "",
      author: authorOf("kubelet", { verb: "delete" }),
    })
    expect(authors(ended({}), [removal])).toEqual([undefined, undefined, undefined, "kubelet by time"])
    expect(authors(ended({ finalizers: ["a/b"] }), [removal])[3]).toBeUndefined()
    const later = { received: timeOf(16), completed: timeOf(16) }
    expect(authors(ended({}), [{ ...removal, ...later }])[3]).toBeUndefined()
  })

  test("names who removed it only if a deletion had to remove it then", () => {
    const gone = (user: string, after: number) =>
      request(user, 0, { verb: "delete" }, { received: timeOf(11) + after - 5000, completed: timeOf(11) + after })
    expect(authors(free, [gone("alice", 0)])[1]).toBe("alice by time")
    expect(authors(free, [gone("alice", 0), gone("bob", second)])[1]).toBeUndefined()
    expect(authors(free, [gone("alice", second)])[1]).toBeUndefined()
    expect(authors(free, [gone("alice", 0)], timeOf(20))[1]).toBeUndefined()
    // It was marked before: a deletion may have changed nothing, while another one removed it.
    expect(authors(written, [request("alice", 13, { verb: "delete" })])[3]).toBeUndefined()
    const held = [state({ ...made, finalizers: ["a/b"] }), ...free.slice(1)]
    expect(authors(held, [gone("alice", 0)])[1]).toBeUndefined()
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

test.each([
  ["", 70],
  ["and its audit ID", 80],
])("a write %s takes few bytes", (id, most) => {
  const directory = temporaryDirectory()
  const writer = openWriter(directory)
  record(writer)
  const before = writer.retention.diskUse()
  const writes = Array.from({ length: 20_000 }, (_, index) =>
    write(`system:serviceaccount:kube-system:controller-${index % 20}`, 12, {
      ...{
        object: `uid-${index % 3000}`,
        version: String(1_000_000 + 3 * index),
        auditID: id === "" ? "" : randomUUID(),
        author: authorOf(`system:serviceaccount:kube-system:controller-${index % 20}`, {
          verb: index % 2 === 0 ? "update" : "patch",
        }),
      },
      ...{ received: START + index * 1000, completed: START + index * 1000 + 3000 },
    }),
  )
  for (let start = 0; start < writes.length; start += 400) add(writer, ...writes.slice(start, start + 400))
  writer.shrinkLog()
  const after = writer.retention.diskUse()
  const each = (after.database - before.database) / writes.length
  expect(each).toBeLessThan(most)
  expect(each).toBeGreaterThan(20)
})
