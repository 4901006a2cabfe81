/** Traces after a program: events, deletions, moments, index and lives fit together. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { openDecoder, openEncoder } from "../../../src/trace/files/codecs.ts"
import { convertTrace, surveyTrace } from "../../../src/trace/formats/convert.ts"
import { decodedItems } from "../../../src/trace/formats/decoded-items.ts"
import type { TraceFormatName } from "../../../src/trace/formats/names.ts"
import { simkubeHash } from "../../../src/trace/formats/simkube/hash/simkube-hash.ts"
import { memorySpool } from "../../../src/trace/spool.ts"
import type { TraceItem } from "../../../src/trace/trace-item.ts"
import { parseProgram } from "../../../src/trace/transform/language/parse-program.ts"
import { type ObjectBatch, runBatch, type TransformedBatch } from "../../../src/trace/transform/object-batch.ts"
import { TransformFailed } from "../../../src/trace/transform/transform-failed.ts"
import {
  noTransformation,
  type TransformCounts,
  transformedItems,
} from "../../../src/trace/transform/transformed-items.ts"
import { rounds } from "../../harness/effort.ts"
import { publishedNames, publishedTrace, whyNoPublished } from "../formats/traces.ts"
import { goldenTrace } from "../recording.ts"

const second = 1_000_000
const start = 1_710_000_000 * second

type Body = Readonly<Record<string, unknown>>

const object = (kind: string, name: string, body: Body = {}): Body => ({
  apiVersion: "v1",
  kind,
  metadata: { namespace: "shop", name, ...(body.metadata as object | undefined) },
  ...Object.fromEntries(Object.entries(body).filter(([key]) => key !== "metadata")),
})

type Happening = readonly [seconds: number, action: "applied" | "deleted" | "vanished", body: Body]

const eventOf = ([seconds, action, body]: Happening, sequence: number): TraceItem => {
  const { namespace = "", name = "" } = body.metadata as { namespace?: string; name?: string }
  const bytes = action === "vanished" ? new Uint8Array() : Buffer.from(JSON.stringify(body))
  const event = {
    ...({
      type: "object",
      sequence,
      time: start + seconds * second,
      gvk: `${body.apiVersion}.${body.kind}`,
      action,
    } as const),
    ...{ uid: "", namespace, name, resourceVersion: "", object: bytes },
  }
  return { type: "event", event, isSnapshot: false }
}

/** A recorder's trace of a minute. */
const recorded = (...happenings: ReadonlyArray<Happening>): ReadonlyArray<TraceItem> => [
  { type: "header", window: { start, end: start + 60 * second }, cut: 99, kinds: ["v1.ConfigMap"], incomplete: [] },
  ...happenings.map((happening, index) => eventOf(happening, index + 1)),
]

/** A trace of SimKube's, with a moment for each event, and an end. */
const ofSimkube = (
  happenings: ReadonlyArray<Happening>,
  index: ReadonlyArray<TraceItem> = [],
): ReadonlyArray<TraceItem> => [
  { type: "header", cut: 0, kinds: [], incomplete: [], sanitised: "simkube" },
  { type: "batch", time: start },
  ...happenings.flatMap(
    (happening, sequence): ReadonlyArray<TraceItem> => [
      { type: "batch", time: start + happening[0] * second },
      eventOf(happening, sequence + 1),
    ],
  ),
  { type: "batch", time: start + 60 * second },
  ...index,
]

async function* chunks(items: ReadonlyArray<TraceItem>): AsyncGenerator<Iterable<TraceItem>, void> {
  yield items
}

interface Transformed {
  readonly items: ReadonlyArray<TraceItem>
  readonly counts: TransformCounts
}

const transformed = async (
  source: AsyncIterable<Iterable<TraceItem>>,
  text: string,
  options: {
    readonly run?: (batch: ObjectBatch) => TransformedBatch | Promise<TransformedBatch>
    readonly samples?: number
  } = {},
): Promise<Transformed> => {
  const program = parseProgram(text)
  const counts = noTransformation(program)
  const items: TraceItem[] = []
  const { run = runBatch, samples = 0 } = options
  for await (const chunk of transformedItems(source, { program, run, lanes: 3, samples }, counts)) items.push(...chunk)
  return { items, counts }
}

/** `5 applied ConfigMap shop/a {…}` for each event, `5` for each moment. */
const story = ({ items }: Transformed): ReadonlyArray<string> =>
  items.flatMap((item) => {
    const seconds = (time: number): number => (time - start) / second
    if (item.type === "batch") return [`${seconds(item.time)}`]
    if (item.type === "index") return [`index ${item.gvk} ${item.name} ${item.hash}`]
    if (item.type === "lifecycles") return [`lives of ${item.gvk} ${item.owner}`]
    if (item.type !== "event" || item.event.type !== "object") return []
    const { time, action, gvk, namespace, name, object: bytes } = item.event
    const { metadata, ...rest } = bytes.length === 0 ? {} : JSON.parse(Buffer.from(bytes).toString())
    const body = Object.fromEntries(Object.entries(rest).filter(([key]) => key !== "apiVersion" && key !== "kind"))
    if (metadata !== undefined) expect(metadata).toMatchObject({ name, ...(namespace !== "" && { namespace }) })
    return [
      `${seconds(time)} ${item.isSnapshot ? "there" : action} ${gvk} ${namespace}/${name} ${JSON.stringify(body)}`,
    ]
  })

const a = object("ConfigMap", "a", { metadata: { labels: { drop: "yes" } }, data: { x: "1" } })
const b = object("ConfigMap", "b", { data: { x: "2" } })
const stub = (name: string): Body => object("ConfigMap", name)

describe("a trace that no command concerns", () => {
  test.each(publishedNames)("is the same, byte for byte: %s", async (name) => {
    if (whyNoPublished !== undefined) return
    expect(await file(publishedTrace(name), "simkube", 'remove(kind == "Nothing", status);')).toEqual(
      Buffer.from(publishedTrace(name)),
    )
  })

  test("is the same as NDJSON, too", async () => {
    const trace = await file(goldenTrace("recording"), "simkube", "# nothing", "ndjson")
    expect(await file(trace, "ndjson", "# nothing")).toEqual(trace)
  })
})

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let from = 0; from < bytes.length; from += 10_000) yield bytes.subarray(from, from + 10_000)
}

/** A whole file after a program. */
const file = async (bytes: Uint8Array, from: TraceFormatName, text: string, to = from): Promise<Buffer> => {
  const program = parseProgram(text)
  const items = async () =>
    transformedItems(
      decodedItems(pieces(bytes), await openDecoder(from)),
      { program, run: runBatch, lanes: 1, samples: 0 },
      noTransformation(program),
    )
  const encoder = await openEncoder(to, { spool: memorySpool, facts: await surveyTrace(await items()) })
  const out: Uint8Array[] = []
  for await (const piece of convertTrace(await items(), encoder)) out.push(piece)
  return Buffer.concat(out)
}

describe("deletions", () => {
  test("go with objects of which nothing is left, although the condition is not about them", async () => {
    const items = recorded([1, "applied", a], [2, "applied", b], [3, "deleted", stub("a")], [4, "vanished", b])
    expect(story(await transformed(chunks(items), 'delete(metadata.labels.drop == "yes");'))).toEqual([
      '2 applied v1.ConfigMap shop/b {"data":{"x":"2"}}',
      "4 vanished v1.ConfigMap shop/b {}",
    ])
  })

  test("stay with objects that stay, although their last state meets the condition", async () => {
    const failed = { ...b, status: "Failed" }
    const items = recorded([1, "applied", b], [2, "applied", failed], [3, "deleted", failed])
    expect(story(await transformed(chunks(items), 'delete(status == "Failed"); remove(data);'))).toEqual([
      "1 applied v1.ConfigMap shop/b {}",
      '3 deleted v1.ConfigMap shop/b {"status":"Failed"}',
    ])
  })

  test("stay with objects that stay, although nothing that they lack is in the deletion", async () => {
    const items = recorded([1, "applied", b], [2, "deleted", stub("b")], [3, "applied", a], [4, "vanished", a])
    expect(story(await transformed(chunks(items), 'delete(!exists(data.x)); delete(!(data.x == "1"));'))).toEqual([
      '3 applied v1.ConfigMap shop/a {"data":{"x":"1"}}',
      "4 vanished v1.ConfigMap shop/a {}",
    ])
  })

  test("have the names that their objects have, although the condition is not about them", async () => {
    const items = recorded([1, "applied", a], [3, "deleted", stub("a")], [4, "applied", b])
    const renaming =
      'modify(metadata.labels.drop == "yes", metadata.name = "c"); modify(data.x == "2", metadata.namespace = "other");'
    expect(story(await transformed(chunks(items), renaming))).toEqual([
      '1 applied v1.ConfigMap shop/c {"data":{"x":"1"}}',
      "3 deleted v1.ConfigMap shop/c {}",
      '4 applied v1.ConfigMap other/b {"data":{"x":"2"}}',
    ])
  })

  test("by time leave the objects alive", async () => {
    const items = recorded([1, "applied", a], [30, "deleted", a])
    expect(story(await transformed(chunks(items), "delete(@t > 20s);"))).toHaveLength(1)
  })

  test.each([
    "delete(!exists(metadata.labels.drop));",
    'delete(!(metadata.labels.drop == "yes"));',
    'delete(!!(data.x == "2"));',
    "delete($m := metadata | !exists($m.labels));",
    'modify(!exists(metadata.labels), metadata.namespace = "load"); delete(metadata.namespace == "load");',
    "modify(!exists(metadata.labels), metadata.labels = data);",
  ])("stay with objects that stay, although it lacks what they have: %s", async (program) => {
    for (const items of [
      recorded([1, "applied", a], [2, "deleted", a]),
      recorded([1, "applied", a], [2, "vanished", a]),
      ofSimkube([
        [1, "applied", a],
        [2, "deleted", stub("a")],
      ]),
    ]) {
      const { items: after } = await transformed(chunks(items), program)
      expect(
        after.flatMap((item) => (item.type === "event" && item.event.type === "object" ? [item.event.action] : [])),
      ).toEqual(["applied", expect.stringMatching("deleted|vanished")])
    }
  })

  test("go by what a negation says of their names and kinds", async () => {
    const items = recorded([1, "applied", a], [2, "applied", b], [30, "deleted", a], [31, "deleted", b])
    expect(story(await transformed(chunks(items), 'delete(@t > 20s && !(metadata.name == "b"));'))).toEqual([
      expect.stringContaining("1 applied"),
      expect.stringContaining("2 applied"),
      expect.stringContaining("31 deleted v1.ConfigMap shop/b"),
    ])
  })

  test("of objects whose states the trace does not have stay", async () => {
    expect(story(await transformed(chunks(recorded([3, "deleted", stub("a")])), "remove(status);"))).toHaveLength(1)
  })
})

test("the deletion of an object is there exactly if a state of it is, whatever a program without times asks", async () => {
  const path = fc.constantFrom("kind", "metadata.name", "metadata.labels.drop", "metadata.labels", "data.x", "data.y")
  const value = fc.constantFrom('"a"', '"yes"', '"1"', "5", "metadata.name")
  const test = fc.oneof(
    fc.tuple(path, fc.constantFrom("==", "!=", "<", ">="), value).map((parts) => parts.join(" ")),
    path.map((each) => `exists(${each})`),
    path.map((each) => `$v := ${each} | exists($v)`),
  )
  const { condition } = fc.letrec<{ condition: string }>((tie) => ({
    condition: fc.oneof(
      { depthSize: "small" },
      test.map((each) => `(${each})`),
      tie("condition").map((inner) => `!${inner}`),
      fc
        .tuple(tie("condition"), fc.constantFrom("&&", "||"), tie("condition"))
        .map(([one, operator, other]) => `(${one} ${operator} ${other})`),
    ),
  }))
  const command = fc.oneof(
    condition.map((each) => `delete(${each});`),
    fc
      .tuple(
        condition,
        path.filter((each) => each !== "kind" && each !== "metadata.name"),
      )
      .map(([each, field]) => `remove(${each}, ${field});`),
    condition.map((each) => `modify(${each}, data.y = 5);`),
  )
  const state = fc.record({ drop: fc.option(fc.constantFrom("yes", "a")), x: fc.constantFrom("1", "2") })
  const lives = fc.record({
    states: fc.array(state, { minLength: 1, maxLength: 3 }),
    end: fc.constantFrom("deleted" as const, "vanished" as const),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { minLength: 1, maxLength: 3 }),
      fc.array(lives, { minLength: 1 }),
      async (commands, all) => {
        // A name is defined once in a command.
        let variables = 0
        const program = commands.join(" ").replaceAll(/\$v := (\S+) \| exists\(\$v\)/g, (_, at) => {
          variables++
          return `$v${variables} := ${at} | exists($v${variables})`
        })
        const happenings = all.flatMap(({ states, end }, name): ReadonlyArray<Happening> => {
          const bodies = states.map(({ drop, x }) =>
            object("ConfigMap", `n${name}`, { metadata: drop === null ? {} : { labels: { drop } }, data: { x } }),
          )
          const last = bodies.at(-1) as Body
          return [...bodies.map((body): Happening => [name, "applied", body]), [name, end, last]]
        })
        for (const items of [
          recorded(...happenings),
          ofSimkube(
            happenings.map(
              ([at, action, body]): Happening =>
                action === "applied"
                  ? [at, action, body]
                  : [at, "deleted", stub((body.metadata as { name: string }).name)],
            ),
          ),
        ]) {
          const { items: after } = await transformed(chunks(items), program)
          const kept = new Map<string, ReadonlyArray<string>>()
          for (const item of after)
            if (item.type === "event" && item.event.type === "object")
              kept.set(item.event.name, [...(kept.get(item.event.name) ?? []), item.event.action])
          for (const actions of kept.values()) {
            expect(actions.slice(0, -1)).toEqual(actions.slice(0, -1).map(() => "applied"))
            expect(actions.length).toBeGreaterThan(1)
            expect(["deleted", "vanished"]).toContain(actions.at(-1))
          }
        }
      },
    ),
    { numRuns: rounds(500) },
  )
})

describe("names", () => {
  test("are those of one object at a time", async () => {
    const items = recorded([1, "applied", a], [2, "applied", b])
    await expect(transformed(chunks(items), 'modify(metadata.name = "same");')).rejects.toThrow(
      "v1.ConfigMap shop/b at 2024-03-09T16:00:02.000Z: it would have the name of another object that exists then, v1.ConfigMap shop/same",
    )
  })

  test("do not change during a life", async () => {
    const items = recorded([1, "applied", a], [30, "applied", a])
    await expect(transformed(chunks(items), 'modify(@t > 20s, metadata.name = "late");')).rejects.toThrow(
      "which no object can",
    )
  })
})

describe("insertions", () => {
  const at = (time: string): string =>
    `insert({apiVersion: "v1", kind: "Pod", metadata: {namespace: "shop", name: "new"}}, at ${time});`

  test("are in the order of time, and among the kinds", async () => {
    const result = await transformed(
      chunks(recorded([1, "applied", a], [9, "applied", b])),
      `${at("5s")} modify(kind == "Pod", spec = 1);`,
    )
    expect(story(result)).toEqual([
      expect.stringContaining("1 applied"),
      '5 applied v1.Pod shop/new {"spec":1}',
      expect.stringContaining("9 applied"),
    ])
    expect(result.items[0]).toMatchObject({ kinds: ["v1.ConfigMap", "v1.Pod"] })
    expect(result.items.flatMap((item) => (item.type === "event" ? [item.event.sequence] : []))).toEqual([1, 2, 3])
    expect(result.counts).toMatchObject({ objects: 2, inserted: 1, changed: 0 })
  })

  test("only the commands behind them concern them", async () => {
    const result = await transformed(chunks(recorded()), `delete(*); ${at("5s")}`)
    expect(story(result)).toEqual(["5 applied v1.Pod shop/new {}"])
  })

  test("at the beginning are there at the beginning", async () => {
    expect(story(await transformed(chunks(recorded([1, "applied", a])), at("0s")))[0]).toBe(
      "0 there v1.Pod shop/new {}",
    )
  })

  test("into a trace of SimKube's have a moment of their own, or that which there is, and are in the index", async () => {
    const index: TraceItem = { type: "index", gvk: "v1.ConfigMap", name: "shop/a", hash: 7n }
    const items = ofSimkube([[4, "applied", a]], [index])
    const program = `${at("2s")} ${at("4s").replace("new", "other")}`
    expect(story(await transformed(chunks(items), program))).toEqual([
      ...["0", "2", "2 applied v1.Pod shop/new {}", "4", "4 applied v1.Pod shop/other {}"],
      ...['4 applied v1.ConfigMap shop/a {"data":{"x":"1"}}', "60", "index v1.ConfigMap shop/a 7"],
      ...["new", "other"].map((name) => `index v1.Pod shop/${name} ${simkubeHash(undefined)}`),
    ])
  })

  test("of a name that another object has then fail, whichever is there first", async () => {
    const named = at("5s").replace('kind: "Pod"', 'kind: "ConfigMap"').replace('"new"', '"a"')
    const taken = "it would have the name of another object that exists then, v1.ConfigMap shop/a"
    await expect(transformed(chunks(recorded([1, "applied", a])), named)).rejects.toThrow(taken)
    await expect(transformed(chunks(recorded([9, "applied", a])), named)).rejects.toThrow(taken)
    const before = [
      [1, "applied", a],
      [2, "deleted", a],
    ] as const
    expect(story(await transformed(chunks(recorded(...before)), named))).toHaveLength(3)
    // The deletion is that of the object that the program takes out.
    const instead = `delete(metadata.labels.drop == "yes"); ${named}`
    expect(story(await transformed(chunks(recorded([1, "applied", a], [9, "deleted", a])), instead))).toEqual([
      "5 applied v1.ConfigMap shop/a {}",
    ])
  })

  test("into a trace with its beginning alone, as kwok's are, are in the order of time", async () => {
    const [, ...happenings] = recorded([1, "applied", a], [9, "applied", b])
    const kwok: ReadonlyArray<TraceItem> = [
      { type: "header", cut: 0, kinds: [], incomplete: [], sanitised: "replay" },
      { type: "batch", time: start },
      ...happenings,
    ]
    const lines = story(await transformed(chunks(kwok), at("5s")))
    expect(lines.map((line) => line.split(" ")[0])).toEqual(["0", "1", "5", "9"])
  })

  test("have an entry each in SimKube's index, of which no name has two", async () => {
    const index: TraceItem = { type: "index", gvk: "v1.ConfigMap", name: "shop/a", hash: 7n }
    const named = at("5s").replace('kind: "Pod"', 'kind: "ConfigMap"').replace('"new"', '"a"')
    const items = ofSimkube(
      [
        [1, "applied", a],
        [2, "deleted", stub("a")],
        [8, "applied", b],
      ],
      [index, { ...index, name: "shop/b" }],
    )
    const renaming = `${named} modify(metadata.name == "b", metadata.name = "c");`
    expect(story(await transformed(chunks(items), renaming)).filter((line) => line.startsWith("index"))).toEqual([
      "index v1.ConfigMap shop/a 7",
      expect.stringContaining("index v1.ConfigMap shop/c"),
    ])
  })

  test("concern only what is behind them in a program of any length", async () => {
    const program = `${"remove(x);".repeat(65_535)} delete(*); ${at("5s")}`
    expect(story(await transformed(chunks(recorded()), program))).toHaveLength(1)
  })

  test("behind the last moment of a trace of SimKube's fail, and so do those into one without moments", async () => {
    await expect(transformed(chunks(ofSimkube([[4, "applied", a]])), at("61s"))).rejects.toThrow(
      "2024-03-09T16:01:01.000Z is outside of the trace, which is from 2024-03-09T16:00:00.000Z to 2024-03-09T16:01:00.000Z",
    )
    await expect(transformed(chunks(ofSimkube([]).slice(0, 1)), at("1s"))).rejects.toThrow("which has no moments")
  })

  test("outside of the trace fail, with its beginning and end", async () => {
    const failure = transformed(chunks(recorded()), at("2h"))
    await expect(failure).rejects.toBeInstanceOf(TransformFailed)
    await expect(failure).rejects.toThrow(
      "2024-03-09T18:00:00.000Z is outside of the trace, which is from 2024-03-09T16:00:00.000Z to 2024-03-09T16:01:00.000Z",
    )
  })
})

describe("a trace of SimKube's", () => {
  const index = (name: string, hash: bigint): TraceItem => ({
    type: "index",
    gvk: "v1.ConfigMap",
    name: `shop/${name}`,
    hash,
  })

  test("keeps its first and its last moment, and those that were empty before", async () => {
    const items: ReadonlyArray<TraceItem> = [
      ...ofSimkube([[4, "applied", a]]).slice(0, -1),
      { type: "batch", time: start + 8 * second },
      { type: "batch", time: start + 60 * second },
    ]
    expect(story(await transformed(chunks(items), "delete(*);"))).toEqual(["0", "8", "60"])
    expect(
      story(
        await transformed(
          chunks(
            ofSimkube([
              [4, "applied", a],
              [5, "applied", b],
            ]).slice(0, -1),
          ),
          "delete(*);",
        ),
      ),
    ).toEqual(["0", "5"])
  })

  test("has an index of the objects that are left, with the hashes of what they are", async () => {
    const lives: TraceItem = { type: "lifecycles", gvk: "v1.ConfigMap", owner: "shop/a", pods: new Map() }
    const others: TraceItem = { ...lives, owner: "shop/c" }
    const c = object("ConfigMap", "c", { spec: { y: 1 } })
    const items = ofSimkube(
      [
        [1, "applied", a],
        [2, "applied", b],
        [3, "applied", c],
      ],
      [index("a", 1n), index("b", 2n), index("c", 3n), lives, others],
    )
    const program =
      'delete(metadata.name == "a"); modify(metadata.name == "c", spec.y = 2); modify(metadata.name == "c", metadata.name = "d");'
    expect(story(await transformed(chunks(items), program)).slice(-3)).toEqual([
      "index v1.ConfigMap shop/b 2",
      `index v1.ConfigMap shop/d ${simkubeHash({ y: 2 })}`,
      "lives of v1.ConfigMap shop/d",
    ])
  })
})

describe("failures", () => {
  test("name the object, the moment and the place in the program", async () => {
    const failure = transformed(chunks(recorded([1, "applied", a])), "remove(status);\nremove(kind);")
    await expect(failure).rejects.toMatchObject({
      at: 16,
      message: "v1.ConfigMap shop/a at 2024-03-09T16:00:01.000Z: the object would have no text as its kind",
    })
  })

  test("of an object that is none name it", async () => {
    const [header, event] = recorded([1, "applied", a])
    if (event?.type !== "event" || event.event.type !== "object" || header === undefined) throw new Error("no event")
    const items = [header, { ...event, event: { ...event.event, object: Buffer.from("[1]") } }]
    await expect(transformed(chunks(items), "remove(status);")).rejects.toThrow(
      "v1.ConfigMap shop/a at 2024-03-09T16:00:01.000Z: it is not a JSON object",
    )
  })
})

test("examples are of each command, not more than asked for", async () => {
  const items = recorded(
    [1, "applied", a],
    [2, "applied", b],
    [3, "applied", object("ConfigMap", "c", { data: { x: "3" } })],
  )
  const { counts } = await transformed(chunks(items), 'remove(data); delete(metadata.name == "c");', { samples: 2 })
  expect(counts.samples.map(({ statement, subject, differences }) => [statement, subject, differences])).toEqual([
    [0, "ConfigMap shop/a", [{ path: "data", before: { x: "1" } }]],
    [0, "ConfigMap shop/b", [{ path: "data", before: { x: "2" } }]],
    [1, "ConfigMap shop/c", []],
  ])
  expect(counts.statements).toMatchObject([{ changed: 3 }, { deleted: 1 }])
})

test("there are no examples of objects that are nested so deeply that they could not be shown", async () => {
  const data = JSON.parse(`${'{"a":'.repeat(3000)}1${"}".repeat(3000)}`)
  const items = recorded([1, "applied", object("ConfigMap", "deep", { data })])
  const { counts } = await transformed(chunks(items), "modify(data.a = 1);", { samples: 2 })
  expect(counts).toMatchObject({ changed: 1, samples: [] })
})

test("batches may come back in any order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(3), { minLength: 1, maxLength: 9 }), async (turns) => {
      const happenings = Array.from(
        { length: 3000 },
        (_, index): Happening => [
          index / 100,
          "applied",
          object("ConfigMap", `n${index % 7}`, { data: { x: String(index) } }),
        ],
      )
      const text = 'modify(data.x =~ "[05]$", data.x = "round"); delete(metadata.name == "n3");'
      const plain = await transformed(chunks(recorded(...happenings)), text)
      let next = 0
      const run = async (batch: ObjectBatch): Promise<TransformedBatch> => {
        for (let wait = turns[next++ % turns.length] ?? 0; wait > 0; wait--) await new Promise(setImmediate)
        return runBatch(batch)
      }
      expect((await transformed(chunks(recorded(...happenings)), text, { run })).items).toEqual(plain.items)
    }),
    { numRuns: rounds(16) },
  )
})
