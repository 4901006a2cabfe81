/** The structures of the ABI, against worked examples of the original's encoder, and against bytes that no encoder writes. */

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  decodeGuestRequest,
  decodeWatchRequest,
  encodeGuestResponse,
  maximumHeaderValues,
} from "../../../src/host/guest/abi-values.ts"
import { BincodeError, BincodeWriter } from "../../../src/host/guest/bincode.ts"
import { mutated } from "../../kube/scanner/mutation.ts"
import { decodeGuestResponse, encodeGuestRequest, encodeWatchRequest } from "./guest-side.ts"

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"))
const text = (value: string): Uint8Array => Uint8Array.from(Buffer.from(value))

/** What the original's encoder writes. */
const examples = {
  watch: {
    value: {
      apiVersion: "slinky.dev/v1",
      group: "slinky.dev",
      kind: "SimplePod",
      version: "v1",
      namespace: "default",
      resourceVersion: "42",
      includeUninitialized: false,
      labelSelector: "a=b",
      allowBookmarks: false,
    },
    bytes: bytes(
      "0d00000000000000736c696e6b792e6465762f76310a00000000000000736c696e6b792e646576090000000000000053696d706c65506f640200000000000000763101070000000000000064656661756c74020000000000000034320000010300000000000000613d6200",
    ),
  },
  request: {
    value: { method: "GET", uri: "/api/v1/namespaces/default/pods?", headers: new Map(), body: text("") },
    bytes: bytes(
      "030000000000000047455420000000000000002f6170692f76312f6e616d657370616365732f64656661756c742f706f64733f00000000000000000000000000000000",
    ),
  },
  response: {
    value: {
      status: 404,
      headers: new Map([
        ["x-a", [text("1"), text("2")]],
        ["x-b", [text("3")]],
      ]),
      body: text('{"code":404}'),
    },
    bytes: bytes(
      "940102000000000000000300000000000000782d6102000000000000000100000000000000310100000000000000320300000000000000782d6201000000000000000100000000000000330c000000000000007b22636f6465223a3430347d",
    ),
  },
}

const string = fc.string({ unit: "binary" })
const optional = fc.option(string, { nil: undefined })
const body = fc.uint8Array({ maxLength: 400 })
const headers = fc
  .uniqueArray(fc.tuple(string, fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 4 })), {
    selector: ([name]) => name,
    maxLength: 6,
  })
  .map((entries) => new Map(entries))

const watchRequests = fc
  .record({
    apiVersion: string,
    group: string,
    kind: string,
    version: string,
    namespace: optional,
    resourceVersion: string,
    fieldSelector: optional,
    includeUninitialized: fc.boolean(),
    labelSelector: optional,
    allowBookmarks: fc.boolean(),
  })
  .map(({ namespace, fieldSelector, labelSelector, ...rest }) => ({
    ...rest,
    ...(namespace !== undefined && { namespace }),
    ...(fieldSelector !== undefined && { fieldSelector }),
    ...(labelSelector !== undefined && { labelSelector }),
  }))
const plain = { noNullPrototype: true }
const requests = fc.record({ method: string, uri: string, headers, body }, plain)
const responses = fc.record({ status: fc.integer({ min: 0, max: 65_535 }), headers, body }, plain)

const faultOf = (decode: () => unknown): string => {
  try {
    decode()
  } catch (cause) {
    if (cause instanceof BincodeError) return cause.fault
    throw cause
  }
  return "none"
}

describe("The worked examples", () => {
  test("of a watch request", () => {
    expect(decodeWatchRequest(examples.watch.bytes)).toStrictEqual(examples.watch.value)
    expect(Buffer.from(encodeWatchRequest(examples.watch.value))).toEqual(Buffer.from(examples.watch.bytes))
  })

  test("of an HTTP request", () => {
    expect(decodeGuestRequest(examples.request.bytes)).toStrictEqual(examples.request.value)
    expect(Buffer.from(encodeGuestRequest(examples.request.value))).toEqual(Buffer.from(examples.request.bytes))
  })

  test("of an HTTP response", () => {
    expect(decodeGuestResponse(examples.response.bytes)).toStrictEqual(examples.response.value)
    expect(Buffer.from(encodeGuestResponse(examples.response.value))).toEqual(Buffer.from(examples.response.bytes))
  })
})

describe("Every value", () => {
  test("of a watch request is decoded as it was encoded", () => {
    fc.assert(
      fc.property(watchRequests, (value) => {
        expect(decodeWatchRequest(encodeWatchRequest(value))).toStrictEqual(value)
      }),
    )
  })

  test("of an HTTP request is decoded as it was encoded", () => {
    fc.assert(
      fc.property(requests, (value) => {
        expect(decodeGuestRequest(encodeGuestRequest(value))).toStrictEqual(value)
      }),
    )
  })

  test("of an HTTP response is decoded as it was encoded", () => {
    fc.assert(
      fc.property(responses, (value) => {
        expect(decodeGuestResponse(encodeGuestResponse(value))).toStrictEqual(value)
      }),
    )
  })

  test("is decoded from the middle of a larger buffer, and keeps nothing of it", () => {
    const around = Buffer.concat([Buffer.from("before"), examples.response.bytes, Buffer.from("after")])
    const decoded = decodeGuestResponse(around.subarray(6, -5))
    around.fill(0)
    expect(decoded).toStrictEqual(examples.response.value)
  })

  test("that begins with a byte order mark keeps it", () => {
    const value = { ...examples.watch.value, kind: "\uFEFFPod" }
    expect(decodeWatchRequest(encodeWatchRequest(value)).kind).toBe("\uFEFFPod")
  })
})

describe("Bytes that are not a value", () => {
  const decoders = [decodeWatchRequest, decodeGuestRequest, decodeGuestResponse]

  test("are refused with a typed error, whatever they are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (garbage) => {
        for (const decode of decoders) faultOf(() => decode(garbage))
      }),
    )
  })

  test("are refused with a typed error if they are nearly right", () => {
    const valid = Object.values(examples).map((example) => Buffer.from(example.bytes))
    fc.assert(
      fc.property(fc.constantFrom(...valid), mutated, (original, mutate) => {
        for (const decode of decoders) faultOf(() => decode(mutate(original)))
      }),
    )
  })

  test("are truncated at any place, or have something behind their end", () => {
    for (const [index, { bytes }] of Object.values(examples).entries()) {
      const decode = decoders[index] ?? decodeWatchRequest
      for (let length = 0; length < bytes.length; length++)
        expect(["truncated", "length"]).toContain(faultOf(() => decode(bytes.subarray(0, length))))
      expect(faultOf(() => decode(Buffer.concat([bytes, Buffer.of(0)])))).toBe("trailing")
    }
  })

  test("have a length beyond their end, up to the largest of 64 bits", () => {
    for (const length of ["0e00000000000000", "ffffffffffffffff", "0000000000000080", "0000000001000000"]) {
      const damaged = Buffer.concat([bytes(length), examples.watch.bytes.subarray(8, 21)])
      expect(faultOf(() => decodeWatchRequest(damaged))).toBe("length")
    }
  })

  test("have more headers than their length has room for", () => {
    const damaged = Buffer.from(examples.response.bytes)
    damaged.writeBigUInt64LE(6n, 2)
    expect(faultOf(() => decodeGuestResponse(damaged))).toBe("length")
  })

  test("have text that is not UTF-8: overlong, a surrogate, cut off", () => {
    for (const invalid of ["c080", "eda080", "c3", "ff"]) {
      const writer = new BincodeWriter()
      writer.bytes(bytes(invalid))
      expect(faultOf(() => decodeWatchRequest(writer.finish()))).toBe("utf-8")
    }
  })

  test("have a tag or a boolean other than 0 and 1", () => {
    const optional = Buffer.from(examples.watch.bytes)
    optional[optional.indexOf("default") - 9] = 2
    expect(faultOf(() => decodeWatchRequest(optional))).toBe("tag")
    const boolean = Buffer.from(examples.watch.bytes)
    boolean[boolean.length - 1] = 255
    expect(faultOf(() => decodeWatchRequest(boolean))).toBe("tag")
  })

  test("have more header values than the host wants to hold", () => {
    const many = (count: number) => {
      const values = Array.from({ length: count }, () => text(""))
      return encodeGuestRequest({ ...examples.request.value, headers: new Map([["x", values]]) })
    }
    expect(decodeGuestRequest(many(maximumHeaderValues)).headers.get("x")).toHaveLength(maximumHeaderValues)
    expect(faultOf(() => decodeGuestRequest(many(maximumHeaderValues + 1)))).toBe("too-many")
  })

  test("the error names structure, place and reason", () => {
    expect(() => decodeWatchRequest(bytes("ffffffffffffffff"))).toThrow(
      "WatchRequest at byte 0: a length of 18446744073709551615 does not fit into the 0 bytes that follow",
    )
  })
})

test("A header that a guest names twice has the values of both", () => {
  const writer = new BincodeWriter(1)
  writer.string("GET")
  writer.string("/")
  writer.count(2)
  for (const value of ["1", "2"]) {
    writer.string("x")
    writer.count(1)
    writer.string(value)
  }
  writer.bytes(text(""))
  expect(decodeGuestRequest(writer.finish()).headers).toEqual(new Map([["x", [text("1"), text("2")]]]))
})
