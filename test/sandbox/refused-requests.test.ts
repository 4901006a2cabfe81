/** Requests for nothing, or with nonsensical parameters; every response was recorded from Kubernetes 1.34.4. */

import { connect } from "node:net"
import { beforeAll, describe, expect, test } from "vitest"
import { get, Watch } from "./client.ts"
import { openForFile } from "./opened-sandbox.ts"
import { configMaps, send, sendFor } from "./writes/write-client.ts"

const sandbox = await openForFile({ ledger: "none" })
beforeAll(async () => {
  await sendFor(sandbox, 201, "POST", configMaps, { metadata: { name: "a" } })
  await sendFor(sandbox, 201, "POST", configMaps, { metadata: { name: "b" } })
})

const ask = async (path: string, accept?: string): Promise<{ status: number; message: string }> => {
  const { status, text } = await get(sandbox.url + path, accept === undefined ? {} : { Accept: accept })
  return { status, message: String((JSON.parse(text) as { message?: string }).message) }
}

describe("parameters", () => {
  test.each([
    [`${configMaps}/a?resourceVersion=x`, 500],
    [`${configMaps}/nope?resourceVersion=x`, 500],
    [`${configMaps}?timeoutSeconds=x&limit=y`, 400],
    [`${configMaps}?timeoutSeconds=99999999999999999999`, 400],
    [`${configMaps}?watch=1&continue=x`, 422],
    [`${configMaps}?limit=1&continue=x`, 400],
  ])("%s", async (path, status) => {
    expect(await ask(path)).toMatchObject({ status })
  })

  test("with a broken escape, or with a semicolon, count as absent, as Go reads them", async () => {
    for (const query of ["limit=%zz", "timeoutSeconds=1;x=y", "limit=1&labelSelector=%4"]) {
      const { status } = await get(`${sandbox.url}${configMaps}?${query}`)
      expect([query, status]).toEqual([query, 200])
    }
  })

  test("force is not one of a creation", async () => {
    await sendFor(sandbox, 201, "POST", `${configMaps}?force=All&dryRun=All`, { metadata: { name: "forced" } })
  })

  test("uid and resourceVersion of a deletion are its preconditions", async () => {
    const created = await sendFor(sandbox, 201, "POST", configMaps, { metadata: { name: "kept" } })
    for (const query of ["uid=x", "resourceVersion=1", `uid=${created.metadata.uid}&resourceVersion=1`])
      await sendFor(sandbox, 409, "DELETE", `${configMaps}/kept?${query}`)
    await sendFor(sandbox, 200, "DELETE", `${configMaps}/kept?uid=${created.metadata.uid}&resourceVersion=`)
  })
})

describe("paths", () => {
  const notFound = { status: 404, message: "the server could not find the requested resource" }

  test("an escaped slash is a slash", async () => {
    expect(await ask(`${configMaps}/a%2Fb`)).toEqual(notFound)
  })

  test("too many segments get a failure in JSON", async () => {
    expect(await ask(`${configMaps}/a/b/c/d`)).toEqual(notFound)
  })

  test("a broken escape is not a request", async () => {
    const { status, text, headers } = await get(`${sandbox.url}${configMaps}/a%zz`)
    expect([status, text, headers["content-type"]]).toEqual([400, "400 Bad Request", "text/plain; charset=utf-8"])
  })

  test.each(["FROB", "CONNECT"])("the method %s gets a 405", async (method) => {
    const { port } = new URL(sandbox.url)
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(`${method} / HTTP/1.1\r\nHost: x\r\n\r\n`))
      let text = ""
      socket.on("data", (data) => {
        text += data.toString()
      })
      socket.on("error", reject)
      socket.on("close", () => resolve(text))
    })
    const [head = "", body = ""] = answer.split("\r\n\r\n")
    expect(head).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/)
    expect(JSON.parse(body)).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: "the server does not allow this method on the requested resource",
      reason: "MethodNotAllowed",
      details: {},
      code: 405,
    })
  })
})

test("a client that resets its connection after CONNECT does no harm", async () => {
  const { port } = new URL(sandbox.url)
  await new Promise<void>((resolve, reject) => {
    const socket = connect(Number(port), "127.0.0.1", () => socket.write("CONNECT / HTTP/1.1\r\nHost: x\r\n\r\n"))
    socket.on("data", () => socket.resetAndDestroy())
    socket.on("error", reject)
    socket.on("close", () => resolve())
  })
  expect(await ask(`${configMaps}/a`)).toMatchObject({ status: 200 })
})

describe("the old way to watch", () => {
  const old = configMaps.replace("/api/v1/", "/api/v1/watch/")

  test("streams a collection", async () => {
    const watch = await Watch.open(`${sandbox.url}${old}`)
    const events = await watch.take(2)
    expect(events.map(({ type, object }) => `${type} ${object.metadata.name}`).sort()).toEqual(["ADDED a", "ADDED b"])
    watch.close()
  })

  test("streams one object by its name", async () => {
    const watch = await Watch.open(`${sandbox.url}${old}/b`)
    expect((await watch.next()).object.metadata.name).toBe("b")
    await sendFor(sandbox, 200, "PUT", `${configMaps}/a`, { metadata: { name: "a" }, data: { x: "1" } })
    await sendFor(sandbox, 200, "PUT", `${configMaps}/b`, { metadata: { name: "b" }, data: { x: "1" } })
    expect(await watch.next()).toMatchObject({ type: "MODIFIED", object: { metadata: { name: "b" } } })
    watch.close()
  })

  test("takes no writes", async () => {
    expect((await send(sandbox, "DELETE", `${old}/b`)).status).toBe(405)
  })
})

describe("media types", () => {
  test("YAML is written for clients that prefer it", async () => {
    const { status, text, headers } = await get(`${sandbox.url}/api/v1/namespaces/kube-system`, {
      Accept: "application/yaml",
    })
    expect([status, headers["content-type"]]).toEqual([200, "application/yaml"])
    expect(text).toMatch(/^apiVersion: v1\nkind: Namespace\nmetadata:\n {2}creationTimestamp: "/)
    const list = await get(`${sandbox.url}${configMaps}`, { Accept: "application/yaml, application/json" })
    expect(list.text).toMatch(/^apiVersion: v1\nitems:\n- /)
    const missing = await get(`${sandbox.url}${configMaps}/nope`, { Accept: "application/yaml" })
    expect(missing.text).toBe(
      'apiVersion: v1\ncode: 404\ndetails:\n  kind: configmaps\n  name: nope\nkind: Status\nmessage: configmaps "nope" not found\n' +
        "metadata: {}\nreason: NotFound\nstatus: Failure\n",
    )
  })

  test("application/* names none", async () => {
    expect(await ask(`${configMaps}/a`, "application/*")).toEqual({
      status: 406,
      message: "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml",
    })
  })

  test("the refusal of a list names the types that can be streamed too", async () => {
    expect((await ask(configMaps, "text/plain")).message).toMatch(/application\/yaml, application\/json;stream=watch$/)
  })

  test("a watch cannot be YAML, and says so in YAML", async () => {
    const { status, text } = await get(`${sandbox.url}${configMaps}?watch=1`, { Accept: "application/yaml" })
    expect(status).toBe(406)
    expect(text).toContain("only the following media types are accepted: application/json;stream=watch")
  })

  test("the index of the OpenAPI documents is text", async () => {
    const { headers } = await get(`${sandbox.url}/openapi/v3`)
    expect(headers["content-type"]).toBe("text/plain; charset=utf-8")
  })
})
