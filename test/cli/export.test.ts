import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createServer as createSecureServer } from "node:https"
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net"
import { gzipSync, zstdCompressSync } from "node:zlib"
import { describe, expect, onTestFinished, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { ServerUnreachable } from "../../src/cli/export/connection/export-errors.ts"
import { exportCommand } from "../../src/cli/export.ts"
import { formatBytes } from "../../src/cli/terminal/quantities.ts"
import { formatLocalTime } from "../../src/local-time.ts"
import { makeCertificates } from "../kube/certificates.ts"
import { type CapturedTerminal, capturedTerminal } from "./captured-terminal.ts"
import { commandsIn, type Ran } from "./commands-in.ts"
import { type Answer, type Asked, recorderStandIn } from "./export/recorder-stand-in.ts"

const second = 1_000_000
const now = Date.UTC(2026, 10, 21, 10, 0, 0) * 1000 + 1

/** A moment as messages have it, on a machine in any time zone. */
const at = (instant: string): string => formatLocalTime(Date.parse(instant), now / 1000)

const { path, write, names, run: runIn } = commandsIn("kubereel-export-")

/** Closed when the test has ended. */
const listen = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    onTestFinished(() => void server.close())
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })

/** Bytes that a recorder sends: what follows the first of them is not looked at here. */
const trace = (events: number): Buffer => Buffer.from(`{"format":"kubereel"}\n${`{"name":"web"}\n`.repeat(events)}`)
const small = trace(30)

/** The first bytes of traces in other formats. */
const smallSimkube = Buffer.from([0x94, ...small])
const smallKwok = Buffer.from("apiVersion: v1\nkind: Pod\n")

/** What is said of an answer without a checksum. */
const unproven =
  "reel export: the trace came without a checksum, from a server that does not say that it is a recorder of kubereel: that it is whole is known from HTTP alone\n"

const run = (argv: readonly string[], terminal?: CapturedTerminal): Promise<Ran> =>
  runIn(exportCommand({ now: () => now }), argv, terminal)

/** A recorder that answers so, or with a small trace and these headers. */
const recorder = (given: Answer | Readonly<Record<string, string>> = {}) =>
  recorderStandIn(
    typeof given === "function"
      ? given
      : (response) => {
          for (const [name, value] of Object.entries(given)) response.setHeader(name, value)
          response.end(small)
        },
  )

/** An export from such a recorder to the file `a`, unless the words name another place. */
const exported = async (
  given?: Parameters<typeof recorder>[0],
  ...words: ReadonlyArray<string>
): Promise<Ran & { readonly url: string; readonly asked: ReadonlyArray<Asked> }> => {
  const { url, asked } = await recorder(given)
  const place = words.includes("-o") ? [] : ["-o", path("a")]
  return { ...(await run(["-s", url, ...place, ...words])), url, asked }
}

describe("an export", () => {
  test("is requested in SimKube's form, with exact times and the format added", async () => {
    const { url, asked } = await recorder()
    const argv = ["-s", `${url}/base/`, "-o", path("a.ndjson"), "--start", "-10m", "--end", "-90s"]
    const filters = ["--exclude-namespace", "kube-system,monitoring", "--exclude-namespace", "default"]
    const labels = ["--exclude-label", "app=web,tier notin (a, b),!canary", "--exclude-label", "batch"]
    expect((await run([...argv, ...filters, ...labels])).code).toBe(exitCodes.ok)
    expect(asked).toMatchObject([{ path: "POST /base/export", headers: { "content-type": "application/json" } }])
    expect(asked[0]?.headers["user-agent"]).toMatch(/^kubereel\/\d/)
    const end = now - 90 * second
    expect(asked[0]?.body).toEqual({
      // Whole seconds that contain the window.
      start_ts: Date.UTC(2026, 10, 21, 9, 48, 30) / 1000,
      end_ts: Date.UTC(2026, 10, 21, 9, 58, 31) / 1000,
      export_path: "file:///export",
      filters: {
        excluded_namespaces: ["kube-system", "monitoring", "default"],
        excluded_labels: [
          {
            matchExpressions: [
              { key: "app", operator: "In", values: ["web"] },
              { key: "tier", operator: "NotIn", values: ["a", "b"] },
              { key: "canary", operator: "DoesNotExist" },
            ],
          },
          { matchExpressions: [{ key: "batch", operator: "Exists" }] },
        ],
      },
      format: "ndjson",
      start_time: end - 600 * second,
      end_time: end,
    })
  })

  test("is filtered by namespace, label, kind and name, down to everything or nothing", async () => {
    const filters =
      "-n shop-* --label app=web --kind apps/*,v1.Pod --exclude-kind v1.Event --name web --exclude-name shop/old"
    const limits = "--require all --sanitise replay --maximum-time 90s --maximum-size 1Mi"
    const { asked } = await exported({}, ...filters.split(" "), ...limits.split(" "))
    expect(asked[0]?.body).toMatchObject({
      filters: {
        excluded_namespaces: [],
        excluded_labels: [],
        namespaces: ["shop-*"],
        labels: [{ matchExpressions: [{ key: "app", operator: "In", values: ["web"] }] }],
        kinds: ["apps/*", "v1.Pod"],
        excluded_kinds: ["v1.Event"],
        names: ["web"],
        excluded_names: ["shop/old"],
      },
      require: "all",
      sanitise: "replay",
      maximum_seconds: 90,
      maximum_bytes: 1_048_576,
    })
  })

  test("presents a token from a file or the environment, and says where to put one", async () => {
    const { url, asked } = await recorder()
    const words = ["-s", url, "-o", "-"]
    const file = write("token", "from-the-file\nthe-old-one\n")
    const environment = { KUBEREEL_TOKEN: "from-the-environment" }
    await run([...words, "--token-file", file], capturedTerminal({ environment }))
    await run(words, capturedTerminal({ environment }))
    await run(words)
    expect(asked.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer from-the-file",
      "Bearer from-the-environment",
      undefined,
    ])
    write("token", "\n")
    expect((await run([...words, "--token-file", file])).error).toContain(
      "cannot read a token from FOLDER/token: it is empty",
    )
    const missing = await run([...words, "--token-file", path("none")])
    expect([missing.code, missing.error]).toEqual([exitCodes.usage, expect.stringContaining("file not found")])
    expect(asked).toHaveLength(3)
  })

  test("is compared with the trailing checksum", async () => {
    const sum = createHash("sha256").update(small).digest("base64")
    const answers =
      (digest: string): Answer =>
      (response) => {
        response.writeHead(200, { Trailer: "Repr-Digest" })
        response.write(small)
        response.addTrailers({ "Repr-Digest": `sha-512=:AAAA:, sha-256=:${digest}:`, "Kubereel-Unchanged": "33" })
        response.end()
      }
    const whole = await exported(answers(sum))
    expect(whole.code).toBe(exitCodes.ok)
    expect(whole.error).toContain("skipped 33 changes that do not affect a replay")
    const wrong = answers(sum.replace(/^./, (first) => (first === "A" ? "B" : "A")))
    const { code, error } = await exported(wrong, "-o", path("b"))
    expect([code, error]).toEqual([exitCodes.failed, expect.stringContaining("its checksum does not match")])
    expect(names()).toEqual(["a"])
  })

  test("without the checksum that recorders send is written all the same, and says so", async () => {
    const { code, error } = await exported({ "Kubereel-Request-Id": "r" })
    expect([code, error]).toEqual([exitCodes.ok, expect.stringContaining("the trace came without its checksum")])
    expect(readFileSync(path("a"))).toEqual(small)
  })

  test("to an object store is written by the recorder, and nothing is written here", async () => {
    const written: Answer = (response) => {
      response.writeProcessing()
      const headers = { "Kubereel-Gaps": "1", "Kubereel-Warnings": "one thing; another" }
      response.writeHead(200, { "Content-Type": "application/json", ...headers })
      response.end(JSON.stringify({ location: "s3://traces/a.sktrace", bytes: 1234, sha256: "00" }))
    }
    const { code, output, error, asked } = await exported(written, "-o", "S3://traces/a.sktrace")
    expect({ code, output }).toEqual({ code: exitCodes.incomplete, output: "" })
    expect(error).toMatch(/^s3:\/\/traces\/a\.sktrace: 1\.2 kB, 2026.*\n.*it has 1 gap/)
    expect(error).toMatch(/^reel export: one thing\nreel export: another$/m)
    expect(asked[0]?.headers.accept).toBe("application/json")
    expect(asked[0]?.body).toMatchObject({ export_path: "s3://traces/a.sktrace", format: "simkube" })
    expect(names()).toEqual([])
  })

  test("to an object store by a recorder that reports nothing, such as SimKube's, is assumed to be written", async () => {
    const { code, error } = await exported((response) => response.end(), "-o", "gs://traces/a")
    expect([code, error]).toEqual([exitCodes.ok, expect.stringMatching(/^gs:\/\/traces\/a: 2026/)])
  })

  test("with --dry-run prints what it would contain, with the exit code that it would have", async () => {
    const kind = {
      gvk: "v1.Pod",
      state: "watching",
      detail: "",
      events: 1234,
      objects: 1,
      ranges: [{ start: now - 60 * second, end: now }],
      gaps: [] as object[],
    }
    const forecast = {
      window: { start: now - 60 * second, end: now },
      cut: 7,
      format: "ndjson",
      kinds: [kind],
      countedBefore: [] as string[],
      incomplete: [] as string[],
      leftOut: [],
      unknownOwners: { count: 0, first: [] },
      refusals: [] as string[],
    }
    const forecastOf = async (answer: object, window = ["--start", "-1m"]) => {
      const json: Answer = (response) => {
        response.setHeader("Content-Type", "application/json")
        response.end(JSON.stringify(answer))
      }
      const { code, output, asked } = await exported(json, "--dry-run", ...window)
      expect(asked[0]?.body).toMatchObject({ dry_run: true, export_path: "file:///export" })
      return [code, output]
    }
    expect(await forecastOf(forecast)).toEqual([
      exitCodes.ok,
      "1 object at the start and 1,234 events, 2026-11-21T09:59:00.000001Z to 2026-11-21T10:00:00.000001Z\n" +
        "  v1.Pod: 1 object at the start and 1,234 events, recorded 2026-11-21T09:59:00.000001Z to 2026-11-21T10:00:00.000001Z, watching\n",
    ])
    expect(await forecastOf({ ...forecast, countedBefore: ["label filters", "owner filters"] })).toEqual([
      exitCodes.ok,
      expect.stringContaining("1,234 events before label filters and owner filters, 2026-"),
    ])
    const gap = { start: now - 30 * second, end: now - 20 * second, namespace: "", reason: "expired", detail: "" }
    expect(await forecastOf({ ...forecast, kinds: [{ ...kind, gaps: [{ ...gap, namespace: "shop" }] }] })).toEqual(
      expect.arrayContaining([expect.stringContaining("40.000001Z in namespace shop: expired\n")]),
    )
    expect(await forecastOf({ ...forecast, kinds: [{ ...kind, gaps: [gap] }] })).toEqual([
      exitCodes.incomplete,
      expect.stringContaining("    gap 2026-11-21T09:59:30.000001Z to 2026-11-21T09:59:40.000001Z: expired\n"),
    ])
    const late = {
      ...{ start: now - 30 * second, end: now - 20 * second, receivedStart: now - 10 * second },
      ...{ receivedEnd: now - 10 * second, namespace: "", events: 2, cause: "disconnected", across: "start" },
    }
    expect(await forecastOf({ ...forecast, kinds: [{ ...kind, late: [late] }] })).toEqual([
      exitCodes.ok,
      expect.stringMatching(
        /\n {4}late v1\.Pod: 2 changes between .* were received at .*, because the recorder had no connection to the API server; their times are estimates and may lie before the window\n$/,
      ),
    ])
    expect(await forecastOf({ ...forecast, refusals: ["v1.Pod: being listed"] })).toEqual([
      exitCodes.failed,
      expect.stringContaining("it would be rejected: v1.Pod: being listed\n"),
    ])
    const young = { ...forecast, incomplete: ["v1.Pod=recorded-2026-11-21T09:59:30.000Z/2026-11-21T10:00:00.000Z"] }
    expect(await forecastOf(young)).toEqual([
      exitCodes.incomplete,
      expect.stringContaining(
        `\nit would be incomplete: v1.Pod is recorded only from ${at("2026-11-21T09:59:30Z")} on\n`,
      ),
    ])
    // As for the export: the default window is asked for like any other.
    expect(await forecastOf(young, [])).toEqual([
      exitCodes.incomplete,
      expect.stringContaining(`v1.Pod is recorded only from ${at("2026-11-21T09:59:30Z")} on\n`),
    ])
    expect(await forecastOf({ ...young, incomplete: [...young.incomplete, "v1.Secret=forbidden"] }, [])).toEqual([
      exitCodes.incomplete,
      expect.stringContaining("; v1.Secret may not be listed by the recorder\n"),
    ])
    const { url } = await recorder((response) => response.end("a trace of a recorder that knows no better"))
    expect((await run(["-s", url, "--dry-run"])).error).toContain("this recorder does not support --dry-run")
  })

  test("writes the bytes as received, and reports how many", async () => {
    const whole = trace(20_000)
    const { url } = await recorder((response) => {
      for (let at = 0; at < whole.length; at += 50_000) response.write(whole.subarray(at, at + 50_000))
      response.end()
    })
    const file = path("a.ndjson")
    expect(await run(["-s", url, "-o", file])).toEqual({
      code: exitCodes.ok,
      output: "",
      error: `FOLDER/a.ndjson: ${formatBytes(whole.length)}, 2026-11-21T09:30:00.000001Z to 2026-11-21T10:00:00.000001Z\n${unproven}`,
    })
    expect(readFileSync(file)).toEqual(whole)
    expect(names()).toEqual(["a.ndjson"])
  })

  test("to - goes to standard output only", async () => {
    const { code, output, error } = await exported({}, "-o", "-")
    expect({ code, output }).toEqual({ code: exitCodes.ok, output: small.toString() })
    expect(error).toMatch(/^standard output: 472 B, /)
  })

  test("to a .sktrace file asked SimKube's format, unless told otherwise", async () => {
    let answer: Buffer = smallSimkube
    const { url, asked } = await recorder((response) => response.end(answer))
    const file = path("a.sktrace")
    const { code, error } = await run(["-s", url, "-o", file, "--start", "0", "--end", "2026-11-21T10:00:00Z"])
    expect({ code, error }).toEqual({
      code: exitCodes.ok,
      error: `reel export: from the beginning of the recording to ${at("2026-11-21T10:00:00Z")} (2026-11-21T10:00:00Z)\nFOLDER/a.sktrace: ${smallSimkube.length} B, the beginning to 2026-11-21T10:00:00Z\n${unproven}`,
    })
    answer = small
    await run(["-s", url, "-o", file, "-f", "--format", "ndjson"])
    expect(asked.map(({ body }) => body.format)).toEqual(["simkube", "ndjson"])
  })

  test.each<[name: string, expected: object, answer: Uint8Array]>([
    ["a.ndjson.zst", { format: "ndjson", compression: "zstd" }, zstdCompressSync(small)],
    ["b.ndjson.gz", { format: "ndjson", compression: "gzip" }, gzipSync(small)],
    ["c.sktrace.zst", { format: "simkube", compression: "zstd" }, smallSimkube],
    ["d.yaml", { format: "kwok" }, smallKwok],
  ])("to %s asked what its name says", async (name, expected, answer) => {
    const { code, asked } = await exported((response) => response.end(answer), "-o", path(name))
    expect([code, asked[0]?.body]).toMatchObject([exitCodes.ok, expected])
  })

  const since = "v1.Pod=recorded-2026-11-21T09:45:00.000Z/2026-11-21T10:00:00.000Z"

  test.each<[what: string, headers: Record<string, string>, words: string, code: number, said: ReadonlyArray<string>]>([
    [
      "an incomplete recording",
      { "Kubereel-Incomplete": "v1.Pod=forbidden, v1.Node=failing", "Kubereel-Gaps": "2" },
      "",
      exitCodes.incomplete,
      [
        "reel export: the trace is incomplete: v1.Pod may not be listed by the recorder; v1.Node cannot be recorded now. For the reason see URL/readyz?verbose\n",
        "reel export: the trace is incomplete: it has 2 gaps, so changes may be missing; a trace in NDJSON shows where and why\n",
      ],
    ],
    ["one gap", { "Kubereel-Gaps": "1" }, "", exitCodes.incomplete, ["it has 1 gap, so changes may be missing;"]],
    [
      "a window that begins before the recording",
      { "Kubereel-Incomplete": since },
      "--start=-2h",
      exitCodes.incomplete,
      [
        `is incomplete: v1.Pod is recorded only from ${at("2026-11-21T09:45:00Z")} on. The recording does not reach back that far; --start 0 exports all of it\n`,
      ],
    ],
    [
      "the default window of a younger recording",
      { "Kubereel-Incomplete": `${since}, v1.Node=unrecorded` },
      "",
      exitCodes.incomplete,
      [
        `v1.Pod is recorded only from ${at("2026-11-21T09:45:00Z")} on; v1.Node is not recorded in this window. The recording does not reach back`,
      ],
    ],
    [
      "a younger recording with another reason",
      { "Kubereel-Incomplete": `${since}, v1.Secret=forbidden` },
      "",
      exitCodes.incomplete,
      ["; v1.Secret may not be listed by the recorder. For the reason see "],
    ],
    [
      "a window that has not ended, up to when the trace reaches",
      { "Kubereel-Future": "2026-11-21T10:00:00.000Z/2026-11-21T12:00:00.000Z" },
      "--start -3h --end 2026-11-21T12:00:00Z",
      exitCodes.ok,
      [
        `reel export: the window ends at ${at("2026-11-21T12:00:00Z")}, which is in the future; the trace has what happened until ${at("2026-11-21T10:00:00Z")}\n`,
      ],
    ],
  ])("is written, and what it lacks is said: %s", async (_, headers, words, code, said) => {
    const { url, error, ...result } = await exported(headers, ...words.split(" ").filter((word) => word !== ""))
    expect(result.code).toBe(code)
    for (const part of said) expect(error.replaceAll(url, "URL")).toContain(part)
    expect(readFileSync(path("a"))).toEqual(small)
  })

  test("that starts in the future is a usage error", async () => {
    const ask = async (...words: ReadonlyArray<string>) => await run(["-o", "-", "--start", ...words])
    const said = `the window starts at ${at("2026-11-21T11:00:00Z")} (2026-11-21T11:00:00Z), which is in the future; it is now ${formatLocalTime(now / 1000, now / 1000)}\n`
    for (const end of [[], ["--end", "2026-11-21T12:00:00Z"]])
      expect(await ask("2026-11-21T11:00:00Z", ...end)).toMatchObject({
        code: exitCodes.usage,
        error: expect.stringContaining(said),
      })
  })

  test("says back its window in the time zone of this machine", async () => {
    const { url } = await recorder()
    const said = async (...words: ReadonlyArray<string>) =>
      (await run(["-s", url, "-f", "-o", path("a"), ...words])).error.split("\n")[0]
    const hoursAgo = (hours: number): string => formatLocalTime(now / 1000 - hours * 3_600_000, now / 1000)
    const [hour, minute] = [new Date(now / 1000 - 3_600_000).getHours(), new Date(now / 1000).getMinutes()]
    const time = `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`
    expect(await said("--start", time)).toBe(
      `reel export: from ${at("2026-11-21T09:00:00Z")} (2026-11-21T09:00:00Z) to now`,
    )
    expect(await said("--start", `yesterday ${time}`)).toBe(
      `reel export: from ${at("2026-11-20T09:00:00Z")} (2026-11-20T09:00:00Z) to now`,
    )
    expect(await said("--start", "-1h", "--end", "-1h")).toBe(
      `reel export: from ${hoursAgo(2)} (2026-11-21T08:00:00.000001Z) to ${hoursAgo(1)} (2026-11-21T09:00:00.000001Z)`,
    )
    expect(await said()).not.toContain("from")
  })

  test("of kinds by any of their names asks for the kinds, and the recorder for names that are not built in", async () => {
    const { url, asked } = await recorder((response, { body }) => {
      if (body.dry_run === true) {
        response.setHeader("Content-Type", "application/json")
        response.end(JSON.stringify({ kinds: [{ gvk: "example.com/v1.Cactus" }, { gvk: "v1.Pod" }] }))
      } else response.end(small)
    })
    const words = ["-s", url, "-o", "-", "--kind"]
    const resolved = async (kinds: string): Promise<unknown> => {
      expect((await run([...words, kinds])).code).toBe(exitCodes.ok)
      return asked.at(-1)?.body.filters
    }
    const all = "deployment,po,Service,deployments.apps,jobs.v1.batch,apps/*,example.com/v1.Cactus"
    expect(await resolved(all)).toMatchObject({
      kinds: [
        ...["apps/v1.Deployment", "v1.Pod", "v1.Service", "apps/v1.Deployment", "batch/v1.Job", "apps/*"],
        "example.com/v1.Cactus",
      ],
    })
    expect(asked).toHaveLength(1)
    expect(await resolved("cactus,cactuses.example.com")).toMatchObject({
      kinds: ["example.com/v1.Cactus", "example.com/v1.Cactus"],
    })
    expect(asked).toHaveLength(3)
    const wrong = async (kind: string) => await run([...words, kind])
    expect(await wrong("deploymnet")).toMatchObject({
      code: exitCodes.usage,
      error: expect.stringContaining('unknown kind "deploymnet"; did you mean apps/v1.Deployment?'),
    })
    expect((await wrong("cactsu")).error).toContain("; did you mean example.com/v1.Cactus?")
    expect((await wrong("zzzzzz")).error).toContain("write it as GROUP/VERSION.KIND")
  })

  test("with changes that were received late says between which times and why, and is complete", async () => {
    const received = "received=2026-11-21T09:50:24.000000Z/2026-11-21T09:50:24.500000Z"
    const late = `v1.Pod=37; happened=2026-11-21T09:50:00.000000Z/2026-11-21T09:50:24.000000Z; ${received}; cause=stopped, 3 more`
    const options = ["--require", "complete", "--times", "received"]
    const { code, error, asked } = await exported({ "Kubereel-Late": late }, ...options)
    expect(code).toBe(exitCodes.ok)
    expect(asked[0]?.body).toMatchObject({ require: "complete", times: "received" })
    const time = (text: string): string => formatLocalTime(Date.parse(`2026-11-21T${text}Z`), now / 1000)
    expect(error.split("\n").slice(2)).toEqual([
      `reel export: v1.Pod: 37 changes between ${time("09:50:00")} and ${time("09:50:24")} were received ` +
        `between ${time("09:50:24")} and ${time("09:50:24.500")}, because the recorder was not running; their times are estimates`,
      "reel export: 3 more ranges of changes were received late",
      "",
    ])
  })

  test("shows its progress on a terminal only", async () => {
    const { url } = await recorder()
    const terminal = capturedTerminal({ error: { isTTY: true, columns: 80 } })
    const { error } = await run(["-s", url, "-o", "-"], terminal)
    expect(error).toContain(`\r\u001b[Kexporting: ${formatBytes(small.length)}\r\u001b[Kstandard output: `)
  })
})

describe("an export that fails leaves no file", () => {
  const failed = async (answer: Answer, ...more: string[]): Promise<Ran> => {
    const { url, code, output, error } = await exported(answer, "-o", path("a.ndjson"), ...more)
    expect(names()).toEqual([])
    return { code, output, error: error.replaceAll(url, "URL") }
  }

  test.each<[what: string, answer: Answer, said: string]>([
    [
      "the connection breaks midway",
      (response) => {
        response.write(small.subarray(0, 100))
        setImmediate(() => response.destroy())
      },
      "reel export: the export from URL is incomplete after 100 bytes: the recorder closed the connection; its log says why. No file was kept; try again\n",
    ],
    [
      "fewer bytes arrive than announced",
      (response) => {
        response.writeHead(200, { "content-length": small.length })
        response.write(small.subarray(0, -1))
        setImmediate(() => response.destroy())
      },
      `is incomplete after ${small.length - 1} bytes`,
    ],
    ["the response is empty", (response) => response.end(), "the response is empty"],
  ])("if %s", async (_, answer, said) => {
    const { code, error } = await failed(answer)
    expect([code, error]).toEqual([exitCodes.failed, expect.stringContaining(said)])
  })

  test.each([
    ["<html>\n<body>log in</body></html>", "ndjson"],
    ['{"message":"no healthy upstream"}', "ndjson"],
    ["no healthy upstream", "kwok"],
    [`please log in ${" ".repeat(1000)}`, "kwok"],
    ['{"message":"no healthy upstream"}', "simkube"],
  ])("if the response %j is no trace in the format %s", async (text, format) => {
    const { code, error } = await failed((response) => response.end(text), "--format", format)
    expect(code).toBe(exitCodes.failed)
    expect(error).toContain(`the response is not a trace in the format ${format}. No file was kept`)
  })

  test.each<[status: number, text: string, code: number, message: string]>([
    [500, "owner chain broke\n", exitCodes.failed, "with status 500: owner chain broke"],
    [503, "not ready", exitCodes.failed, "with status 503: not ready"],
    [422, "the window\n is \u001b[31mempty", exitCodes.failed, "with status 422: the window is \\u{1b}[31mempty"],
    [404, "", exitCodes.failed, "with status 404. Is it a recorder? Check --server"],
    [403, "no", exitCodes.notPermitted, "with status 403: no"],
    [401, "no", exitCodes.notPermitted, "with status 401: no"],
    [302, "", exitCodes.failed, "with status 302"],
    [500, "x".repeat(100_000), exitCodes.failed, `with status 500: ${"x".repeat(500)}`],
  ])("when the recorder answers %i", async (status, text, code, message) => {
    const result = await failed((response) => {
      response.statusCode = status
      response.end(text)
    })
    expect(result).toEqual({ code, output: "", error: `reel export: URL rejected the export ${message}\n` })
  })

  test("if nothing arrives for the allowed time, before or during the response", async () => {
    const before = await failed(() => undefined, "--timeout", "50ms")
    expect(before.code).toBe(exitCodes.failed)
    expect(before.error).toBe(
      "reel export: cannot reach a recorder at URL: no data arrived for 0.05 s. Try again, or allow more time with --timeout\n",
    )
    // Long enough for the first bytes of a busy machine.
    const middle = await failed((response) => response.write(small.subarray(0, 100)), "--timeout", "1s")
    expect(middle.code).toBe(exitCodes.failed)
    expect(middle.error).toContain("is incomplete after 100 bytes: no data arrived for 1 s")
  })

  test("if it is interrupted, before or during the response", async () => {
    for (const part of [undefined, small.subarray(0, 100)]) {
      const terminal = capturedTerminal()
      const { url } = await recorder((response) => {
        if (part === undefined) terminal.interrupt()
        else response.write(part, () => setImmediate(terminal.interrupt))
      })
      expect(await run(["-s", url, "-o", path("a")], terminal)).toEqual({
        code: exitCodes.interrupted,
        output: "",
        error: "reel export: interrupted; no file was kept\n",
      })
      expect(names()).toEqual([])
    }
  })
})

describe("an export that cannot start", () => {
  test("because nothing listens says how to start a recorder", async () => {
    const { url, close } = await recorder()
    await close()
    expect(await run(["-s", url, "-o", path("a")])).toEqual({
      code: exitCodes.failed,
      output: "",
      error: `reel export: cannot reach a recorder at ${url}: connection refused. Start a recorder with "reel record", or name another one with --server\n`,
    })
    expect(names()).toEqual([])
  })

  test("because of an error of the system says what it means, and names a code only if it is unknown", () => {
    const message = (code: string, detail: string) => new ServerUnreachable({ server: "URL", code, detail }).message
    expect(message("EHOSTUNREACH", "connect EHOSTUNREACH 192.0.2.1:7777")).toBe(
      "cannot reach a recorder at URL: the network has no route to it. Check --server",
    )
    expect(message("EMFILE", "connect EMFILE 192.0.2.1:7777")).toBe(
      "cannot reach a recorder at URL: connect EMFILE 192.0.2.1:7777",
    )
    expect(message("EMFILE", "no file is left")).toBe("cannot reach a recorder at URL: no file is left (EMFILE)")
  })

  test("because the server does not speak HTTP says so", async () => {
    const server = createTcpServer((socket) => {
      socket.on("error", () => undefined)
      socket.resume().end("220 mail.example.com ESMTP\r\n", () => socket.destroy())
    })
    const { code, error } = await run(["-s", await listen(server), "-o", path("a")])
    expect(code).toBe(exitCodes.failed)
    expect(error).toContain("the server does not speak HTTP. Check --server")
  })

  test("because the port does not use TLS says so", async () => {
    const { url } = await recorder()
    const { code, error } = await run(["-s", url.replace("http:", "https:"), "-o", path("a")])
    expect(code).toBe(exitCodes.failed)
    expect(error).toContain("the server does not speak TLS, but was addressed with https://. Write http:// in --server")
  })

  test("because the port speaks TLS says so, and a server that only hangs up is not said to", async () => {
    const { certificate: cert, key } = makeCertificates().server
    const secure = createSecureServer({ cert, key })
    const silent = createTcpServer((socket) => {
      socket.on("error", () => undefined)
      socket.once("data", () => socket.destroy())
    })
    const ask = async (server: Server) => (await run(["-s", await listen(server), "-o", path("a")])).error
    expect(await ask(secure)).toContain(
      "the server speaks TLS, but was addressed with http://. Write https:// in --server\n",
    )
    expect(await ask(silent)).toMatch(/: the connection was closed\. Try again\n$/)
  })

  test("because the file exists does not burden the recorder", async () => {
    const { url, asked } = await recorder()
    const file = write("a", "old")
    expect(await run(["-s", url, "-o", file])).toEqual({
      code: exitCodes.usage,
      output: "",
      error: "reel export: FOLDER/a exists; use --force to overwrite it\n",
    })
    expect(asked).toEqual([])
    expect((await run(["-s", url, "-o", file, "--force"])).code).toBe(exitCodes.ok)
    expect(readFileSync(file)).toEqual(small)
  })

  test("because the file's ending implies no format writes nothing and does not burden the recorder", async () => {
    const { url, asked } = await recorder()
    const file = path("foo.bar")
    const { code, output, error } = await run(["-s", url, "-o", file])
    expect([code, output]).toEqual([exitCodes.usage, ""])
    expect(error).toMatch(
      /^reel export: --format FORMAT is required \(ndjson, simkube, kwok, html\): "foo\.bar" does not imply a format\n/,
    )
    expect([asked, names()]).toEqual([[], []])
    expect((await run(["-s", url, "-o", file, "--format", "ndjson"])).code).toBe(exitCodes.ok)
    expect(readFileSync(file)).toEqual(small)
  })

  test("because the disk is full says so", async () => {
    const { url } = await recorder()
    expect(await run(["-s", url, "-o", "/dev/full"])).toEqual({
      code: exitCodes.failed,
      output: "",
      error: "reel export: cannot write /dev/full: the disk is full. Free some space, or write elsewhere\n",
    })
  })

  test("hides the password of the server's URL", async () => {
    const { url } = await recorder((response) => {
      response.statusCode = 500
      response.end()
    })
    const { error } = await run(["-s", url.replace("//", "//me:hush@"), "-o", path("a")])
    expect(error).toBe(`reel export: ${url} rejected the export with status 500\n`)
  })

  test.each([
    [[], "--output FILE is required; - means standard output"],
    [
      ["-o", "az://bucket/key"],
      '--output "az://bucket/key": cannot write to "az://bucket/key": tools disagree on the meaning of az://; write azure://CONTAINER/KEY',
    ],
    [
      ["-o", "ftp://host/key"],
      '--output "ftp://host/key": ftp is not supported; name a file, or write - for standard output',
    ],
    [["-o", "a", "--maximum-size", "much"], '--maximum-size "much": must be a size such as 500Mi or 10Gi'],
    [["-o", "file://host/a"], '--output "file://host/a": it is not a local file URL'],
    [["-o", "a", "--server", "ftp://x"], '--server "ftp://x": must be a URL such as http://127.0.0.1:7777'],
    [["-o", "a", "--server", "http://"], '--server "http://": must be a URL such as http://127.0.0.1:7777'],
    [["-o", "a", "--timeout", "5"], '--timeout "5": must be a duration such as 30s or 2m'],
    [["-o", "a", "--start", "-5"], '--start "-5": a duration needs a unit, such as -10m or -2h'],
    [
      ["-o", "a", "--end", "tomorrow"],
      '--end "tomorrow": must be a time such as 2026-11-21T10:00:00Z, 03:12:05 UTC, yesterday 03:12, 1795255200 (Unix seconds), now, end, now-5m, or a duration such as -10m or 1h30m',
    ],
    [
      ["-o", "a", "--start", "now", "--end", "2026-11-21T09:00:00Z"],
      "the window ends at 2026-11-21T09:00:00Z, before its start at 2026-11-21T10:00:00.000001Z",
    ],
    [["-o", "a", "--exclude-label", "a>1"], '--exclude-label "a>1": > and < are not supported in an export'],
    [["-o", "a", "--exclude-label", "=x"], '--exclude-label "=x": a label name is missing'],
    [["-o", "a", "--format", "sktrace"], '--format "sktrace": must be ndjson, simkube, kwok or html'],
  ])("%j is a usage error", async (argv, problem) => {
    expect(await run(argv)).toEqual({
      code: exitCodes.usage,
      output: "",
      error: `reel export: ${problem}\nTry "reel export --help".\n`,
    })
  })

  test("SimKube's format is not written to a terminal", async () => {
    const terminal = capturedTerminal({ output: { isTTY: true, columns: 80 } })
    const { code, error } = await run(["-o", "-", "--format", "simkube"], terminal)
    expect(code).toBe(exitCodes.usage)
    expect(error).toContain("the simkube format is binary and cannot be written to a terminal")
  })
})

test("a server without a scheme, and a file URL, are accepted", async () => {
  const { url } = await recorder()
  const file = path("a b")
  const server = url.replace("http://127.0.0.1:", "localhost:")
  expect((await run(["-s", server, "-o", `file://${file.replace(" ", "%20")}`])).code).toBe(exitCodes.ok)
  expect(readFileSync(file)).toEqual(small)
})
