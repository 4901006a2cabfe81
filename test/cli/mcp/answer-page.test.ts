import { expect, test } from "vitest"
import { AnswerPage, countedFurther, itemBytes, pageBytes } from "../../../src/cli/mcp/answer-page.ts"

const fill = (page: AnswerPage, items: ReadonlyArray<string>): AnswerPage => {
  for (const item of items) page.offer(() => item)
  return page
}

test("pages follow one another without a gap, by number", () => {
  const items = ["a", "b", "c", "d", "e"]
  const first = fill(new AnswerPage({ skip: 0, limit: 2 }), items)
  expect([first.json(), first.end, first.further]).toEqual(['["a","b"]', 2, 3])
  const second = fill(new AnswerPage({ skip: first.end, limit: 2 }), items)
  const third = fill(new AnswerPage({ skip: second.end, limit: 2 }), items)
  expect([second.json(), third.json(), third.further]).toEqual(['["c","d"]', '["e"]', 0])
})

test("a page ends before the item that would make it too long, and no later item slips in", () => {
  const long = "x".repeat(itemBytes - 100)
  const page = fill(new AnswerPage({ skip: 0, limit: 50 }), [long, long, long, long, long, "short"])
  expect([page.count, page.further]).toEqual([4, 2])
  expect(page.json().length).toBeLessThanOrEqual(pageBytes)
})

test("an item that is too long for any page is shortened, so every page makes progress", () => {
  const page = fill(new AnswerPage({ skip: 0, limit: 50 }), ["x".repeat(10 * pageBytes)])
  expect([page.count, page.hasShortened]).toEqual([1, true])
  expect(page.json().length).toBeLessThanOrEqual(itemBytes + 2)
})

test("items after the page are counted without being made, up to a limit", () => {
  const page = new AnswerPage({ skip: 0, limit: 1 })
  expect(page.offer(() => "first")).toBe(true)
  let offered = 0
  const never = (): string => {
    throw new Error("it is not in the page")
  }
  while (page.offer(never)) offered++
  expect([offered + 1, page.further]).toEqual([countedFurther, countedFurther])
})
