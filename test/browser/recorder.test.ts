/** The page of a running recorder: that it asks for a token, shows what happens now, and shows hostile names as text. */
import { afterAll, beforeAll, describe, expect } from "vitest"
import { Sandbox } from "../../src/sandbox/index.ts"
import { type RecorderProcess, Workplace } from "../recorder/recorder/recorder-command.ts"
import { type Chromium, desk, phone } from "./chromium.ts"
import {
  browserTest,
  expectQuiet,
  hasChromium,
  hostileNames,
  overflow,
  settled,
  startChromium,
  violations,
} from "./served-page.ts"

const token = "a-token-that-nobody-guesses"

let chromium: Chromium
let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
beforeAll(async () => {
  if (!hasChromium) return
  place = new Workplace()
  sandbox = await Sandbox.start()
  for (const [index, name] of hostileNames.entries())
    sandbox.put("v1.ConfigMap", {
      metadata: { namespace: "shop", name, labels: { [name]: name } },
      data: { [name]: name, index: `${index}` },
    })
  const more = ["--auth", "token", "--token-file", place.write("tokens", `${token}\n`)]
  recorder = place.record({ cluster: { server: sandbox.url }, kinds: { "v1.ConfigMap": "{}" }, more })
  await recorder.ready()
  chromium = await startChromium()
})
afterAll(async () => {
  await chromium?.[Symbol.asyncDispose]()
  await place?.close()
  await sandbox?.close()
})

const open = async (screen = desk, link = "") => {
  const opened = await chromium.open(`${await recorder.listening()}/ui/${link}`, screen)
  const dialog = opened.page.getByRole("dialog", { name: "A token is needed" })
  await dialog.waitFor()
  return { opened, dialog }
}

describe("the page of a recorder with --auth token", () => {
  browserTest("asks for the token, says that one is wrong, and keeps a right one for the tab", async () => {
    const { opened, dialog } = await open()
    await using closing = opened
    const { page } = closing
    expect(await violations(opened)).toEqual([])
    await page.keyboard.type("not-this-one")
    await page.keyboard.press("Enter")
    await dialog.waitFor()
    await dialog.getByLabel("Bearer token").fill(token)
    await page.keyboard.press("Enter")
    await settled(opened)
    await page.reload()
    await settled(opened)
    expect(page.url()).not.toContain(token)
    expect(await page.evaluate("[document.cookie, localStorage.length]")).toEqual(["", 0])
  })

  browserTest("shows a change within three seconds of it", async () => {
    const { opened, dialog } = await open()
    await using closing = opened
    const { page } = closing
    await dialog.getByLabel("Bearer token").fill(token)
    await page.keyboard.press("Enter")
    await settled(opened)
    await page.getByRole("button", { name: "Live" }).waitFor()
    sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "made-now" } })
    await page.getByRole("row", { name: /made-now/ }).waitFor({ timeout: 3000 })
  })

  browserTest.for([desk, phone])("shows hostile names as text, $width pixels", async (screen) => {
    const { opened, dialog } = await open(screen)
    await using closing = opened
    const { page } = closing
    await dialog.getByLabel("Bearer token").fill(token)
    await page.keyboard.press("Enter")
    await settled(opened)
    await page.getByText("</script><script>alert(1)</script>").first().waitFor()
    const text = String(await page.evaluate("document.body.innerText"))
    expect(text).toContain("__proto__")
    // What turns text around, or is no character, is shown as something else.
    for (const character of "\u202e\u2066\u0007") expect(text).not.toContain(character)
    for (const [row] of hostileNames.entries()) {
      await page.keyboard.press(row === 0 ? "g" : "j")
      await page.keyboard.press("j")
      await page.keyboard.press("Enter")
      await page.getByRole("complementary", { name: "object" }).waitFor()
      await page.keyboard.press("k")
    }
    expect(await overflow(opened)).toBeLessThanOrEqual(0)
    expect(await page.evaluate("[document.images.length, document.scripts.length]")).toEqual([0, 1])
    const { complaints, addresses } = opened
    // Browsers note every answer that is no success, so that a token was needed.
    const isNoted = (text: string): boolean => text.includes("status of 401")
    expectQuiet({ ...opened, addresses, complaints: complaints.filter((each) => !isNoted(each)) })
  })
})
