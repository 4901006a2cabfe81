/** `reel validate`: what it prints, its exit codes, the repaired trace, and input that is no trace. */
import { existsSync, readFileSync } from "node:fs"
import { Readable } from "node:stream"
import { gunzipSync, gzipSync, zstdCompressSync } from "node:zlib"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { convertCommand } from "../../src/cli/convert.ts"
import { validateCommand } from "../../src/cli/validate.ts"
import { encodeMessagePack, openTraceFile, type TraceInput } from "../../src/trace/index.ts"
import { rules } from "../../src/validation/index.ts"
import { goldenTrace } from "../trace/recording.ts"
import { asMap } from "../validation/as-map.ts"
import { type Body, container, deployment, object } from "../validation/traces.ts"
import { capturedTerminal } from "./captured-terminal.ts"
import { commandsIn } from "./commands-in.ts"

const { path, write, run: runIn } = commandsIn("reel-validate-")
const run = (argv: ReadonlyArray<string>, openInput: (path: string) => Promise<TraceInput> = openTraceFile) =>
  runIn(validateCommand(openInput), argv)

/** A SimKube trace with one event. */
const simkube = (...applied: ReadonlyArray<unknown>): Uint8Array =>
  encodeMessagePack(
    asMap({
      version: 2,
      config: { trackedObjects: { "apps/v1.Deployment": { podSpecTemplatePaths: ["/spec/template"] } } },
      events: [{ ts: 1_700_000_000, applied_objs: applied, deleted_objs: [] }],
      index: { "apps/v1.Deployment": { "shop/web": 5 } },
      pod_lifecycles: {},
    }),
  )

const broken: Body = deployment({
  ...container({ env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }] }),
  serviceAccountName: "robot",
  imagePullSecrets: [{ name: "registry" }],
})
const shop = object("v1.Namespace", "shop", {}, "")

describe("what it prints", () => {
  test.each(["text", "table", "json"])("%s", async (format) => {
    const ran = await run([write("a.sktrace", simkube(broken, shop)), "-o", format])
    expect(ran).toMatchObject({ code: exitCodes.failed, error: "" })
    expect(ran.output).toMatchSnapshot()
  })

  test("one line if nothing is found, with exit code 0", async () => {
    const ran = await run([write("a.sktrace", simkube(deployment({}), shop))])
    expect(ran).toEqual({
      code: exitCodes.ok,
      output: "FOLDER/a.sktrace: 2 states of objects checked, nothing found\n",
      error: "",
    })
  })

  test("warnings with exit code 0", async () => {
    const ran = await run([write("a.sktrace", simkube(deployment({})))])
    expect(ran.code).toBe(exitCodes.ok)
    expect(ran.output).toContain("0 errors, 1 warning\n")
  })

  test("five examples of each rule, and how many more there are", async () => {
    const many = Array.from({ length: 12 }, (_, index) => deployment({ serviceAccountName: "x" }, `web-${index}`))
    const { output } = await run([write("a.sktrace", simkube(...many, shop))])
    expect(output.match(/ServiceAccount x \(once/g)).toHaveLength(5)
    expect(output).toContain("  and 7 more, which -o json lists\n")
  })

  test("no control characters of a trace", async () => {
    const { output } = await run([
      write("a.sktrace", simkube(deployment({ serviceAccountName: "\u001b[2J\nx" }), shop)),
    ])
    expect(output).toContain("ServiceAccount \\u{1b}[2J\\u{a}x")
  })

  test("all rules, as a table and as JSON, also in the words of skctl", async () => {
    const list = await run(["--list"])
    expect(list).toMatchObject({ code: exitCodes.ok, error: "" })
    expect(list.output).toMatchSnapshot()
    expect(await run(["print"])).toEqual(list)
    const parsed = JSON.parse((await run(["--list", "-o", "json"])).output) as ReadonlyArray<{ code: string }>
    expect(parsed.map(({ code }) => code)).toEqual(rules.map(({ code }) => code))
  })

  test("an explanation by code in any case or by name, also in the words of skctl", async () => {
    const explained = await run(["--explain", "E0003"])
    expect(explained.code).toBe(exitCodes.ok)
    expect(explained.output).toMatchSnapshot()
    for (const words of [
      ["--explain", "e0003"],
      ["--explain", "envvar_configmap_missing"],
      ["explain", "E0003"],
    ])
      expect(await run(words)).toEqual(explained)
  })

  test("a program of the transform language", async () => {
    const { output, code } = await run([write("a.sktrace", simkube(broken, shop)), "--generate-transform"])
    expect(code).toBe(exitCodes.failed)
    expect(output).toMatchSnapshot()
  })

  test("the same for check TRACE as for TRACE", async () => {
    const file = write("a.sktrace", simkube(broken))
    expect(await run(["check", file])).toEqual(await run([file]))
  })
})

describe("every format", () => {
  test.each(["ndjson", "ndjson.zst", "yaml", "yaml.gz"])("is read and repaired: %s", async (extension) => {
    const convert = async (from: string, to: string): Promise<void> => {
      expect(await convertCommand().run([from, to], capturedTerminal())).toBe(exitCodes.ok)
    }
    const file = path(`a.${extension}`)
    await convert(write("a.sktrace", goldenTrace("recording")), file)
    const found = async (trace: string): Promise<ReadonlyArray<string>> => {
      const report = JSON.parse((await run([trace, "-o", "json"])).output) as { rules: { code: string }[] }
      return report.rules.map(({ code }) => code).filter((code) => code !== "W0000")
    }
    expect(await found(file)).toEqual(["E0003", "E0005", "W0008"])
    expect((await run([file, "--fix", path(`b.${extension}`)])).code).toBe(exitCodes.ok)
    expect(await found(path(`b.${extension}`))).toEqual(["W0008"])
  })
})

describe("--fix", () => {
  test("writes a trace in which nothing is found that has a fix, and in which nothing is left to repair", async () => {
    const ran = await run([write("a.sktrace", simkube(broken, shop)), "--fix", path("b.sktrace")])
    expect(ran).toEqual({
      code: exitCodes.ok,
      output: "",
      error: "reel validate: FOLDER/b.sktrace: 1 state of objects repaired\n",
    })
    expect((await run([path("b.sktrace")])).output).toContain("nothing found")
    await run([path("b.sktrace"), "--fix", path("c.sktrace")])
    expect(readFileSync(path("c.sktrace")).equals(readFileSync(path("b.sktrace")))).toBe(true)
  })

  test.each(["recording", "recording-2"] as const)(
    "repairs what SimKube recorded in %s, and changes nothing else",
    async (name) => {
      const file = write("a.sktrace", goldenTrace(name))
      await run([file, "--fix", path("b.sktrace")])
      const report = JSON.parse((await run([path("b.sktrace"), "-o", "json"])).output) as {
        rules: { hasFix: boolean }[]
      }
      expect(report.rules.filter(({ hasFix }) => hasFix)).toEqual([])
    },
  )

  test("names what only people can decide, with exit code 1 for errors", async () => {
    const ran = await run([
      write("a.sktrace", simkube(broken, object("example.com/v1.Thing", "t"))),
      "--fix",
      path("b.sktrace"),
    ])
    expect(ran.code).toBe(exitCodes.failed)
    expect(ran.error).toMatchSnapshot()
    expect(existsSync(path("b.sktrace"))).toBe(true)
  })

  test("converts and compresses by the name of OUT", async () => {
    await run([write("a.sktrace", simkube(broken, shop)), "--fix", path("b.ndjson.gz")])
    expect(gunzipSync(readFileSync(path("b.ndjson.gz"))).toString()).toContain('"format":"kubereel"')
    expect((await run([path("b.ndjson.gz")])).output).toContain("nothing found")
  })

  test("repairs what comes through a pipe", async () => {
    const pipe = async (): Promise<TraceInput> => ({ bytes: Readable.from([simkube(broken, shop)]), size: undefined })
    expect(await run(["-", "--fix", path("b.sktrace")], pipe)).toMatchObject({ code: exitCodes.ok })
    expect((await run([path("b.sktrace")])).output).toContain("nothing found")
  })

  test("says what the format of the repaired trace cannot say", async () => {
    const header = {
      ...{ format: "kubereel", version: 1, window: { start: 1e15, end: 2e15 }, cut: 1, kinds: ["v1.Pod"] },
      incomplete: [{ gvk: "v1.Pod", state: "listing" }],
    }
    const lines = [header, { end: { snapshot: 0, events: 0, gaps: 0 } }].map((line) => `${JSON.stringify(line)}\n`)
    const file = write("a.ndjson", lines.join(""))
    expect(await run([file, "--fix", path("b.sktrace")])).toMatchObject({
      code: exitCodes.incomplete,
      error: expect.stringContaining("the trace is incomplete: 1 kind was not being watched"),
    })
    expect(await run([file, "--fix", path("b.ndjson")])).toMatchObject({ code: exitCodes.ok })
  })

  test("overwrites nothing without --force", async () => {
    const file = write("a.sktrace", simkube(broken, shop))
    const refused = await run([file, "--fix", write("b.sktrace", "old")])
    expect(refused).toMatchObject({ code: exitCodes.usage })
    expect(refused.error).toContain("use --force")
    expect(readFileSync(path("b.sktrace"), "utf8")).toBe("old")
    expect(await run([file, "--fix", path("b.sktrace"), "-f"])).toMatchObject({ code: exitCodes.ok })
  })

  test("writes nothing for a trace that is cut off", async () => {
    const ran = await run([write("a.sktrace", simkube(broken, shop).subarray(0, -30)), "--fix", path("b.sktrace")])
    expect(ran.code).toBe(exitCodes.failed)
    expect(ran.error).toContain("nothing was written")
    expect(existsSync(path("b.sktrace"))).toBe(false)
  })
})

describe("input that is no whole trace", () => {
  const whole = simkube(broken, shop)
  test.each<[name: string, bytes: Uint8Array | string, message: RegExp]>([
    ["an empty file", "", /the trace is empty/],
    ["garbage", "\u0000\u0001garbage", /not in a known trace format/],
    ["a text", "hello", /not in a known trace format/],
    ["an archive", Buffer.from("PK\u0003\u0004........"), /not in a known trace format/],
    ["JSON that is no trace", "{}\n", /ndjson trace: byte 0/],
    ["an array, as in version 1", Buffer.from([0x94, 0x80, 0x90, 0x80, 0x80]), /version 1/],
    ["an empty compressed file", gzipSync(""), /the trace is empty/],
    ["the first bytes of a trace", whole.subarray(0, 20), /simkube trace: byte \d+/],
    ["the first bytes of a compressed file", zstdCompressSync(whole).subarray(0, 12), /damaged after byte 0|empty/],
  ])("names what is wrong with %s", async (_, bytes, message) => {
    const ran = await run([write("a", bytes)])
    expect(ran).toMatchObject({ code: exitCodes.failed, output: "" })
    expect(ran.error).toMatch(message)
    expect(ran.error).toMatch(/^reel validate: FOLDER\/a: .*\n$/)
  })

  const line = JSON.stringify({ a: 1 })
  const long = simkube(
    ...Array.from({ length: 2000 }, (_, index) => ({ ...broken, noise: `${index * 7919}${line}` })),
    shop,
  )
  test.each<[name: string, bytes: Uint8Array]>([
    ["MessagePack", long.subarray(0, long.length - 100)],
    ["gzip", gzipSync(long).subarray(0, -2000)],
    ["zstd", zstdCompressSync(long).subarray(0, -100)],
  ])("reports what is before the cut in %s, and where that is", async (_, bytes) => {
    const ran = await run([write("a", bytes)])
    expect(ran.code).toBe(exitCodes.failed)
    expect(ran.error).toMatch(/FOLDER\/a is cut off or damaged: .*byte \d+.*What is before that was checked\n$/)
    expect(ran.output).toContain("E0001 service_account_missing (error)")
  })

  test.each<[name: string, argv: ReadonlyArray<string>, message: RegExp]>([
    ["no trace", [], /expected TRACE, --list or --explain CODE/],
    ["an unknown rule", ["--explain", "E9999"], /no such rule; there are W0000, E0001/],
    ["an unknown rule in skctl's words", ["explain", "E9999"], /there is no rule "E9999"/],
    ["two traces", ["a", "b"], /unexpected argument "b"/],
    ["a trace besides --list", ["--list", "a"], /take no TRACE/],
    ["an empty name", [""], /the name of TRACE is empty/],
    ["--force alone", ["a", "-f"], /--force needs --fix OUT/],
    ["both outputs", ["a", "--fix", "b", "--generate-transform"], /exclude each other/],
    ["an unknown format", ["a", "-o", "xml"], /text, table or json/],
  ])("is a usage error: %s", async (_, argv, message) => {
    const ran = await run(argv)
    expect(ran).toMatchObject({ code: exitCodes.usage, output: "" })
    expect(ran.error).toMatch(message)
  })

  test("never breaks the command, wherever bytes are changed or missing", async () => {
    const sources = [goldenTrace("recording"), goldenTrace("recording-2"), whole, zstdCompressSync(whole)]
    const change = fc.record({ at: fc.nat(), byte: fc.nat(255), length: fc.nat(8) })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...sources),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        async (source, changes) => {
          let bytes: Uint8Array = source
          for (const { at, byte, length } of changes) {
            const start = at % (bytes.length + 1)
            bytes = Buffer.concat([bytes.subarray(0, start), Buffer.from([byte]), bytes.subarray(start + length)])
          }
          const input = async (): Promise<TraceInput> => ({ bytes: Readable.from([bytes]), size: bytes.length })
          const { code, output, error } = await run(["x"], input)
          expect([exitCodes.ok, exitCodes.failed]).toContain(code)
          expect(output + error).not.toBe("")
          expect(error === "" || error.startsWith("reel validate: x")).toBe(true)
        },
      ),
      { numRuns: 150 },
    )
  })

  test("ends with 130 when the user stops it", async () => {
    const terminal = capturedTerminal()
    const silent = async function* (): AsyncGenerator<Uint8Array> {
      yield whole.subarray(0, 100)
      terminal.interrupt()
      await new Promise(() => undefined)
    }
    const command = validateCommand(async () => ({ bytes: silent(), size: undefined }))
    expect(await command.run(["-"], terminal)).toBe(exitCodes.interrupted)
    expect(terminal.standardError.text()).toContain("interrupted")
  })

  test("is a file that does not exist, or a directory", async () => {
    expect(await run([path("none")])).toMatchObject({
      code: exitCodes.failed,
      error: expect.stringContaining("file not found"),
    })
    expect(await run([path(".")])).toMatchObject({
      code: exitCodes.failed,
      error: expect.stringContaining("it is a directory"),
    })
  })
})
