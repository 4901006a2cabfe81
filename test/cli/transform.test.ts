/** `reel transform`: what it writes and prints, its exit codes, and input that is no trace or no program. */
import { existsSync, readFileSync } from "node:fs"
import { Readable } from "node:stream"
import { zstdCompressSync, zstdDecompressSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { transformCommand } from "../../src/cli/transform.ts"
import { NdjsonWriter, openTraceFile, type TraceInput } from "../../src/trace/index.ts"
import { goldenTrace } from "../trace/recording.ts"
import { commandsIn } from "./commands-in.ts"

const { path, write, names, run: runIn } = commandsIn("reel-transform-")
const run = (argv: ReadonlyArray<string>, openInput: (path: string) => Promise<TraceInput> = openTraceFile) =>
  runIn(
    transformCommand(openInput, () => start / 1000 + 172_800_000),
    argv,
  )

const start = 1_710_000_000_000_000

/** Two Deployments, one of which changes each second. */
const ndjson = (changes = 3, hasGap = false): Uint8Array => {
  const pieces: Uint8Array[] = []
  const writer = new NdjsonWriter({
    window: { start, end: start + 1_000_000_000 },
    cut: 9,
    kinds: ["apps/v1.Deployment"],
    incomplete: [],
  })
  for (let change = 0; change < changes; change++) {
    const name = change === 1 ? "api" : "web"
    const object = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace: "shop", name, labels: { app: name } },
      spec: { replicas: change, template: { spec: { containers: [{ name: "app", image: `app:${change}` }] } } },
      status: { replicas: change },
    }
    const event = {
      type: "object",
      sequence: change + 1,
      time: start + change * 1_000_000,
      gvk: "apps/v1.Deployment",
      action: "applied",
      uid: name,
      namespace: "shop",
      name,
      resourceVersion: String(change),
      object: Buffer.from(JSON.stringify(object)),
    } as const
    writer.add(event)
    const piece = writer.take()
    if (piece !== undefined) pieces.push(piece)
  }
  if (hasGap)
    writer.add({
      ...{ type: "gap", sequence: changes + 1, time: start + 999, gvk: "v1.Pod", namespace: "", reason: "expired" },
      ...{ fromVersion: "1", toVersion: "", fromTime: start, toTime: start + 1, detail: "" },
    })
  pieces.push(writer.end())
  return Buffer.concat(pieces)
}

const program = `# Smaller, and without the API.
remove(status);
modify(@t >= 2s && metadata.labels.app == "web", spec.replicas = 10);
modify($c := spec.template.spec.containers[*] | $c.image =~ "^app:", $c.imagePullPolicy = "Never");
delete(metadata.name == "api");
modify(spec.missing = spec.nothing);
`

describe("what it prints", () => {
  test("a row for each command, on standard error, and the trace is there", async () => {
    const ran = await run([write("a.ndjson", ndjson()), write("p.skel", program), "-o", path("b.ndjson.zst")])
    expect(ran).toMatchObject({ code: exitCodes.ok, output: "" })
    expect(ran.error.replace(/\d+ B$/m, "N B")).toMatchSnapshot()
    const lines = zstdDecompressSync(readFileSync(path("b.ndjson.zst")))
      .toString()
      .trim()
      .split("\n")
    expect(lines.slice(1, -1).map((line) => JSON.parse(line).object)).toMatchObject([
      { spec: { replicas: 0, template: { spec: { containers: [{ imagePullPolicy: "Never" }] } } } },
      { spec: { replicas: 10 } },
    ])
    expect(lines.join("\n")).not.toContain('"status"')
  })

  test("of a trial, examples too, on standard output; nothing is written", async () => {
    const ran = await run([write("a.ndjson", ndjson()), write("p.skel", program), "--dry-run", "--samples", "1"])
    expect(ran).toMatchObject({ code: exitCodes.ok, error: "" })
    expect(ran.output).toMatchSnapshot()
    expect(names()).toEqual(["a.ndjson", "p.skel"])
  })

  test("the same as JSON", async () => {
    const ran = await run([
      write("a.ndjson", ndjson()),
      "-e",
      program,
      "--dry-run",
      "--samples",
      "1",
      "--report",
      "json",
    ])
    expect(JSON.parse(ran.output)).toMatchSnapshot()
  })

  test("the trace, on standard output", async () => {
    const ran = await run([write("a.ndjson", ndjson()), "-e", 'delete(metadata.name == "web");', "-o", "-"])
    expect(ran.code).toBe(exitCodes.ok)
    expect(ran.output.trim().split("\n")).toHaveLength(3)
  })
})

test("what the format cannot say is said, with the exit code of a trace that is incomplete", async () => {
  const trace = write("a.ndjson", ndjson(3, true))
  const ran = await run([trace, "-e", "remove(status);", "-o", path("b.sktrace")])
  expect(ran.code).toBe(exitCodes.incomplete)
  expect(ran.error).toContain("the trace is incomplete: it has 1 gap, which the simkube format cannot represent\n")
  expect(await run([trace, "-e", "remove(status);", "-o", path("b.ndjson")])).toMatchObject({ code: exitCodes.ok })
})

test("threads and this one make the same of a trace with many events", async () => {
  const trace = write("a.ndjson.zst", zstdCompressSync(ndjson(6000)))
  const ran = await run([
    trace,
    "-e",
    "remove(status); modify(spec.replicas > 5000, spec.replicas = 1);",
    "-o",
    path("b.ndjson"),
  ])
  expect(ran.code).toBe(exitCodes.ok)
  const objects = readFileSync(path("b.ndjson"), "utf8")
    .trim()
    .split("\n")
    .slice(1, -1)
    .map((line) => JSON.parse(line).object)
  expect(objects.map(({ spec }) => spec.replicas)).toEqual(
    Array.from({ length: 6000 }, (_, change) => (change > 5000 ? 1 : change)),
  )
})

test("a trace from a pipe becomes one of SimKube's, which has to be read twice", async () => {
  const openInput = async (): Promise<TraceInput> => ({ bytes: Readable.from([ndjson()]), size: undefined })
  const ran = await run(["-", "-e", "remove(status);", "-o", path("b.sktrace")], openInput)
  expect(ran).toMatchObject({ code: exitCodes.ok, error: expect.stringContaining("3 states of objects, 3 changed") })
})

describe("bad input", () => {
  test.each([
    [[], "missing argument: expected TRACE and PROGRAM"],
    [["a.ndjson"], "the program is missing"],
    [["a.ndjson", "p", "-e", "remove(a);", "-o", "b.ndjson"], "exclude each other"],
    [["a.ndjson", "p"], "--output OUT is required, or --dry-run"],
    [["a.ndjson", "p", "--dry-run", "-o", "b.ndjson"], "--dry-run writes nothing"],
    [["-", "-", "--dry-run"], "cannot both be standard input"],
    [["a.ndjson", "p", "q"], "unexpected argument"],
    [["a", "p", "-o", "b"], "--to FORMAT is required"],
    [["a.ndjson", "p", "-o", "b.ndjson", "--samples", "many"], "expected a number from 0 to 999"],
  ])("%j: usage", async (argv, problem) => {
    expect(await run(argv)).toMatchObject({ code: exitCodes.usage, error: expect.stringContaining(problem) })
  })

  test("a program with a fault: its name, line, column, and the line with a caret", async () => {
    const ran = await run([
      write("a.ndjson", ndjson()),
      write("p.skel", "remove(status);\nmodify(spec.replicas 3);\n"),
      "-o",
      path("b.ndjson"),
    ])
    expect(ran).toEqual({
      code: exitCodes.failed,
      output: "",
      error:
        'reel transform: FOLDER/p.skel: line 2, column 22: expected "=", "=~", "in" or a comparison, found "3"\n  modify(spec.replicas 3);\n                       ^\n',
    })
    expect(existsSync(path("b.ndjson"))).toBe(false)
  })

  test("a program that is not there", async () => {
    expect(await run([write("a.ndjson", ndjson()), path("p.skel"), "--dry-run"])).toMatchObject({
      code: exitCodes.failed,
      error: "reel transform: cannot read FOLDER/p.skel: file not found\n",
    })
  })

  test("a program without end, or a trace in its place, of which no more is read than a program may have", async () => {
    let read = 0
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      for (; ; read++) yield Buffer.alloc(64 * 1024, "#")
    }
    const openInput = async (name: string): Promise<TraceInput> =>
      name === "-" ? { bytes: endless(), size: undefined } : openTraceFile(name)
    const ran = await run([write("a.ndjson", ndjson()), "-", "--dry-run"], openInput)
    expect(ran).toMatchObject({ code: exitCodes.failed, error: expect.stringContaining("the program is longer than") })
    expect(read).toBeLessThan(100)
  })

  test("a command that cannot be carried out: the object, the moment, the command; nothing is written", async () => {
    const ran = await run([
      write("a.ndjson", ndjson()),
      "-e",
      "remove(status);\nmodify(metadata.labels.n = 3);",
      "-o",
      path("b.ndjson"),
    ])
    expect(ran.code).toBe(exitCodes.failed)
    expect(ran.error).toMatchSnapshot()
    expect(names()).toEqual(["a.ndjson"])
  })

  test("a trace that is cut anywhere: nothing is written", async () => {
    for (const [name, trace] of [
      ["a.ndjson", ndjson()],
      ["a.sktrace", goldenTrace("recording")],
    ] as const)
      for (let part = 0; part < 10; part++) {
        const cut = trace.subarray(0, Math.floor((trace.length * part) / 10))
        const ran = await run([write(name, cut), "-e", "remove(status);", "-o", path("b.ndjson"), "-f"])
        expect(ran).toMatchObject({ code: exitCodes.failed, output: "" })
        expect(existsSync(path("b.ndjson"))).toBe(false)
      }
  })

  test("an output that exists stays without --force", async () => {
    const trace = write("a.ndjson", ndjson())
    const output = write("b.ndjson", "mine")
    expect(await run([trace, "-e", "remove(status);", "-o", output])).toMatchObject({ code: exitCodes.usage })
    expect(readFileSync(output, "utf8")).toBe("mine")
    expect(await run([trace, "-e", "remove(status);", "-o", output, "-f"])).toMatchObject({ code: exitCodes.ok })
  })
})
