import { readFile } from "node:fs/promises"
import { describe, expect, test } from "vitest"
import { exitCodeMeanings, exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import type { RecordOptions } from "../../src/cli/record/run-recorder.ts"
import { recordCommand } from "../../src/cli/record.ts"
import { commands, reel } from "../../src/cli/reel.ts"
import { type CapturedTerminal, capturedTerminal } from "./captured-terminal.ts"
import { ran } from "./commands-in.ts"

const run = (...argv: ReadonlyArray<string>) => ran({ run: reel }, argv)

describe("reel", () => {
  test("alone explains itself on standard error and is a usage error", async () => {
    const { code, output, error } = await run()
    expect({ code, output, error }).toEqual({ code: exitCodes.usage, output: "", error: (await run("help")).output })
  })

  test.each([["help"], ["--help"], ["-h"]])("%s prints the commands", async (...argv) => {
    const { code, output, error } = await run(...argv)
    expect({ code, error }).toEqual({ code: exitCodes.ok, error: "" })
    expect(output).toContain("Usage: reel COMMAND [OPTION]...")
    for (const { name } of commands) expect(output).toMatch(new RegExp(`^  ${name} `, "m"))
  })

  // What help says of each is in docs/reference/cli.md, which is generated from the same tables.
  test.each(commands)("$name: --help and help print the same, with the summary of the overview", async (entry) => {
    const { name, summary, load } = entry
    const { code, output } = await run(name, "--help")
    expect(code).toBe(exitCodes.ok)
    expect(output).toMatch(new RegExp(`^Usage: reel ${name}`))
    expect((await run("help", name)).output).toBe(output)
    expect((await load()).syntax.summary).toBe(summary)
  })

  test.each([["version"], ["--version"], ["record", "--version"], ["export", "--version"]])(
    "%s prints the version of package.json",
    async (...argv) => {
      const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"))
      const { code, output } = await run(...argv)
      expect(code).toBe(exitCodes.ok)
      expect(output).toMatch(new RegExp(`^kubereel ${version}`))
    },
  )

  test.each([
    ["exprot", "reel", 'unknown command "exprot"; did you mean export?'],
    ["help recrod", "reel", 'unknown command "recrod"; did you mean record?'],
    ["--colour", "reel", 'unknown option "--colour"'],
    ["simulate", "reel", 'unknown command "simulate"'],
    ["version 2", "reel version", 'unexpected argument "2"'],
    ["help record export", "reel help", 'unexpected argument "export"'],
    ["snapshot -c a", "reel snapshot", "--output FILE is required; - means standard output"],
  ])("%s is a usage error of %s", async (words, name, problem) => {
    const error = `${name}: ${problem}\nTry "${name} --help".\n`
    expect(await run(...words.split(" "))).toEqual({ code: exitCodes.usage, output: "", error })
  })

  test.each([
    ["--fsync allways", '--fsync "allways": must be interval or always; did you mean always?'],
    [
      "--namespace Shop",
      '--namespace "Shop": it is not a valid namespace name (at most 63 lower-case letters, digits and -)',
    ],
    ["--listen http://x", '--listen "http://x": must be PORT or ADDRESS:PORT, such as 7780 or 0.0.0.0:7780'],
    ["--auth token", "--auth token requires --token-file FILE"],
    ["--shard 4/4", '--shard "4/4": must be K/N with K from 0 to N-1 and N of at most 1000, such as 0/4'],
    ["--split pods", "--split is for --shard"],
    ["--shard 0/4 --split pods=name", '--split "pods=name": after the = must be uid or namespace'],
    ["--shard 0/4 --split pod.v9", '--split "pod.v9": unknown kind "pod.v9"; did you mean v1.Pod?'],
    ["--token-file t", "--token-file is for --auth token, not for --auth none"],
    ["--tls-cert tls.crt", "--tls-cert requires --tls-key FILE"],
    ["--tls-key tls.key", "--tls-key requires --tls-cert FILE"],
    ["--auth kubernetes --allow-anonymous", "--allow-anonymous cannot be combined with --auth kubernetes"],
    ["--auth kubernetes --allow-host a.example", "--allow-host is for --auth none, not for --auth kubernetes"],
    [
      "--allow-host http://a",
      '--allow-host "http://a": must be a host name without a port, such as recorder.example.com',
    ],
    ["--allow-target /tmp", '--allow-target "/tmp": "/tmp" is not an object store; files need no entry'],
    ["--maximum-export-size ten", '--maximum-export-size "ten": must be a size such as 500Mi or 10Gi'],
  ])("record %s is a usage error", async (words, problem) => {
    const error = `reel record: ${problem}\nTry "reel record --help".\n`
    expect(await run("record", "-c", "a.yml", ...words.split(" "))).toEqual({
      code: exitCodes.usage,
      output: "",
      error,
    })
  })
})

describe("help on a narrow terminal", () => {
  test("stays within its columns", async () => {
    for (const columns of [40, 60, 80, 100]) {
      const terminal = capturedTerminal({ output: { columns } })
      await reel(["export", "--help"], terminal)
      const [options = ""] = terminal.standardOutput.text().split("Examples:")
      const widest = Math.max(...options.split("\n").map((line) => line.length))
      // A single word, such as a URL, is not broken.
      expect(widest).toBeLessThanOrEqual(Math.max(columns, 50))
    }
  })
})

describe("reel record", () => {
  const record = async (
    argv: readonly string[],
    terminal: CapturedTerminal = capturedTerminal(),
  ): Promise<RecordOptions> => {
    let seen: RecordOptions | undefined
    const command = recordCommand(() =>
      Promise.resolve((options) => {
        seen = options
        return Promise.resolve(exitCodes.ok)
      }),
    )
    expect(await command.run(argv, terminal)).toBe(exitCodes.ok)
    if (seen === undefined) throw new Error("the recorder was not called")
    return seen
  }

  test("passes its defaults to the recorder", async () => {
    expect(await record(["-c", "tracer.yml"])).toEqual({
      config: "tracer.yml",
      kubeconfig: undefined,
      context: undefined,
      port: 7777,
      bind: "127.0.0.1",
      dataDir: undefined,
      namespaces: [],
      logFormat: "text",
      verbosity: 0,
      secretsInPlainText: false,
      redactKeyFile: undefined,
      fsync: "interval",
      listCompression: "auto",
      access: { auth: "none", allowAnonymous: false },
      allowedTargets: [],
      exportLimits: { milliseconds: 3_600_000, bytes: Number.POSITIVE_INFINITY },
      limits: { kinds: new Map() },
      pins: {
        alertMargins: { before: 1_800_000_000, after: 1_800_000_000, repeat: 14_400_000_000 },
        exportTo: undefined,
      },
    })
  })

  test("passes allowed host names to the recorder", async () => {
    expect((await record(["-c", "a.yml", "--allow-host", "a.example,b.example"])).access).toEqual({
      auth: "none",
      allowAnonymous: false,
      allowedHosts: ["a.example", "b.example"],
    })
  })

  test("passes its shard to the recorder, whose stream is one of several", async () => {
    const options = await record(
      "--shard 1/4 --split pods,deployments.apps=namespace --archive-to s3://recordings/huge/".split(" "),
    )
    expect(options).toMatchObject({
      archive: { address: "s3://recordings/huge/shard-1", everyMs: 20_000 },
      shard: {
        index: 1,
        count: 4,
        split: [
          { kind: { group: "", version: "v1", kind: "Pod" }, by: "uid" },
          { kind: { group: "apps", version: "v1", kind: "Deployment" }, by: "namespace" },
        ],
      },
    })
  })

  test("passes all options to the recorder", async () => {
    const dayMicros = 24 * 3600 * 1e6
    const argv =
      "-c a.yml --kubeconfig k --context x --listen [::1]:0 -d /d -n shop,pay -n shop --log-format json -vv --secrets-in-plain-text --redact-key-file k.key --fsync always --list-compression always --auth token --token-file t --tls-cert t.crt --tls-key t.key --allow-target s3://traces/shop --allow-target gs:// --maximum-export-time 10m --maximum-export-size 10Gi --retain-for 30d,v1.Event=1d --retain-bytes 20Gi --retain-bytes v1.Event=1Gi --pin-before 1h --pin-after 90s --pin-repeat 12h --pin-export-to s3://traces/pins"
    expect(await record(argv.split(" "))).toEqual({
      config: "a.yml",
      kubeconfig: "k",
      context: "x",
      port: 0,
      bind: "::1",
      dataDir: "/d",
      namespaces: ["shop", "pay"],
      logFormat: "json",
      verbosity: 2,
      secretsInPlainText: true,
      redactKeyFile: "k.key",
      pins: {
        alertMargins: { before: 3_600_000_000, after: 90_000_000, repeat: 43_200_000_000 },
        exportTo: { provider: "s3", host: undefined, region: undefined, bucket: "traces", key: "pins" },
      },
      fsync: "always",
      listCompression: "always",
      access: { auth: "token", tokenFile: "t" },
      tls: { certificate: "t.crt", key: "t.key" },
      allowedTargets: [
        { provider: "s3", host: undefined, bucket: "traces", key: "shop" },
        { provider: "gs", host: undefined, bucket: undefined, key: "" },
      ],
      exportLimits: { milliseconds: 600_000, bytes: 10 * 1024 ** 3 },
      limits: {
        retainFor: 30 * dayMicros,
        retainBytes: 20 * 1024 ** 3,
        kinds: new Map([["v1.Event", { retainFor: dayMicros, retainBytes: 1024 ** 3 }]]),
      },
    })
  })

  const talk = async (argv: readonly string[], terminal: CapturedTerminal): Promise<number> =>
    recordCommand(() =>
      Promise.resolve((_, { log, showStatus }) => {
        showStatus({
          eventsPerSecond: 12,
          objects: 3,
          lagMs: 4,
          kinds: [{ gvk: "v1.Pod", state: "watching" }],
          uptimeMs: 5,
        })
        log.info("watching", { kind: "v1.Pod" })
        log.debug("ObjectApplied")
        return Promise.resolve(exitCodes.incomplete)
      }),
    ).run(argv, terminal)

  test("returns the recorder's exit code, and shows no status line without a terminal", async () => {
    const terminal = capturedTerminal()
    expect(await talk(["-c", "a.yml"], terminal)).toBe(exitCodes.incomplete)
    expect(terminal.standardOutput.text()).toBe("")
    expect(terminal.standardError.text()).toMatch(/^\S+Z INFO {2}watching kind=v1\.Pod\n$/)
  })

  test("shows the status line on a terminal, and erases it for log lines and at the end", async () => {
    const terminal = capturedTerminal({ output: { isTTY: true, columns: 100 } })
    await talk(["-c", "a.yml", "-v"], terminal)
    expect(terminal.standardOutput.text()).toBe(
      "\r\u001b[K12 events/s · 3 objects · lag 4 ms · watching Pod · 5 ms\r\u001b[K",
    )
    expect(terminal.standardError.text()).toMatch(/DEBUG ObjectApplied\n$/)
  })

  test("colours the log only on a terminal that supports it, without NO_COLOR", async () => {
    const colours = async (environment: Record<string, string>): Promise<boolean> => {
      const terminal = capturedTerminal({ error: { isTTY: true, columns: 80 }, environment })
      await talk(["-c", "a.yml"], terminal)
      return terminal.standardError.text().includes("\u001b[32m")
    }
    expect(await colours({})).toBe(true)
    expect(await colours({ NO_COLOR: "1" })).toBe(false)
    expect(await colours({ TERM: "dumb" })).toBe(false)
    expect(await colours({ TERM: "dumb", FORCE_COLOR: "1" })).toBe(true)
  })

  test("writes JSON lines for programs", async () => {
    const terminal = capturedTerminal()
    await talk(["-c", "a.yml", "--log-format", "json"], terminal)
    expect(JSON.parse(terminal.standardError.text())).toMatchObject({
      level: "info",
      message: "watching",
      kind: "v1.Pod",
    })
  })
})

test("a defect is reported as such, with exit code 1", async () => {
  const terminal = capturedTerminal()
  const broken = new Proxy(terminal, {
    get: (target, name) => {
      if (name === "standardOutput") throw new Error("no such stream")
      return Reflect.get(target, name)
    },
  })
  expect(await reel(["version"], broken)).toBe(exitCodes.failed)
  expect(terminal.standardError.text()).toMatch(
    /^reel: this is a bug in kubereel .*please report it:\nError: no such stream\n/,
  )
})

test("all exit codes are explained on request, and in the help of a command those that it has more to say of", async () => {
  const { code, output } = await run("help", "exit-codes")
  expect(code).toBe(exitCodes.ok)
  for (const [name, meaning] of Object.entries(exitCodeMeanings))
    expect(output.replaceAll(/\s+/g, " ")).toContain(` ${exitCodes[name as keyof typeof exitCodes]} ${meaning}`)
  expect((await run("record", "--help")).output).toMatch(/^Exit codes:\n {4}0 {2}stopped/m)
  expect((await run("status", "--help")).output).not.toContain("Exit codes")
  expect((await run("help")).output).toContain('"reel help exit-codes"')
})

test("the exit codes equal those of the reference page", async () => {
  const page = await readFile(new URL("../../docs/reference/exit-codes.md", import.meta.url), "utf8")
  const rows = [...page.matchAll(/^\| (\d+) \| `(\w+)` \| (.+?) \|/gm)].map(([, code, name, meaning]) => [
    Number(code),
    name,
    meaning,
  ])
  const table = (Object.keys(exitCodes) as (keyof typeof exitCodes)[]).map((name) => [
    exitCodes[name],
    name,
    exitCodeMeanings[name],
  ])
  expect(rows).toEqual(table)
})

test("each command is a module directly in src/cli, of which the build makes a bundle of its own", async () => {
  const text = await readFile(new URL("../../src/cli/reel.ts", import.meta.url), "utf8")
  const modules = [...text.matchAll(/import\("(.+?)"\)/g)].map(([, module]) => module ?? "")
  expect(modules.length).toBeGreaterThan(15)
  expect(modules.filter((module) => !/^\.\/[a-z0-9-]+\.ts$/.test(module))).toEqual([])
})
