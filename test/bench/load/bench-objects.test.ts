import { describe, expect, test } from "vitest"
import { baseKinds, deployments, furtherKinds, pods } from "../../../bench/load/bench-kinds.ts"
import { frameCount, renderFrames } from "../../../bench/load/event-frames.ts"
import { renderObjects } from "../../../bench/load/listing.ts"
import { firstVersion } from "../../../bench/load/object-template.ts"

interface BenchObject {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string }
  readonly spec: unknown
}

const plain = { before: "", between: ",", after: "" }
const itemsOf = (pieces: Iterable<Buffer>): Array<BenchObject> =>
  JSON.parse(`[${[...pieces].map((piece) => piece.toString()).join("")}]`) as Array<BenchObject>
const copied = function* (pieces: Iterable<Buffer>): Generator<Buffer> {
  for (const piece of pieces) yield Buffer.from(piece)
}

describe("the objects of a list", () => {
  test("are whole across pieces, in order, each with a name, UID and version of its own", () => {
    const count = 2500
    const items = itemsOf(copied(renderObjects(pods, 0, count, plain)))
    expect(items).toHaveLength(count)
    expect(new Set(items.map(({ metadata }) => metadata.uid)).size).toBe(count)
    expect(items.map(({ metadata }) => metadata.name)).toEqual(
      items.map((_, index) => `web-${String(index).padStart(6, "0")}`),
    )
    expect(items.map(({ metadata }) => Number(metadata.resourceVersion) - firstVersion)).toEqual([...items.keys()])
  })

  test("go on in the next page where the last one ended", () => {
    const page = itemsOf(copied(renderObjects(deployments, 500, 503, plain)))
    expect(page.map(({ metadata }) => metadata.name)).toEqual(["web-000500", "web-000501", "web-000502"])
  })

  test.each([...baseKinds, ...furtherKinds(100).slice(-1)])("have the length of their kind: $kind", (kind) => {
    const affixes = { before: '{"type":"MODIFIED","object":', between: "", after: "}\n" }
    const [line = Buffer.alloc(0)] = copied(renderObjects(kind, 0, 1, affixes))
    expect(line.length).toBe(kind.lineBytes)
    expect((JSON.parse(line.toString()) as { object: BenchObject }).object.kind).toBe(kind.kind)
  })

  test("are as hard to scan as real ones: a seventh of the bytes are quotes", () => {
    const [line = Buffer.alloc(0)] = copied(renderObjects(deployments, 0, 1, plain))
    const quotes = line.filter((byte) => byte === 34).length
    expect(quotes / line.length).toBeGreaterThan(0.12)
    expect(quotes / line.length).toBeLessThan(0.15)
  })
})

describe("objects of other sizes", () => {
  test.each([1000, 1400, 2900, 10_000, 500_000])("have %d bytes, and as many quotes as real ones", (lineBytes) => {
    const affixes = { before: '{"type":"MODIFIED","object":', between: "", after: "}\n" }
    const [line = Buffer.alloc(0)] = copied(renderObjects({ ...deployments, lineBytes }, 0, 1, affixes))
    expect(line.length).toBe(lineBytes)
    expect((JSON.parse(line.toString()) as { object: BenchObject }).object.kind).toBe("Deployment")
    const share = line.filter((byte) => byte === 34).length / line.length
    expect(share).toBeGreaterThan(0.12)
    expect(share).toBeLessThan(0.18)
  })

  test("are refused when they cannot be that small", () => {
    expect(() => [...renderObjects({ ...deployments, lineBytes: 500 }, 0, 1, plain)]).toThrow(RangeError)
  })

  test("are fewer in memory when they are large", () => {
    expect(frameCount(deployments, 1000)).toBe(1000)
    expect(frameCount({ ...deployments, lineBytes: 500_000 }, 1000)).toBe(128)
    expect(frameCount({ ...deployments, lineBytes: 1e9 }, 1000)).toBe(1)
  })
})

describe("a watch event", () => {
  const [frame, other] = renderFrames(deployments, 2)

  test("is one chunk with one line in it", () => {
    const text = frame?.bytes.toString() ?? ""
    const [size = "", line = "", ...rest] = text.split(/\r?\n/)
    expect(Number.parseInt(size, 16)).toBe(line.length + 1)
    expect(rest).toEqual(["", ""])
    expect(frame?.bytes.length).toBe(other?.bytes.length)
  })

  test("gets another version and another spec by being renumbered, and nothing else", () => {
    const read = (): BenchObject => {
      const [, line = ""] = (frame?.bytes.toString() ?? "").split(/\r?\n/)
      return (JSON.parse(line) as { object: BenchObject }).object
    }
    frame?.number("version", firstVersion + 1)
    frame?.number("change", 1)
    const first = read()
    frame?.number("version", firstVersion + 1_000_002)
    frame?.number("change", 999_999_999_999)
    const second = read()
    expect(first.metadata.resourceVersion).toBe("100000000001")
    expect(second.metadata.resourceVersion).toBe("100001000002")
    expect(JSON.stringify(first.spec)).toContain('"value":"000000000001"')
    expect(JSON.stringify(second.spec)).toContain('"value":"999999999999"')
    expect(second.metadata.uid).toBe(first.metadata.uid)
    const same = (object: BenchObject): string =>
      JSON.stringify({ ...object, spec: 0, metadata: { ...object.metadata, resourceVersion: "" } })
    expect(same(second)).toBe(same(first))
  })

  test("is a heartbeat when it is renumbered as one: another version and status, and the same spec", () => {
    const [heart] = renderFrames(deployments, 1)
    const read = (): BenchObject & { readonly status: unknown } => {
      const [, line = ""] = (heart?.bytes.toString() ?? "").split(/\r?\n/)
      return (JSON.parse(line) as { object: BenchObject & { readonly status: unknown } }).object
    }
    const [listed] = itemsOf(copied(renderObjects(deployments, 0, 1, plain)))
    heart?.number("version", firstVersion + 1_000_001)
    heart?.number("heartbeat", 1)
    const beat = read()
    expect(beat.spec).toEqual(listed?.spec)
    expect(JSON.stringify(beat.status)).toContain("at 000000000001")
    expect(beat.metadata).toEqual({ ...listed?.metadata, resourceVersion: "100001000001" })
  })
})
