/** Pins on the page of a recorder: made, seen, opened at their own address, and removed, by keyboard and pointer. */
import { afterAll, beforeAll, expect } from "vitest"
import { Sandbox } from "../../src/sandbox/index.ts"
import { type RecorderProcess, Workplace } from "../recorder/recorder/recorder-command.ts"
import { type Chromium, desk, phone } from "./chromium.ts"
import { browserTest, expectQuiet, hasChromium, overflow, settled, startChromium, violations } from "./served-page.ts"

let chromium: Chromium
let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
beforeAll(async () => {
  if (!hasChromium) return
  place = new Workplace()
  sandbox = await Sandbox.start()
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "prices" }, data: { tea: "1" } })
  recorder = place.record({ cluster: { server: sandbox.url } })
  await recorder.ready()
  chromium = await startChromium()
})
afterAll(async () => {
  await chromium?.[Symbol.asyncDispose]()
  await place?.close()
  await sandbox?.close()
})

const open = async (path: string, screen = desk) => chromium.open(`${await recorder.listening()}${path}`, screen)

browserTest("a window is pinned with a note, shown as a band and in a list, and removed", async () => {
  await using opened = await open("/ui/")
  const { page } = opened
  await settled(opened)
  const hostile = "<b>slow</b>\u202egnp"
  // The window stays where it is.
  await page.keyboard.press("0")
  await page.getByRole("button", { name: "Follow" }).waitFor()
  await page.keyboard.press("p")
  const pane = page.getByRole("complementary", { name: "pins" })
  await pane.getByLabel("Note").fill(hostile)
  await page.keyboard.press("Enter")
  await pane.getByText("Pinned.").waitFor()
  const entry = pane.getByRole("listitem")
  expect(await entry.count()).toBe(1)
  expect(await entry.textContent()).toContain("<b>slow</b>")
  expect(await entry.textContent()).not.toContain("\u202e")
  await page.getByRole("button", { name: "Pins (1)" }).waitFor()
  const band = page.getByRole("button", { name: /^pinned: <b>slow<\/b>/ })
  await band.waitFor()
  expect(await violations(opened)).toEqual([])
  await page.getByRole("heading", { name: "Pinned windows" }).click()
  const before = page.url()
  await page.keyboard.press("+")
  // The address follows once the window has come to rest.
  await expect.poll(() => page.url()).not.toBe(before)
  const zoomed = page.url()
  await band.focus()
  await page.keyboard.press("Enter")
  await expect.poll(() => page.url()).not.toBe(zoomed)
  await entry.getByRole("button", { name: "Remove" }).click()
  await entry.getByRole("button", { name: "Remove for good" }).click()
  await pane.getByText("None yet.").waitFor()
  expect(await band.count()).toBe(0)
  await page.keyboard.press("Escape")
  await pane.waitFor({ state: "detached" })
  expectQuiet(opened)
})

browserTest.for([desk, phone])("the page of a pin has its window, and says so, $width pixels", async (screen) => {
  const from = new Date(Date.now() - 60_000).toISOString()
  const until = new Date(Date.now() + 60_000).toISOString()
  const body = JSON.stringify({ from, until, note: "checkout was slow" })
  const url = await recorder.listening()
  const { id }: { id: string } = JSON.parse(await (await fetch(`${url}/v1/pins`, { method: "POST", body })).text())
  await using opened = await open(`/pins/${id}/`, screen)
  const { page } = opened
  await settled(opened)
  expect(page.url()).toMatch(new RegExp(`/pins/${id}/ui/#from=`))
  expect(await page.locator(".pinned-notice").textContent()).toMatch(/^Pinned window.*checkout was slow/s)
  await page.getByRole("row", { name: /prices/ }).waitFor()
  expect(await page.getByRole("button", { name: /^(?:Pin|Pins \(|Live|Follow)/ }).count()).toBe(0)
  expect(await violations(opened)).toEqual([])
  expect(await overflow(opened)).toBeLessThanOrEqual(0)
  expectQuiet(opened)
})
