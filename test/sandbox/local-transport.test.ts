import { describe, expect, onTestFinished, test } from "vitest"
import type { StreamEnd } from "../../src/kube/http/transport.ts"
import { AlreadyExistsError, ApiClient, type ApiObject, kinds, NotFoundError } from "../../src/kube/index.ts"
import type { LocalRequest } from "../../src/sandbox/local-request.ts"
import { LocalTransport } from "../../src/sandbox/local-transport.ts"
import { Sandbox } from "../../src/sandbox/sandbox.ts"
import { turn, until } from "../runtime/until.ts"

const settings: ApiObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" } }
const place = { namespace: "default", name: "a" }

interface Tracked {
  readonly managedFields: ReadonlyArray<{ readonly manager: string }>
}

const start = async () => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  const transport = new LocalTransport(sandbox, "kubereel-test/1")
  onTestFinished(async () => {
    transport.close()
    await sandbox.close()
  })
  return { sandbox, transport, client: new ApiClient({ server: transport, userAgent: "kubereel-test/1" }) }
}

describe("A client in the sandbox's process", () => {
  test("writes and reads objects without a request over HTTP, and lists over it", async () => {
    const { sandbox, client } = await start()
    // No request over a socket succeeds.
    sandbox.faults.respond("configmaps", 500)
    const created = await client.create(kinds.configMaps, settings)
    expect(await client.get(kinds.configMaps, place)).toEqual(created)
    await client.apply(kinds.configMaps, place, { ...settings, data: { y: "1" } }, { fieldManager: "other" })
    await client.patch(kinds.configMaps, place, "merge", { data: { x: "1" } })
    await expect(client.list(kinds.configMaps)).rejects.toMatchObject({ code: 500 })
    sandbox.faults.clear()
    const { items } = await client.list<ApiObject & { readonly data: object }>(kinds.configMaps)
    expect(items.map(({ data }) => data)).toEqual([{ x: "1", y: "1" }])
    const managers = items.flatMap(({ metadata }) =>
      (metadata as unknown as Tracked).managedFields.map(({ manager }) => manager),
    )
    expect(managers).toEqual(["other", "kubereel-test"])
  })

  test("is refused like any other client", async () => {
    const { client } = await start()
    await client.create(kinds.configMaps, settings)
    await expect(client.create(kinds.configMaps, settings)).rejects.toBeInstanceOf(AlreadyExistsError)
    await expect(client.get(kinds.configMaps, { ...place, name: "b" })).rejects.toBeInstanceOf(NotFoundError)
  })
})

describe("A client whose lists and watches go through memory", () => {
  test("needs no port: it lists, watches, and sees the end of both", async () => {
    const { sandbox } = await start()
    const server = {
      // Nothing listens there.
      endpoint: { server: "http://127.0.0.1:1", headers: [] },
      connect: () => sandbox.connect(),
      request: (request: LocalRequest) => sandbox.request(request),
    }
    const transport = new LocalTransport(server, "kubereel-test/1", { isInMemory: true })
    const client = new ApiClient({ server: transport, userAgent: "kubereel-test/1" })
    await client.create(kinds.configMaps, settings)
    const { items } = await client.list(kinds.configMaps)
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["a"])

    const story: string[] = []
    transport.get(
      "/api/v1/configmaps?watch=1&resourceVersion=0",
      {},
      {
        head: (status) => story.push(`head ${status}`),
        data: (buffer, from, to) =>
          story.push(...(buffer.toString("utf8", from, to).match(/"(?:ADDED|DELETED)"/g) ?? [])),
        end: (outcome: StreamEnd) => story.push(outcome.tag),
      },
    )
    await until(() => story.length > 1)
    sandbox.delete("v1.ConfigMap", "default", "a")
    await until(() => story.length > 2)
    transport.close()
    await turn()
    expect(story).toEqual(["head 200", '"ADDED"', '"DELETED"', "aborted"])
  })

  test("notices that the server is closed", async () => {
    const { sandbox } = await start()
    const transport = new LocalTransport(sandbox, "kubereel-test/1", { isInMemory: true })
    const ends: StreamEnd[] = []
    const ignore = (): undefined => undefined
    transport.get("/api/v1/pods?watch=1", {}, { head: ignore, data: ignore, end: (outcome) => ends.push(outcome) })
    await until(() => sandbox.watchCount() === 1)
    sandbox.faults.dropConnections()
    await until(() => ends.length > 0)
    expect(ends[0]?.tag).toMatch(/connection|truncated/)
  })
})

describe("A request within the process", () => {
  const asked = (transport: LocalTransport) => {
    const story: string[] = []
    const stream = transport.send(
      { method: "POST", path: "/api/v1/namespaces/default/configmaps", headers: {}, body: JSON.stringify(settings) },
      {
        head: (status) => story.push(`head ${status}`),
        data: () => story.push("data"),
        end: (outcome: StreamEnd) => story.push(outcome.tag),
      },
    )
    return { story, stream }
  }

  test("calls no handler before it returns, and reports its end once", async () => {
    const { transport } = await start()
    const { story, stream } = asked(transport)
    expect(story).toEqual([])
    await turn()
    await turn()
    stream.abort()
    await turn()
    expect(story).toEqual(["head 201", "data", "complete"])
  })

  test("that is aborted first is not executed", async () => {
    const { transport, sandbox } = await start()
    const { story, stream } = asked(transport)
    stream.abort()
    await turn()
    await turn()
    expect([story, sandbox.get("v1.ConfigMap", "default", "a")]).toEqual([["aborted"], undefined])
  })

  test("that is paused gets nothing until it is resumed", async () => {
    const { transport } = await start()
    const { story, stream } = asked(transport)
    stream.pause()
    await turn()
    await turn()
    expect(story).toEqual([])
    stream.resume()
    await turn()
    expect(story).toEqual(["head 201", "data", "complete"])
  })
})
