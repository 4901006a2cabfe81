import fc from "fast-check"
import { expect, test } from "vitest"
import { decodeContinue, encodeContinue } from "../../../src/apiserver/list/continue-token.ts"

test("is byte for byte the real server's", () => {
  // From recorded pages of Kubernetes 1.34.4, in a namespace and across them.
  const real = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MzA2LCJzdGFydCI6Ii9jbS0yXHUwMDAwIn0"
  expect(encodeContinue({ revision: 306n, start: "cm-2\0" })).toBe(real)
  expect(decodeContinue(real)).toEqual({ revision: 306n, start: "cm-2\0" })
  const wide = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NjUyLCJzdGFydCI6Ii9kZWZhdWx0L2t1YmUtcm9vdC1jYS5jcnRcdTAwMDAifQ"
  expect(decodeContinue(wide)).toEqual({ revision: 652n, start: "default/kube-root-ca.crt\0" })
})

test("comes back as it was made", () => {
  const token = fc.record({
    revision: fc.bigInt({ min: -1n, max: 2n ** 64n - 1n }),
    start: fc.string({ unit: fc.constantFrom("a", "-", "/", "\0", '"', "\\", "é", "☃", "𝄞"), minLength: 1 }),
  })
  fc.assert(
    fc.property(token, (made) => {
      // No key has an empty segment, and no revision is 0.
      fc.pre(!`/${made.start}/`.includes("//") && made.revision !== 0n)
      expect(decodeContinue(encodeContinue(made))).toEqual(made)
    }),
  )
})

const encoded = (json: string): string => Buffer.from(json).toString("base64url")

// Each was sent to Kubernetes 1.34.4.
test.each([
  ["x", "illegal base64 data at input byte 0"],
  ["%%%", "illegal base64 data at input byte 0"],
  ["AAAAA", "illegal base64 data at input byte 4"],
  ["AA AA", "illegal base64 data at input byte 2"],
  ["e30=", "illegal base64 data at input byte 3"],
  ["AAA%%AAAA", "illegal base64 data at input byte 3"],
  ["AAAA", "invalid character '\\x00' looking for beginning of value"],
  ["gQ", "invalid character '\\u0081' looking for beginning of value"],
  [encoded("{p"), "invalid character 'p' looking for beginning of object key string"],
  [encoded("{}"), "server does not recognize this encoded version "],
  [encoded("null"), "server does not recognize this encoded version "],
  [encoded("[]"), "json: cannot unmarshal array into Go value of type storage.continueToken"],
  [
    encoded('{"v":1,"rv":1,"start":"/x/"}'),
    "json: cannot unmarshal number into Go struct field continueToken.v of type string",
  ],
  [
    encoded('{"v":"meta.k8s.io/v1","rv":"x"}'),
    "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
  ],
  [
    encoded('{"v":"meta.k8s.io/v1","rv":1.5}'),
    "json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64",
  ],
  [encoded('{"v":"meta.k8s.io/v1"}'), "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"],
  [encoded('{"v":"meta.k8s.io/v1","rv":1}'), "encoded start key empty (version meta.k8s.io/v1)"],
  [encoded('{"v":"meta.k8s.io/v1","rv":1,"start":"../"}'), "../"],
  [encoded('{"v":"meta.k8s.io/v1","rv":-1,"start":"/.."}'), "/.."],
  [encoded('{"v":"meta.k8s.io/v1","rv":-1,"start":"a/../b"}'), "a/../b"],
  [encoded('{"v":"meta.k8s.io/v1","rv":1,"start":"/x//"}'), "/x//"],
])("%s is refused in the real server's words", (text, problem) => {
  expect(decodeContinue(text)).toBe(problem)
})

test("spacing and the slash before the key do not matter", () => {
  expect(decodeContinue(encoded('{"v": "meta.k8s.io/v1","rv":-1,"start":"x"}'))).toEqual({ revision: -1n, start: "x" })
})

test("no other text is a token", () => {
  fc.assert(fc.property(fc.string(), (text) => typeof decodeContinue(text) === "string"))
})
