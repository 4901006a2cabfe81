/** The page with a switch of clusters, in a browser: by mouse, by keyboard, by link, on a phone and on a desk. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect } from "vitest"
import { uiCommand } from "../../src/cli/ui.ts"
import { recordSample } from "../archive/sample-recording.ts"
import { type Serving, serving } from "../cli/commands-in.ts"
import { recordStory } from "../cli/past-recording.ts"
import { shippedStream } from "../fleet/shipped-stream.ts"
import { type Chromium, desk, type OpenPage, phone, type Screen } from "./chromium.ts"
import { browserTest, expectQuiet, hasChromium, overflow, settled, startChromium, violations } from "./served-page.ts"

let chromium: Chromium
let served: Serving
const place = mkdtempSync(join(tmpdir(), "kubereel-switch-"))
beforeAll(async () => {
  if (!hasChromium) return
  const fleet = join(place, "fleet")
  for (const name of ["prod-eu-1", "prod-eu-2", "prod-us", "test"])
    await shippedStream(join(fleet, name), name === "prod-us" ? recordSample : recordStory, name)
  const torn = join(fleet, "test", "segments")
  for (const name of readdirSync(torn)) writeFileSync(join(torn, name), "torn")
  served = await serving(uiCommand(), ["--no-open", fleet], { KUBEREEL_CACHE: join(place, "cache") })
  chromium = await startChromium()
})
afterAll(async () => {
  await chromium?.[Symbol.asyncDispose]()
  await served?.stop()
  rmSync(place, { recursive: true, force: true })
})

const window = "from=2026-03-02T03:00:00Z&to=2026-03-02T03:00:14Z"

const open = (fragment: string, screen: Screen = desk): Promise<OpenPage> =>
  chromium.open(`${served.url}#${fragment}`, screen)

const linkOf = ({ page }: OpenPage): URLSearchParams => new URLSearchParams(new URL(page.url()).hash.slice(1))
const switchOf = ({ page }: OpenPage) => page.getByRole("combobox", { name: "cluster" })
/** Paths of what was asked of a cluster. */
const askedOf = ({ addresses }: OpenPage, name: string): number =>
  addresses.filter((address) => address.includes(`/clusters/${name}/v1/`)).length

browserTest("the first cluster is shown, and the others are not opened", async () => {
  await using opened = await open(window)
  await settled(opened)
  expect(await switchOf(opened).inputValue()).toBe("prod-eu-1")
  await expect.poll(() => switchOf(opened).textContent(), { timeout: 20_000 }).toMatch(/prod-eu-1 · \d+ min behind/)
  expect(await switchOf(opened).locator("option").count()).toBe(4)
  expect(linkOf(opened).get("cluster")).toBe("prod-eu-1")
  expect(await opened.page.title()).toBe("prod-eu-1 · kubereel")
  for (const other of ["prod-eu-2", "prod-us", "test"]) expect(askedOf(opened, other)).toBe(0)
  expectQuiet(opened)
})

browserTest(
  "another cluster is at the same moment, with the same filter, and its object of the same name",
  async () => {
    const object = "object=v1.Pod/shop/web-1-a/p-web-1-a&at=2026-03-02T03:00:05.5Z&show=object"
    await using opened = await open(`cluster=prod-eu-1&${window}&namespace=shop&find=web&${object}`)
    await settled(opened)
    const before = Object.fromEntries(linkOf(opened))
    await switchOf(opened).selectOption("prod-eu-2")
    await expect.poll(() => linkOf(opened).get("cluster"), { timeout: 20_000 }).toBe("prod-eu-2")
    await settled(opened)
    await expect.poll(() => linkOf(opened).get("object"), { timeout: 20_000 }).toBe(before.object)
    expect(Object.fromEntries(linkOf(opened))).toEqual({ ...before, cluster: "prod-eu-2" })
    await opened.page.getByRole("complementary", { name: "object" }).getByText("web-1-a").first().waitFor()
    const asked = askedOf(opened, "prod-eu-1")
    await opened.page.getByRole("button", { name: "Whole" }).click()
    await settled(opened)
    expect(askedOf(opened, "prod-eu-1")).toBe(asked)
    expectQuiet(opened)
  },
)

browserTest("the keyboard alone switches, and only where it comes to rest", async () => {
  await using opened = await open(`cluster=prod-eu-1&${window}`)
  await settled(opened)
  const { page } = opened
  await page.keyboard.press("Tab")
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("cluster")
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("ArrowDown")
  await expect.poll(() => linkOf(opened).get("cluster"), { timeout: 20_000 }).toBe("prod-us")
  expect(askedOf(opened, "prod-eu-2")).toBe(0)
  await page.getByText("Nothing existed in this window").waitFor()
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("cluster")
  await page.keyboard.type("prod-eu-1")
  await expect.poll(() => linkOf(opened).get("cluster"), { timeout: 20_000 }).toBe("prod-eu-1")
  await settled(opened)
  expectQuiet(opened)
})

browserTest("an unknown cluster, and one that cannot be read, are said plainly, and left again", async () => {
  await using opened = await open(`cluster=prod-mars&${window}`)
  const { page } = opened
  await page.getByRole("alert").getByText('there is no cluster "prod-mars"').waitFor()
  await expect
    .poll(() => switchOf(opened).textContent(), { timeout: 20_000 })
    .toContain("prod-mars · ⚠ there is none of this name")
  await switchOf(opened).selectOption("test")
  await page
    .getByRole("alert")
    .getByText(/is damaged/)
    .waitFor()
  expect(await violations(opened)).toEqual([])
  await switchOf(opened).selectOption("prod-eu-1")
  await settled(opened)
  expect(await page.getByRole("alert").count()).toBe(0)
  expect(opened.complaints.filter((text) => !/status of (404|502)/.test(text))).toEqual([])
})

browserTest("a link to another cluster in the same tab is followed", async () => {
  await using opened = await open(`cluster=prod-eu-1&${window}`)
  await settled(opened)
  await opened.page.evaluate(`location.hash = ${JSON.stringify(`cluster=prod-eu-2&${window}&find=web`)}`)
  await expect.poll(() => switchOf(opened).inputValue(), { timeout: 20_000 }).toBe("prod-eu-2")
  await settled(opened)
  expect(linkOf(opened).get("find")).toBe("web")
})

browserTest.for([desk, phone, { ...phone, scheme: "light" as const }, { ...desk, scheme: "dark" as const }])(
  "fits $width pixels, $scheme, and has no violation of axe-core",
  async (screen) => {
    await using opened = await open(`cluster=prod-eu-2&${window}`, screen)
    await settled(opened)
    await switchOf(opened).focus()
    expect(await overflow(opened)).toBeLessThanOrEqual(0)
    expect(await violations(opened)).toEqual([])
    expectQuiet(opened)
    const pictures = process.env.KUBEREEL_PICTURES
    if (pictures !== undefined)
      await opened.page.screenshot({ path: `${pictures}/clusters-${screen.width}-${screen.scheme}.png` })
  },
)
