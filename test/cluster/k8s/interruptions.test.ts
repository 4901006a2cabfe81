/**
 * What happens to recorders in clusters, on a real control plane: tokens that rotate and are revoked, API servers that fail, a
 * SIGTERM in the middle of a burst. Afterwards the export has everything that the server still had, and gaps for the rest.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type Container, StagedImage } from "../../k8s/staged-image.ts"
import { compare, type Difference } from "../compare.ts"
import { type Json, parseExactly, textAt } from "../exact-json.ts"
import { parseLedger } from "../ledger.ts"
import { Observer } from "../observer.ts"
import { Burst, listed, type Written } from "./burst.ts"
import { Installation } from "./installation.ts"
import { OwnControlPlane } from "./own-control-plane.ts"
import { makeNamespace } from "./owners.ts"
import { Relay } from "./relay.ts"

const gvk = "v1.ConfigMap"
const detection = new Map([[gvk, { detect: "all" as const }]])
const work = "work"
const watching = /^\[\+\]v1\.ConfigMap watching/m
const gapsMetric = `kubereel_kind_gaps_total{kind="${gvk}"}`

let plane: OwnControlPlane
let relay: Relay
let image: StagedImage
let directory = ""

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "kubereel-interruptions-"))
  await writeFile(join(directory, "tracer.yml"), `trackedObjects:\n  ${gvk}: {detect: all}\n`)
  ;[plane, image] = await Promise.all([OwnControlPlane.start(), StagedImage.stage()])
  relay = await Relay.listen(plane.first.port)
  await plane.startSecond()
  await makeNamespace(plane.cluster, work)
})
afterAll(async () => {
  await image?.[Symbol.asyncDispose]()
  await relay?.[Symbol.asyncDispose]()
  await plane?.[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

const install = (name: string): Promise<Installation> =>
  Installation.install(
    { cluster: plane.cluster, authority: plane.authority, host: "127.0.0.1", port: String(relay.port) },
    { name, words: ["--config", join(directory, "tracer.yml"), "--auth", "none"] },
  )

/** By way of the first API server. */
const observe = (name: string): Promise<Observer> =>
  Observer.start({
    connection: plane.first.connection,
    kinds: [{ gvk, path: "/api/v1/configmaps" }],
    file: join(directory, name),
  })

const exportFrom = async (address: string): Promise<string> => {
  const body = {
    start_ts: 0,
    end_ts: 4_000_000_000,
    export_path: "file:///export",
    filters: { excluded_namespaces: [], excluded_labels: [] },
    format: "ndjson",
  }
  const response = await fetch(`${address}/export`, { method: "POST", body: JSON.stringify(body) })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`the export failed with ${response.status}: ${text}`)
  return text
}

/** The differences of the export once the recorder has had its time; it shares a machine with the cluster and the observer. */
const differencesFrom = async (
  address: string,
  observer: Observer,
  ledger: string,
): Promise<ReadonlyArray<Difference>> => {
  await observer.settle()
  const deadline = performance.now() + 20_000
  for (;;) {
    const exported = await exportFrom(address)
    // What the observer has seen last may still be on its way to the file.
    const found = compare(exported, parseLedger(await readFile(join(directory, ledger), "utf8")), detection)
    if (found.length === 0 || performance.now() > deadline) return found
    await sleep(100)
  }
}

const metric = async (address: string, name: string): Promise<number | undefined> => {
  const text = await (await fetch(`${address}/metrics`)).text()
  const line = text.split("\n").find((each) => each.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}

const identifierOf = (token: string): string => {
  const [, claims = ""] = token.split(".")
  return textAt(parseExactly(Buffer.from(claims, "base64url").toString("utf8")), "jti")
}

const inState = (container: Container, address: string, state: RegExp): Promise<string> =>
  container.until(async () => {
    const text = await (await fetch(`${address}/readyz?verbose`)).text()
    return state.test(text) ? text : undefined
  }, 60_000)

/**
 * Breaks the connections repeatedly until a condition holds: an open watch stays open whatever happens to its token, and an API
 * server takes some seconds to learn that a token is revoked.
 */
const cutUntil = <T>(container: Container, probe: () => Promise<T | undefined>): Promise<T> => {
  let lastCut = Number.NEGATIVE_INFINITY
  return container.until(async () => {
    const found = await probe()
    if (found === undefined && performance.now() - lastCut > 1000) {
      lastCut = performance.now()
      relay.cut()
    }
    return found
  })
}

test("tokens rotate and are revoked while events flow, and not one of them is missing", async () => {
  const installed = await install("rotation")
  const [oldest, newer] = [await installed.boundToken("oldest"), await installed.boundToken("newer")]
  const container = await installed.start(image, { token: oldest })
  const address = await container.ready()
  const observer = await observe("rotation")
  const burst = new Burst(plane.first.connection, work, "rotation")
  try {
    image.renewToken(newer)
    await installed.revoke("oldest")
    // An API server caches authentication for 10 s; this one has not seen the token yet.
    relay.leadTo(plane.second.port)
    await cutUntil(container, async () =>
      (await plane.tokensOf(installed.user)).has(identifierOf(newer)) ? true : undefined,
    )
    await burst.more(20)
    await inState(container, address, watching)
    expect(await metric(address, gapsMetric)).toBe(0)

    // The token was not renewed this time: the kubelet is down, or the account was deleted.
    await installed.revoke("newer")
    relay.leadTo(plane.first.port)
    const states = await cutUntil(container, async () => {
      const text = await (await fetch(`${address}/readyz?verbose`)).text()
      return /^\[!\]v1\.ConfigMap failing: .*HTTP 401/m.test(text) ? text : undefined
    })
    expect(states).toMatch(/HTTP 401.*token.*ServiceAccount.* read again automatically/)
    expect(container.log).toMatch(/the API server does not accept the credentials: HTTP 401/)
    expect(await metric(address, `kubereel_kind_state{kind="${gvk}",state="failing"}`)).toBe(1)
    expect((await fetch(`${address}/healthz`)).status).toBe(200)
    await burst.more(20)
    image.renewToken(await installed.boundToken("newest"))
    await inState(container, address, watching)
    await burst.more(20)
    await burst.stop()
    expect(await differencesFrom(address, observer, "rotation")).toEqual([])
    expect(await metric(address, gapsMetric)).toBe(0)
  } finally {
    await burst.stop()
    await observer.stop()
  }
  expect((await container.terminate()).code).toBe(0)
})

test("after a SIGTERM in the middle of a burst the next recorder continues, and nothing is missing", async () => {
  const installed = await install("terminated")
  const before = await installed.start(image)
  await before.ready()
  const observer = await observe("terminated")
  const burst = new Burst(plane.first.connection, work, "terminated")
  try {
    await burst.more(50)
    expect((await before.terminate()).code).toBe(0)
    await burst.more(50)
    const container = await installed.start(image, { keepsVolumes: true })
    const address = await container.ready()
    await burst.more(50)
    await burst.stop()
    expect(await differencesFrom(address, observer, "terminated")).toEqual([])
    expect((await container.terminate()).code).toBe(0)
  } finally {
    await burst.stop()
    await observer.stop()
  }
})

test("an API server fails and another one takes over: nothing is missing", async () => {
  const installed = await install("failover")
  relay.leadTo(plane.second.port)
  const container = await installed.start(image)
  const address = await container.ready()
  const observer = await observe("failover")
  const burst = new Burst(plane.first.connection, work, "failover")
  try {
    await burst.more(50)
    relay.leadTo(plane.first.port)
    await plane.kill(plane.second)
    await burst.more(50)
    await burst.stop()
    expect(await differencesFrom(address, observer, "failover")).toEqual([])
  } finally {
    await burst.stop()
    await observer.stop()
  }
  expect((await container.terminate()).code).toBe(0)
})

test("the only API server restarts: what it no longer has is in a gap, and nothing else is missing", async () => {
  const installed = await install("restarted")
  const { connection } = plane.first
  const before = await installed.start(image)
  const address = await before.ready()
  const burst = new Burst(connection, work, "restarted")
  await burst.more(50)
  // The watch cache with the last minutes is lost too.
  relay.leadTo(undefined)
  await plane.kill(plane.first)
  await inState(before, address, /^\[!\]v1\.ConfigMap failing: /m)
  await plane.startFirst()
  relay.leadTo(plane.first.port)
  await burst.more(50)
  await inState(before, address, watching)
  await burst.more(50)
  await burst.stop()
  const present = await listed(connection, work)
  await before.until(async () => ((await faultsOf(address, burst.written, present)).length === 0 ? true : undefined))
  // A watch that comes while the server fills its cache is served from etcd and misses nothing; one that comes later is refused.
  const forgot = /no longer has the changes .* a gap is recorded/
  if (((await metric(address, gapsMetric)) ?? 0) > 0)
    await before.until(async () => (forgot.test(before.log) ? true : undefined))
  expect((await before.terminate()).code).toBe(0)

  // While no recorder runs: changes, and a server that keeps nothing of them.
  const lost = new Burst(connection, work, "lost")
  await lost.more(50)
  await lost.stop()
  await plane.compact()
  await plane.kill(plane.first)
  await plane.startFirst()
  const container = await installed.start(image, { keepsVolumes: true })
  const next = await container.ready()
  // A server may accept a watch with 200 and report only then that it no longer has the version.
  await container.until(async () => ((await metric(next, gapsMetric)) === 1 ? true : undefined))
  await inState(container, next, watching)
  expect(container.log).toMatch(/v1\.ConfigMap listing: the server no longer has the changes .* a gap is recorded/)
  const { gaps } = readExport(await exportFrom(next))
  expect(gaps.at(-1)?.reason).toBe("expired")
  expect(await faultsOf(next, [...burst.written, ...lost.written], await listed(connection, work))).toEqual([])
  expect((await container.terminate()).code).toBe(0)
})

interface Gap {
  readonly from: bigint
  readonly to: bigint
  readonly reason: string
}

interface Exported {
  /** `uid version` of the objects at the start. */
  readonly versions: ReadonlySet<string>
  /** UID and version of the objects at the end. */
  readonly state: ReadonlyMap<string, string>
  readonly gaps: ReadonlyArray<Gap>
}

const readExport = (text: string): Exported => {
  const versions = new Set<string>()
  const state = new Map<string, string>()
  const gaps: Gap[] = []
  for (const line of text.split("\n").slice(1, -2)) {
    const value: Json = parseExactly(line)
    const [uid, version] = [textAt(value, "uid"), textAt(value, "resourceVersion")]
    const action = textAt(value, "action")
    if (action === "gap")
      gaps.push({
        from: BigInt(textAt(value, "fromVersion")),
        to: BigInt(textAt(value, "toVersion")),
        reason: textAt(value, "reason"),
      })
    else if (textAt(value, "namespace") !== work) continue
    else if (action === "applied") {
      versions.add(`${uid} ${version}`)
      state.set(uid, version)
    } else state.delete(uid)
  }
  return { versions, state, gaps }
}

/**
 * Versions that are neither in the export nor in one of its gaps; and objects whose state in the export differs from
 * the server's.
 */
const faultsOf = async (
  address: string,
  written: ReadonlyArray<Written>,
  state: ReadonlyMap<string, string>,
): Promise<ReadonlyArray<string>> => {
  const found = readExport(await exportFrom(address))
  const isLost = ({ resourceVersion }: Written): boolean =>
    found.gaps.some(({ from, to }) => BigInt(resourceVersion) > from && BigInt(resourceVersion) <= to)
  const missing = written
    .filter((each) => !found.versions.has(`${each.uid} ${each.resourceVersion}`) && !isLost(each))
    .map(({ uid, resourceVersion }) => `missing: ${uid} at ${resourceVersion}`)
  const wrong = [...new Set([...state.keys(), ...found.state.keys()])]
    .filter((uid) => state.get(uid) !== found.state.get(uid))
    .map((uid) => `${uid} is at ${state.get(uid)} and not at ${found.state.get(uid)}`)
  return [...missing, ...wrong]
}
