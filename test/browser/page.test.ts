/** The page in a browser: every view, in both colour schemes, on a phone and on a desk, by keyboard, and compared with reference pictures. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect } from "vitest"
import type { Serving } from "../cli/commands-in.ts"
import { recordStory } from "../cli/past-recording.ts"
import { type Chromium, desk, type OpenPage, phone, type Screen, screens } from "./chromium.ts"
import { compared } from "./picture.ts"
import {
  browserTest,
  expectQuiet,
  hasChromium,
  overflow,
  serve,
  settled,
  startChromium,
  violations,
} from "./served-page.ts"

let chromium: Chromium
let served: Serving
const directory = mkdtempSync(join(tmpdir(), "kubereel-story-"))
beforeAll(async () => {
  if (!hasChromium) return
  recordStory(directory, { hasGap: true })
  served = await serve(directory)
  chromium = await startChromium()
})
afterAll(async () => {
  await chromium?.[Symbol.asyncDispose]()
  await served?.stop()
  rmSync(directory, { recursive: true, force: true })
})

/** The story's window with a second before and after, so that pictures do not depend on defaults. */
const window = "from=2026-03-02T03:00:00Z&to=2026-03-02T03:00:14Z"

/** By name, what the fragment of the address says. */
const views: Readonly<Record<string, string>> = {
  "time-line": window,
  object: `${window}&object=v1.Pod/shop/web-1-a/p-web-1-a&at=2026-03-02T03:00:05.5Z&show=object`,
  findings: `${window}&show=findings`,
  differences: `${window}&at=2026-03-02T03:00:03Z&with=2026-03-02T03:00:06Z&show=differences`,
}

const open = async (view: string, screen: Screen): Promise<OpenPage> => {
  const opened = await chromium.open(`${served.url}#${views[view] ?? ""}`, screen)
  await settled(opened)
  return opened
}

const names = Object.keys(views)

describe.each(names)("the view %s", (view) => {
  browserTest.for(screens)(
    "fits $width pixels, $scheme, has no violation of axe-core, and asks nobody else",
    async (screen) => {
      await using opened = await open(view, screen)
      expect(await overflow(opened)).toBeLessThanOrEqual(0)
      expect(await violations(opened)).toEqual([])
      expectQuiet(opened)
    },
  )

  browserTest.for([desk, phone])("looks as it did, $width pixels, $scheme", async (screen) => {
    await using opened = await open(view, screen)
    const picture = await opened.page.screenshot({ animations: "disabled", caret: "hide" })
    expect(compared(`${view}-${screen.width}`, picture)).toBe(undefined)
  })
})

browserTest("the words of the filter are whole on a phone", async () => {
  await using opened = await open("time-line", phone)
  // Of each field, how much wider its words are than the room for them; a select has an arrow, too.
  const beyond =
    await opened.page.evaluate(`[...document.querySelectorAll(".filter > input, .filter > select")].map((field) => {
    const style = getComputedStyle(field)
    const context = document.createElement("canvas").getContext("2d")
    context.font = style.font
    const words = field.placeholder ?? field.selectedOptions[0].text
    const arrow = field.placeholder === undefined ? 20 : 0
    return context.measureText(words).width + arrow - field.clientWidth + parseFloat(style.paddingLeft) + parseFloat(style.paddingRight)
  }).filter((more) => more > 0)`)
  expect(beyond).toEqual([])
})

describe("with the keyboard alone", () => {
  /** Presses keys one after the other, as a person does: each is seen before the next. */
  const press = async ({ page }: OpenPage, ...keys: ReadonlyArray<string>): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key)
  }
  const current = ({ page }: OpenPage) => page.getByRole("row", { selected: true })

  browserTest("rows are reached, opened and closed, and the focus is where a screen reader reads", async () => {
    await using opened = await open("time-line", desk)
    const { page } = opened
    await press(opened, "ArrowDown", "ArrowDown")
    await current(opened).getByText("web", { exact: true }).waitFor()
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).toBe("row")
    await press(opened, "l")
    await page.getByRole("row", { name: /web-1/ }).first().waitFor()
    expect(await current(opened).getAttribute("aria-expanded")).toBe("true")
    await press(opened, "h")
    await page.getByRole("row", { expanded: true, name: /Deployment/ }).waitFor({ state: "detached" })
  })

  browserTest("an object is looked at, and left again", async () => {
    await using opened = await open("time-line", desk)
    await press(opened, "g", "j", "Enter")
    const pane = opened.page.getByRole("complementary", { name: "object" })
    await pane.getByText("web").first().waitFor()
    const link = new URLSearchParams(new URL(opened.page.url()).hash.slice(1))
    expect(link.get("object")).toMatch(/^apps\/v1\.Deployment\/shop\/web\//)
    await press(opened, "Escape")
    await pane.waitFor({ state: "detached" })
  })

  browserTest("what went wrong, the filter, and all keys are there", async () => {
    await using opened = await open("time-line", desk)
    const { page } = opened
    await press(opened, "w")
    await page.getByRole("complementary", { name: "findings" }).getByText("web-1-a").first().waitFor()
    await press(opened, "Escape", "?")
    await page.getByRole("dialog", { name: "Keys" }).waitFor()
    expect(await violations(opened)).toEqual([])
    await press(opened, "Escape", "/")
    await page.keyboard.type("no-such-name")
    await page.getByRole("row", { name: /Deployment/ }).waitFor({ state: "detached" })
    expectQuiet(opened)
  })
})

browserTest("a window that is dragged is painted again when it has come to rest, and moved until then", async () => {
  await using opened = await open("time-line", desk)
  const { page } = opened
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.route(/\/v1\//, async (route) => {
    await released
    await route.continue()
  })
  await page.evaluate(`
    globalThis.paintings = 0
    const put = CanvasRenderingContext2D.prototype.putImageData
    CanvasRenderingContext2D.prototype.putImageData = function (...given) { paintings++; put.apply(this, given) }`)
  const canvas = page.locator("canvas.tiles")
  const moved = () => canvas.evaluate((element) => [element.style.transform, Reflect.get(globalThis, "paintings")])
  const box = await canvas.boundingBox()
  const [x, y] = [(box?.x ?? 0) + 600, (box?.y ?? 0) + 60]
  await page.mouse.move(x, y)
  await page.mouse.down()
  for (let step = 1; step <= 10; step++) await page.mouse.move(x - 10 * step, y)
  // As many pixels as the pointer.
  await expect.poll(moved).toEqual(["translateX(-100px)", 0])
  await page.mouse.up()
  release()
  await expect.poll(async () => (await moved())[0]).toBe("")
  expect((await moved())[1]).toBeGreaterThan(0)
  expectQuiet(opened)
})
