/** `reel ui` at an address with several streams: which clusters there are, each opened when it is asked, and none harmed by another. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { uiCommand } from "../../src/cli/ui.ts"
import { recordSample } from "../archive/sample-recording.ts"
import { shippedStream } from "../fleet/shipped-stream.ts"
import { patient } from "../harness/patience.ts"
import { get } from "../sandbox/client.ts"
import { capturedTerminal } from "./captured-terminal.ts"
import { ran, type Serving, serving } from "./commands-in.ts"
import { recordStory } from "./past-recording.ts"

let place: string
let fleet: string
let environment: Record<string, string>

beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), "kubereel-clusters-"))
  fleet = join(place, "fleet")
  environment = { KUBEREEL_CACHE: join(place, "cache") }
  for (const name of ["eu/prod-1", "eu/prod-2", "us/dev", "us/old"])
    await shippedStream(join(fleet, name), name === "us/dev" ? recordSample : recordStory, name)
  const damaged = join(fleet, "us/torn")
  await shippedStream(damaged, recordStory, "torn")
  for (const name of readdirSync(join(damaged, "segments"))) {
    const file = join(damaged, "segments", name)
    const bytes = readFileSync(file)
    writeFileSync(file, bytes.fill(0, bytes.length >> 1))
  }
  mkdirSync(join(fleet, "us/unknown"), { recursive: true })
  writeFileSync(join(fleet, "us/unknown/stream.json"), "{}")
}, patient(60_000))

afterAll(() => rmSync(place, { recursive: true, force: true }))

const serve = (...words: ReadonlyArray<string>): Promise<Serving> =>
  serving(uiCommand(), ["--no-open", ...words], environment)

const asked = (served: Serving, path: string, headers: Record<string, string> = {}) =>
  get(String(new URL(`../${path}`, served.url)), headers)

const kindsOf = async (served: Serving, name: string) => {
  const { status, text } = await asked(served, `${encodeURIComponent(name)}/v1/kinds`)
  return [status, status === 200 ? JSON.parse(text).items.map(({ gvk }: { gvk: string }) => gvk) : text.trim()]
}

interface Listed {
  readonly isComplete: boolean
  readonly items: ReadonlyArray<Readonly<Record<string, unknown>> & { readonly name: string }>
}

const listed = async (served: Serving): Promise<Listed> => JSON.parse((await asked(served, "v1/clusters")).text)

const whole = async (served: Serving): Promise<Listed["items"]> => {
  await expect.poll(async () => (await listed(served)).isComplete, { timeout: patient(20_000) }).toBe(true)
  return (await listed(served)).items
}

/** Mirrors that were made. */
const mirrors = (): number => {
  try {
    return readdirSync(join(place, "cache", "mirrors")).length
  } catch {
    return 0
  }
}

describe("reel ui at an address with several streams", () => {
  test("lists them with what is to be known of each, and opens one when it is asked", {
    timeout: patient(60_000),
  }, async () => {
    await using served = await serve(fleet)
    expect(new URL(served.url).pathname).toMatch(/^\/[\w-]{43}\/clusters\/ui\/$/)
    expect(served.output).toContain(`recorded  6 clusters in ${fleet}\n`)
    expect((await get(served.url)).text).toContain('<div id="page">')
    expect(JSON.parse((await asked(served, "v1/clusters")).text)).toMatchObject({ isComplete: false })
    const items = await whole(served)
    expect(items.map(({ name }) => name)).toEqual([
      ...["eu/prod-1", "eu/prod-2", "us/dev", "us/old", "us/torn", "us/unknown"],
    ])
    expect(items[0]).toEqual({ name: "eu/prod-1", lagSeconds: expect.any(Number), gaps: 0 })
    expect(items.at(-1)).toMatchObject({ lagSeconds: null, trouble: expect.stringContaining("stream.json is damaged") })
    expect(mirrors()).toBe(0)
    expect(await kindsOf(served, "eu/prod-1")).toEqual([200, expect.arrayContaining(["apps/v1.Deployment"])])
    expect(mirrors()).toBe(1)
    expect((await asked(served, "eu%2Fprod-1/ui/")).text).toContain('<div id="page">')
  })

  test("what is wrong with one cluster is said of it, and no other is harmed", {
    timeout: patient(60_000),
  }, async () => {
    await using served = await serve(fleet)
    await whole(served)
    expect(await kindsOf(served, "us/torn")).toEqual([502, expect.stringMatching(/segments\/.* is damaged/)])
    expect(await kindsOf(served, "us/unknown")).toEqual([502, expect.stringContaining("stream.json is damaged")])
    expect((await whole(served)).find(({ name }) => name === "us/torn")?.trouble).toMatch(/is damaged/)
    expect((await kindsOf(served, "us/dev"))[0]).toBe(200)
    expect(await kindsOf(served, "us/nosuch")).toEqual([
      404,
      `there is no cluster "us%2Fnosuch": 6 clusters in ${fleet}`,
    ])
  })

  test("more clusters are looked at than are open at once, again and again", { timeout: patient(60_000) }, async () => {
    await using served = await serve(fleet)
    const names = ["eu/prod-1", "eu/prod-2", "us/dev", "us/old"]
    for (const name of [...names, ...names]) expect([name, (await kindsOf(served, name))[0]]).toEqual([name, 200])
    const statuses = await Promise.all(names.map(async (name) => (await kindsOf(served, name))[0]))
    for (const status of statuses) expect([200, 503]).toContain(status)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(3)
  })

  test("only who knows the address may ask, and only its own page", { timeout: patient(60_000) }, async () => {
    await using served = await serve(fleet, "--clusters", "eu/*")
    const { origin } = new URL(served.url)
    for (const path of ["/clusters/ui/", "/clusters/v1/clusters", "/clusters/eu%2Fprod-1/v1/kinds", "/v1/kinds"])
      expect([path, (await get(origin + path)).status]).toEqual([path, 404])
    for (const path of ["../ui/", "../v1/kinds", "v1/kinds", "eu%2Fprod-1/v1/../../x"])
      expect([path, (await asked(served, path)).status]).toEqual([path, 404])
    for (const path of ["v1/clusters", "eu%2Fprod-1/v1/kinds"]) {
      expect((await asked(served, path, { "Sec-Fetch-Site": "same-site" })).status).toBe(403)
      expect((await asked(served, path, { Host: "shop.example" })).status).toBe(421)
      expect((await asked(served, path, { "Sec-Fetch-Site": "same-origin" })).status).toBe(200)
    }
    expect((await listed(served)).items.map(({ name }) => name)).toEqual(["eu/prod-1", "eu/prod-2"])
  })

  test("shards are chosen one by one, and the cluster by its name", { timeout: patient(60_000) }, async () => {
    const root = join(place, "sharded")
    for (const shard of ["shard-0", "shard-1"]) await shippedStream(join(root, "eu/huge", shard), recordStory, shard)
    writeFileSync(join(root, "eu/huge/shards.json"), "torn")
    await using served = await serve(root, "--clusters", "eu/hu*")
    expect(served.output).toContain("recorded  1 cluster in ")
    expect((await whole(served)).map(({ name }) => name)).toEqual(["eu/huge/shard-0", "eu/huge/shard-1"])
    expect((await kindsOf(served, "eu/huge/shard-1"))[0]).toBe(200)
    await using alone = await serve(join(root, "eu/huge"))
    expect((await listed(alone)).items.map(({ name }) => name)).toEqual(["huge/shard-0", "huge/shard-1"])
  })

  test("one stream is no choice, unless it is asked for as one", { timeout: patient(60_000) }, async () => {
    const one = join(fleet, "eu/prod-1")
    await using alone = await serve(one)
    expect(new URL(alone.url).pathname).toMatch(/^\/[\w-]{43}\/ui\/$/)
    await using chosen = await serve(one, "--clusters", "prod-*")
    expect((await listed(chosen)).items.map(({ name }) => name)).toEqual(["prod-1"])
  })

  test.each([
    [[], ["--clusters", "a"], /--clusters requires the address of the clusters/],
    [
      ["fleet"],
      ["--clusters", "nosuch-*"],
      /--clusters nosuch-\* matches none of eu\/prod-1, eu\/prod-2, us\/dev and 3 more/,
    ],
    [["http://127.0.0.1:1"], ["--clusters", "a"], /neither an object store nor a directory/],
  ])("refuses %j %j", async ([source], words, message) => {
    const place = source === "fleet" ? [fleet] : source === undefined ? [] : [source]
    const { code, error } = await ran(uiCommand(), [...place, ...words], capturedTerminal({ environment }))
    expect([code, error]).toEqual([exitCodes.usage, expect.stringMatching(message)])
  })
})
