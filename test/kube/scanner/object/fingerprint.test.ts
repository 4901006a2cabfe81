import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { compileDetectRules, type Detect } from "../../../../src/kube/scanner/object/detect-rules.ts"
import { Fingerprint } from "../../../../src/kube/scanner/object/fingerprint.ts"
import { ObjectScanner } from "../../../../src/kube/scanner/object/object-scanner.ts"
import { rounds } from "../../../harness/effort.ts"
import { isObject, type JsonText, spacing, write } from "../json-text.ts"
import { kubernetesObject } from "../kubernetes-object.ts"

const gvk = { group: "apps", version: "v1", kind: "Deployment" }
const scannerOf = (detect: Detect, ignore: ReadonlyArray<string> = [], of = gvk): ObjectScanner =>
  new ObjectScanner(compileDetectRules({ detect, ignore, gvk: of }))

const fingerprintOf = (scanner: ObjectScanner, text: string | Buffer): string => {
  const bytes = typeof text === "string" ? Buffer.from(text) : text
  expect(scanner.scan(bytes, 0, bytes.length)).toBe(true)
  return `${scanner.fingerprintLow}:${scanner.fingerprintHigh}`
}

/**
 * The remainder of an object under a rule, as text: an independent statement of the rules, slow and without bytes. `undefined` if nothing
 * remains.
 */
const keptOf = (
  value: JsonText,
  path: string,
  ignored: ReadonlySet<string>,
  entered: ReadonlySet<string>,
): string | undefined => {
  if (ignored.has(path)) return undefined
  const text = write(value)
  if (!entered.has(path) || typeof value === "string" || text === "{}" || text === "[]") return text
  if (Array.isArray(value)) {
    const kept = value.flatMap((element, index) => keptOf(element, `${path}/${index}`, ignored, entered) ?? [])
    return kept.length === 0 ? undefined : `[${kept.join(",")}]`
  }
  const kept = value.members.flatMap(([key, member]) => {
    const rest = keptOf(member, `${path}/${String(JSON.parse(key))}`, ignored, entered)
    return rest === undefined ? [] : [`${key}:${rest}`]
  })
  return kept.length === 0 ? undefined : `{${kept.join(",")}}`
}

const notContent = [
  "/apiVersion",
  "/kind",
  "/status",
  "/metadata/resourceVersion",
  "/metadata/generation",
  "/metadata/managedFields",
]

/** Places the scanner enters whatever the rules. */
const alwaysEntered = ["", "/metadata", "/metadata/annotations"]

const model = (object: JsonText, ignore: ReadonlyArray<string>): string => {
  const ignored = new Set([...notContent, ...ignore])
  const parents = [...ignored].flatMap((pointer) => {
    const tokens = pointer.split("/")
    return tokens.slice(1).map((_, length) => tokens.slice(0, length + 1).join("/"))
  })
  return keptOf(object, "", ignored, new Set([...alwaysEntered, ...parents])) ?? "nothing"
}

describe("the fingerprint of bytes", () => {
  const of = (bytes: Buffer, tag = 1): string => {
    const fingerprint = new Fingerprint()
    fingerprint.absorb(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 4, bytes.length, tag)
    fingerprint.finish()
    return `${fingerprint.low}:${fingerprint.high}`
  }

  test("changes when any single bit changes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 80 }), (content) => {
        const bytes = Buffer.concat([Buffer.alloc(4), content])
        const before = of(bytes)
        for (let bit = 0; bit < content.length * 8; bit++) {
          const index = 4 + (bit >> 3)
          bytes[index] = (bytes[index] ?? 0) ^ (1 << (bit & 7))
          expect(of(bytes)).not.toBe(before)
          bytes[index] = (bytes[index] ?? 0) ^ (1 << (bit & 7))
        }
        expect(of(bytes)).toBe(before)
        expect(of(bytes, 2)).not.toBe(before)
        expect(of(Buffer.concat([bytes, Buffer.alloc(1)]))).not.toBe(before)
      }),
      { numRuns: 60 },
    )
  })

  test("distinguishes all texts that differ in two bits", () => {
    const bytes = Buffer.from('    "image":"registry.example/app:1.26.0-rc1"')
    const seen = new Set<string>()
    const bits = (bytes.length - 4) * 8
    const flip = (bit: number): void => {
      const index = 4 + (bit >> 3)
      bytes[index] = (bytes[index] ?? 0) ^ (1 << (bit & 7))
    }
    for (let first = 0; first < bits; first++) {
      flip(first)
      for (let second = first + 1; second < bits; second++) {
        flip(second)
        seen.add(of(bytes))
        flip(second)
      }
      flip(first)
    }
    expect(seen.size).toBe((bits * (bits - 1)) / 2)
  })

  test("does not depend on the position of the bytes", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 30 }),
        fc.uint8Array({ maxLength: 9 }),
        (content, before) => {
          // A separate memory block, so that nothing is before the first byte.
          const moved = Buffer.from(new Uint8Array([...before, ...content]).buffer)
          const view = new DataView(moved.buffer, moved.byteOffset, moved.length)
          const fingerprint = new Fingerprint()
          fingerprint.absorb(view, before.length, moved.length, 1)
          fingerprint.finish()
          expect(`${fingerprint.low}:${fingerprint.high}`).toBe(of(Buffer.concat([Buffer.alloc(4), content])))
        },
      ),
    )
  })

  test("keeps spans separate and in order", () => {
    const bytes = Buffer.from("    abcdefgh")
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const results = [
      [4, 8, 12],
      [4, 7, 12],
      [4, 12],
      [4, 5, 6, 12],
    ].map((cuts) => {
      const fingerprint = new Fingerprint()
      for (let index = 1; index < cuts.length; index++) {
        fingerprint.absorb(view, cuts[index - 1] ?? 0, cuts[index] ?? 0, 1)
      }
      fingerprint.finish()
      return `${fingerprint.low}:${fingerprint.high}`
    })
    expect(new Set(results).size).toBe(results.length)
    const marked = [[7], [7, 7], [7, 8], [8, 7]].map((tags) => {
      const fingerprint = new Fingerprint()
      for (const tag of tags) fingerprint.mark(tag)
      fingerprint.finish()
      return `${fingerprint.low}:${fingerprint.high}`
    })
    expect(new Set(marked).size).toBe(marked.length)
  })

  test("is the same as when it was first stored", () => {
    expect(of(Buffer.from('    "spec":{"replicas":3}'))).toBe("1700272198:999249503")
  })
})

describe("the fingerprint of objects", () => {
  test("has no collision among a million objects that differ in a few digits", () => {
    const scanner = scannerOf("content")
    const text =
      '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web-000000","namespace":"team-a","uid":"2186d93d-ed4c-4da5-ba33-d497298f1f14","resourceVersion":"1"},"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"c","image":"app:000000"}]}}}}'
    const bytes = Buffer.from(text)
    const name = text.indexOf("web-") + 4
    const image = text.indexOf("app:") + 4
    const halves = new Int32Array(2_000_000)
    for (let index = 0; index < 1_000_000; index++) {
      // Two places of three digits, so that every object differs from 1,998 others in one of them.
      const low = index % 1000
      if (low === 0) bytes.write(String(index / 1000).padStart(6, "0"), image, "latin1")
      bytes[name + 5] = 48 + (low % 10)
      bytes[name + 4] = 48 + (Math.floor(low / 10) % 10)
      bytes[name + 3] = 48 + Math.floor(low / 100)
      if (!scanner.scan(bytes, 0, bytes.length)) throw new Error("refused")
      halves[index * 2] = scanner.fingerprintLow
      halves[index * 2 + 1] = scanner.fingerprintHigh
    }
    const seen = new BigUint64Array(halves.buffer).sort()
    let collisions = 0
    for (let index = 1; index < seen.length; index++) if (seen[index] === seen[index - 1]) collisions++
    expect(collisions).toBe(0)
  })

  test("ignores white space between tokens", () => {
    const scanner = scannerOf("content", ["/metadata/labels/x", "/metadata/ownerReferences/0/uid"])
    fc.assert(
      fc.property(kubernetesObject, spacing, (object, space) => {
        expect(fingerprintOf(scanner, write(object, space))).toBe(fingerprintOf(scanner, write(object)))
      }),
      { numRuns: rounds(300) },
    )
    expect(fingerprintOf(scanner, '{"metadata":{},"spec":" "}')).not.toBe(
      fingerprintOf(scanner, '{"metadata":{},"spec":"  "}'),
    )
  })

  test("is equal exactly when what the rules keep is equal", () => {
    const pointers = [
      "/spec",
      "/spec/a",
      "/spec/b/0",
      "/spec/b/1/a",
      "/metadata/labels",
      "/metadata/labels/a",
      "/metadata/annotations/a",
      "/a",
    ]
    const small = smallObject()
    let equal = 0
    let different = 0
    fc.assert(
      fc.property(small, small, fc.subarray(pointers), (left, right, ignore) => {
        const scanner = scannerOf("content", ignore)
        const same = fingerprintOf(scanner, write(left)) === fingerprintOf(scanner, write(right))
        expect(same).toBe(model(left, ignore) === model(right, ignore))
        if (same) equal++
        else different++
      }),
      { numRuns: rounds(3000) },
    )
    expect(equal).toBeGreaterThan(rounds(50))
    expect(different).toBeGreaterThan(rounds(50))
  })

  test("is the same as when it was first stored", () => {
    const text =
      '{"metadata":{"name":"a","resourceVersion":"1","annotations":{"b":"c"},"labels":{}},"spec":{"replicas":3},"status":{}}'
    expect(fingerprintOf(scannerOf("content"), text)).toBe("652088827:1881398098")
  })

  test("covers the shortest key at the very start of the memory", () => {
    const scanner = scannerOf("content", ["//x"])
    const prints = [
      '{"":{"x":1,"y":2},"metadata":{}}',
      '{"":{"x":2,"y":2},"metadata":{}}',
      '{"":{"y":3},"metadata":{}}',
    ].map((text) => fingerprintOf(scanner, Buffer.from(new Uint8Array(Buffer.from(text)).buffer)))
    expect(prints[0]).toBe(prints[1])
    expect(prints[0]).not.toBe(prints[2])
  })

  test("distinguishes arrays that are nested differently, also where rules reach into them", () => {
    const scanner = scannerOf("content", ["/spec/0/0/9", "/spec/1/9"])
    const texts = [
      "[[1],[2]]",
      "[[[1],2]]",
      "[[1,2]]",
      "[1,2]",
      "[[1],2]",
      "[1,[2]]",
      "[[[1,2]]]",
      "[[[1]],2]",
      "[[],1,2]",
    ]
    const prints = texts.map((spec) => fingerprintOf(scanner, `{"metadata":{},"spec":${spec}}`))
    expect(new Set(prints).size).toBe(texts.length)
  })

  test("counts an object of ignored members as absent and an empty one as empty", () => {
    const scanner = scannerOf("content", ["/metadata/annotations/noise"])
    const none = fingerprintOf(scanner, '{"metadata":{"name":"a"}}')
    const onlyNoise = fingerprintOf(scanner, '{"metadata":{"name":"a","annotations":{"noise":"1"}}}')
    const empty = fingerprintOf(scanner, '{"metadata":{"name":"a","annotations":{}}}')
    const spaced = fingerprintOf(scanner, '{"metadata":{"name":"a","annotations": { } }}')
    expect(onlyNoise).toBe(none)
    expect(empty).not.toBe(none)
    expect(spaced).toBe(empty)
  })

  test("of spec ignores everything else, and treats an absent spec as null", () => {
    const scanner = scannerOf("spec")
    const absent = fingerprintOf(scanner, '{"metadata":{"name":"a"}}')
    expect(fingerprintOf(scanner, '{"metadata":{"name":"b","labels":{}},"status":{},"spec":null,"data":{}}')).toBe(
      absent,
    )
    expect(fingerprintOf(scanner, '{"metadata":{},"spec": null }')).toBe(absent)
    expect(fingerprintOf(scanner, '{"metadata":{},"spec":{}}')).not.toBe(absent)
    expect(fingerprintOf(scanner, '{"metadata":{},"spec":{"a":1}}')).not.toBe(
      fingerprintOf(scanner, '{"metadata":{},"spec":{"a":2}}'),
    )
  })

  test("of a Pod's spec ignores its node; that of other kinds does not", () => {
    const bound = '{"metadata":{},"spec":{"nodeName":"n1","containers":[]}}'
    const unbound = '{"metadata":{},"spec":{"containers":[]}}'
    const pods = scannerOf("spec", [], { group: "", version: "v1", kind: "Pod" })
    expect(fingerprintOf(pods, bound)).toBe(fingerprintOf(pods, unbound))
    const others = scannerOf("spec", [], { group: "example.com", version: "v1", kind: "Pod" })
    expect(fingerprintOf(others, bound)).not.toBe(fingerprintOf(others, unbound))
  })

  test("is the same in a watch and in a list, whose items carry neither apiVersion nor kind", () => {
    const scanner = scannerOf("content")
    expect(
      fingerprintOf(scanner, '{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a"},"spec":{}}'),
    ).toBe(fingerprintOf(scanner, '{ "metadata": {"name":"a"}, "spec":{} }'))
  })

  test("is not computed when every version counts", () => {
    expect(fingerprintOf(scannerOf("all"), '{"metadata":{"name":"a"},"spec":{}}')).toBe("0:0")
  })
})

/** Objects so small that two of them often have equal kept parts. */
function smallObject(): fc.Arbitrary<JsonText> {
  const leaf = fc.constantFrom("1", "2", "{}", "[]", "null")
  const of = (keys: ReadonlyArray<string>, values: fc.Arbitrary<JsonText>): fc.Arbitrary<JsonText> =>
    fc
      .uniqueArray(fc.tuple(fc.constantFrom(...keys.map((key) => `"${key}"`)), values), {
        maxLength: 2,
        selector: ([key]) => key,
      })
      .map((members) => ({ members }))
  const nested = fc.oneof(leaf, of(["a", "b"], leaf), fc.array(fc.oneof(leaf, of(["a"], leaf)), { maxLength: 2 }))
  const spec = fc.oneof(leaf, of(["a", "b"], nested))
  const metadata = fc
    .tuple(
      of(["labels", "annotations"], of(["a", "b"], fc.constantFrom('"1"', '"2"'))),
      of(["generation", "managedFields"], leaf),
    )
    .map(([left, right]) =>
      isObject(left) && isObject(right) ? { members: [...left.members, ...right.members] } : left,
    )
  return fc
    .tuple(metadata, fc.option(spec, { nil: undefined }), of(["a", "status", "data"], leaf))
    .map(([meta, own, rest]) => ({
      members: [
        ['"metadata"', meta] as const,
        ...(own === undefined ? [] : [['"spec"', own] as const]),
        ...(isObject(rest) ? rest.members : []),
      ],
    }))
}
