/** `reel fleet history`, `events` and `diff` on three streams in directories. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { afterAll, beforeAll, expect, test } from "vitest"
import { openStore } from "../../src/blob/index.ts"
import type { Command } from "../../src/cli/command-line/command.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { coverageCommand } from "../../src/cli/coverage.ts"
import { diffCommand } from "../../src/cli/diff.ts"
import { isChosen } from "../../src/cli/fleet/clusters.ts"
import { SortedAnswers } from "../../src/cli/fleet/sorted-answers.ts"
import { fleetCommand } from "../../src/cli/fleet.ts"
import { getCommand } from "../../src/cli/get.ts"
import { historyCommand } from "../../src/cli/history.ts"
import { shardsOf } from "../../src/fleet/index.ts"
import { recordSample } from "../archive/sample-recording.ts"
import { shipAll } from "../fleet/shipping-recorder.ts"
import { patient } from "../harness/patience.ts"
import { capturedTerminal } from "./captured-terminal.ts"
import { ran } from "./commands-in.ts"
import { recordStory, storyStart } from "./past-recording.ts"

let place: string
let fleet: string
let environment: Record<string, string>

/** Shortly after the end of the story. */
const now = storyStart + 725_000_000

const shipped = async (name: string, record: (directory: string) => void, root = fleet): Promise<void> => {
  const directory = join(place, "recordings", name)
  record(directory)
  const bucket = join(root, name)
  mkdirSync(bucket, { recursive: true })
  const store = await openStore({ provider: "file", host: undefined, region: undefined, bucket, key: "" })
  await shipAll(store, directory, 15_000, name)
  store.close()
}

beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), "kubereel-fleet-"))
  fleet = join(place, "fleet")
  environment = { KUBEREEL_CACHE: join(place, "cache") }
  await shipped("eu/prod-1", (directory) => recordStory(directory))
  await shipped("eu/prod-2", (directory) => recordStory(directory, { hasGap: true }))
  await shipped("us/dev", recordSample)
}, patient(30_000))

afterAll(() => rmSync(place, { recursive: true, force: true }))

const run = (line: string, where = fleet) =>
  ran(
    fleetCommand(() => now),
    [...line.split(" "), where],
    capturedTerminal({ environment }),
  )

test("a change of one name is shown in all clusters that have it, as one cluster shows it, in the order of time", {
  timeout: patient(30_000),
}, async () => {
  const words = ["deploy/web", "--data-dir", join(fleet, "eu/prod-1")]
  const one = await ran(
    historyCommand(() => now),
    words,
    capturedTerminal({ environment }),
  )
  const found = await run("history deploy/web --clusters eu/*")
  expect(found).toMatchObject({ code: exitCodes.ok, error: "" })
  const lines = found.output.trimEnd().split("\n")
  const of = (name: string) => lines.filter((line) => line.startsWith(`${name}  `)).map((line) => line.slice(11))
  expect(of("eu/prod-1").join("\n")).toBe(one.output.trimEnd())
  expect(of("eu/prod-2")).toEqual(of("eu/prod-1"))
  expect(lines.map((line) => line.slice(0, 9))).toEqual([1, 2, 1, 1, 2, 2].map((number) => `eu/prod-${number}`))
  const sorted = await run("history deploy --field spec.replicas --sort cluster --clusters **/prod-2,eu/prod-1")
  expect(sorted.output.split("\n").filter((line) => line.includes("→"))).toEqual(
    [1, 2].map((number) => `eu/prod-${number}      spec.replicas: 1 → 3`),
  )
})

test("JSON names the cluster first, and is in the order of time", { timeout: patient(30_000) }, async () => {
  const found = await run("events --since 0 -k rs,nosuch -o json")
  expect(found.code).toBe(exitCodes.incomplete)
  expect(found.error.trimEnd().split("\n")).toEqual([
    expect.stringContaining('events: unknown kind "nosuch"'),
    expect.stringMatching(/events: eu\/prod-2: incomplete: a gap of apps\/v1.ReplicaSet/),
    expect.stringMatching(/events: us\/dev: incomplete: apps\/v1.ReplicaSet is known only up to 2025-11-21/),
    expect.stringMatching(/events: us\/dev: incomplete: a gap/),
  ])
  const items = found.output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { cluster: string; time: number })
  expect(Object.keys(items[0] ?? {})[0]).toBe("cluster")
  expect(new Set(items.map(({ cluster }) => cluster))).toEqual(new Set(["eu/prod-1", "eu/prod-2", "us/dev"]))
  expect(items.map(({ time }) => time)).toEqual(items.map(({ time }) => time).toSorted((one, other) => one - other))
})

test("a cluster without the object is silent, unless it lacks something", { timeout: patient(30_000) }, async () => {
  const part = "--since 2025-11-21T04:40:30Z --until 2025-11-21T04:41:00Z"
  const found = await run(`history rs/replica-set-1 ${part}`)
  expect(found.code).toBe(exitCodes.incomplete)
  expect(found.error).toMatch(
    /^reel fleet history: eu\/prod-1 and eu\/prod-2: incomplete: .* only from 03:00:00 UTC on\n$/,
  )
  expect(found.output).toMatch(/^us\/dev {5}2025/)
  const root = join(place, "quiet")
  await shipped("a", (directory) => recordStory(directory), root)
  await shipped("without", (directory) => recordStory(directory, { without: "api" }), root)
  const silent = await run("history deploy/api -o json", root)
  expect(silent).toMatchObject({ code: exitCodes.ok, error: "" })
  expect(silent.output.match(/"cluster":"\w+"/g)).toEqual(['"cluster":"a"', '"cluster":"a"', '"cluster":"a"'])
  const lacking = await run("diff deploy/web --at 2026-03-02T03:01:00Z..now")
  expect(lacking.output).toBe(
    [1, 2]
      .map(
        (number) =>
          `eu/prod-${number}  changed   apps/v1.Deployment shop/web  by kubectl-edit\neu/prod-${number}      spec.replicas: 1 → 3\n`,
      )
      .join(""),
  )
  expect(lacking).toMatchObject({
    ...{
      code: exitCodes.incomplete,
      error: "reel fleet diff: us/dev: incomplete: apps/v1.Deployment is not recorded\n",
    },
  })
  expect(await run("history deploy/none --clusters eu/*")).toEqual({
    ...{ code: exitCodes.failed, output: "" },
    error: "reel fleet history: there are no changes of apps/v1.Deployment none in that time\n",
  })
})

test("a cluster that cannot be read does not hide the others", { timeout: patient(30_000) }, async () => {
  const root = join(place, "other")
  await shipped("a2", (directory) => recordStory(directory), root)
  mkdirSync(join(root, "b"))
  writeFileSync(join(root, "b", "stream.json"), "{}")
  const found = await run("history deploy/web", root)
  expect(found.code).toBe(exitCodes.incomplete)
  expect(found.output).toMatch(/^a2 {2}03:00:01/)
  expect(found.error).toMatch(/^reel fleet history: b: .*stream\.json is damaged/)
  const alone = await run("history deploy/web -o json", join(root, "a2"))
  expect(alone.output).toMatch(/^\{"cluster":"a2",/)
})

test("a cluster in shards is one past, and a shard without a stream is named", {
  timeout: patient(30_000),
}, async () => {
  const root = join(place, "sharded")
  const big = join(root, "big")
  await shipped("big/shard-0", (directory) => recordStory(directory), root)
  await shipped("big/shard-1", recordSample, root)
  writeFileSync(join(big, "shards.json"), '{"version":1,"shards":3,"split":[]}')
  const asked = (command: Command, line: string) =>
    ran(command, [...line.split(" "), "--data-dir", big], capturedTerminal({ environment }))
  const absent = `incomplete: the shard file://${big}/shard-2 has no stream yet\n`
  const output = "03:00:01 UTC  created     apps/v1.Deployment shop/web  by kubectl\n"
  const found = await asked(
    historyCommand(() => now),
    "deploy/web --until 2026-03-02T03:01:00Z",
  )
  expect(found).toEqual({ code: exitCodes.incomplete, output, error: `reel history: ${absent}` })
  expect(await run("history deploy/web --until 2026-03-02T03:01:00Z", root)).toEqual({
    ...{ code: exitCodes.incomplete, output: `big  ${output}`, error: `reel fleet history: ${absent}` },
  })
  const differing = await asked(
    diffCommand(() => now),
    "deploy/web --at 2026-03-02T03:01:00Z..now",
  )
  expect(differing.output).toContain("spec.replicas: 1 → 3")
  const got = await asked(
    getCommand(() => now),
    "deploy/web -o name --at 2026-03-02T03:11:00Z",
  )
  expect(got).toEqual({ code: exitCodes.incomplete, output: "deployment.apps/web\n", error: `reel get: ${absent}` })
  const covered = await asked(
    coverageCommand(() => now),
    "-o json",
  )
  expect(covered.code).toBe(exitCodes.usage)
  expect(covered.error).toContain(
    `is a cluster in 3 shards; name one of them: file://${big}/shard-0, file://${big}/shard-1`,
  )
  expect(await shardsOf(big)).toEqual([0, 1, 2].map((index) => `file://${big}/shard-${index}`))
  expect(await shardsOf(root)).toEqual([])
  writeFileSync(join(big, "shards.json"), '{"version":1,"shards":0,"split":[]}')
  await expect(shardsOf(big)).rejects.toThrow("shards.json is damaged: it is not what this version reads")
  expect(
    (
      await asked(
        historyCommand(() => now),
        "deploy/web",
      )
    ).error,
  ).toContain("shards.json is damaged")
})

test.each([
  ["history deploy/web", "missing argument: expected KIND/NAME ADDRESS", undefined],
  ["history nosuch", 'unknown kind "nosuch"', "fleet"],
  [
    "history deploy/web --clusters us/prod-*",
    "--clusters us/prod-* matches none of eu/prod-1, eu/prod-2 and us/dev",
    "fleet",
  ],
  ["events", "there are no streams below", "recordings"],
  ["events --since soon", '--since "soon"', "fleet"],
  ["diff", "--at TIME..TIME is required", "fleet"],
  ["events --selector ((", "label", "fleet"],
])("%s is refused", { timeout: patient(30_000) }, async (line, error, where) => {
  const words = [...line.split(" "), ...(where === undefined ? [] : [join(place, where)])]
  const found = await ran(
    fleetCommand(() => now),
    words,
    capturedTerminal({ environment }),
  )
  expect(found.error).toContain(error)
  expect(found.output).toBe("")
  expect([exitCodes.usage, exitCodes.failed]).toContain(found.code)
})

const anySegment = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,8}$/)

test("a glob chooses the names that it stands for", () => {
  fc.assert(
    fc.property(
      fc.array(anySegment, { minLength: 1, maxLength: 3 }),
      fc.nat(),
      fc.nat(),
      anySegment,
      (path, at, cut, other) => {
        const name = path.join("/")
        const index = at % path.length
        const [before, segment, after] = [path.slice(0, index), path[index] ?? "", path.slice(index + 1)]
        const withPart = (part: string): string => [...before, part, ...after].join("/")
        const kept = segment.slice(0, cut % (segment.length + 1))
        for (const glob of [name, withPart("*"), withPart(`${kept}*`), withPart("**"), "**"])
          expect(isChosen(name, [glob])).toBe(true)
        expect(isChosen(name, [])).toBe(true)
        expect(isChosen(`${name}/${other}`, [withPart("*")])).toBe(false)
        expect(isChosen(name, [`${name}x`, `${other}/${name}`])).toBe(false)
      },
    ),
  )
})

test("answers that are in order are one answer in order", () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.nat(20), { maxLength: 9 }), { maxLength: 4 }), (times) => {
      using answers = new SortedAnswers()
      const added = times.flatMap((each, source) =>
        each
          .toSorted((one, other) => one - other)
          .map((time, index) => ({ time, source, line: `${source} ${time} ${index}` })),
      )
      for (const { time, source, line } of added) answers.add(time, source, line)
      expect(answers.isEmpty).toBe(added.length === 0)
      expect([...answers.lines("cluster")]).toEqual(added.map(({ line }) => line))
      const byTime = added.toSorted((one, other) => one.time - other.time || one.source - other.source)
      expect([...answers.lines("time")]).toEqual(byTime.map(({ line }) => line))
    }),
  )
})
