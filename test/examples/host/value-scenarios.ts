/** What an example guest reads and writes, whatever the values are, and what becomes of the memory that they take. */
import fc from "fast-check"
import { expect, test } from "vitest"
import type { CompiledGuest } from "../../../src/host/index.ts"
import { rounds } from "../../harness/effort.ts"
import { GuestHost } from "./guest-host.ts"

const listed = (host: GuestHost): bigint => {
  for (const { id } of host.requests) host.answer(id, 200, { metadata: { resourceVersion: "1" }, items: [] })
  return host.watches.find(({ asked }) => asked.kind === "SimplePod")?.id ?? -1n
}

const simplePod = (metadata: object, image: string): object => ({
  apiVersion: "slinky.dev/v1",
  kind: "SimplePod",
  metadata: { namespace: "default", uid: "1", resourceVersion: "2", ...metadata },
  spec: { image },
})

const nested = (depth: number): unknown =>
  depth === 0 ? [] : depth % 2 === 0 ? [nested(depth - 1)] : { a: nested(depth - 1) }

/** Text without halves of surrogate pairs, which UTF-8 does not have. */
const text = fc.string({ unit: "binary", maxLength: 40 })

/** Declares the tests. `guest` returns the built module. */
export const carriesAnyValue = (guest: () => CompiledGuest): void => {
  test("reads any JSON, however it is spaced and escaped, and writes any text", () => {
    const host = new GuestHost(guest())
    const watch = listed(host)
    let count = 0
    const escapes = (json: string): string =>
      json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    const write = fc.constantFrom<(value: unknown) => string>(
      (value) => JSON.stringify(value),
      (value) => JSON.stringify(value, undefined, "\t"),
      (value) => escapes(JSON.stringify(value)),
    )
    const property = fc.property(text, text, fc.jsonValue(), write, (image, uid, other, write) => {
      const metadata = { other, name: `pod-${count++}`, uid, managedFields: [other] }
      const event = { other, type: "ADDED", object: { ...simplePod(metadata, image), status: other } }
      host.deliverBytes(watch, Buffer.from(write(event)))
      const [request] = host.requests
      const pod = JSON.parse(request?.asked.body ?? "") as {
        metadata: { ownerReferences: ReadonlyArray<{ uid: string }> }
        spec: { containers: ReadonlyArray<{ image: string }> }
      }
      expect(pod.spec.containers[0]?.image).toBe(image)
      expect(pod.metadata.ownerReferences[0]?.uid).toBe(uid)
      host.answer(request?.id ?? -1n, 201, {})
    })
    fc.assert(property, { numRuns: rounds(800) })
    expect([host.requests, host.delays]).toEqual([[], []])
  })

  test("reads values of 900 levels, and survives values of 5,000", () => {
    const host = new GuestHost(guest())
    const watch = listed(host)
    host.deliver(watch, "ADDED", { ...simplePod({ name: "deep" }, "nginx"), status: nested(900) })
    expect(host.requests.map(({ asked }) => asked.method)).toEqual(["POST"])
    host.deliver(watch, "ADDED", { ...simplePod({ name: "deeper" }, "nginx"), status: nested(5000) })
    expect(host.requests.length + host.delays.length).toBe(2)
  })

  test("survives anything that is no event, and is not woken into a trap by any prefix of one", () => {
    const whole = JSON.stringify({
      type: "ADDED",
      object: simplePod({ name: 'a\\"\u00e9', a: [1, -2.5e3, true, null] }, "x"),
    })
    const host = new GuestHost(guest())
    let watch = listed(host)
    const survives = (bytes: Uint8Array): void => {
      host.deliverBytes(watch, bytes)
      host.end(watch)
      for (const { id } of host.delays) host.elapse(id)
      for (const { id, asked } of host.requests)
        host.answer(id, 200, asked.method === "GET" ? { metadata: { resourceVersion: "1" }, items: [] } : {})
      watch = host.watches.find(({ asked }) => asked.kind === "SimplePod")?.id ?? -1n
      expect(watch).toBeGreaterThanOrEqual(0n)
    }
    for (let length = 1; length < whole.length; length++) survives(Buffer.from(whole).subarray(0, length))
    fc.assert(fc.property(fc.uint8Array({ minLength: 1, maxLength: 60 }), survives), { numRuns: rounds(400) })
  })

  test("frees the values that it was given", () => {
    const host = new GuestHost(guest())
    const watch = listed(host)
    const annotations = { notes: "x".repeat(20_000) }
    const round = (): void => {
      for (let index = 0; index < 300; index++) {
        host.deliver(watch, "ADDED", simplePod({ name: `pod-${index % 10}`, annotations }, "nginx"))
        for (const { id } of host.requests) host.answer(id, 201, { metadata: { annotations } })
        host.deliver(watch, "DELETED", simplePod({ name: `pod-${index % 10}`, annotations }, "nginx"))
      }
    }
    round()
    const before = host.memoryBytes
    // 36 MB of events and responses.
    for (let rest = 0; rest < 2; rest++) round()
    expect(host.memoryBytes - before).toBeLessThan(4_000_000)
    expect([host.requests, host.delays]).toEqual([[], []])
  })
}
