/** A trace as one file, opened without a server: it shows the incident, and nothing that is in it runs. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, beforeAll, expect } from "vitest"
import { convertCommand } from "../../src/cli/convert.ts"
import { exportCommand } from "../../src/cli/export.ts"
import { ndjsonEncoder } from "../../src/trace/formats/ndjson/ndjson-writer.ts"
import { ran } from "../cli/commands-in.ts"
import { type Described, event, header } from "../trace/views/items.ts"
import { type Chromium, desk, phone } from "./chromium.ts"
import { incidentDirectory } from "./recorded-incident.ts"
import {
  browserTest,
  expectQuiet,
  hasChromium,
  hostileNames,
  settled,
  startChromium,
  violations,
} from "./served-page.ts"

const folder = mkdtempSync(join(tmpdir(), "kubereel-file-"))
let chromium: Chromium
beforeAll(async () => {
  if (hasChromium) chromium = await startChromium()
})
afterAll(async () => {
  await chromium?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

browserTest.for([desk, phone])("shows what went wrong and why, $width pixels", async (screen) => {
  const file = join(folder, `incident-${screen.width}.html`)
  const words = ["--data-dir", incidentDirectory(), "--start", "0", "--format", "html", "--output", file]
  expect(await ran(exportCommand(), words)).toMatchObject({ code: 0 })
  await using opened = await chromium.open(String(pathToFileURL(file)), screen)
  await settled(opened)
  const { page, addresses } = opened
  await page.getByRole("button", { name: /^What went wrong/ }).click()
  await page.getByRole("complementary", { name: "findings" }).getByRole("button", { name: /web-/ }).first().click()
  await page.getByRole("complementary", { name: "object" }).getByText("shop/web:1.2").first().waitFor()
  expect(await violations(opened)).toEqual([])
  expect(addresses.filter((address) => !/^(?:data|blob):/.test(address))).toEqual([String(pathToFileURL(file))])
  expectQuiet(opened)
})

browserTest("has hostile names as text", async () => {
  const [trace, file] = [join(folder, "hostile.ndjson"), join(folder, "hostile.html")]
  const encoder = ndjsonEncoder()
  encoder.add(header(0, 3600))
  for (const [index, name] of hostileNames.entries()) {
    const metadata = {
      name,
      namespace: "shop",
      uid: `u${index}`,
      resourceVersion: `${index + 1}`,
      labels: { [name]: name },
    }
    const object: Described = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { [name]: name } }
    encoder.add(event("applied", 10 + index, object))
  }
  writeFileSync(trace, Buffer.concat([...encoder.finish()]))
  expect(await ran(convertCommand(), [trace, file])).toMatchObject({ code: 0 })
  expect(readFileSync(file, "utf8")).not.toContain("<script>alert(1)")
  await using opened = await chromium.open(String(pathToFileURL(file)))
  await settled(opened)
  const { page } = opened
  await page.getByText("</script><script>alert(1)</script>").first().waitFor()
  await page.keyboard.press("g")
  await page.keyboard.press("j")
  await page.keyboard.press("Enter")
  await page.getByRole("complementary", { name: "object" }).waitFor()
  await page.waitForLoadState("networkidle")
  expect(await page.evaluate("document.images.length")).toBe(0)
  expectQuiet(opened)
})
