/** What readers may see of an answer, from the rights that an API server would report. */
import { describe, expect, test } from "vitest"
import type { ReadAction } from "../../../src/recorder/access/access.ts"
import { type AskedKind, type AskedPart, mostPlaces, readablePart } from "../../../src/recorder/http/past.ts"

const pods: AskedKind = { gvk: "v1.Pod", plural: "pods", namespaced: true }
const deployments: AskedKind = { gvk: "apps/v1.Deployment", plural: "deployments", namespaced: true }
const nodes: AskedKind = { gvk: "v1.Node", plural: "nodes", namespaced: false }
const unknown: AskedKind = { gvk: "example.com/v1.Old" }

/** `list pods shop`, `get pods shop/web`, `list deployments.apps *`: a right in all namespaces is one in each. */
const rights = (...granted: ReadonlyArray<string>) => {
  const asked: string[] = []
  const mayRead = async (_: unknown, { verb, group, resource, namespace, name }: ReadAction): Promise<boolean> => {
    const what = `${verb} ${resource}${group === "" ? "" : `.${group}`}`
    const place = `${namespace === "" ? "*" : namespace}${name === undefined ? "" : `/${name}`}`
    asked.push(`${what} ${place}`)
    return granted.includes(`${what} ${place}`) || granted.includes(`${what} *`)
  }
  return { asked, reader: { identity: { username: "ann" }, mayRead } }
}

const partOf = (
  granted: ReadonlyArray<string>,
  question: AskedPart,
  named: ReadonlyArray<AskedKind>,
  others: ReadonlyArray<AskedKind> = [],
) => readablePart(rights(...granted).reader, question, named, others)

test("the name of a user is written so that it controls no terminal", async () => {
  const { mayRead } = rights().reader
  const part = await readablePart(
    { identity: { username: "ann\u001b[2J\n" }, mayRead },
    { namespace: "shop" },
    [pods],
    [],
  )
  expect(part).toEqual({ tag: "refused", message: "ann\\u{1b}[2J\\u{a} may not list pods in namespace shop" })
})

describe("a kind that is named", () => {
  test("needs the right to list it in the namespace that is asked about", async () => {
    const granted = ["list pods shop"]
    expect(await partOf(granted, { namespace: "shop" }, [pods])).toEqual({
      tag: "shown",
      kinds: [{ gvk: "v1.Pod", namespaces: ["shop"] }],
    })
    expect(await partOf(granted, { namespace: "bank" }, [pods])).toEqual({
      tag: "refused",
      message: "ann may not list pods in namespace bank",
    })
  })

  test("needs it in all namespaces if none is named", async () => {
    expect(await partOf(["list deployments.apps shop"], {}, [deployments])).toEqual({
      tag: "refused",
      message: "ann may not list deployments.apps in all namespaces: name one in which it may",
    })
    const everywhere = await partOf(["list deployments.apps *"], {}, [deployments])
    expect(everywhere).toEqual({ tag: "shown", kinds: [{ gvk: "apps/v1.Deployment" }] })
  })

  test("of one object, needs the right to get that object", async () => {
    const granted = ["get pods shop/web"]
    const question = { namespace: "shop", name: "web" }
    expect(await partOf(granted, question, [pods])).toEqual({
      tag: "shown",
      kinds: [{ gvk: "v1.Pod", namespaces: ["shop"], isNamedOnly: true }],
    })
    // Of a kind without namespaces as well: the rest of it is not for this reader.
    expect(await partOf(["get nodes */one"], { name: "one" }, [nodes])).toEqual({
      tag: "shown",
      kinds: [{ gvk: "v1.Node", isNamedOnly: true }],
    })
    expect(await partOf(granted, { ...question, name: "db" }, [pods])).toMatchObject({ tag: "refused" })
    // Its tree may have other objects of the same kind.
    for (const more of [{ withOwned: true }, { withOwners: true }])
      expect(await partOf(granted, { ...question, ...more }, [pods])).toMatchObject({ tag: "refused" })
  })

  test("in no namespace, needs the right in the cluster whatever namespace is named", async () => {
    const { asked, reader } = rights("list nodes *")
    const part = await readablePart(reader, { namespace: "shop" }, [nodes], [])
    expect(part).toEqual({ tag: "shown", kinds: [{ gvk: "v1.Node" }] })
    expect(asked).toEqual(["list nodes *"])
  })

  test("is refused if no one knows what its resource is called", async () => {
    expect(await partOf(["list pods *"], {}, [unknown])).toMatchObject({
      tag: "refused",
      message: expect.stringContaining("cannot be checked: the recording does not have the name of their resource"),
    })
  })
})

test("of kinds that are not named, those without a right are left out", async () => {
  const granted = ["list pods shop", "list deployments.apps *"]
  expect(await partOf(granted, { namespace: "shop" }, [], [pods, deployments, nodes, unknown])).toEqual({
    tag: "shown",
    kinds: [
      { gvk: "v1.Pod", namespaces: ["shop"] },
      { gvk: "apps/v1.Deployment", namespaces: ["shop"] },
    ],
  })
  expect(await partOf(granted, {}, [], [pods, deployments, nodes])).toEqual({
    tag: "shown",
    kinds: [{ gvk: "apps/v1.Deployment" }],
  })
})

test("what cannot be decided is not shown", async () => {
  const reader = { identity: { username: "ann" }, mayRead: () => Promise.reject(new Error("no API server")) }
  await expect(readablePart(reader, {}, [pods], [])).rejects.toThrow("no API server")
  await expect(readablePart(reader, {}, [], [pods])).rejects.toThrow("no API server")
})

describe("kinds of which it is known where they are recorded, without a namespace in the question", () => {
  const located = { ...pods, namespaces: ["bank", "shop", ""] }

  test("are shown in the namespaces in which they may be listed", async () => {
    const { reader, asked } = rights("list pods shop")
    expect(await readablePart(reader, {}, [], [located])).toEqual({
      ...{ tag: "shown", kinds: [{ gvk: "v1.Pod", namespaces: ["shop"] }] },
    })
    expect(asked).toEqual(["list pods *", "list pods bank", "list pods shop"])
    expect(await readablePart(reader, {}, [located], [])).toMatchObject({ kinds: [{ namespaces: ["shop"] }] })
  })

  test("are not asked about one by one if they are too many, and the refusal says what to name", async () => {
    const namespaces = Array.from({ length: mostPlaces + 1 }, (_, at) => `ns-${at}`)
    const { reader, asked } = rights("list pods ns-0")
    expect(await readablePart(reader, {}, [], [{ ...pods, namespaces }])).toEqual({
      ...{ tag: "refused", message: expect.stringMatching(/name a namespace with the parameter namespace, or a kind/) },
    })
    expect(asked).toEqual(["list pods *"])
    expect(await readablePart(reader, { namespace: "ns-0" }, [], [{ ...pods, namespaces }])).toMatchObject({
      kinds: [{ namespaces: ["ns-0"] }],
    })
  })
})
