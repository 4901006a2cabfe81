import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { decode } from "@msgpack/msgpack"
import fc from "fast-check"
import { beforeAll, describe, expect, test } from "vitest"
import { MessagePackWriter } from "../../../../../src/trace/formats/simkube/message-pack/message-pack-writer.ts"
import { largestObject, SimkubeSimd } from "../../../../../src/trace/formats/simkube/simd/simkube-simd.ts"
import { simdSource } from "../../../../../src/trace/formats/simkube/simd/simkube-simd-module.ts"
import { writeSimkubeObject } from "../../../../../src/trace/formats/simkube/written-index.ts"
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseExactJson,
  type SimkubeType,
  sanitise,
} from "../../../../../src/trace/index.ts"
import { formatExactJson } from "../../../../../src/trace/json/exact-json.ts"
import { generatedFields } from "../../../../../src/trace/sanitising/generated-fields.ts"
import { rounds } from "../../../../harness/effort.ts"
import { write } from "../../../../kube/scanner/json-text.ts"
import { kubernetesObject } from "../../../../kube/scanner/kubernetes-object.ts"
import { mutated } from "../../../../kube/scanner/mutation.ts"
import { jsonObject, jsonValue, objectOf } from "../../../json-values.ts"

const deployment: SimkubeType = { apiVersion: "apps/v1", kind: "Deployment" }
const pod: SimkubeType = { apiVersion: "v1", kind: "Pod" }

let simd: SimkubeSimd

beforeAll(() => {
  const created = SimkubeSimd.create()
  if (created === undefined) throw new Error("this machine has no WebAssembly SIMD")
  simd = created
})

interface Encoded {
  readonly bytes: string
  readonly hash: bigint
}

const encoded = (bytes: Uint8Array, hash: bigint): Encoded => ({ bytes: Buffer.from(bytes).toString("hex"), hash })

/** The module's result; `undefined` if the other pass is needed. */
const quickly = (text: string | Uint8Array, type: SimkubeType, before = 0): Encoded | undefined => {
  const own = Buffer.from(text)
  const bytes = Buffer.concat([Buffer.alloc(before, '"'), own, Buffer.from('"}')])
  return simd.encode(type, bytes.subarray(before, before + own.length)) ? encoded(simd.encoded, simd.hash) : undefined
}

/** The result of the pass through objects; `undefined` if the text is not valid. */
const slowly = (text: string | Uint8Array, type: SimkubeType): Encoded | undefined => {
  const out = new MessagePackWriter()
  try {
    const object = parseExactJson(text)
    if (!isJsonObject(object)) return undefined
    const hash = writeSimkubeObject(out, sanitise(type, object))
    return encoded(out.view(), hash)
  } catch {
    return undefined
  }
}

const types = fc.constantFrom(deployment, pod)

/** What is left out is not read: it may be damaged without notice, as long as the rest is intact. */
const expectTheSame = (ours: Encoded, theirs: Encoded | undefined): void => {
  if (theirs !== undefined) expect(ours).toEqual(theirs)
  // The other implementation rejects this key.
  else if (!Buffer.from(ours.bytes, "hex").includes("__proto__"))
    expect(() => decode(Buffer.from(ours.bytes, "hex"))).not.toThrow()
}

/** A Deployment as an API server sends it, including everything that is left out. */
const usual = (spec: string): string =>
  `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"a","uid":"u","labels":{"b":"1","a":"2"},` +
  `"managedFields":[{"manager":"\\"}","fieldsV1":{"f:a":{}}}],"annotations":{"z":"\\u003c\\n","deployment.kubernetes.io/revision":"1",` +
  `"kubectl.kubernetes.io/last-applied-configuration":"{\\"a\\":1}"},"ownerReferences":[{"uid":"o"}],"finalizers":["f"]},` +
  `"spec":${spec},"status":{"replicas":3,"text":"]}\\\\"}}`

const everything = usual(
  '{"template":{"spec":{"nodeName":"n","b":[1,-1,300,70000,-70000,5000000000,true,false,null]}},"a":"ä😀","nodeName":"n"}',
)

describe("the WebAssembly encoder of SimKube's objects", () => {
  test("is built from the sources beside it", () => {
    const folder = new URL("../../../../../src/trace/formats/simkube/simd/assembly/", import.meta.url)
    const hash = createHash("sha256")
    for (const name of readdirSync(folder).toSorted()) hash.update(readFileSync(new URL(name, folder)))
    expect(simdSource).toBe(hash.digest("hex"))
  })

  test("accepts what API servers send, and writes the same as the pass through objects", () => {
    for (const type of [deployment, pod]) {
      expect(quickly(everything, type)).toEqual(slowly(everything, type))
      expect(quickly(everything, type)).toBeDefined()
    }
  })

  test("writes the same for any object that it accepts, at any position", () => {
    let taken = 0
    fc.assert(
      fc.property(kubernetesObject, types, fc.nat(40), (object, type, before) => {
        const text = write(object)
        const ours = quickly(text, type, before)
        if (ours === undefined) return
        taken++
        expectTheSame(ours, slowly(text, type))
      }),
      { numRuns: rounds(3000) },
    )
    expect(taken).toBeGreaterThan(rounds(500))
  })

  test("writes the same for any values: numbers of every size, strings of every length and plane, keys in any order", () => {
    let taken = 0
    fc.assert(
      fc.property(jsonObject, jsonValue, jsonObject, types, (labels, spec, rest, type) => {
        // Not spread: a key with a backslash would get a shape, and V8 would misread the keys of later texts (see withProperty).
        const others = Object.entries(rest).filter(([key]) => key !== "metadata" && key !== "spec")
        const text = formatExactJson(objectOf([...others, ["metadata", { name: "a", labels }], ["spec", spec]]))
        const ours = quickly(text, type)
        if (ours === undefined) return
        taken++
        expect(ours).toEqual(slowly(text, type))
      }),
      { numRuns: rounds(3000) },
    )
    expect(taken).toBeGreaterThan(rounds(100))
  })

  test("writes the same for any pod: without what its cluster decided, and without the volume of its token", () => {
    const name = fc.constantFrom(
      ...["kube-api-access-x7k2p", "kube-api-access-00000", "kube-api-access-zzzzz", "kube-api-access-x7k2"],
      ...["kube-api-access-x7K2p", "kube-api-access-x7k2pp", "kube_api-access-x7k2p", "data", "kube-api-access-x7k2é"],
    )
    const other = fc.constantFrom<JsonValue>(1, "n", null, true, {}, { "*": {} }, [], [1])
    const named = fc.oneof(
      fc.record({ name, mountPath: fc.constant("/a"), readOnly: fc.boolean() }, { requiredKeys: [] }),
      fc.record({ mountPath: fc.constant("/a"), name }),
      fc.constantFrom<JsonObject>({}, { name: 1 }, { a: null }),
    )
    const volumes = fc.oneof({ weight: 9, arbitrary: fc.array(named, { maxLength: 4 }) }, other)
    const container = fc.record({ name: fc.string(), volumeMounts: volumes, volumeMount: other }, { requiredKeys: [] })
    const containers = fc.oneof({ weight: 9, arbitrary: fc.array(container, { maxLength: 3 }) }, other)
    const spec = fc.record(
      {
        ...{ volumes, containers, initContainers: containers, ephemeralContainers: containers, nodeName: other },
        ...{ serviceAccount: other, serviceAccountName: name, priority: other, priorityClassName: name },
        ...{ preemptionPolicy: other, volumez: volumes, containerz: containers },
      },
      { requiredKeys: [] },
    )
    let taken = 0
    fc.assert(
      fc.property(spec, types, (value, type) => {
        const text = formatExactJson({ metadata: { name: "a" }, spec: value as JsonObject })
        const ours = quickly(text, type)
        if (ours === undefined) return
        taken++
        expect(ours).toEqual(slowly(text, type))
      }),
      { numRuns: rounds(3000) },
    )
    expect(taken).toBeGreaterThan(rounds(300))
  })

  test("takes the pods of API servers, with a token in every list or nothing but tokens", () => {
    const token = { name: "kube-api-access-x7k2p", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }
    const own = { name: "data", emptyDir: {} }
    for (const list of [[token], [own, token], [token, own], [token, own, token]]) {
      const containers = [{ name: "web", image: "web", volumeMounts: list }, { name: "b" }]
      const decided = { nodeName: "n", priority: 0, preemptionPolicy: "Never", serviceAccount: "default" }
      const spec = { containers, initContainers: containers, ...decided, serviceAccountName: "default", volumes: list }
      const text = JSON.stringify({ metadata: { name: "a" }, spec })
      expect(quickly(text, pod)).toBeDefined()
      expect(quickly(text, pod)).toEqual(slowly(text, pod))
      expect(Buffer.from(quickly(text, pod)?.bytes ?? "", "hex").includes("kube-api-access")).toBe(false)
    }
    // Of two lists with the same key the last counts, which may be the one that disappears.
    expect(quickly('{"metadata":{},"spec":{"volumes":[],"volumes":[]}}', pod)).toBeUndefined()
  })

  test.each([
    ["v1.Pod", pod],
    ["apps/v1.Deployment", deployment],
  ])("removes from a %s everything that the table of generated fields names", (gvk, type) => {
    for (const { path } of generatedFields.get(gvk) ?? []) {
      const token: JsonValue = { name: "kube-api-access-x7k2p" }
      const value = path.reduceRight<JsonValue>((inner, key) => (key === "*" ? [inner] : { [key]: inner, a: 1 }), token)
      const text = JSON.stringify({ metadata: { name: "a" }, ...(value as JsonObject) })
      expect(quickly(text, type), path.join("/")).toEqual(slowly(text, type))
      expect(Buffer.from(quickly(text, type)?.bytes ?? "", "hex").includes("kube-api-access")).toBe(false)
    }
  })

  test("leaves kinds to the other pass of which it does not know what a cluster generates", () => {
    const text = '{"metadata":{"name":"a"},"spec":{}}'
    for (const kind of ["Job", "CronJob"])
      expect(quickly(text, { apiVersion: "batch/v1", kind }) === undefined).toBe(kind === "Job")
  })

  test("gives different states different hashes, and the same for equal ones, whichever pass encoded them", () => {
    const stateOf = (text: string): string => {
      expect(quickly(text, pod)).toBeDefined()
      return simd.state.join()
    }
    const seen = new Map<string, string>()
    for (let length = 0; length < 200; length++)
      for (const spec of [{ a: "x".repeat(length) }, { b: "x".repeat(length) }, { a: `${"x".repeat(length)}y` }]) {
        const text = JSON.stringify({ metadata: { name: "a" }, spec })
        const state = stateOf(text)
        const encoded = simd.encoded.slice()
        expect(seen.get(state)).toBeUndefined()
        seen.set(state, text)
        stateOf(JSON.stringify({ metadata: { name: "b" }, spec }))
        expect(simd.hashState(encoded)).toBe(true)
        expect(simd.state.join()).toBe(state)
        expect(stateOf(JSON.stringify({ status: { length }, metadata: { name: "a" }, spec }))).toBe(state)
      }
  })

  test.each([15, 16, 17, 31, 32, 33, 255, 256, 257, 65_535, 65_536, 65_537])(
    "%d characters, elements, members",
    (count) => {
      const members = Array.from(
        { length: Math.min(count, 2000) },
        (_, index) => `"${String(index).padStart(9, "0")}":${index}`,
      )
      for (const spec of [
        JSON.stringify({ a: "x".repeat(count) }),
        JSON.stringify({ a: `${"x".repeat(count - 2)}ä` }),
        JSON.stringify({ a: Array.from({ length: Math.min(count, 65_537) }, () => 1) }),
        `{"a":{${members.join(",")}}}`,
      ]) {
        const ours = quickly(usual(spec), deployment)
        if (ours !== undefined || count < 65_535) expect(ours).toEqual(slowly(usual(spec), deployment))
      }
    },
  )

  test("sorts members by the bytes of their keys, equal prefixes and escape sequences included", () => {
    const keys = fc.uniqueArray(
      fc.oneof(fc.stringMatching(/^prefix-[a-c]{0,6}$/), fc.string({ unit: "binary", maxLength: 12 })),
      {
        maxLength: 40,
      },
    )
    fc.assert(
      fc.property(keys, (names) => {
        const text = usual(`{${names.map((name, index) => `${JSON.stringify(name)}:${index}`).join(",")}}`)
        const ours = quickly(text, deployment)
        if (names.every((name) => name.isWellFormed())) expect(ours).toBeDefined()
        if (ours !== undefined) expect(ours).toEqual(slowly(text, deployment))
      }),
      { numRuns: rounds(2000) },
    )
  })

  test("never accepts a wrong value, however the bytes were changed", () => {
    let taken = 0
    let refused = 0
    fc.assert(
      fc.property(
        fc.oneof(kubernetesObject.map(write), fc.constant(everything)),
        mutated,
        types,
        (text, mutate, type) => {
          const bytes = mutate(Buffer.from(text))
          const ours = quickly(bytes, type)
          if (ours === undefined) {
            refused++
            return
          }
          taken++
          expectTheSame(ours, slowly(bytes, type))
        },
      ),
      { numRuns: rounds(4000) },
    )
    expect([taken > rounds(50), refused > rounds(200)]).toEqual([true, true])
  })

  test.each([
    ["white space", '{"metadata":{} }'],
    ["a float", '{"metadata":{},"spec":1.5}'],
    ["an integer of 19 digits", '{"metadata":{},"spec":1000000000000000000}'],
    ["minus zero", '{"metadata":{},"spec":-0}'],
    ["leading zeros", '{"metadata":{},"spec":01}'],
    ["a surrogate", '{"metadata":{},"spec":"\\ud834\\udd1e"}'],
    ["half a surrogate", '{"metadata":{},"spec":"\\ud834"}'],
    ["bytes that are not UTF-8", Buffer.from('{"metadata":{},"spec":"\xff"}', "latin1")],
    ["an overlong form", Buffer.from('{"metadata":{},"spec":"\xc0\x80"}', "latin1")],
    ["an encoded surrogate", Buffer.from('{"metadata":{},"spec":"\xed\xa0\x80"}', "latin1")],
    ["beyond U+10FFFF", Buffer.from('{"metadata":{},"spec":"\xf4\x90\x80\x80"}', "latin1")],
    ["a control character", '{"metadata":{},"spec":"\u0001"}'],
    ["a key twice", '{"metadata":{},"spec":{"a":1,"b":2,"a":3}}'],
    ["a key twice, in order", '{"metadata":{},"spec":{"a":1,"a":3}}'],
    ["metadata twice", '{"metadata":{},"metadata":{}}'],
    ["no metadata", '{"spec":{}}'],
    ["metadata of another type", '{"metadata":[]}'],
    ["null in typed metadata", '{"metadata":{"labels":null}}'],
    ["annotations of another type", '{"metadata":{"annotations":"a"}}'],
    ["a key that hides", '{"metadata":{},"\\u0073tatus":{}}'],
    ["a string that does not end", '{"metadata":{},"spec":"a'],
    ["an object that does not end", '{"metadata":{}'],
    ["something behind", '{"metadata":{}}}'],
    ["nothing", ""],
    ["65 levels", `{"metadata":{},"spec":${"[".repeat(65)}${"]".repeat(65)}}`],
    ["what is larger than its memory", usual(JSON.stringify({ a: "x".repeat(largestObject) }))],
    [
      "a thousand keys in disorder",
      usual(`{${Array.from({ length: 1000 }, (_, index) => `"${999 - index}":1`).join(",")}}`),
    ],
    [
      "more members than it has room for",
      usual(`{${Array.from({ length: 4000 }, (_, index) => `"${1000 + index}":1`).join(",")}}`),
    ],
  ])("leaves %s to the pass through objects", (_, text) => {
    expect(quickly(text, deployment)).toBeUndefined()
  })
})
