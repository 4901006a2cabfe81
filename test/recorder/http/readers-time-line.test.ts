/** The time line, and the differences, of a client that may read a part of the cluster, over HTTP: it names nothing, and sees what it may. */
import { expect, test } from "vitest"
import type { Access, ReadAction } from "../../../src/recorder/access/access.ts"
import { START } from "../../archive/sample-frames.ts"
import { FollowedRecording, followedKind } from "./followed-recording.ts"

/** Objects 1 and 4 are in ns-1, object 2 in ns-2, object 3 in no namespace. */
const record = async (...readable: ReadonlyArray<string>) => {
  const asked: ReadAction[] = []
  const mayRead = async (_: unknown, action: ReadAction): Promise<boolean> => {
    asked.push(action)
    return readable.includes(action.namespace)
  }
  const access: Access = {
    decide: async () => ({ tag: "allowed", who: "ann", reader: { identity: { username: "ann" }, mayRead } }),
    close: () => undefined,
  }
  const recording = await FollowedRecording.start(() => access)
  for (const number of [2, 3, 4]) recording.add(number)
  const answer = async (path: string) => {
    const response = await fetch(`${recording.url}/v1/${path}`)
    const text = await response.text()
    return { status: response.status, text, json: response.ok ? JSON.parse(text) : undefined }
  }
  return { answer, asked }
}

const window = `from=${START}&to=${START + 1000}`
const namesOf = (items: ReadonlyArray<{ readonly name: string }>): string[] => items.map(({ name }) => name)

test("lanes without a filter are those of the namespaces that it may read, and what is left out is said", async () => {
  const { answer, asked } = await record("ns-1")
  const { status, json } = await answer(`lanes?${window}`)
  expect([status, namesOf(json.items), json.isRestricted, json.leftOut]).toEqual([
    ...[200, ["ns-1"], true, { kinds: [], namespaces: ["ns-1"] }],
  ])
  const below = await answer(`lanes?${window}&parent=namespace/ns-1`)
  expect(namesOf(below.json.items)).toEqual(["object-1", "object-4"])
  const named = await answer(`lanes?${window}&kind=${followedKind}`)
  expect(namesOf(named.json.items)).toEqual(["ns-1"])
  // Of objects in no namespace, the right to all is needed.
  expect(new Set(asked.map(({ namespace }) => namespace))).toEqual(new Set(["", "ns-1", "ns-2"]))
})

test("tiles, histogram and findings without a namespace too", async () => {
  const { answer } = await record("ns-2")
  const tiles = await answer(`tiles?${window}&width=4&lane=1.1&lane=1.2&lane=1.3&lane=1.4`)
  expect(tiles.json.items.map(({ lane }: { lane: string }) => lane)).toEqual(["1.2"])
  expect(tiles.json.leftOut).toEqual({ kinds: [], namespaces: ["ns-2"] })
  const { json } = await answer(`histogram?${window}&width=1`)
  expect(json.counts).toEqual([1])
  expect((await answer(`findings?${window}`)).status).toBe(200)
})

test("differences without a namespace are those of the namespaces that it may read", async () => {
  const { answer } = await record("ns-1")
  const { status, json } = await answer(`differences?${window}`)
  expect([status, namesOf(json.items), json.isRestricted, json.leftOut]).toEqual([
    ...[200, ["object-1", "object-4"], true, { kinds: [], namespaces: ["ns-1"] }],
  ])
  const named = await answer(`differences?${window}&kind=${followedKind}`)
  expect(namesOf(named.json.items)).toEqual(["object-1", "object-4"])
  const forbidden = await answer(`differences?${window}&kind=${followedKind}&namespace=ns-2`)
  expect([forbidden.status, forbidden.text]).toEqual([
    403,
    expect.stringMatching(/may not list pods in namespace ns-2/),
  ])
})

test("a kind of which it may read nothing is named; asked for by name, it is refused", async () => {
  const { answer } = await record()
  const { status, json } = await answer(`lanes?${window}`)
  expect([status, json.items, json.leftOut]).toEqual([200, [], { kinds: [followedKind] }])
  const named = await answer(`lanes?${window}&kind=${followedKind}`)
  expect([named.status, named.text]).toEqual([403, expect.stringMatching(/may not list pods in all namespaces/)])
})

test("who may read everything is asked about no namespace", async () => {
  const { answer, asked } = await record("")
  expect(namesOf((await answer(`lanes?${window}`)).json.items)).toEqual(["", "ns-1", "ns-2"])
  expect(asked.map(({ namespace }) => namespace)).toEqual([""])
})
