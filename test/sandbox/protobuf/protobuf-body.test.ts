import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { Refusal } from "../../../src/sandbox/store/refusal.ts"
import { withJsonBody } from "../../../src/sandbox/writes/request/protobuf-body.ts"
import { rounds } from "../../harness/effort.ts"
import { openForFile } from "../opened-sandbox.ts"
import { configMap, envelope, field, protobufCreation } from "./protobuf-request.ts"
import { recordedObjects } from "./recorded-objects.ts"

const sandbox = await openForFile()

const configMaps = "/api/v1/namespaces/default/configmaps"
const protobuf = "application/vnd.kubernetes.protobuf"

const send = async (method: string, path: string, body: Buffer, accept = `${protobuf},application/json`) => {
  const headers = { "Content-Type": protobuf, Accept: accept }
  const answer = await fetch(sandbox.url + path, { method, headers, body: new Uint8Array(body) })
  const { message, reason } = (await answer.json()) as { message?: string; reason?: string }
  return { status: answer.status, type: answer.headers.get("content-type"), message, reason }
}

describe("over HTTP", () => {
  test("an object is created as from JSON, and the response is JSON", async () => {
    const answer = await send("POST", `${configMaps}?fieldManager=kubectl-create`, configMap("made", "color", "red"))
    expect(answer).toMatchObject({ status: 201, type: "application/json" })
    expect(sandbox.get("v1.ConfigMap", "default", "made")).toMatchObject({
      metadata: { managedFields: [{ manager: "kubectl-create", fieldsV1: { "f:data": { ".": {}, "f:color": {} } } }] },
      data: { color: "red" },
    })
  })

  test("a client that accepts only protobuf gets a 406", async () => {
    expect((await send("POST", configMaps, configMap("only"), protobuf)).status).toBe(406)
  })

  test("options of a deletion are read", async () => {
    sandbox.put("v1.ConfigMap", { metadata: { name: "doomed", namespace: "default" } })
    const other = field(2, field(1, "another-uid"))
    const refused = await send("DELETE", `${configMaps}/doomed`, envelope("v1", "DeleteOptions", other))
    expect(refused).toMatchObject({
      status: 409,
      message: expect.stringContaining("the UID in the precondition (another-uid)"),
    })
    const dryRun = field(5, "All")
    await send("DELETE", `${configMaps}/doomed`, envelope("v1", "DeleteOptions", dryRun))
    expect(sandbox.get("v1.ConfigMap", "default", "doomed")).toBeDefined()
    expect((await send("DELETE", `${configMaps}/doomed`, Buffer.alloc(0))).status).toBe(200)
    expect(sandbox.get("v1.ConfigMap", "default", "doomed")).toBeUndefined()
  })

  test("custom kinds have no protobuf", async () => {
    const gvk = { group: "protobuf.example.com", version: "v1", kind: "Thing" }
    sandbox.register({ gvk, plural: "things", namespaced: true })
    expect(await send("POST", "/apis/protobuf.example.com/v1/namespaces/default/things", configMap("a"))).toMatchObject(
      {
        status: 415,
        message: expect.stringMatching(/accepted media types include: application\/json, application\/yaml$/),
      },
    )
  })

  test("but deletions of them have options in protobuf", async () => {
    const gvk = { group: "deleted.example.com", version: "v1", kind: "Thing" }
    sandbox.register({ gvk, plural: "things", namespaced: true })
    sandbox.put(gvk, { metadata: { name: "a", namespace: "default" } })
    const options = envelope("v1", "DeleteOptions", field(4, "Background"))
    const answer = await send("DELETE", "/apis/deleted.example.com/v1/namespaces/default/things/a", options)
    expect(answer.status).toBe(200)
    expect(sandbox.get(gvk, "default", "a")).toBeUndefined()
  })

  const magic = Buffer.from("k8s\0")
  test.each<[string, Buffer]>([
    ["nothing", Buffer.alloc(0)],
    ["no magic", Buffer.from("hello")],
    ["JSON", Buffer.from('{"kind":"ConfigMap","apiVersion":"v1"}')],
    ["only magic", magic],
    ["a cut envelope", Buffer.concat([magic, Buffer.from([0xff, 0xff])])],
    ["a cut object", envelope("v1", "ConfigMap", Buffer.from([10, 3, 10, 1, 97, 255]))],
    ["another kind", envelope("v1", "Pod", field(1, field(1, "a")))],
    ["an unknown kind", envelope("v1", "Foo", field(1, field(1, "a")))],
  ])("%s is refused", async (_, body) => {
    const message = expect.stringContaining("cannot be read as a ConfigMap of v1") as string
    expect(await send("POST", configMaps, body)).toMatchObject({ status: 400, reason: "BadRequest", message })
  })
})

describe("any bytes", () => {
  const outcome = (body: Buffer): "read" | "refused" => {
    try {
      JSON.parse(withJsonBody(protobufCreation(body)).body.toString())
      return "read"
    } catch (error) {
      if (error instanceof Refusal) return "refused"
      throw error
    }
  }

  test("are read or refused", () => {
    const kind = fc.constantFrom("ConfigMap", "Pod", "Secret", "Event", "Foo")
    const bytes = fc.uint8Array({ maxLength: 200 })
    fc.assert(fc.property(kind, bytes, (name, raw) => outcome(envelope("v1", name, raw)) !== undefined))
    fc.assert(fc.property(bytes, (raw) => outcome(Buffer.concat([Buffer.from("k8s\0"), raw])) !== undefined))
  })

  test("of real objects, cut or changed anywhere, are read or refused", () => {
    const objects = recordedObjects().map(({ protobuf: base64 }) => Buffer.from(base64, "base64"))
    fc.assert(
      fc.property(fc.constantFrom(...objects), fc.nat(), fc.nat(255), fc.boolean(), (object, position, byte, isCut) => {
        const at = position % object.length
        const damaged = Buffer.from(isCut ? object.subarray(0, at) : object)
        if (!isCut) damaged[at] = byte
        return outcome(damaged) !== undefined
      }),
      { numRuns: rounds(300) },
    )
  })

  test("may contain keys that are special in JavaScript", () => {
    fc.assert(
      fc.property(fc.constantFrom("__proto__", "constructor", "toString", "a"), fc.string(), (key, value) => {
        const { body } = withJsonBody(protobufCreation(configMap("x", key, value)))
        const { data } = JSON.parse(body.toString()) as { data: Record<string, string> }
        expect(Object.entries(data)).toEqual([[key, Buffer.from(value).toString("utf8")]])
      }),
    )
  })
})
