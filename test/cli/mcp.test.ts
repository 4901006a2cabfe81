/** `reel mcp`, asked by the SDK's own client, and as a process by lines. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { exportCommand } from "../../src/cli/export.ts"
import { mcpCommand } from "../../src/cli/mcp.ts"
import { inTimeZone } from "../harness/time-zone.ts"
import { startWebServer } from "../kube/http/web-server.ts"
import { ran } from "./commands-in.ts"
import { Assistant } from "./mcp/assistant.ts"
import { recordStory } from "./past-recording.ts"

inTimeZone("UTC")

let place: string
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), "kubereel-mcp-"))
  recordStory(join(place, "one"))
  recordStory(join(place, "another"), { hasGap: true })
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

let assistant: Assistant
beforeEach(async () => {
  assistant = await Assistant.connected(["--data-dir", join(place, "one")])
})
afterEach(() => assistant[Symbol.asyncDispose]())

test("the tools are listed, none of which changes anything", async () => {
  const { client } = assistant
  const { tools } = await client.listTools()
  expect(tools).toMatchSnapshot()
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true)
  expect(client.getServerVersion()?.name).toBe("kubereel")
  expect(client.getInstructions()).toContain("isComplete")
  expect(client.getInstructions()).toContain("a time of day of UTC")
})

test("get_objects has kubectl's columns, whole objects, names, and values at a path", async () => {
  const table = await assistant.call("get_objects", { kind: "pods", at: "2026-03-02T03:00:05Z" })
  expect(table).toEqual({
    isComplete: true,
    items: [
      {
        ...{ namespace: "shop", name: "web-1-a", ready: "0/0", status: "CrashLoopBackOff" },
        ...{ restarts: "1 (0s ago)", age: "5s" },
      },
    ],
  })
  const { items } = await assistant.call("get_objects", { kind: "deploy", name: "web" })
  expect(items).toMatchObject([
    { changed: "2026-03-02T03:10:00Z", object: { kind: "Deployment", spec: { replicas: 3 } } },
  ])
  expect(JSON.stringify(items)).not.toContain("managedFields")
  const names = await assistant.call("get_objects", { kind: "deploy,rs", output: "name" })
  expect(names.items.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    ...["apps/v1.Deployment api", "apps/v1.Deployment web", "apps/v1.ReplicaSet web-1"],
  ])
  const values = await assistant.call("get_objects", { kind: "deploy", labels: "app=web", field: "spec.replicas" })
  expect(values.items.map((item) => item.values)).toEqual([[2], [3]])
})

test("object_history has every change, with owned objects if they are wanted", async () => {
  const history = await assistant.call("object_history", { kind: "deploy", name: "web", field: "spec.replicas" })
  expect(history.items).toMatchObject([
    { type: "created", time: "2026-03-02T03:00:01Z", by: ["kubectl"] },
    { type: "changed", by: ["kubectl-edit"], differences: [{ path: "spec.replicas", before: 1, after: 3 }] },
  ])
  const owned = await assistant.call("object_history", {
    kind: "deploy",
    name: "web",
    namespace: "shop",
    with_owned: true,
  })
  expect(new Set(owned.items.map(({ kind }) => kind))).toEqual(
    new Set(["apps/v1.Deployment", "apps/v1.ReplicaSet", "v1.Pod", "v1.Event"]),
  )
})

test("events has what changed in a stretch, which times count back from the end of a directory", async () => {
  const { items } = await assistant.call("events", { since: "3m" })
  expect(items.map(({ type, name }) => `${type} ${name}`)).toEqual([
    ...["changed web", "appeared api", "deleted api", "appeared api", "deleted web-1-a"],
  ])
  expect((await assistant.call("events", { since: "0", kind: "rs" })).items).toHaveLength(1)
  const taken = await assistant.call("events", { since: "03:11" })
  expect([taken.items.length, taken.notes]).toEqual([1, ["since 03:11 means 2026-03-02T03:11:00Z"]])
})

test("differences has what two moments differ in", async () => {
  const { items } = await assistant.call("differences", { at: "2026-03-02T03:05:00Z..now", namespace: "shop" })
  expect(items.map(({ type, name }) => `${type} ${name}`).sort()).toEqual([
    "changed web",
    "created api",
    "deleted web-1-a",
  ])
})

test("why tells what became of a Pod", async () => {
  const { items } = await assistant.call("why", { kind: "pod", name: "web-1-a" })
  expect(items.join("\n")).toMatch(/scheduled to node node-1[\s\S]*exit code 137: OOMKilled[\s\S]*is deleted/)
  expect(items[0]).toMatch(/^2026-03-02T03:00:01Z {2}/)
})

test("coverage and kinds say what is recorded", async () => {
  const whole = await assistant.call("coverage", {})
  expect(whole.isComplete).toBe(true)
  expect(whole.items.find(({ kind }) => kind === "v1.Pod")).toMatchObject({ events: 4, isComplete: true })
  const { items } = await assistant.call("kinds", {})
  expect(items.map(({ kind, until }) => `${kind} ${until}`)).toContain("v1.Pod 2026-03-02T03:12:00Z")
})

test("the pages of an answer are the whole answer, and a continuation fits its question only", async () => {
  const whole = await assistant.call("events", { since: "0" })
  const items: object[] = []
  let next: string | undefined
  do {
    const page = await assistant.call("events", { since: "0", limit: 5, continue: next })
    expect(page.isComplete).toBe(true)
    expect((page.further ?? 0) + items.length + page.items.length).toBe(whole.items.length)
    items.push(...page.items)
    next = page.continue
  } while (next !== undefined)
  expect(items).toEqual(whole.items)

  const first = await assistant.call("get_objects", { kind: "deploy,rs", output: "name", limit: 2 })
  const second = await assistant.call("get_objects", {
    kind: "deploy,rs",
    output: "name",
    limit: 2,
    continue: first.continue,
  })
  expect([...first.items, ...second.items].map(({ name }) => name)).toEqual(["api", "web", "web-1"])
  expect(second.continue).toBeUndefined()
  expect(await assistant.refusal("events", { continue: first.continue })).toMatch(/of another question/)
  expect(await assistant.refusal("events", { continue: "nonsense" })).toMatch(/leave it out/)
})

test("what is wrong with a question is a tool error that says it", async () => {
  expect(await assistant.refusal("get_objects", {})).toMatch(/^kind is required/)
  expect(await assistant.refusal("get_objects", { kind: "nonsenses" })).toMatch(
    /nonsenses.*Recorded are apps\/v1\.Deployment/s,
  )
  expect(await assistant.refusal("get_objects", { kind: "pods", at: "whenever" })).toMatch(
    /^at "whenever": must be a time/,
  )
  expect(await assistant.refusal("get_objects", { kind: "pods", labels: "a in" })).toMatch(/labels|selector/)
  expect(await assistant.refusal("object_history", { kind: "deploy", name: "web", field: "a..b" })).toMatch(/no path/)
  expect(await assistant.refusal("differences", { at: "now..-1h" })).toMatch(/ends before it begins/)
  expect(await assistant.refusal("events", { sinse: "1h" })).toMatch(/did you mean since\?/)
  await expect(assistant.client.callTool({ name: "evnts", arguments: {} })).rejects.toThrow(/did you mean events\?/)
})

test("an object that was never there is said to be so", async () => {
  const { notes, isComplete, items } = await assistant.call("object_history", { kind: "deploy", name: "wbe" })
  expect([isComplete, items, notes]).toEqual([
    true,
    [],
    ["there are no changes of apps/v1.Deployment wbe in that time"],
  ])
  const { notes: more } = await assistant.call("get_objects", { kind: "deploy,pods", name: "wbe" })
  expect(more).toEqual(["there was no apps/v1.Deployment or v1.Pod wbe at that moment"])
})

test("an empty answer says whether that proves anything", async () => {
  expect(await assistant.call("get_objects", { kind: "pods", namespace: "elsewhere" })).toEqual({
    isComplete: true,
    items: [],
  })
  expect(await assistant.call("get_objects", { kind: "secrets" })).toEqual({
    ...{ isComplete: false, items: [] },
    unrecorded: [{ gvk: "v1.Secret", namespace: "", why: "never", time: 0 }],
  })
  const before = await assistant.call("get_objects", { kind: "deploy", at: "2026-03-02T02:00:00Z" })
  expect(before.unrecorded).toMatchObject([{ why: "before", time: "2026-03-02T03:00:00Z" }])
  const why = await assistant.call("why", { kind: "pod", name: "nothing" })
  expect([why.items, why.notes]).toEqual([[], [expect.stringContaining("no changes of v1.Pod nothing")]])
})

test("gaps are in the answer, several recordings are one past, and a trace is asked as a directory is", async () => {
  const trace = join(place, "day.ndjson")
  const argv = ["--data-dir", join(place, "one"), "--start", "0", "--output", trace, "--format", "ndjson"]
  expect((await ran(exportCommand(), argv)).code).toBe(exitCodes.ok)
  await using damaged = await Assistant.connected(["--data-dir", join(place, "another")])
  await using both = await Assistant.connected(["--data-dir", join(place, "another"), "--trace", trace])
  const gap = await damaged.call("events", { since: "0", kind: "rs" })
  expect([gap.isComplete, gap.gaps]).toEqual([false, [expect.objectContaining({ gvk: "apps/v1.ReplicaSet" })]])
  expect((await damaged.call("coverage", {})).isComplete).toBe(false)
  const alone = await assistant.call("events", { since: "0" })
  expect((await both.call("events", { since: "0" })).items.length).toBe(alone.items.length)
  expect(await both.refusal("differences", { at: "-1h..now" })).toMatch(/several/)
})

test("a token that changes is presented, a refusal is a tool error, and a cancelled call lets go of the recorder", async () => {
  // What stands for a recorder refuses those without the token, and leaves others waiting.
  const { promise: asked, resolve: note } = Promise.withResolvers<{ readonly closed: Promise<unknown> }>()
  await using server = await startWebServer((request, response) => {
    if (request.headers.authorization === "Bearer right") return note({ closed: once(response, "close") })
    response.writeHead(401, { "content-type": "text/plain" }).end("no such token")
  })
  const token = join(place, "token")
  writeFileSync(token, "wrong")
  const words = ["--server", `http://127.0.0.1:${server.port}`, "--token-file", token]
  await using reader = await Assistant.connected(words)
  expect(await reader.refusal("kinds")).toMatch(/rejected the question with status 401: no such token/)
  writeFileSync(token, "right")
  const abort = new AbortController()
  const cancelled = reader.client.callTool({ name: "kinds", arguments: {} }, undefined, { signal: abort.signal })
  const { closed } = await asked
  abort.abort()
  await expect(cancelled).rejects.toThrow()
  await closed
  expect((await reader.client.listTools()).tools).not.toEqual([])
})

test("an answer that has no end is left after 50,000 further items, and says that it was", async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  await using server = await startWebServer((_, response) => {
    response.writeHead(200, { "content-type": "application/x-ndjson" }).on("close", resolve)
    const change = { type: "changed", gvk: "v1.Pod", namespace: "shop", name: "web", uid: "u", time: 1, sequence: 1 }
    const lines = `${JSON.stringify(change)}\n`.repeat(1000)
    const write = (): void => {
      while (response.write(lines));
    }
    response.on("drain", write)
    write()
  })
  await using reader = await Assistant.connected(["--server", `http://127.0.0.1:${server.port}`])
  const answer = await reader.call("events", { limit: 2 })
  expect(answer).toMatchObject({
    isComplete: null,
    furtherAtLeast: 50_000,
    notes: [expect.stringMatching(/not known/)],
  })
  expect(answer.items).toHaveLength(2)
  await closed
})

test("a directory that has no recording is a tool error, and places that contradict each other a usage error", async () => {
  const words = ["--data-dir", join(place, "nowhere")]
  await using nowhere = await Assistant.connected(words)
  expect(await nowhere.refusal("kinds")).toContain(join(place, "nowhere"))
  const { code } = await ran(mcpCommand(), [...words, "--server", "http://127.0.0.1:1"])
  expect(code).toBe(exitCodes.usage)
})

const bin = fileURLToPath(new URL("../../bin/reel.js", import.meta.url))
const started = () =>
  spawn(process.execPath, [bin, "mcp", "--data-dir", join(place, "one")], {
    env: { PATH: process.env.PATH ?? "", TMPDIR: tmpdir() },
  })
const initialise = {
  ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
}

test("what is no message is passed over, and what was asked before the input ended is answered", async () => {
  const child = started()
  const errors: Buffer[] = []
  child.stderr.on("data", (piece: Buffer) => errors.push(piece))
  const answers: unknown[] = []
  createInterface({ input: child.stdout }).on("line", (line) => answers.push(JSON.parse(line)))
  const lines = [
    "garbage",
    '{"jsonrpc":"2.0"}',
    "\u0000\u00ff",
    JSON.stringify(initialise),
    JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "kinds", arguments: { limit: 1 } } }),
  ]
  child.stdin.end(`${lines.join("\n")}\n`)
  const [code] = await once(child, "close")
  expect(code).toBe(exitCodes.ok)
  expect(answers).toMatchObject([{ id: 1 }, { id: 2, result: { content: [{ type: "text" }] } }])
  expect(Buffer.concat(errors).toString()).toMatch(/^(?:reel mcp: what came is no message of the protocol: .*\n){3}$/)
})

test("if nothing reads the answers, the process ends", async () => {
  const child = started()
  child.stdout.destroy()
  for (const id of [1, 2, 3]) child.stdin.write(`${JSON.stringify({ ...initialise, id })}\n`)
  child.stdin.on("error", () => undefined)
  expect((await once(child, "close"))[0]).toBe(exitCodes.failed)
})
