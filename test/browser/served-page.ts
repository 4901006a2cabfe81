/** The page of a recording as `reel ui` serves it, in a browser; and what holds of every page. */

import axe from "axe-core"
import { expect, test } from "vitest"
import { uiCommand } from "../../src/cli/ui.ts"
import { type Serving, serving } from "../cli/commands-in.ts"
import { Chromium, chromiumPath, type OpenPage } from "./chromium.ts"

export const serve = (source: string, ...words: ReadonlyArray<string>): Promise<Serving> =>
  serving(uiCommand(), ["--no-open", source, ...words])

const path = chromiumPath()

/** `undefined` if there is no browser: then {@link browserTest} skips. */
export const startChromium = (): Promise<Chromium> => {
  if (path === undefined) throw new Error("there is no Chromium")
  return Chromium.start(path)
}

/** A test that is skipped without a browser. */
export const browserTest = test.skipIf(path === undefined)
export const hasChromium = path !== undefined

/** Waits until the page has shown what it asked for: the time line, its tiles, and the findings. */
export const settled = async ({ page }: Pick<OpenPage, "page">): Promise<void> => {
  await page.getByRole("treegrid").getByRole("row").first().waitFor()
  await page.getByRole("button", { name: /^What went wrong \(\d+\)$/ }).waitFor()
  await page.waitForLoadState("networkidle")
  // A row whose tile has arrived says how it is.
  const undrawn = ".row:has(.kind):not(:has(.hidden)):not(:has-text('not recorded'))"
  await page.locator(undrawn).first().waitFor({ state: "detached" })
}

/** Nothing was asked of another origin, and the browser complained about nothing. */
export const expectQuiet = ({ page, addresses, complaints }: OpenPage): void => {
  const { protocol, host } = new URL(page.url())
  const isOwn = (address: string): boolean =>
    /^(?:data|blob):/.test(address) || address.startsWith(`${protocol}//${host}`)
  const others = addresses.filter((address) => !isOwn(address))
  expect({ others, complaints }).toEqual({ others: [], complaints: [] })
}

/** What axe-core finds, with the element of each. Run by the browser itself, so the page's policy does not concern it. */
export const violations = async ({ page }: Pick<OpenPage, "page">): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe.source)
  const found =
    await page.evaluate(`axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations.flatMap(
    ({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html.slice(0, 200) + " " + failureSummary)))`)
  return Array.isArray(found) ? found.map(String) : ["axe-core gave no list"]
}

/** By how many pixels the page is wider than its screen. */
export const overflow = async ({ page }: Pick<OpenPage, "page">): Promise<number> =>
  Number(await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

/** Names of no cluster: markup, text that turns around, characters that are none, and more than any screen has room for. */
export const hostileNames: ReadonlyArray<string> = [
  `</script><script>alert(1)</script>`,
  `"'><img src=x onerror=alert(2)>`,
  "web-\u202egnp.exe\u2066",
  "nul-\u0000-bell-\u0007",
  `long-${"x".repeat(10_000)}`,
  "javascript:alert(3)",
  "__proto__",
]
