/** Rule 8 of docs/facts/watch-protocol.md: bytes are kept as they came, whatever their white space, and damaged ones are read again. */
import { describe, expect, test } from "vitest"
import { LineBudget } from "../../../src/kube/scanner/line-splitter.ts"
import { eventually } from "../../harness/eventually.ts"
import { holding, watchedSandboxes } from "./watched-sandbox.ts"

// A server that sends lines without end to one kind, while another kind is watched as usual.

const mebibyte = 1024 * 1024

test("a kind whose lines never end is failing with the reason, and tries again; the others notice nothing", async () => {
  const memory = LineBudget.memory()
  const budget = (slot: number): LineBudget => new LineBudget(memory, slot, 2 * mebibyte)
  const offender = await watching({ before: holding("a"), lineBudget: budget(0) })
  const other = await watching({ before: holding("b"), lineBudget: budget(1) })
  offender.sandbox.faults.garbage("configmaps", `{"type":"ADDED","object":{"data":"${"x".repeat(12 * mebibyte)}`)
  const large = other.put("b", { text: "y".repeat(mebibyte) })
  await eventually(() => expect(offender.isWaiting).toBe(true))
  await eventually(() => expect(other.notebook.events).toEqual([`applied ${large}`]))
  const reason = /bytes without the end of a line or a list item, and no memory is left for large lines of all kinds/
  expect(offender.notebook.of("state").at(-1)).toMatch(reason)
  expect(offender.notebook.state).toBe("failing")
  expect(offender.session.statistics.malformedLines).toBe(1)
  expect(new Int32Array(memory).every((taken) => taken === 0)).toBe(true)
  await offender.passes()
  await offender.isWatching()
  const change = offender.put("a")
  await offender.caughtUp()
  expect(offender.notebook.events).toEqual([`applied ${change}`])
  expect(other.notebook.of("state")).toEqual(["listing: first list", "watching: from version 1003"])
})

const { start, watching } = watchedSandboxes()

describe("rule 8", () => {
  test("rule 8: objects are delivered byte for byte", async () => {
    const watched = await watching()
    watched.put('ä\u2028-"quoted"', { text: "line\nbreak \u{1f600} \\u0041", empty: "" })
    watched.put("b")
    watched.delete("b")
    await watched.caughtUp()
    expect(watched.notebook.objects.map(({ json }) => json)).toEqual(
      watched.sandbox.ledger.of("v1.ConfigMap").map(({ json }) => json?.toString()),
    )
    // Only a name with escape sequences needs JSON.parse.
    expect(watched.session.statistics.slowLines).toBe(1)
  })

  test("rule 8: items of a list are delivered byte for byte as a watch delivers them, with kind and apiVersion", async () => {
    const watched = await watching({ before: holding("a", "b"), sandbox: { streamingList: "rejected" } })
    watched.put("c")
    await watched.caughtUp()
    expect(watched.notebook.objects.map(({ json }) => json)).toEqual(
      watched.sandbox.ledger.of("v1.ConfigMap").map(({ json }) => json?.toString()),
    )
  })

  test.each(["supported", "rejected"] as const)(
    "rule 8: a server that puts spaces everywhere is read as well (streaming lists: %s)",
    async (streamingList) => {
      const watched = await watching({ before: holding("a", "b"), sandbox: { pretty: true, streamingList } })
      watched.put("a", { key: "value" })
      watched.delete("b")
      await watched.caughtUp()
      expect(watched.notebook.events).toEqual(watched.ledger().slice(2))
      const { objects } = watched.notebook
      expect(objects.at(-2)?.json).toContain('"key": "value"')
      expect(JSON.parse(objects.at(-2)?.json ?? "")).toEqual(watched.sandbox.get("v1.ConfigMap", "default", "a"))
      expect(watched.session.statistics.slowLines).toBe(0)
    },
  )

  test.each([
    ["v1", "Secret"],
    ["apps/v1", "ConfigMap"],
    ["v1", "ConfigMapx"],
  ])("rule 8: an object that says to be %s %s is not recorded as a ConfigMap", async (apiVersion, kind) => {
    const watched = await watching({ before: holding("a") })
    const object = {
      apiVersion,
      kind,
      metadata: { name: "b", namespace: "default", uid: "u", resourceVersion: "9999" },
    }
    watched.sandbox.faults.garbage("configmaps", JSON.stringify({ type: "ADDED", object }))
    await watched.waits()
    expect(watched.notebook.of("alarm")).toEqual([
      expect.stringMatching(/^an object of another kind than v1\.ConfigMap at byte \d+$/),
    ])
    expect([watched.session.statistics.malformedLines, watched.notebook.events]).toEqual([1, []])
    await watched.passes()
    const change = watched.put("c")
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual([`applied ${change}`])
  })

  test("rule 8: a truncated line is not a line: the watch resumes before it", async () => {
    const watched = await watching({ before: holding("a") })
    for (const bytes of [1, 20, 150]) {
      watched.sandbox.faults.truncate("configmaps", bytes)
      watched.put("a", { bytes: String(bytes) })
      await watched.recovers()
      await watched.isWatching()
    }
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
    expect(watched.session.statistics.malformedLines).toBe(0)
    expect(watched.notebook.of("list started")).toEqual(["first"])
  })

  test.each([
    "{not json",
    '{"type":"ADDED","object":{"kind":"ConfigMap","metadata":{"name":"a"}}}',
    "[]",
    '{"type":"NEW"}',
  ])("rule 8: a line that cannot be read is reported, and the watch resumes before it: %s", async (line) => {
    const watched = await watching({ before: holding("a") })
    const before = watched.put("a")
    watched.sandbox.faults.garbage("configmaps", line)
    watched.put("b")
    await watched.passes()
    await watched.caughtUp()
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
    expect(watched.session.statistics.malformedLines).toBe(1)
    expect(watched.notebook.of("alarm")).toHaveLength(1)
    const resumed = watched.queries("watch").at(-1)
    expect(resumed?.get("resourceVersion")).toBe(before.split("@")[1])
    expect(watched.notebook.of("list started")).toEqual(["first"])
  })

  test("rule 8: a line that cannot be read twice at the same place is skipped with a list", async () => {
    const watched = await watching({ before: holding("a") })
    const version = watched.session.delivered
    for (let time = 1; time <= 2; time++) {
      await watched.isWatching()
      watched.sandbox.faults.garbage("configmaps", "{")
      await watched.sees(() => watched.notebook.of("alarm").length === time)
      if (time === 1) await watched.passes()
    }
    await watched.sees(() => watched.notebook.of("list completed").length === 2)
    expect(watched.notebook.of("list started")).toEqual(["first", "expired"])
    expect(watched.notebook.listDetails).toEqual([expect.stringMatching(/could not be parsed, twice/)])
    expect(watched.notebook.of("state").at(-2)).toBe(`listing: ${watched.notebook.listDetails[0]}`)
    // The server has not lost the version, so the very latest state is not required.
    const list = watched.queries("watch").at(-1)
    expect([list?.get("sendInitialEvents"), list?.get("resourceVersion")]).toEqual(["true", version])
    watched.put("b")
    await watched.caughtUp()
    expect(watched.notebook.alive).toEqual(["a", "b"])
  })

  test("rule 8: broken lines at different places never lead to a list", async () => {
    const watched = await watching({ before: holding("a") })
    for (let time = 1; time <= 4; time++) {
      watched.sandbox.faults.garbage("configmaps", "}")
      watched.put("a", { time: String(time) })
      await watched.passes()
      await watched.isWatching()
      await watched.caughtUp()
    }
    expect(watched.notebook.of("list started")).toEqual(["first"])
    expect(watched.session.statistics.malformedLines).toBe(4)
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
  })

  test("rule 8: a list that cannot be read is repeated", async () => {
    const watched = await start({
      before: (sandbox) => {
        holding("a", "b")(sandbox)
        sandbox.faults.stall("configmaps")
      },
    })
    await watched.sees(() => watched.sandbox.watchCount() === 1)
    watched.sandbox.faults.garbage("configmaps", "not json")
    watched.sandbox.faults.resume()
    await watched.sees(() => watched.notebook.of("list completed").length === 1)
    await watched.passes()
    await watched.isWatching()
    expect(watched.notebook.alive).toEqual(["a", "b"])
    expect(watched.notebook.of("list started")).toEqual(["first"])
  })
})
