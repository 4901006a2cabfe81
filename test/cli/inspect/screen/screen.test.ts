/** The interactive view without a terminal: what keys do and what the screen then shows, for terminals of any size. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Part, WantedPart } from "../../../../src/cli/inspect/recording-parts.ts"
import { helpLines } from "../../../../src/cli/inspect/screen/help-lines.ts"
import { updated } from "../../../../src/cli/inspect/screen/screen-keys.ts"
import { type ScreenState, screenOfPart } from "../../../../src/cli/inspect/screen/screen-state.ts"
import { screenLines } from "../../../../src/cli/inspect/screen/screen-view.ts"
import { textOf } from "../../../../src/cli/inspect/screen/styled-line.ts"
import { displayWidth } from "../../../../src/cli/terminal/display-width.ts"
import { BadTraceError, type GapEvent, type TraceItem } from "../../../../src/trace/index.ts"
import { event, listOf, press, screenOf, shown, start, story, typing } from "./inspected-story.ts"

const escapeKey = "\u001b"

/** The rows of the list, without title, time line and status. */
const listIn = (state: ScreenState): ReadonlyArray<string> =>
  shown(state)
    .slice(3, -1)
    .filter((line) => line !== "")

/** The row that is highlighted. */
const selectedIn = (state: ScreenState): string =>
  screenLines(state)
    .slice(3, -1)
    .filter((line) => line.some(({ style, text }) => style === "selected" && text.trim() !== ""))
    .map((line) => textOf(line).trim())
    .join("|")

describe("the list of events", () => {
  test("has a row for each event, with its time, its sort and what validation finds in its state", async () => {
    const rows = listIn(await screenOf())
    expect(rows.map((row) => row.replace(/^\S*(?: \S+)?\.\d{6} /, ""))).toEqual([
      "· Node node-1",
      "· Namespace shop",
      expect.stringMatching(/^\+ Deployment shop\/web +1E$/),
      "+ ReplicaSet shop/web-1",
      "+ Pod shop/web-1-a",
      "+ ConfigMap shop/prices",
      "~ ConfigMap shop/prices",
      "- ConfigMap shop/prices",
      "? Node node-1",
      expect.stringMatching(/^~ Deployment shop\/web +1E$/),
    ])
  })

  test.each([
    [["j", "down"], 2],
    [["G"], 9],
    [["end", "k", "up"], 7],
    [["pagedown"], 9],
    [["G", "\u0002"], 0],
    [["G", "g"], 0],
    [["\u0006", "home"], 0],
    [["k"], 0],
  ])("%j moves to row %i", async (keys, row) => {
    expect(press(await screenOf(), ...keys).row).toBe(row)
  })

  test("scrolls so that the selected row is always on the screen", async () => {
    let state = await screenOf(story, { columns: 80, rows: 7 })
    for (const key of ["j", "j", "j", "j", "j", "j", "j", "j", "j", "k", "k", "k", "k", "k", "k"]) {
      state = press(state, key)
      const lines = screenLines(state).filter((line) => line.some(({ style }) => style === "selected"))
      expect(lines).toHaveLength(1)
    }
  })

  test("shows times since the first event with r", async () => {
    expect(listIn(press(await screenOf(), "r")).map((row) => row.slice(0, 8))).toContain("00:00:59")
  })

  test("is empty, and says so, for a trace without events", async () => {
    const state = press(
      await screenOf([{ type: "header", cut: 0, kinds: [], incomplete: [] }]),
      "j",
      " ",
      "t",
      "o",
      "!",
      "]",
      "l",
    )
    expect(listIn(state)).toEqual(["no events"])
  })

  test("arrows aside go along the bars of the time line", async () => {
    const state = await screenOf()
    expect(selectedIn(press(state, "l"))).toContain("Deployment shop/web")
    expect(selectedIn(press(state, "G", "left", "left"))).toContain("ConfigMap shop/prices")
    expect(press(state, "h").row).toBe(0)
  })
})

describe("an object", () => {
  test("is opened with Space: what changed, then its YAML without managed fields", async () => {
    const state = press(await screenOf(), "G", " ")
    const lines = shown({ ...state, size: { columns: 80, rows: 40 } })
    expect(lines).toContain("apps/v1.Deployment shop/web")
    expect(lines.find((line) => line.startsWith("changed "))).toMatch(/, state 2 of 2$/)
    expect(lines).toContain("~ spec.replicas: 1 → 3")
    expect(lines.join("\n")).toContain("\n E0004  volume secret missing: Secret keys at spec.template.spec.")
    expect(lines).toContain("  replicas: 3")
  })

  test("is beside the list where there is room, and follows it after Tab", async () => {
    const wide = press(await screenOf(story, { columns: 140, rows: 20 }), "j", "j", " ")
    expect(shown(wide)[3]).toMatch(/Node node-1 +│apps\/v1\.Deployment shop\/web$/)
    expect(shown(press(wide, "\t", "j"))[3]).toMatch(/│apps\/v1\.ReplicaSet shop\/web-1$/)
    const narrow = press(await screenOf(), "j", "j", " ")
    expect(shown(narrow)[3]).toBe("apps/v1.Deployment shop/web")
  })

  test("is shown before and after with [ and ], and at its ends that is said", async () => {
    const last = press(await screenOf(), "G", "k", "k", " ")
    expect(shown(last).join("\n")).toContain("deleted ")
    const first = press(last, "[", "[")
    expect(shown(first).join("\n")).toContain("state 1 of 3")
    expect(shown(press(first, "[")).at(-1)).toBe("the trace has no earlier state of it")
    expect(press(first, "]").row).toBe(6)
  })

  test("without a known state says so, and one that is no JSON is shown as it is", async () => {
    const gone = press(await screenOf(), "G", "k", " ")
    expect(shown(gone).join("\n")).toContain("its state is not known")
    const odd = await screenOf([event(1, "v1.Pod", "a", { object: Buffer.from("{\u001b]0;x") })])
    expect(shown(press(odd, " ")).join("\n")).toContain("{\\u{1b}]0;x")
  })

  test("is searched with /, and scrolled aside", async () => {
    const state = press(await screenOf(story, { columns: 80, rows: 8 }), "G", " ", "/", ...typing("REPLICAS: 3"))
    expect(shown(state)[1]).toBe("  replicas: 3")
    expect(shown(press(state, "l"))[1]).toBe("as: 3")
  })

  test("shows where a match is, also at its end and beyond the right edge, and n goes on from there", async () => {
    const body = { data: { a: `${"x".repeat(200)}needle`, z: "needle" } }
    const state = press(await screenOf([event(1, "v1.ConfigMap", "a", { body })]), " ", "/", ...typing("needle"))
    const found = (from: ScreenState) =>
      screenLines(from)
        .slice(3)
        .filter((line) => line.some(({ style }) => style === "current"))
        .map((line) => textOf(line).trim())
    expect(found(state)).toEqual([expect.stringMatching(/^x+needle$/)])
    expect(found(press(state, "n"))).toEqual(["z: needle"])
    expect(found(press(state, "n", "n"))).toEqual(found(state))
    expect(found(press(state, "N"))).toEqual(["z: needle"])
  })

  test("is scrolled to its last line and no further", async () => {
    const state = press(await screenOf(story, { columns: 80, rows: 8 }), "G", " ", "G", "pagedown")
    expect(shown(state).slice(1, -1).at(-1)).toBe("          secretName: keys")
  })
})

describe("the tree", () => {
  test("has the objects that existed then, below their owners, and Space opens one", async () => {
    const state = press(await screenOf(), "G", "t")
    expect(listIn(state).map((row) => row.replace(/ +\dE$/, ""))).toEqual([
      "Namespace shop",
      "Deployment shop/web",
      "  ReplicaSet web-1",
      "    Pod web-1-a",
    ])
    expect(shown(press(state, "j", " "))[3]).toBe("apps/v1.ReplicaSet shop/web-1")
    expect(listIn(press(state, "t"))).toHaveLength(10)
  })

  test("of an earlier moment has what existed then", async () => {
    expect(listIn(press(await screenOf(), "j", "j", "t"))).toHaveLength(3)
  })

  test("ends although objects own each other", async () => {
    const circle = [
      event(1, "v1.Pod", "a", { owner: ["ReplicaSet", "b"] }),
      event(2, "apps/v1.ReplicaSet", "b", { owner: ["Pod", "a"] }),
    ]
    expect(listIn(press(await screenOf(circle), "G", "t")).map((row) => row.trim())).toHaveLength(2)
  })
})

describe("search and filters", () => {
  test("/ goes to the next match, n and N to others, around the end", async () => {
    const found = press(await screenOf(), "/", ...typing("prices"))
    expect([found.row, press(found, "n").row, press(found, "N").row]).toEqual([5, 6, 7])
    expect(shown(press(found, "/", ...typing("absent"))).at(-1)).toBe("not found: absent")
  })

  test("f shows only what meets all conditions, Esc removes them", async () => {
    const state = press(await screenOf(), "f", ...typing("ns=shop !kind=configmaps web"))
    expect(listIn(state)).toHaveLength(4)
    expect(shown(state)[0]).toBe("a.ndjson  4 of 10 events: ns=shop !kind=configmaps web")
    expect(listIn(press(state, escapeKey))).toHaveLength(10)
  })

  test("a filter takes effect while it is typed, and Esc brings the one before back, with the event", async () => {
    const state = press(await screenOf(), "f", ...typing("web"), "G")
    const none = press(state, "f", "\u0015", ..."name=none*")
    expect(listIn(none)).toEqual(["no event passes the filter: Esc removes it"])
    expect(shown(press(none, "\r"))[0]).toBe("a.ndjson  0 of 10 events: name=none*")
    expect(press(press(state, "t"), "f", escapeKey).tree).toBeDefined()
    const back = press(none, escapeKey)
    expect([shown(back)[0], selectedIn(back)]).toEqual(["a.ndjson  4 of 10 events: web", selectedIn(state)])
    expect(press(none, "\u0017").prompt?.text).toBe("")
    expect(listIn(press(state, "f", "\u0015", ...typing("kind=deploy,")))).toEqual([
      "no event passes the filter: Esc removes it",
    ])
    expect(listIn(press(state, "f", "\u0015", ...typing("kind=cm")))).toHaveLength(3)
  })

  test("what a filter leaves fills the screen, wherever the list was before", async () => {
    const state = press(await screenOf(story, { columns: 80, rows: 8 }), "G", "o")
    expect(shown(state).slice(1, 3)).toEqual([
      expect.stringMatching(/\+ Deployment shop\/web/),
      expect.stringMatching(/~ Deployment shop\/web/),
    ])
    expect(shown(press(state, escapeKey)).slice(1, -1).at(-1)).toContain("~ Deployment shop/web")
  })

  test("o shows the selected object alone", async () => {
    expect(listIn(press(await screenOf(), "G", "o"))).toHaveLength(2)
  })

  test("what is typed can be corrected and given up", async () => {
    const state = press(await screenOf(), "/", "a", "up", "b", "\u007f")
    expect(shown(state).at(-1)).toBe("/a")
    expect(press(state, escapeKey).prompt).toBeUndefined()
    expect(press(state, "\u007f", "\u007f").prompt).toBeUndefined()
  })

  test("! goes to the next event with a finding", async () => {
    const state = press(await screenOf(), "!")
    expect([state.row, press(state, "!").row, press(state, "!", "!").row]).toEqual([2, 9, 2])
  })
})

describe("leaving", () => {
  test("q quits at once, Esc closes one level after the other and nothing more", async () => {
    const state = await screenOf()
    expect(press(state, " ", "q").isEnded).toBe(true)
    const deep = press(state, "f", ...typing("web"), "t", " ")
    const [object, tree, filter, last] = [0, 1, 2, 3].map((keys) =>
      press(deep, ...Array.from({ length: keys }, () => escapeKey)),
    )
    expect([object?.opened !== undefined, tree?.opened, tree?.tree !== undefined, filter?.tree]).toEqual([
      ...[true, undefined, true, undefined],
    ])
    expect([filter?.events.filter.text, last?.events.filter.text]).toEqual(["web", ""])
    const once = press(deep, escapeKey, escapeKey, escapeKey, escapeKey)
    expect([once.isEnded, shown(once).at(-1)]).toEqual([false, "press q to quit"])
  })

  test("? shows the keys, and any other key closes them", async () => {
    const state = press(await screenOf(), "?")
    expect(shown(state).join("\n")).toContain("Space, Enter")
    expect(press(state, "x").help).toBeUndefined()
    expect(press(state, "G", "up").help).toBeGreaterThan(0)
    expect(press(state, "q").isEnded).toBe(true)
  })
})

describe("a terminal of any size", () => {
  const keys = [
    ..."jkgGhlfotnNr!?/[] q\t\r\u001b\u007f\u0002\u0006",
    "up",
    "down",
    "left",
    "right",
    "pageup",
    "home",
    "世",
    "f5",
  ]
  const inputs = fc.array(
    fc.oneof(
      fc.constantFrom(...keys).map((key) => ({ tag: "key", key }) as const),
      fc
        .record({ columns: fc.integer({ min: 0, max: 160 }), rows: fc.integer({ min: 0, max: 30 }) })
        .map((size) => ({ tag: "resized", size }) as const),
    ),
    { maxLength: 40 },
  )

  test("is never overrun, whatever keys are pressed, and nothing on it controls it", async () => {
    const wide = event(120, "v1.ConfigMap", "世界\u0007".repeat(20), { body: { data: { 世: "界".repeat(90) } } })
    const first = await screenOf([...story, wide])
    fc.assert(
      fc.property(inputs, (given) => {
        let state = first
        for (const input of given) {
          state = updated(state, input)
          const lines = screenLines(state).map(textOf)
          expect(lines.length).toBeLessThanOrEqual(Math.max(1, state.size.rows))
          for (const line of lines) {
            expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(1, state.size.columns))
            expect(line).not.toMatch(/\p{Cc}/u)
          }
        }
      }),
    )
  })
})

test("a finding is shown in the states that have it alone", async () => {
  const missing = event(1, "v1.Pod", "a", { body: { spec: { serviceAccountName: "robot", containers: [] } } })
  const repaired = event(2, "v1.Pod", "a", { body: { spec: { containers: [] } } })
  const rows = listIn(await screenOf([missing, repaired]))
  expect(rows.map((row) => /\dE/.test(row))).toEqual([true, false])
})

test("a time that is an estimate is said to be one", async () => {
  const late = event(5, "v1.Pod", "a", { received: (start + 9) * 1_000_000 })
  expect(shown(press(await screenOf([late]), " ")).join("\n")).toMatch(/^created about /m)
})

test("of a long path the end is in the title", async () => {
  const state = { ...(await screenOf()), name: `/srv/${"long/".repeat(40)}day.ndjson` }
  expect(shown(state)[0]).toMatch(/^….*\/day\.ndjson {2}10 events$/)
})

describe("what is missing", () => {
  const gap: GapEvent = {
    ...{ type: "gap", sequence: 1, time: (start + 70) * 1e6, gvk: "v1.Pod", namespace: "", reason: "expired" },
    ...{ detail: "410 Gone\u001b[2J", fromVersion: "1", toVersion: "2" },
    ...{ fromTime: (start + 60) * 1e6, toTime: (start + 70) * 1e6 },
  }
  const withGap = (given: Partial<GapEvent> = {}): ReadonlyArray<TraceItem> => [
    ...story.slice(0, 9),
    { type: "event", event: { ...gap, ...given }, isSnapshot: false },
    ...story.slice(9),
  ]

  test("is a row at its moment, which opens with the time, the reason and what the server said", async () => {
    const state = await screenOf(withGap())
    expect(listIn(state)[8]).toMatch(/ ! gap of Pod, 10 s: expired$/)
    expect(shown(state)[0]).toBe("a.ndjson  10 events  1 gap")
    expect(shown(state).at(-1)).toBe("1 gap, where something is missing: ! goes to the next one")
    const opened = shown(press(state, ..."jjjjjjjj", " ")).join("\n")
    expect(opened).toMatch(/^gap of v1\.Pod\nfrom .*03:01:00 UTC to .*03:01:10 UTC$/m)
    expect(opened).toContain("expired: the API server no longer had the changes")
    expect(opened).toContain("410 Gone\\u{1b}[2J")
  })

  test("is found by ! and by a search, and is no object of the tree", async () => {
    const state = press(await screenOf(withGap()), "!", "!")
    expect(selectedIn(state)).toContain("gap of Pod")
    expect(selectedIn(press(await screenOf(withGap()), "/", ...typing("gap of")))).toContain("gap of Pod")
    expect(listIn(press(state, "t")).join()).not.toContain("gap")
    expect(shown(press(state, "o")).at(-1)).toBe("this row is not an object")
  })

  test.each([
    ["name=web", {}, true],
    ["kind=pods", {}, true],
    ["kind=nodes", {}, false],
    ["ns=shop", {}, true],
    ["ns=shop", { namespace: "shop" }, true],
    ["ns=shop", { namespace: "other" }, false],
    ["!kind=pods", {}, false],
    ["!name=web", {}, true],
  ])("is shown with the filter %j and %j: %s", async (filter, given, isShown) => {
    const rows = listIn(press(await screenOf(withGap(given)), "f", ...typing(filter)))
    expect(rows.some((row) => row.includes("gap of Pod"))).toBe(isShown)
  })

  test("also of kinds that are incomplete as a whole, and after the end of a trace that is cut off", async () => {
    const incomplete = [{ gvk: "v1.Secret", state: "forbidden" }]
    const header: TraceItem = { type: "header", cut: 0, kinds: [], incomplete }
    expect(listIn(await screenOf([header]))).toEqual([expect.stringMatching(/! gap of Secret, 0 ms: forbidden$/)])
    function* items() {
      yield* story
      throw new BadTraceError({ format: "ndjson", offset: 1, detail: "the file ends" })
    }
    const last = press(await screenOf(items()), "G")
    expect(selectedIn(last)).toMatch(/! cut off or damaged here$/)
    expect(shown(press(last, " ")).join("\n")).toContain("the file ends")
  })
})

describe("a long recording", () => {
  const part = { start: 0, end: 1, isFirst: false, isLast: true, isGrowing: false, events: 3_000_000 }
  const inPart = async (given: Partial<Part> = {}, wanted: WantedPart = "last"): Promise<ScreenState> => {
    const state = updated(await screenOf(), { tag: "part", part: { ...part, ...given }, wanted })
    return updated(state, { tag: "progress", progress: "" })
  }

  test("begins with the last event of its last part, and says that it is a part, and where there is more", async () => {
    const state = await inPart()
    expect(state.row).toBe(9)
    expect(shown(state)[0]).toBe("a.ndjson  10 events, part of 3,000,000")
    expect(shown(state)[2]).toMatch(/^< .* UTC {2}▏.* UTC$/)
    expect(shown(await inPart({ isFirst: true, isLast: false }))[2]).toMatch(/^\S.* UTC >$/)
    expect(shown(press(state, "g", "up")).at(-1)).toBe("earlier events: press <")
  })

  test("is read as a whole if it is short: nothing is said of parts, and the first event is selected", async () => {
    const state = await inPart({ isFirst: true, events: 10 })
    expect([state.row, shown(state)[0]]).toEqual([0, "a.ndjson  10 events"])
  })

  test("goes to the parts before and after, and says where it ends", async () => {
    const state = await inPart()
    expect(press(state, "<").wants).toBe("earlier")
    expect(press(await inPart({ isLast: false }), ">").wants).toBe("later")
    expect(press(await inPart({ isGrowing: true }), ">").wants).toBe("last")
    expect(shown(press(state, ">")).at(-1)).toBe("there are no later events")
    expect(shown(press(await inPart({ isFirst: true }), "<")).at(-1)).toBe("there are no earlier events")
    expect(shown(press(await screenOf(), "<")).at(-1)).toBe("everything is in the list")
  })

  test("keeps the filter in another part, which begins after the state at its start, or at its end", async () => {
    const state = press(await inPart(), "f", ...typing("kind=node"))
    const next = screenOfPart(state, await listOf(story))
    const later = updated(next, { tag: "part", part, wanted: "later" })
    const row = (from: ScreenState) => updated(from, { tag: "progress", progress: "" }).row
    expect([next.events.filter.text, row(later)]).toEqual(["kind=node", 1])
    expect(row(updated(next, { tag: "part", part, wanted: "earlier" }))).toBe(1)
    expect(row(press(later, "g"))).toBe(0)
  })
})

test.each([
  [100, /^2026-03-02 03:00:01\.000000 \+ Deployment shop\/web/],
  [40, /^03:00:01 \+ Deployment shop\/web/],
  [20, /^\+ Deployment sho… 1E$/],
])("in %i columns there is room for the object's name", async (columns, row) => {
  const state = await screenOf(story, { columns, rows: 20 })
  expect(listIn({ ...state, nowMs: start * 1000 + 864e5 })[2]).toMatch(row)
})

test.each([40, 80, 200])("the help has all its words in %i columns", async (columns) => {
  const words = (text: ReadonlyArray<string>) => text.join(" ").split(/\s+/)
  const whole = words(helpLines(1000))
  const lines = helpLines(columns)
  expect(words(lines).toSorted()).toEqual(whole.toSorted())
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns)
})

test("keys about the list show it where an object covers it", async () => {
  const state = press(await screenOf(), "G", " ")
  for (const key of ["t", "o", "f"]) expect(press(state, key).opened).toBeUndefined()
  expect(listIn(press(state, "t"))).toContain("    Pod web-1-a")
})
