import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { createLogger, type LogFacts, type LoggerOptions, levelOf, logLevels } from "../../../src/cli/terminal/log.ts"

const now = Date.UTC(2026, 10, 21, 10, 0, 0, 5)

const lines = (options: Partial<LoggerOptions>, use: (log: ReturnType<typeof createLogger>) => void): string[] => {
  const written: string[] = []
  use(createLogger({ format: "text", level: "debug", now: () => now, sink: (line) => written.push(line), ...options }))
  return written
}

describe("log lines for people", () => {
  test("contain time, level, message and facts", () => {
    expect(
      lines({}, (log) => {
        log.error("cannot write", { path: "/data", code: "ENOSPC", cause: new Error("disk is full") })
        log.warn("odd", { text: 'a "b" c=d', empty: "", nothing: undefined, none: null })
        log.info("watching", { kind: "v1.Pod", objects: 3, ready: true, version: 2n ** 60n })
        log.debug("list", { kinds: ["a", "b"], inner: { x: 1n } })
      }),
    ).toMatchInlineSnapshot(`
      [
        "2026-11-21T10:00:00.005Z ERROR cannot write path=/data code=ENOSPC cause="disk is full"
      ",
        "2026-11-21T10:00:00.005Z WARN  odd text="a \\"b\\" c=d" empty="" none=null
      ",
        "2026-11-21T10:00:00.005Z INFO  watching kind=v1.Pod objects=3 ready=true version=1152921504606846976
      ",
        "2026-11-21T10:00:00.005Z DEBUG list kinds=["a","b"] inner={"x":"1"}
      ",
      ]
    `)
  })

  test("are coloured if enabled", () => {
    expect(lines({ isColoured: true }, (log) => log.warn("slow", { lagMs: 12 }))).toEqual([
      "\u001b[2m2026-11-21T10:00:00.005Z\u001b[0m \u001b[33mWARN \u001b[0m slow \u001b[2mlagMs=12\u001b[0m\n",
    ])
  })
})

describe("log lines for programs", () => {
  test("are one JSON object each, whose first fields no fact can replace", () => {
    const [line = ""] = lines({ format: "json" }, (log) =>
      log
        .with({ actor: "store" })
        .info("ready", { level: "none", time: 1, value: 0.1, huge: 2n ** 64n, no: Number.NaN }),
    )
    expect(line).toBe(
      '{"time":"2026-11-21T10:00:00.005Z","level":"info","message":"ready","actor":"store","level_":"none","time_":1,"value":0.1,"huge":"18446744073709551616","no":"NaN"}\n',
    )
  })
})

describe("any logged value", () => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const fact = fc.oneof(
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true }),
    fc.constantFrom<unknown>(
      circular,
      new Error("a\nb"),
      Symbol("s"),
      () => 1,
      new Date(Number.NaN),
      Object.create(null),
      {
        toJSON: () => {
          throw new Error("no")
        },
      },
    ),
    fc.string({ unit: "binary" }),
  )
  const facts = fc.dictionary(fc.string({ unit: "binary" }), fact) as fc.Arbitrary<LogFacts>

  test.each(["text", "json"] as const)("becomes one line of %s, and nothing throws", (format) => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), facts, (message, facts) => {
        const written = lines({ format }, (log) => log.info(message, facts))
        expect(written).toHaveLength(1)
        expect(written[0]).toMatch(/^[^\n\r]*\n$/)
        if (format === "json") expect(JSON.parse(written[0] ?? "")).toMatchObject({ level: "info", message })
        else expect(written[0]?.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}]/u)
      }),
    )
  })

  test("a clock out of range does not stop the log", () => {
    expect(lines({ now: () => Number.POSITIVE_INFINITY }, (log) => log.info("late"))).toEqual(["Infinity INFO  late\n"])
  })
})

test("levels more verbose than the chosen one are not written", () => {
  for (const [index, level] of logLevels.entries()) {
    const written = lines({ level }, (log) => {
      for (const each of logLevels) {
        log[each](each)
        expect(log.isEnabled(each)).toBe(logLevels.indexOf(each) <= index)
      }
    })
    expect(written.map((line) => line.trim().split(" ").at(-1))).toEqual(logLevels.slice(0, index + 1))
  }
  expect([0, 1, 2].map(levelOf)).toEqual(["info", "debug", "debug"])
})
