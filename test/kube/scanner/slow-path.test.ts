/** The slow path reads keys as they are written, whatever this process has read before. */
import { describe, expect, test } from "vitest"
import { compileDetectRules } from "../../../src/kube/scanner/object/detect-rules.ts"
import { ObjectScanner } from "../../../src/kube/scanner/object/object-scanner.ts"
import { scanObjectSlowly, scanWatchLineSlowly, UnreadableError } from "../../../src/kube/scanner/slow-path.ts"
import { WatchEventType, WatchLineScanner } from "../../../src/kube/scanner/watch-line.ts"

const rules = compileDetectRules({ gvk: { group: "", version: "v1", kind: "ConfigMap" }, detect: "all", ignore: [] })

const readLine = (text: string) => {
  const scanner = new WatchLineScanner(rules)
  const bytes = Buffer.from(text)
  const scan = scanWatchLineSlowly(scanner, bytes, 0, bytes.length)
  if (scan instanceof UnreadableError) throw scan
  const { nameStart, nameEnd } = scanner.object
  return { type: scanner.type, name: scan.bytes.toString("utf8", nameStart, nameEnd) }
}
const objectionTo = (text: string): string => {
  const bytes = Buffer.from(text)
  const scan = scanObjectSlowly(new ObjectScanner(rules), bytes, 0, bytes.length)
  return scan instanceof UnreadableError ? scan.reason : "none"
}
/**
 * V8 mistakes a key for the one it found at that place in an earlier object if the raw text starts with it and has the same decoded length:
 * `\u006f` for `object` written `\u006fbject`.
 */
describe("a key with escapes is not mistaken for a key with a backslash met before (nodejs/node#63785)", () => {
  test("in a line", () => {
    const met: unknown = JSON.parse(String.raw`{"type":"x","\\u006f":1}`)
    const line = readLine(String.raw`{"type":"DELETED","\u006fbject":{"metadata":{"name":"b"}}}`)
    expect(line).toEqual({ type: WatchEventType.deleted, name: "b" })
    expect(met).toHaveProperty("type")
  })

  test("in an object", () => {
    const met: unknown = JSON.parse(String.raw`{"kind":"x","\\u006det":1}`)
    expect(objectionTo(String.raw`{"kind":"Pod","\u006detadata":{"uid":1}}`)).toBe("metadata.uid is not a string")
    expect(met).toHaveProperty("kind")
  })

  test("by other code that uses JSON.parse in this process after an object with such a key was read here", () => {
    const member = String.raw`"kind":"x","k\\":1`
    expect(readLine(`{"type":"ADDED","object":{"metadata":{"name":"a","uid":"u"},"holder":{${member}}}}`).name).toBe(
      "a",
    )
    expect(Object.keys(JSON.parse(String.raw`{"kind":"x","k\"":1}`) as object)).toEqual(["kind", 'k"'])
  })
})

describe("what is not JSON", () => {
  test.each([
    ["", "not JSON: nothing but white space"],
    ['{"data":{"password":"hunter2"', "not JSON: no closing brace at its end"],
    ['{"data":{"password":hunter2}}', "not JSON: there is a syntax error before its last byte"],
  ])("is described without quoting it, because it may be a Secret: %s", (text, reason) => {
    expect(objectionTo(text)).toBe(reason)
  })
})

test("unusual JSON is read up to 4 MiB, because a list of its members may take many times that", () => {
  const padded = (bytes: number): string => `{"a":"${" ".repeat(bytes)}"}`
  expect(objectionTo(padded(4 * 1024 * 1024))).toBe("more than 4194304 bytes of unusual JSON")
  expect(objectionTo(padded(4 * 1024 * 1024 - 8))).toBe("an object without metadata")
})
