/** The demo's incident, looked at by who knows nothing of it: from opening the page to its cause. */
import { afterAll, beforeAll, expect } from "vitest"
import type { Serving } from "../cli/commands-in.ts"
import { type Chromium, desk, phone } from "./chromium.ts"
import { incidentDirectory } from "./recorded-incident.ts"
import { browserTest, expectQuiet, hasChromium, serve, settled, startChromium } from "./served-page.ts"

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

browserTest.for([desk, phone])("takes at most four clicks to its cause, $width pixels", async (screen) => {
  await using opened = await chromium.open(served.url, screen)
  await settled(opened)
  const { page } = opened
  let clicks = 0
  const click = async (what: ReturnType<typeof page.locator>): Promise<void> => {
    clicks++
    await what.click()
  }
  // What went wrong is counted, and the list names a crashing pod of web first.
  await click(page.getByRole("button", { name: /^What went wrong/ }))
  const findings = page.getByRole("complementary", { name: "findings" })
  await click(findings.getByRole("button", { name: /web-/ }).first())
  // The pod belongs to a Deployment, whose last change before the crash is the new image.
  const object = page.getByRole("complementary", { name: "object" })
  await object.waitFor()
  await click(object.getByRole("button", { name: /Deployment.*web|web/ }).first())
  const image = object.getByText("shop/web:1.2").first()
  await image.waitFor()
  expect(clicks).toBeLessThanOrEqual(4)
  expectQuiet(opened)
})
