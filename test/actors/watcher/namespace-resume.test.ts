/** Where each namespace resumes, for any previous recording. */
import { describe, expect, test } from "vitest"
import { followedPods, livesContinue } from "../../../src/actors/watcher/followed-pods.ts"
import { isWatchedByNamespace, owedList, resumeByNamespace } from "../../../src/actors/watcher/resume-point.ts"
import { selectionOf } from "../../../src/actors/watcher/selection.ts"
import type { KindResumePoint, NamespaceProgress } from "../../../src/wire/index.ts"
import { nothingRecorded as nothing } from "./nothing-recorded.ts"

const selection = (namespaces: ReadonlyArray<string> | undefined, labelSelector?: string): string =>
  selectionOf({ namespaces, labelSelector, fieldSelector: undefined, skipOwned: false })

const both = ["shop", "stock"]

/** `shop 812` or `shop 900@95 !expired`: a version, when it was complete if not with the kind, why a list is due. */
const progress = (...texts: ReadonlyArray<string>): ReadonlyArray<NamespaceProgress> =>
  texts.map((text) => {
    const [, namespace = "", completeThrough = "", time, listReason = ""] =
      /^(\w+) (\d*)(?:@(\d+))?(?: !(\S+))?$/.exec(text) ?? []
    return {
      namespace,
      completeThrough,
      completeTime: Number(time ?? 0),
      listReason: listReason as NamespaceProgress["listReason"],
    }
  })
const recorded = { ...nothing, nextObjectNumber: 9, lastTime: 70, completeTime: 80 }

/** `shop 812@80` for one that resumes, `stock @80 !first: …` for one that is listed. */
const resumed = (
  resume: KindResumePoint,
  { namespaces = both, objects = [], labels }: { namespaces?: string[]; objects?: string[]; labels?: string } = {},
) =>
  resumeByNamespace(
    namespaces,
    selection(namespaces, labels),
    resume,
    objects.map((namespace) => ({ namespace })),
  ).map(({ state, owed }) => {
    const { namespace, completeThrough, completeTime, listReason } = state
    const due = listReason === "" ? "" : ` !${listReason}`
    return `${namespace} ${completeThrough}@${completeTime}${due}${owed === undefined ? "" : `: ${owed.detail}`}`
  })

describe("namespaces resume", () => {
  test("with a first list if nothing was recorded", () => {
    expect(resumed(nothing)).toEqual(["shop @0 !first", "stock @0 !first"])
  })

  test("where each of them was, at the time when the kind was complete", () => {
    const namespaces = progress("shop 812", "stock 790")
    expect(resumed({ ...recorded, namespaces, selection: selection(both) })).toEqual(["shop 812@80", "stock 790@80"])
  })

  test("from the state in the last frame and not from when all were complete", () => {
    const namespaces = progress("shop 900@95", "stock 790@60 !expired")
    expect(resumed({ ...recorded, namespaces, selection: selection(both) })).toEqual([
      "shop 900@95",
      "stock 790@60 !expired: the recorder ended before the list that followed was complete; the current state was listed afterwards",
    ])
  })

  test("with the first list again, and a gap if part of it was recorded", () => {
    const point = {
      ...recorded,
      namespaces: progress("shop @75 !first", "stock @76 !first"),
      selection: selection(both),
    }
    expect(resumed(point, { objects: ["shop"] })).toEqual([
      "shop @75 !stopped: the recorder ended before the first list was complete; the current state was listed afterwards",
      "stock @76 !first",
    ])
  })

  test("at the version of the whole cluster, which holds for each of them", () => {
    const point = { ...recorded, resumeVersion: "812", selection: selection(undefined) }
    expect(resumed(point)).toEqual(["shop 812@80", "stock 812@80"])
    expect(resumed({ ...point, selection: "" })).toEqual(["shop 812@80", "stock 812@80"])
  })

  test("with the list that the whole kind owed", () => {
    const point = { ...recorded, resumeVersion: "812", listReason: "overload", selection: selection(undefined) }
    expect(resumed(point).map((text) => text.split(":")[0])).toEqual([
      "shop 812@80 !overload",
      "stock 812@80 !overload",
    ])
  })

  test("unless they are new: those are listed, and their gap says what was changed", () => {
    const changed = (before: string) =>
      `the selection of this kind's objects was changed from ${before} to namespaces shop,stock; its current state was listed`
    const one = { ...recorded, resumeVersion: "812", selection: selection(["shop"]) }
    expect(resumed(one)).toEqual(["shop 812@80", `stock @80 !stopped: ${changed("namespaces shop")}`])
    const others = {
      ...recorded,
      namespaces: progress("bank 5", "shop 6"),
      selection: selection(["bank", "shop"]),
    }
    expect(resumed(others)).toEqual(["shop 6@80", `stock @80 !stopped: ${changed("namespaces bank,shop")}`])
  })

  test("unless another selection is requested: then all are listed", () => {
    const namespaces = progress("shop 812", "stock 790")
    const found = resumed({ ...recorded, namespaces, selection: selection(both) }, { labels: "app=x" })
    expect(found.map((text) => text.split(":")[0])).toEqual(["shop 812@80 !stopped", "stock 790@80 !stopped"])
  })

  test("with the list of the whole cluster that was due and not made", () => {
    const namespaces = progress("shop 812", "stock 790")
    const found = resumed({ ...recorded, namespaces, listReason: "stopped", selection: selection(both) })
    expect(found.map((text) => text.split(":")[0])).toEqual(["shop 812@80 !stopped", "stock 790@80 !stopped"])
  })
})

describe("a kind is watched namespace by namespace", () => {
  test.each([
    ["never where all are recorded", undefined, { ...recorded, namespaces: progress("shop 1", "stock 2") }, false],
    ["not for one alone", ["shop"], { ...recorded, resumeVersion: "5" }, false],
    ["for several", both, nothing, true],
    ["for the one that is left of several", ["shop"], { ...recorded, namespaces: progress("shop 1", "stock 2") }, true],
    [
      "for it in the middle of a list too",
      ["shop"],
      { ...recorded, namespaces: progress("shop 1@5", "stock @6 !first") },
      true,
    ],
  ] as const)("%s", (_, namespaces, resume, expected) => {
    expect(isWatchedByNamespace(namespaces, resume)).toBe(expected)
  })

  test("no longer if all are recorded: the state of each says nothing about the whole, so it is listed", () => {
    const all = selection(undefined)
    const point = { ...recorded, namespaces: progress("shop 1", "stock 2"), selection: selection(both) }
    const detail =
      "the selection of this kind's objects was changed from namespaces shop,stock to all namespaces; its current state was listed"
    expect(owedList(point, all)).toEqual({ reason: "stopped", detail })
    const listing = { ...point, namespaces: progress("shop @5 !first", "stock @6 !first") }
    expect(owedList(listing, all)).toEqual({ reason: "stopped", detail })
    expect(owedList({ ...listing, nextObjectNumber: 1 }, all)).toBeUndefined()
  })
})

test("pod lifecycles that were not followed for a while have no common gap version if each namespace has its own", () => {
  const kind = { ...recorded, namespaces: progress("shop 812", "stock 790") }
  const lives = { resumeVersion: "", namespaces: progress("shop 700", "stock 700"), epoch: 0, completeTime: 60 }
  const { interrupted } = followedPods("v1.Pod", kind, { lives, nextPodNumber: 1, pods: [] })
  expect(interrupted.map(({ fromVersion, fromTime }) => [fromVersion, fromTime])).toEqual([
    ["", 80],
    ["", 60],
  ])
})

test("pod lifecycles resume only in namespaces where they were recorded up to the same point", () => {
  const kind = { ...recorded, namespaces: progress("shop 812@80", "stock 790") }
  const lives = (...texts: ReadonlyArray<string>) => ({
    resumeVersion: "",
    namespaces: progress(...texts),
    epoch: 0,
    completeTime: 80,
  })
  expect(livesContinue("v1.Pod", kind, lives("stock 790", "shop 812"))).toBe(true)
  for (const behind of [["shop 812"], ["shop 812", "stock 700"], ["shop 812", "stock 790 !expired"], []])
    expect(livesContinue("v1.Pod", kind, lives(...behind))).toBe(false)
})
