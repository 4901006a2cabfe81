/** The page of a recorder with `--auth kubernetes`, for a reader who may read some kinds of one namespace: the API server's answers decide what is there. */
import { afterAll, beforeAll, describe, expect } from "vitest"
import { Sandbox } from "../../src/sandbox/index.ts"
import { type RecorderProcess, Workplace } from "../recorder/recorder/recorder-command.ts"
import { type Chromium, desk, type OpenPage, phone, type Screen } from "./chromium.ts"
import { browserTest, expectQuiet, hasChromium, overflow, settled, startChromium, violations } from "./served-page.ts"

const rbac = "rbac.authorization.k8s.io"
const reader = { token: "of-a-reader", username: "jane" }

let chromium: Chromium
let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
beforeAll(async () => {
  if (!hasChromium) return
  place = new Workplace()
  sandbox = await Sandbox.start({ authorization: "rbac", users: [reader] })
  for (const namespace of ["shop", "stock"]) {
    for (const kind of ["ConfigMap", "Service"])
      sandbox.put(`v1.${kind}`, { metadata: { namespace, name: `${kind.toLowerCase()}-of-${namespace}` } })
    sandbox.put("apps/v1.Deployment", { metadata: { namespace, name: `web-of-${namespace}` } })
  }
  const metadata = { namespace: "shop", name: "reads-shop" }
  sandbox.put(`${rbac}/v1.Role`, {
    metadata,
    rules: [{ apiGroups: ["", "apps"], resources: ["configmaps", "deployments"], verbs: ["get", "list", "watch"] }],
  })
  sandbox.put(`${rbac}/v1.RoleBinding`, {
    metadata,
    roleRef: { apiGroup: rbac, kind: "Role", name: metadata.name },
    subjects: [{ apiGroup: rbac, kind: "User", name: reader.username }],
  })
  recorder = place.record({
    cluster: { server: sandbox.url, user: { token: sandbox.token } },
    kinds: { "v1.ConfigMap": "{}", "v1.Service": "{}", "apps/v1.Deployment": "{}" },
    more: ["--auth", "kubernetes"],
  })
  await recorder.ready()
  chromium = await startChromium()
})
afterAll(async () => {
  await chromium?.[Symbol.asyncDispose]()
  await place?.close()
  await sandbox?.close()
})

const open = async (link: string, screen: Screen = desk): Promise<OpenPage> => {
  const opened = await chromium.open(`${await recorder.listening()}/ui/${link}`, screen)
  const dialog = opened.page.getByRole("dialog", { name: "A token is needed" })
  await dialog.getByLabel("Bearer token").fill(reader.token)
  await opened.page.keyboard.press("Enter")
  await dialog.waitFor({ state: "detached" })
  return opened
}

/** The browser complained about nothing but answers that are no success: without the token, or without the right. */
const expectRefusalsOnly = (opened: OpenPage): void => {
  const isRefusal = (text: string): boolean => /status of 40[13]/.test(text)
  expectQuiet({ ...opened, complaints: opened.complaints.filter((text) => !isRefusal(text)) })
}

const expectShopOnly = async ({ page }: OpenPage): Promise<void> => {
  await page.getByRole("row", { name: /configmap-of-shop/ }).waitFor()
  await page.getByRole("row", { name: /web-of-shop/ }).waitFor()
  const text = String(await page.evaluate("document.body.textContent"))
  for (const hidden of ["service-of-shop", "configmap-of-stock", "web-of-stock"]) expect(text).not.toContain(hidden)
  await page.getByText("of what you may read").first().waitFor()
}

describe("a reader of one namespace", () => {
  browserTest.for([desk, phone])(
    "is shown it and nothing else, and that there may be more, $width pixels",
    async (screen) => {
      await using opened = await open("#namespace=shop", screen)
      await settled(opened)
      await expectShopOnly(opened)
      await opened.page.getByText("of what you may read").first().click()
      await opened.page.getByText("left out: all of Service").waitFor()
      expect(await overflow(opened)).toBeLessThanOrEqual(0)
      expect(await violations(opened)).toEqual([])
      const { page } = opened
      await page.getByRole("button", { name: /^What went wrong/ }).click()
      await page.getByText("Nothing of what you may read in this window").waitFor()
      await page.getByRole("button", { name: "close" }).click()
      await page.getByRole("row", { name: /web-of-shop/ }).click()
      await page
        .getByRole("complementary", { name: "object" })
        .getByText(/is (?:created|first seen)/)
        .first()
        .waitFor()
      expectRefusalsOnly(opened)
    },
  )

  browserTest("who names no namespace is shown what they may read, or asked for one", async () => {
    await using opened = await open("")
    const { page } = opened
    const asked = page.getByLabel("a namespace that you may read")
    await asked
      .or(page.getByRole("row", { name: /shop/ }))
      .first()
      .waitFor()
    if (await asked.isVisible()) {
      expect(await violations(opened)).toEqual([])
      await asked.fill("shop")
      await page.keyboard.press("Enter")
      await page.waitForURL(/namespace=shop/)
    }
    await expectShopOnly(opened)
    await page.getByText("of what you may read").first().click()
    await page.getByText("all namespaces but shop").or(page.getByText("left out: all of Service")).first().waitFor()
    expectRefusalsOnly(opened)
  })

  browserTest("who asks for a kind or a namespace that they may not read is told so", async () => {
    await using opened = await open("#namespace=stock")
    const { page } = opened
    await page.getByText("You may read nothing that existed in the namespace stock in this window").waitFor()
    await page.goto(`${await recorder.listening()}/ui/#namespace=shop&kind=v1.Service`)
    await page.getByText("jane may not list services in namespace shop").first().waitFor()
    await page.getByRole("button", { name: "Without the filter" }).click()
    await page.getByText("jane may not list").waitFor({ state: "detached" })
    expectRefusalsOnly(opened)
  })
})
