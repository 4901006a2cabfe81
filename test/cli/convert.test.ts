/** `reel convert`: the arguments, the files, the messages, and what remains after a failure. */

import { readFileSync, rmSync } from "node:fs"
import { gunzipSync, zstdCompressSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { type ConvertSurroundings, convertCommand } from "../../src/cli/convert.ts"
import { memorySpool, openEncoder, openTraceFile, type TraceInput, type TraceItem } from "../../src/trace/index.ts"
import { CollectorClock, startCollector } from "../trace/files/collector.ts"
import { goldenTrace } from "../trace/recording.ts"
import { encoded, event, header } from "../trace/views/items.ts"
import { tracedIn } from "../trace/views/otlp/traced.ts"
import { drawingOf } from "../trace/views/perfetto/drawing.ts"
import { type CapturedTerminal, capturedTerminal } from "./captured-terminal.ts"
import { commandsIn } from "./commands-in.ts"

const { path, write, names, run } = commandsIn("reel-convert-")

const convert = (
  argv: ReadonlyArray<string>,
  changes: Partial<ConvertSurroundings> = {},
  terminal: CapturedTerminal = capturedTerminal(),
) => run(convertCommand({ openInput: openTraceFile, now: () => 0, ...changes }), argv, terminal)

/** A pipe that has these pieces. */
const piped = (...pieces: ReadonlyArray<Uint8Array>): TraceInput => ({
  bytes: (async function* () {
    yield* pieces
  })(),
  size: undefined,
})

const trace = goldenTrace("recording")

describe("reel convert", () => {
  test("chooses formats by file name, and returns to the same bytes through any of them", async () => {
    write("a.sktrace", trace)
    for (const middle of ["b.ndjson", "b.ndjson.zst", "b.jsonl.gz"]) {
      const there = await convert([path("a.sktrace"), path(middle)])
      expect(there).toMatchObject({ code: exitCodes.ok })
      expect(there.error).toMatch(new RegExp(`^FOLDER/${middle}: 11 events, .*, simkube to ndjson\n$`))
      expect((await convert([path(middle), path(`${middle}.sktrace`)])).code).toBe(exitCodes.ok)
      expect(Buffer.compare(readFileSync(path(`${middle}.sktrace`)), trace)).toBe(0)
    }
    expect(names().filter((name) => name.includes("partial"))).toEqual([])
  })

  test("compresses by the name of OUT, and reads compressed traces with any name", async () => {
    write("a.sktrace", zstdCompressSync(trace))
    expect((await convert([path("a.sktrace"), path("b.yaml.gz")])).code).toBe(exitCodes.ok)
    expect(gunzipSync(readFileSync(path("b.yaml.gz"))).toString()).toContain("kind: ResourcePatch")
  })

  test("recognises a trace by its first bytes if its name is not conclusive", async () => {
    write("trace.out", trace)
    const { code, output } = await convert([path("trace.out"), "-", "--to", "ndjson"])
    expect(code).toBe(exitCodes.ok)
    expect(output.split("\n")[0]).toContain('"format":"kubereel"')
  })

  test("reads standard input and writes standard output", async () => {
    const openInput = async (name: string) => {
      expect(name).toBe("-")
      return piped(trace.subarray(0, 10), trace.subarray(10))
    }
    const terminal = capturedTerminal()
    expect((await convert(["-", "-", "--to", "simkube"], { openInput }, terminal)).error).toMatch(/^standard output: /)
    expect(terminal.standardOutput.text()).toBe(Buffer.from(trace).toString("utf8"))
  })

  test.each(["out.ndjson", "out.sktrace", "out.yaml", "out.pftrace", "out.parquet", "out.otlp.json", "out.html"])(
    "a bad trace for %s: offset and reason, exit code 1, no file",
    async (out) => {
      for (const [name, bytes, reason] of [
        [
          "cut.sktrace",
          trace.subarray(0, 5000),
          /^reel convert: .*cut\.sktrace: not a readable simkube trace: byte \d+: truncated: /,
        ],
        [
          "bad.sktrace",
          Buffer.concat([trace.subarray(0, 40), Buffer.from([0xc1]), trace.subarray(41)]),
          /byte \d+: malformed/,
        ],
        ["bad.ndjson", Buffer.from('{"format":"kubereel"}\n'), /byte 0: line 1: version undefined/],
        [
          "odd.ndjson",
          Buffer.from('{"format":"kubereel","version":[{}]}\n'),
          /byte 0: line 1: a version that is no integer, expected 1/,
        ],
        ["old.sktrace", Buffer.from([0x94, 0x80]), /byte 0: version: version 1, which SimKube up to 1\.1\.1 wrote/],
        ["bad.yaml", Buffer.from("a: 1\n---\nb: [\n"), /byte 0: a document without apiVersion or kind/],
        ["cut.zst", zstdCompressSync(trace).subarray(0, 200), /zstd data is damaged/],
        ["empty", Buffer.alloc(0), /byte 0: the trace is empty/],
        [
          "text",
          Buffer.from("hello\n"),
          /byte 0: not in a known trace format; if it is a trace, name its format with --from/,
        ],
      ] as const) {
        write(name, bytes)
        const { code, error } = await convert([path(name), path(out)])
        expect({ name, code }).toEqual({ name, code: exitCodes.failed })
        expect(error).toMatch(reason)
        expect(error.trimEnd().split("\n")).toHaveLength(1)
        expect(names().filter((left) => left.startsWith("out") || left.includes("partial"))).toEqual([])
      }
    },
  )

  test.each([
    [
      "an integer of 400 digits",
      `apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {priority: ${"9".repeat(400)}}\n`,
    ],
    ["control sequences of a terminal", "apiVersion: v1\nkind: Pod\nmetadata: {name: *\u001b[31mred\u0007}\n"],
  ])("a kwok recording with %s is refused in one printable line", async (_, yaml) => {
    write("a.yaml", yaml)
    const { code, error } = await convert([path("a.yaml"), path("out.ndjson")])
    expect(code).toBe(exitCodes.failed)
    expect(error).toMatch(/^reel convert: [\P{Cc}]+\n$/u)
  })

  describe("a view, which nothing reads back", () => {
    test("is chosen by the name of OUT or with --to, compressed or not, and read from a pipe in one pass", async () => {
      write("a.sktrace", trace)
      for (const name of ["b.pftrace", "b.PERFETTO-TRACE", "b.pftrace.gz"]) {
        const { code, error } = await convert([path("a.sktrace"), path(name)])
        expect(code).toBe(exitCodes.ok)
        expect(error).toMatch(/: 11 events, .*, simkube to perfetto\n$/)
      }
      const bytes = readFileSync(path("b.pftrace"))
      expect(gunzipSync(readFileSync(path("b.pftrace.gz"))).equals(bytes)).toBe(true)
      expect(drawingOf(bytes).lanes.size).toBeGreaterThan(5)
      let opened = 0
      const openInput = async () => {
        opened++
        return piped(trace)
      }
      expect((await convert(["-", path("c"), "--to", "perfetto"], { openInput })).code).toBe(exitCodes.ok)
      expect(readFileSync(path("c")).equals(bytes)).toBe(true)
      expect(opened).toBe(1)
    })

    test("that cannot represent gaps says so with exit code 3, one that can does not", async () => {
      const gap = {
        ...{ sequence: 1, time: 2_000_000, action: "gap", gvk: "v1.Pod", namespace: "" },
        ...{ fromVersion: "1", toVersion: "2" },
        ...{ fromTime: 1_000_000, toTime: 2_000_000, reason: "expired", detail: "" },
      }
      const head =
        '{"format":"kubereel","version":1,"window":{"start":1,"end":9000000},"cut":2,"kinds":["v1.Pod"],"incomplete":[]}'
      write("a.ndjson", `${head}\n${JSON.stringify(gap)}\n{"end":{"snapshot":0,"events":0,"gaps":1}}\n`)
      expect((await convert([path("a.ndjson"), path("b.pftrace")])).code).toBe(exitCodes.ok)
      expect(await convert([path("a.ndjson"), path("b.parquet")])).toMatchObject({
        code: exitCodes.incomplete,
        error: expect.stringContaining("1 gap, which the parquet format cannot represent"),
      })
      expect(names()).toContain("b.parquet")
    })

    test("is not written to a terminal, and is no input", async () => {
      const terminal = capturedTerminal({ output: { isTTY: true } })
      write("a.sktrace", trace)
      const refused = await convert([path("a.sktrace"), "-", "--to", "perfetto"], {}, terminal)
      expect(refused).toMatchObject({
        code: exitCodes.usage,
        error: expect.stringContaining("the perfetto format is binary"),
      })
      expect((await convert([path("a.sktrace"), path("b.pftrace")])).code).toBe(exitCodes.ok)
      const back = await convert([path("b.pftrace"), path("c.ndjson")])
      expect(back).toMatchObject({
        code: exitCodes.failed,
        error: expect.stringContaining("not in a known trace format"),
      })
      expect((await convert([path("a.sktrace"), path("c"), "--from", "perfetto"])).code).toBe(exitCodes.usage)
    })
  })

  describe("a recorder's NDJSON, which is read twice for a replay format", () => {
    const reference = '{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"d"}'
    const status = '{"containerStatuses":[{"state":{"running":{"startedAt":"1970-01-01T00:00:05Z"}}}]}'
    const lines = [
      '{"format":"kubereel","version":1,"window":{"start":1,"end":9000000},"cut":2,"kinds":["v1.Pod","apps/v1.Deployment"],"incomplete":[]}',
      `{"sequence":1,"time":1000000,"action":"applied","gvk":"v1.Pod","uid":"p","namespace":"a","name":"web-1","resourceVersion":"1","object":{"metadata":{"name":"web-1","namespace":"a","uid":"p","ownerReferences":[${reference}]},"spec":{"containers":[]},"status":${status}}}`,
      '{"sequence":2,"time":2000000,"action":"applied","gvk":"apps/v1.Deployment","uid":"d","namespace":"a","name":"web","resourceVersion":"1","object":{"metadata":{"name":"web","namespace":"a","uid":"d"},"spec":{}}}',
      '{"end":{"snapshot":0,"events":2,"gaps":0}}',
    ]
    const ndjson = Buffer.from(`${lines.join("\n")}\n`)

    test("has lifecycles and owners that come later in the input, both from a file and from a pipe", async () => {
      write("a.ndjson", ndjson)
      expect((await convert([path("a.ndjson"), path("b.sktrace")])).code).toBe(exitCodes.ok)
      const back = await convert([path("b.sktrace"), "-", "--to", "ndjson"])
      expect(back.output).toContain('"ownerReferences":[{')
      expect(back.output).toMatch(
        /"lifecycles":\{"gvk":"apps\/v1\.Deployment","owner":"a\/web".*"state":"running","start":5/,
      )
      for (const bytes of [ndjson, zstdCompressSync(ndjson)]) {
        const starts = Array.from({ length: Math.ceil(bytes.length / 100) }, (_, index) => index * 100)
        const openInput = async () => piped(...starts.map((at) => bytes.subarray(at, at + 100)))
        expect((await convert(["-", path("c.sktrace"), "-f"], { openInput })).code).toBe(exitCodes.ok)
        expect(Buffer.compare(readFileSync(path("c.sktrace")), readFileSync(path("b.sktrace")))).toBe(0)
      }
    })

    test("with a kind of any name is reported in lines that can be read", async () => {
      for (const kind of ["y".repeat(70_000), String.raw`\u001b[31mred`]) {
        write("a.ndjson", ndjson.toString().replace('"gvk":"v1.Pod"', `"gvk":"${kind}"`))
        const { code, error } = await convert([path("a.ndjson"), path("b.sktrace"), "-f"])
        expect(code).toBe(exitCodes.ok)
        expect(error).toContain("the simkube format cannot represent")
        expect(error.length).toBeLessThan(1000)
        expect(error).toMatch(/^[\P{Cc}\n]+$/u)
      }
    })

    test("without the objects that its objects own still has their lifecycles, and in NDJSON only the owners", async () => {
      write("a.ndjson", ndjson)
      const owned = ["--owned", "exclude"]
      const { code, error } = await convert([path("a.ndjson"), path("b.sktrace"), ...owned])
      expect({ code, error }).toEqual({
        code: exitCodes.ok,
        error: expect.stringMatching(/b\.sktrace: 1 event, .*, ndjson to simkube\n$/),
      })
      const back = await convert([path("b.sktrace"), "-", "--to", "ndjson"])
      expect(back.output).toContain('"name":"web"')
      expect(back.output).not.toContain("web-1")
      expect(back.output).toMatch(/"lifecycles":\{"gvk":"apps\/v1\.Deployment","owner":"a\/web"/)
      const { output } = await convert([path("a.ndjson"), "-", "--to", "ndjson", ...owned])
      expect(output.split("\n").filter((line) => line.includes('"action"'))).toEqual([lines[2]])
    })

    test("with unknown owners cannot leave out owned objects", async () => {
      write("a.sktrace", trace)
      expect(await convert([path("a.sktrace"), path("b.yaml"), "--owned", "exclude"])).toEqual({
        code: exitCodes.failed,
        output: "",
        error:
          "reel convert: FOLDER/a.sktrace: its owner references have no UIDs, so owned objects cannot be recognised (--owned exclude). Exclude them when exporting: reel export --owned exclude. Nothing was written\n",
      })
      expect(names()).toEqual(["a.sktrace"])
    })

    test("that was sanitised for replay has UIDs, but not in references, so it cannot leave out owned objects", async () => {
      const header = (lines[0] as string).replace(/}$/, ',"sanitised":{"for":"replay","removed":[]}}')
      const replayed = [header, ...lines.slice(1)].join("\n").replace(',"uid":"d"}]', "}]")
      write("a.ndjson", `${replayed}\n`)
      expect(await convert([path("a.ndjson"), path("b.ndjson"), "--owned", "exclude"])).toMatchObject({
        code: exitCodes.failed,
        error: expect.stringMatching(/its owner references have no UIDs.*reel export --owned exclude/),
      })
      expect((await convert([path("a.ndjson"), path("b.ndjson")])).code).toBe(exitCodes.ok)
    })

    test("is reported if it is gone the second time, and leaves nothing", async () => {
      write("a.ndjson", ndjson)
      let opened = 0
      const openInput = async (name: string) => {
        if (opened++ > 0) rmSync(name)
        return openTraceFile(name)
      }
      expect(await convert([path("a.ndjson"), path("b.sktrace")], { openInput })).toMatchObject({
        code: exitCodes.failed,
        error: "reel convert: cannot read FOLDER/a.ndjson: file not found\n",
      })
      expect(names()).toEqual([])
    })

    test("that is invalid in a pipe is reported at the same byte, and leaves nothing", async () => {
      const bad = Buffer.from(ndjson.toString().replace('"sequence":2', '"sequence":"2"'))
      const openInput = async () => piped(bad)
      const { code, error } = await convert(["-", path("b.sktrace"), "--from", "ndjson"], { openInput })
      expect({ code, error }).toEqual({
        code: exitCodes.failed,
        error: expect.stringMatching(
          new RegExp(`^reel convert: standard input: .*byte ${bad.indexOf('{"sequence":"2"')}: line 3: `),
        ),
      })
      expect(names()).toEqual([])
    })
  })

  test("--from takes precedence over name and bytes", async () => {
    write("a.sktrace", trace)
    expect((await convert([path("a.sktrace"), path("b.ndjson"), "--from", "kwok"])).error).toMatch(
      /not a readable kwok trace/,
    )
  })

  test("an existing file is not overwritten without --force", async () => {
    write("a.sktrace", trace)
    write("b.ndjson", "mine")
    expect(await convert([path("a.sktrace"), path("b.ndjson")])).toMatchObject({ code: exitCodes.usage })
    expect(readFileSync(path("b.ndjson"), "utf8")).toBe("mine")
    expect(await convert([path("a.sktrace"), path("b.ndjson"), "-f"])).toMatchObject({ code: exitCodes.ok })
  })

  test("unreadable input is reported", async () => {
    expect(await convert([path("none.sktrace"), path("b.ndjson")])).toMatchObject({
      code: exitCodes.failed,
      error: "reel convert: cannot read FOLDER/none.sktrace: file not found\n",
    })
    expect((await convert([path("."), path("b.ndjson")])).error).toMatch(/it is a directory/)
    expect(names()).toEqual([])
  })

  test.each([
    [["a"], "missing argument: expected IN OUT"],
    [[], "missing argument: expected IN OUT"],
    [["a", "b", "c"], 'unexpected argument "c"'],
    [
      ["a", "b"],
      '--to FORMAT is required (ndjson, simkube, kwok, perfetto, parquet, otlp, html): "b" does not imply a format',
    ],
    [
      ["a", "-"],
      "--to FORMAT is required (ndjson, simkube, kwok, perfetto, parquet, otlp, html): standard output does not imply a format",
    ],
    [
      ["a", "b.ndjson", "--from", "simcube"],
      '--from "simcube": must be ndjson, simkube or kwok; did you mean simkube?',
    ],
    [["", "b.ndjson"], "a file name is empty"],
  ])("%j is a usage error", async (argv, problem) => {
    expect(await convert(argv)).toMatchObject({
      code: exitCodes.usage,
      error: `reel convert: ${problem}\nTry "reel convert --help".\n`,
    })
  })

  test("binary formats are not written to terminals", async () => {
    const terminal = capturedTerminal({ output: { isTTY: true } })
    expect(await convert(["a", "-", "--to", "simkube"], {}, terminal)).toMatchObject({ code: exitCodes.usage })
  })

  test("reports what a format cannot represent, and exits with 3 if the trace is incomplete because of that", async () => {
    const lines = [
      '{"format":"kubereel","version":1,"window":{"start":1,"end":9000000},"cut":2,"kinds":["v1.Pod","v1.ConfigMap"],"incomplete":[{"gvk":"v1.Pod","state":"forbidden"}]}',
      '{"sequence":1,"time":1000000,"action":"applied","gvk":"v1.ConfigMap","uid":"u","namespace":"a","name":"c","resourceVersion":"1","object":{"metadata":{"name":"c","namespace":"a"}}}',
      '{"sequence":2,"time":2000000,"action":"gap","gvk":"v1.Pod","namespace":"","fromVersion":"","toVersion":"","fromTime":1,"toTime":2,"reason":"expired","detail":""}',
      '{"end":{"snapshot":0,"events":1,"gaps":1}}',
    ]
    write("a.ndjson", `${lines.join("\n")}\n`)
    const { code, error } = await convert([path("a.ndjson"), path("b.sktrace")])
    expect(code).toBe(exitCodes.incomplete)
    expect(error).toContain("it has 1 gap, which the simkube format cannot represent")
    expect(error).toContain("1 kind was not being watched")
    expect(error).toContain("the simkube format cannot represent v1.ConfigMap (1 object or change)")
    expect(names()).toContain("b.sktrace")
    expect((await convert([path("a.ndjson"), path("b.ndjson")])).code).toBe(exitCodes.ok)
    expect(readFileSync(path("b.ndjson"), "utf8")).toBe(`${lines.join("\n")}\n`)
  })

  test("Ctrl-C ends it at once, even while no data arrives, and leaves nothing", async () => {
    const terminal = capturedTerminal()
    const silence = new Promise<IteratorResult<Uint8Array>>(() => undefined)
    const openInput = async () => ({
      bytes: {
        [Symbol.asyncIterator]: () => ({
          next: () => {
            queueMicrotask(terminal.interrupt)
            return silence
          },
        }),
      },
      size: undefined,
    })
    const { code, error } = await convert(["-", path("b.ndjson"), "--from", "ndjson"], { openInput }, terminal)
    expect({ code, error }).toEqual({
      code: exitCodes.interrupted,
      error: "reel convert: interrupted; no file was kept\n",
    })
    expect(names()).toEqual([])
  })

  test("shows its progress on a terminal", async () => {
    write("a.sktrace", trace)
    const terminal = capturedTerminal({ error: { isTTY: true, columns: 100 }, environment: { TERM: "xterm" } })
    const { error } = await convert([path("a.sktrace"), path("b.ndjson")], {}, terminal)
    expect(error).toMatch(/converting: \d+ objects and changes, .* of .* left/)
  })
})

describe("reel convert to an OTLP endpoint", () => {
  const sending = async (
    url: string,
    environment: Record<string, string> = {},
    argv: ReadonlyArray<string> = [],
    input: Uint8Array = trace,
  ) => {
    write("a.sktrace", input)
    const surroundings = { clock: new CollectorClock() }
    return convert([path("a.sktrace"), url, ...argv], surroundings, capturedTerminal({ environment }))
  }

  test("sends what the file would have, with the headers of the environment, and says how many spans were taken", async () => {
    await using collector = await startCollector()
    const { code, error } = await sending(collector.url, { OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=shop" })
    expect(code).toBe(exitCodes.ok)
    await convert([path("a.sktrace"), path("b.otlp.json")])
    const file = readFileSync(path("b.otlp.json"))
    expect(collector.received.map(({ body }) => `${body}\n`).join("")).toBe(file.toString())
    expect(collector.received[0]?.headers["x-tenant"]).toBe("shop")
    const { length } = tracedIn(file)
    expect(length).toBeGreaterThan(5)
    expect(error).toContain(`reel convert: the endpoint took ${length} spans\n`)
  })

  test("ends with exit code 3 if some spans were rejected, and with 1 if it does not answer as it should", async () => {
    const partial = '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too\\u001b[31m old"}}'
    await using collector = await startCollector((response) => response.end(partial))
    const rejected = await sending(collector.url)
    expect(rejected.code).toBe(exitCodes.incomplete)
    expect(rejected.error).toMatch(/the endpoint took \d+ spans and rejected 2 spans: too.*old/)
    expect(rejected.error).not.toContain("\u001b")
    await using other = await startCollector((response) => response.end("<html>"))
    const garbage = await sending(other.url)
    expect(garbage.code).toBe(exitCodes.failed)
    expect(garbage.error).toContain("the answer is no JSON object. No spans were taken. Check that the address")
  })

  test("refuses other formats, credentials in the address and bad headers, and then sends nothing", async () => {
    await using collector = await startCollector()
    const usages = [
      await sending(collector.url, {}, ["--to", "parquet"]),
      await sending(collector.url.replace("127", "me:secret@127")),
      await sending(collector.url, { OTEL_EXPORTER_OTLP_HEADERS: "secret" }),
    ]
    for (const { code, error } of usages) {
      expect(code).toBe(exitCodes.usage)
      expect(error).not.toContain("secret")
    }
    expect(collector.received).toEqual([])
  })

  test("says what was taken before a trace turned out to be damaged", async () => {
    await using collector = await startCollector()
    const objects = Array.from({ length: 600 }, (_, index) =>
      event("applied", 1, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `c${index}`, uid: `${index}` } }),
    )
    const removals = objects.map((item) => ({
      ...item,
      event: { ...(item as { event: object }).event, action: "deleted" },
    }))
    const encoder = await openEncoder("ndjson", { spool: () => memorySpool() })
    const lines = encoded(encoder, [header(0, 60), ...objects, ...(removals as never as ReadonlyArray<TraceItem>)])
    write("a.ndjson", Buffer.concat([lines.subarray(0, -20), Buffer.from("damage\n")]))
    const { code, error } = await convert([path("a.ndjson"), collector.url], { clock: new CollectorClock() })
    expect(code).toBe(exitCodes.failed)
    expect(error).toMatch(/\. 512 spans had been taken by then\n$/)
  })
})
