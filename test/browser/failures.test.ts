/** Panes whose questions fail: they say so, and ask again. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect } from "vitest"
import type { Serving } from "../cli/commands-in.ts"
import { recordStory } from "../cli/past-recording.ts"
import type { Chromium, OpenPage } from "./chromium.ts"
import { browserTest, hasChromium, serve, settled, startChromium, violations } from "./served-page.ts"

let chromium: Chromium
let served: Serving
const directory = mkdtempSync(join(tmpdir(), "kubereel-failures-"))
beforeAll(async () => {
  if (!hasChromium) return
  recordStory(directory)
  served = await serve(directory)
  chromium = await startChromium()
})
afterAll(async () => {
  await chromium?.[Symbol.asyncDispose]()
  await served?.stop()
  rmSync(directory, { recursive: true, force: true })
})

const window = "from=2026-03-02T03:00:00Z&to=2026-03-02T03:00:14Z"
const pod = `${window}&object=v1.Pod/shop/web-1-a/p-web-1-a&at=2026-03-02T03:00:05.5Z&show=object`

/** A page of which no question at this address succeeds until it is mended. `status` 0: the server is out of reach. */
const openBroken = async (link: string, status: number) => {
  const opened = await chromium.open("about:blank")
  const { page } = opened
  let isBroken = true
  await page.route(/\/v1\/(?:changes|objects|differences)/, (route) => {
    if (!isBroken) return route.continue()
    return status === 0 ? route.abort() : route.fulfill({ status, body: "not this time\n" })
  })
  await page.goto(`${served.url}#${link}`)
  await settled(opened)
  return {
    opened,
    mend: () => {
      isBroken = false
    },
  }
}

const expectShown = async ({ page }: OpenPage): Promise<void> => {
  await page.getByRole("complementary", { name: "object" }).getByText("is created").first().waitFor()
  await page.getByRole("alert").waitFor({ state: "detached" })
}

describe("an object of which the server does not answer", () => {
  browserTest("is asked about again by itself once the server can be reached", async () => {
    const { opened, mend } = await openBroken(pod, 0)
    await using closing = opened
    await closing.page.getByRole("alert").getByText("the server cannot be reached").waitFor()
    mend()
    await expectShown(opened)
  })

  browserTest("is asked about again when the reader says so", async () => {
    const { opened, mend } = await openBroken(pod, 403)
    await using closing = opened
    const alert = closing.page.getByRole("alert")
    await alert.getByText("not this time").waitFor()
    expect(await violations(opened)).toEqual([])
    mend()
    await alert.getByRole("button", { name: "Try again" }).click()
    await expectShown(opened)
  })

  browserTest("is asked about again when the cursor moves", async () => {
    const { opened, mend } = await openBroken(pod, 403)
    await using closing = opened
    await closing.page.getByRole("alert").getByText("not this time").waitFor()
    mend()
    await closing.page.keyboard.press(".")
    await expectShown(opened)
  })

  browserTest("is asked about again with the token that the reader gives", async () => {
    const { opened, mend } = await openBroken(pod, 401)
    await using closing = opened
    const dialog = closing.page.getByRole("dialog", { name: "A token is needed" })
    await dialog.getByText("not this time").waitFor()
    mend()
    await dialog.getByLabel("Bearer token").fill("a-token")
    await closing.page.keyboard.press("Enter")
    await expectShown(opened)
  })
})

browserTest("differences that could not be read are read when the reader says so", async () => {
  const link = `${window}&at=2026-03-02T03:00:03Z&with=2026-03-02T03:00:06Z&show=differences`
  const { opened, mend } = await openBroken(link, 403)
  await using closing = opened
  const alert = closing.page.getByRole("alert")
  await alert.getByText("not this time").waitFor()
  mend()
  await alert.getByRole("button", { name: "Try again" }).click()
  await closing.page
    .getByRole("complementary", { name: "differences" })
    .getByRole("heading", { name: "Pod" })
    .first()
    .waitFor()
})
