/** A recorder's directory as a past: while a recorder writes, with damage, and with a recorder that starts under it. */

import { copyFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, test } from "vitest"
import { ArchiveWriter, DATABASE_FILE, discoveryKey, MIRROR_FILE, withDiscovered } from "../../src/archive/index.ts"
import { addChecksumFunction } from "../../src/archive/tables/sound-rows.ts"
import { ArchivePast, NothingToServe, type Past } from "../../src/serve/index.ts"
import { encodeFrame, type SampleFrame, START } from "../archive/sample-frames.ts"
import { recordSample } from "../archive/sample-recording.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { type ApiObject, get, getJson } from "../sandbox/client.ts"
import { serve } from "./served.ts"

const second = 1_000_000
const configMaps = "/api/v1/configmaps"

const objects = ({ items }: ApiObject): ReadonlyArray<string> => items.map(({ metadata }) => metadata.name)

/** A directory whose recorder has ended. */
const sample = (): string => {
  const directory = temporaryDirectory()
  recordSample(directory).close()
  return directory
}

const collected = async <Item>(batches: AsyncIterable<ReadonlyArray<Item>>): Promise<ReadonlyArray<Item>> => {
  const all: Item[] = []
  for await (const batch of batches) all.push(...batch)
  return all
}

const changed = (name: number, time: number, version: number): SampleFrame => ({
  ...{ gvk: "v1.ConfigMap", completeThrough: String(version), newObjects: [name] },
  events: [
    {
      ...{ action: "applied", number: name, time, version },
      object: JSON.stringify({
        kind: "ConfigMap",
        apiVersion: "v1",
        metadata: { name: `object-${name}`, resourceVersion: String(version) },
      }),
    },
  ],
})

describe("a recording", () => {
  test("has at every moment the states that its reader has, and between two moments the changes", async () => {
    const past: Past = ArchivePast.open(sample())
    const all = await collected(past.changes("v1.Pod", past.begin, past.end))
    for (const moment of [past.begin, START + 50 * second, START + 115 * second, past.end]) {
      const alive = new Map((await collected(past.stateAt("v1.Pod", past.begin))).map((each) => [each.name, each]))
      for (const change of all) {
        if (change.time > moment) break
        if (change.action === "applied") alive.set(change.name, change)
        else alive.delete(change.name)
      }
      const state = await collected(past.stateAt("v1.Pod", moment))
      expect(new Map(state.map((each) => [each.name, each]))).toEqual(alive)
    }
    const middle = START + 60 * second
    expect([
      ...(await collected(past.changes("v1.Pod", past.begin, middle))),
      ...(await collected(past.changes("v1.Pod", middle, past.end))),
    ]).toEqual(all)
    past.close()
  })

  test("with damaged blocks is served without them, and says which time is concerned", async () => {
    const directory = sample()
    const database = new DatabaseSync(join(directory, DATABASE_FILE))
    addChecksumFunction(database)
    const { changes } = database
      .prepare(
        "UPDATE block SET data = zeroblob(length(data)) WHERE last_sequence = (SELECT max(last_sequence) FROM block WHERE sealed = 1)",
      )
      .run()
    database.close()
    expect(changes).toBe(1)
    const { url, past } = await serve(ArchivePast.open(directory))
    const answer = await get(`${url}/at/${past.end}${configMaps}`)
    expect([answer.status, answer.headers.warning]).toEqual([
      200,
      expect.stringMatching(
        /^299 - "v1\.ConfigMap: what was recorded from .* is damaged: objects may be missing or outdated"/,
      ),
    ])
    expect((await get(`${url}/at/${past.begin + second}${configMaps}`)).headers.warning).toBeUndefined()
  })

  test("names a custom kind as the API server did, without its definition", async () => {
    const directory = temporaryDirectory()
    const writer = ArchiveWriter.open(directory, { now: () => START })
    const gadget = { ...changed(3, START, 10), gvk: "example.com/v1.Gadget" }
    writer.append("watcher/1", 1, 1, encodeFrame(gadget))
    const names = {
      plural: "gadgetries",
      singular: "gadget",
      shortNames: ["gd"],
      categories: ["all"],
      namespaced: false,
    }
    writer.metadata.set(discoveryKey, withDiscovered(undefined, { gvk: gadget.gvk, ...names }))
    writer.commit()
    writer.close()
    const { url } = await serve(ArchivePast.open(directory))
    const answer = await get(`${url}/apis/example.com/v1/gadgetries`)
    expect([objects(JSON.parse(answer.text)), answer.headers.warning]).toEqual([["object-3"], undefined])
    const { resources } = JSON.parse((await get(`${url}/apis/example.com/v1`)).text)
    expect(resources).toMatchObject([
      { name: "gadgetries", singularName: "gadget", shortNames: ["gd"], categories: ["all"], namespaced: false },
    ])
  })

  test("of nothing is refused, and so is a directory that is none", () => {
    const directory = temporaryDirectory()
    ArchiveWriter.open(directory).close()
    expect(() => ArchivePast.open(directory)).toThrow(
      new NothingToServe({ source: directory, reason: "no kind is recorded in it yet" }),
    )
    expect(() => ArchivePast.open(temporaryDirectory())).toThrow(/recording/)
  })
})

describe("a recorder", () => {
  test("that writes: what it records later is reached by its time, and the end stays where it was", async () => {
    const directory = temporaryDirectory()
    let now = START
    const writer = ArchiveWriter.open(directory, { now: () => now })
    const add = (frame: SampleFrame, incarnation: number): void => {
      writer.append("watcher/1", 1, incarnation, encodeFrame(frame))
      writer.commit()
    }
    add(changed(1, START, 10), 1)
    const { url, clock } = await serve(ArchivePast.open(directory))
    now = START + 10 * second
    add(changed(2, now, 11), 2)
    // It looks once a second.
    clock.advance(1000)
    expect(objects(await getJson(`${url}/at/end${configMaps}`))).toEqual(["object-1"])
    expect(objects(await getJson(`${url}/at/${now}${configMaps}`))).toEqual(["object-1", "object-2"])
    expect(await getJson(`${url}/at/${now + second}${configMaps}`)).toMatchObject({ code: 400 })
    now += second
    add(changed(4, now, 12), 3)
    clock.advance(1000)
    expect(objects(await getJson(`${url}/at/${now}${configMaps}`))).toEqual(["object-1", "object-4", "object-2"])
    writer.close()
  })

  test("that starts in the directory of a past that is being served: it is opened anew", async () => {
    const directory = sample()
    const { url, past } = await serve(ArchivePast.open(directory))
    const writer = ArchiveWriter.open(directory)
    expect(objects(await getJson(`${url}/at/${past.begin + 60 * second}${configMaps}`))).toHaveLength(9)
    writer.close()
  })

  test("that removes the beginning: a moment before it is refused, never shown wrong, and later ones stay as they were", async () => {
    const directory = temporaryDirectory()
    const writer = recordSample(directory)
    const { url, clock, troubles } = await serve(ArchivePast.open(directory))
    const [early, late] = [START + 10 * second, START + 105 * second]
    const before = await getJson(`${url}/at/${late}${configMaps}`)
    expect(objects(before)).toHaveLength(9)
    writer.retention.setPolicy({ forMicros: 30 * second, kinds: new Map() })
    while (writer.retention.step(() => false));
    // Not noticed yet; the reading of it does.
    expect((await get(`${url}/at/${early}${configMaps}`)).status).toBe(500)
    expect(troubles).toEqual([expect.stringContaining("retention removed the beginning")])
    clock.advance(1000)
    expect(await getJson(`${url}/at/${early}${configMaps}`)).toMatchObject({ code: 410, reason: "Expired" })
    expect((await getJson(`${url}/at/${late + 1}${configMaps}`)).items).toEqual(before.items)
    writer.close()
  })
})

test("a mirror that was removed and made anew meanwhile is opened again, and shows what it has more", async () => {
  const [directory, later] = [temporaryDirectory(), sample()]
  recordSample(directory, 20).close()
  writeFileSync(join(directory, MIRROR_FILE), "{}")
  const past = ArchivePast.open(directory)
  const changes = () => collected(past.changes("v1.ConfigMap", past.begin, past.end))
  const before = await changes()
  for (const end of ["", "-wal", "-shm"]) rmSync(join(directory, `${DATABASE_FILE}${end}`), { force: true })
  copyFileSync(join(later, DATABASE_FILE), join(directory, DATABASE_FILE))
  await past.refresh()
  const whole = ArchivePast.open(later)
  expect(await changes()).toEqual(await collected(whole.changes("v1.ConfigMap", whole.begin, whole.end)))
  expect((await changes()).length).toBeGreaterThan(before.length)
  past.close()
  whole.close()
})
