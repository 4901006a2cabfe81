/** `reel diff A B`: what it prints of two traces, its exit codes, and operands that are no traces. */
import { gzipSync } from "node:zlib"
import { expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { diffCommand } from "../../src/cli/diff.ts"
import { type ObjectEvent, writeNdjson } from "../../src/trace/index.ts"
import { checkPage } from "../page/checked-page.ts"
import { goldenTrace } from "../trace/recording.ts"
import { commandsIn } from "./commands-in.ts"
import { recordStory } from "./past-recording.ts"

const { path, write: writeBytes, run: runIn } = commandsIn("reel-diff-")

/** µs since the Unix epoch: 2026-03-02T03:00:00Z. */
const start = Date.UTC(2026, 2, 2, 3) * 1000

interface Step {
  readonly seconds: number
  readonly name: string
  readonly content?: object
  readonly gvk?: string
}

const eventOf = ({ seconds, name, content, gvk = "apps/v1.Deployment" }: Step, index: number): ObjectEvent => ({
  ...{ type: "object", sequence: index + 1, time: start + seconds * 1_000_000, gvk, namespace: "shop", name },
  ...{ action: content === undefined ? "deleted" : "applied", uid: `uid-${name}`, resourceVersion: String(index) },
  object: Buffer.from(JSON.stringify({ metadata: { name, namespace: "shop", uid: `uid-${name}` }, ...content })),
})

const write = (
  file: string,
  steps: ReadonlyArray<Step>,
  incomplete: ReadonlyArray<{ gvk: string; state: string }> = [],
) => {
  const header = { window: { start, end: start + 600_000_000 }, cut: 100, kinds: ["apps/v1.Deployment"], incomplete }
  const bytes = Buffer.concat([...writeNdjson(header, [], steps.map(eventOf))].map((chunk) => Buffer.from(chunk)))
  return writeBytes(file, file.endsWith(".gz") ? gzipSync(bytes) : bytes)
}

const run = (...argv: ReadonlyArray<string>) => runIn(diffCommand(), argv)

const first: ReadonlyArray<Step> = [
  { seconds: 1, name: "web", content: { spec: { replicas: 1 } } },
  { seconds: 2, name: "old", content: { spec: { replicas: 1 } } },
  { seconds: 3, name: "api", content: { spec: { replicas: 1 } } },
  { seconds: 10, name: "web", content: { spec: { replicas: 2 } } },
]
const second: ReadonlyArray<Step> = [
  { seconds: 1, name: "web", content: { spec: { replicas: 1 } } },
  { seconds: 2, name: "<new>", content: { spec: { replicas: 1 } } },
  { seconds: 8, name: "api", content: { spec: { replicas: 1 } } },
  { seconds: 12, name: "web", content: { spec: { replicas: 3 } } },
]

test("what differs is told in lines: objects, states, changes and times", async () => {
  const [a, b] = [write("a.ndjson", first), write("b.ndjson.gz", second)]
  const { code, output, error } = await run(a, b)
  expect(output).toBe(`A  FOLDER/a.ndjson: 3 objects, 4 changes, from 2026-03-02T03:00:00Z
B  FOLDER/b.ndjson.gz: 3 objects, 4 changes, from 2026-03-02T03:00:00Z

1 object only in A:
  - apps/v1.Deployment shop/old

1 object only in B:
  + apps/v1.Deployment shop/<new>

1 object different at the end:
  apps/v1.Deployment shop/web
      spec.replicas: 2 → 3

1 object changed in only one trace:
  apps/v1.Deployment shop/web: 1 in A only (+10 s), 1 in B only (+12 s)

2 changes in both, of which 1 later in B and 0 earlier; by how much: median 0 s, 90 % 5 s, 99 % 5 s, largest 5 s
  5 s later in B: apps/v1.Deployment shop/api at +3 s
`)
  expect([code, error]).toEqual([exitCodes.ok, ""])
})

test("as JSON it is one document, and --exit-code tells that there is a difference", async () => {
  const [a, b] = [write("a.ndjson", first), write("b.ndjson", second)]
  const { code, output } = await run(a, b, "-o", "json", "--exit-code", "--tolerance", "10s")
  expect(code).toBe(exitCodes.failed)
  expect(JSON.parse(output)).toMatchObject({
    ...{ version: 1, isSame: false, a: { objects: 3, changes: 4, start }, b: { objects: 3 } },
    onlyInA: [{ gvk: "apps/v1.Deployment", namespace: "shop", name: "old" }],
    onlyInB: [{ name: "<new>" }],
    changed: [{ name: "web", type: "changed", differences: [{ path: "spec.replicas", a: 2, b: 3 }] }],
    changes: [{ name: "web", onlyInA: [10_000_000], onlyInB: [12_000_000] }],
    times: { pairs: 2, later: 0, maximum: 5_000_000, largest: [] },
  })
})

test("as HTML it is one page that loads nothing, in which names are text", async () => {
  const [a, b] = [write("a.ndjson", first), write("b.ndjson", second)]
  const { output } = await run(a, b, "--output", "html")
  expect(checkPage(output)).toMatchObject({
    type: "document",
    document: {
      blocks: expect.arrayContaining([
        { type: "heading", text: "1 object only in A" },
        expect.objectContaining({ rows: [["apps/v1.Deployment shop/<new>"]] }),
        expect.objectContaining({
          rows: [["apps/v1.Deployment shop/web", ["", { path: "spec.replicas", before: "2", after: "3" }]]],
        }),
      ]),
    },
  })
})

test("Kubernetes Events are named with what they say, in lines, in JSON and on the page", async () => {
  const content = {
    ...{ type: "Warning", reason: "BackOff", message: "Back-off restarting" },
    ...{ involvedObject: { kind: "Pod", name: "web-0" }, source: { component: "kubelet" } },
  }
  const paths = [write("a.ndjson", [{ seconds: 1, name: "web-0.17", gvk: "v1.Event", content }]), write("b.ndjson", [])]
  const says = "Warning BackOff of Pod web-0: Back-off restarting (kubelet)"
  expect((await run(...paths)).output).toContain(`  - v1.Event shop/web-0.17 (${says})\n`)
  expect(JSON.parse((await run(...paths, "-o", "json")).output)).toMatchObject({ onlyInA: [{ says }] })
  expect(JSON.stringify(checkPage((await run(...paths, "-o", "html")).output))).toContain(says)
})

test("equal traces are said to be, whatever their format", async () => {
  const golden = writeBytes("golden.sktrace", goldenTrace("recording"))
  const { code, output, error } = await run(golden, golden, "--exit-code")
  expect([code, error]).toEqual([exitCodes.ok, "reel diff: nothing differs\n"])
  expect(output).toMatch(/0 later in B and 0 earlier.*largest 0 s\n$/)
})

test("kinds and a namespace are chosen, and --all-fields compares what a replay would not", async () => {
  const pod = { seconds: 4, name: "pod", gvk: "v1.Pod", content: { status: { phase: "Running" } } }
  const [a, b] = [
    write("a.ndjson", [...first, pod]),
    write("b.ndjson", [...first, { ...pod, content: { status: { phase: "Failed" } } }]),
  ]
  expect((await run(a, b)).error).toBe("reel diff: nothing differs\n")
  expect((await run(a, b, "--all-fields")).output).toContain('status.phase: "Running" → "Failed"')
  expect((await run(a, b, "--all-fields", "-k", "deploy")).error).toContain("nothing differs")
  expect((await run(a, b, "--all-fields", "--except", "pods,v1.Event")).error).toContain("nothing differs")
  expect((await run(a, b, "-n", "elsewhere")).output).toContain("A  FOLDER/a.ndjson: 0 objects")
})

test("a trace that lacks something is named, with exit code 3", async () => {
  const a = write("a.ndjson", first, [{ gvk: "apps/v1.Deployment", state: "forbidden" }])
  const { code, error } = await run(a, a)
  expect(code).toBe(exitCodes.incomplete)
  expect(error).toContain("incomplete: of apps/v1.Deployment, FOLDER/a.ndjson lacks what was not recorded: forbidden")
})

test("what is no trace, is damaged or cannot be read twice is an error that names it", async () => {
  const a = write("a.ndjson", first)
  const whole = Buffer.concat([...writeNdjson({ cut: 1, kinds: [], incomplete: [] }, [], first.map(eventOf))])
  for (const [words, said] of [
    [[a, path("missing")], "FOLDER/missing: file not found"],
    [[a, path(".")], "it is a directory"],
    [[a, writeBytes("text", "hello")], "FOLDER/text: "],
    [[writeBytes("cut.ndjson", whole.subarray(0, -40)), a], "FOLDER/cut.ndjson: "],
    [["/dev/null", a], "/dev/null is no file"],
  ] as const)
    expect(await run(...words)).toEqual({ code: exitCodes.failed, output: "", error: expect.stringContaining(said) })
})

test.each([
  [["a"], "name two moments with --at TIME..TIME, or two traces"],
  [["a", "b", "c"], "or two traces"],
  [["a", "b", "--data-dir", "x"], "--data-dir: needs --at"],
  [["a", "b", "-l", "app=web"], "--selector: needs --at"],
  [["a", "b", "-k", "nonsenses"], "--kind: "],
  [["a", "b", "--except", "nonsenses"], "--except: "],
  [["a", "b", "--tolerance", "soon"], "must be a duration"],
])("the command line %j is refused", async (argv, problem) => {
  const { code, error } = await run(...argv)
  expect([code, error]).toEqual([exitCodes.usage, expect.stringContaining(problem)])
})

test("what is for traces only is refused with --at", async () => {
  const recording = path("recording")
  recordStory(recording)
  const html = await run("--at", "0..now", "-o", "html", "--data-dir", recording)
  expect([html.code, html.error]).toEqual([exitCodes.usage, expect.stringContaining("html is for two traces")])
  expect((await run("--at", "0..now", "--exit-code", "--data-dir", recording)).error).toContain("are for two traces")
})
