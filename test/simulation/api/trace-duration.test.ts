import fc from "fast-check"
import { expect, test } from "vitest"
import { matchesPattern } from "../../../src/sandbox/schema/pattern.ts"
import { traceDurationMs, traceDurationRule } from "../../../src/simulation/api/simulation.ts"

/** The patterns of the rule, which are all that it consists of. */
const patterns = [...traceDurationRule.rule.matchAll(/self\.matches\(r?'([^']*)'\)/g)].map(
  ([, pattern = ""]) => pattern,
)
const isAccepted = (text: string): boolean => patterns.every((pattern) => matchesPattern(pattern, text))

test.each([
  ["+5m", 300_000],
  ["90s", 90_000],
  ["+1h30m", 5_400_000],
  ["1 hour and 30 minutes", 5_400_000],
  ["2 days, 1 week", 777_600_000],
  ["+10 mins", 600_000],
])("%s is %i ms", (text, ms) => {
  expect({ ms: traceDurationMs(text), isAccepted: isAccepted(text) }).toEqual({ ms, isAccepted: true })
})

test.each(["", "5", "m", "-5m", "1.5h", "2 months", "1 year", "0s", "5m later", "5m\n", "2026-11-23T12:00:00Z", "5ms"])(
  "%j is refused",
  (text) => {
    expect({ ms: traceDurationMs(text), isAccepted: isAccepted(text) }).toEqual({ ms: undefined, isAccepted: false })
  },
)

test("everything that the API server accepts can be read, and nothing else", () => {
  const piece = fc.constantFrom(
    "+",
    " ",
    ",",
    " and ",
    "1",
    "90",
    "0",
    "s",
    "min",
    "minutes",
    "h",
    "hours",
    "d",
    "weeks",
    "ms",
    "y",
    "-",
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const text = pieces.join("")
      expect([text, traceDurationMs(text) !== undefined]).toEqual([text, isAccepted(text)])
    }),
    { numRuns: 2000 },
  )
})
