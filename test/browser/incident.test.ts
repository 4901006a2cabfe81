/**
 * The demo's incident, looked at by someone who knows nothing of it: from opening the page to its cause; and the pictures of docs/guides/look.md, which
 * `npm run guide-pictures` writes.
 */
import { writeFileSync } from "node:fs"
import type { Locator } from "playwright-core"
import { afterAll, beforeAll, expect } from "vitest"
import type { Serving } from "../cli/commands-in.ts"
import { type Chromium, desk, type OpenPage, phone } from "./chromium.ts"
import { incidentDirectory } from "./recorded-incident.ts"
import { browserTest, expectQuiet, hasChromium, serve, settled, startChromium, violations } from "./served-page.ts"

let chromium: Chromium
let served: Serving
beforeAll(async () => {
  if (!hasChromium) return
  served = await serve(incidentDirectory())
  chromium = await startChromium()
})
afterAll(async () => {
  await chromium?.[Symbol.asyncDispose]()
  await served?.stop()
})

/** What a person does with the pointer. */
interface Hand {
  readonly click: (what: Locator) => Promise<void>
  readonly scroll: (to: Locator) => Promise<void>
}

/** The guide's steps. `each` is called after them. */
const steps = async (
  { page }: OpenPage,
  { click, scroll }: Hand,
  each: (name: string) => Promise<void>,
): Promise<void> => {
  await each("time-line")
  // What went wrong is counted; the list begins with containers that crash, of the ReplicaSet's pods.
  await click(page.getByRole("button", { name: /^What went wrong/ }))
  const findings = page.getByRole("complementary", { name: "findings" })
  const crashing = findings.getByRole("button", { name: /web-/ }).first()
  await crashing.waitFor()
  await each("findings")
  await click(crashing)
  // Why: the Deployment above it got another image a moment before. The list may have to be scrolled, which is one more.
  const object = page.getByRole("complementary", { name: "object" })
  const cause = object.getByRole("listitem").filter({ hasText: "shop/web:1.2" }).first()
  await cause.getByText("shop/web:1.1").first().waitFor()
  await scroll(cause)
  await each("object")
}

browserTest.for([desk, phone])("takes at most four clicks to its cause, $width pixels", async (screen) => {
  await using opened = await chromium.open(served.url, screen)
  await settled(opened)
  let clicks = 0
  const click = async (what: Locator): Promise<void> => {
    clicks++
    await what.click()
  }
  const scroll = async (to: Locator): Promise<void> => {
    clicks++
    await to.scrollIntoViewIfNeeded()
  }
  await steps(opened, { click, scroll }, async () => expect(await violations(opened)).toEqual([]))
  expect(clicks).toBeLessThanOrEqual(4)
  expectQuiet(opened)
})

browserTest("has pictures for the guide, each of at most 150 kB", async () => {
  await using opened = await chromium.open(served.url, { ...desk, width: 1320, height: 640 })
  await settled(opened)
  await steps(opened, { click: (what) => what.click(), scroll: (to) => to.scrollIntoViewIfNeeded() }, async (name) => {
    const picture = await opened.page.screenshot({ animations: "disabled", caret: "hide" })
    expect(picture.length).toBeLessThanOrEqual(150_000)
    if (process.env.KUBEREEL_GUIDE === "1")
      writeFileSync(new URL(`../../docs/guides/images/look-${name}.png`, import.meta.url), picture)
  })
})
