/** A headless Chromium, and a page in it as a person has it, with everything that must not happen written down. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core"

/** How a page is shown. */
export interface Screen {
  /** CSS pixels. */
  readonly width: number
  readonly height: number
  readonly scheme: "light" | "dark"
}

export const phone: Screen = { width: 390, height: 844, scheme: "dark" }
export const desk: Screen = { width: 1600, height: 960, scheme: "light" }

/** Every combination that the page is made for. */
export const screens: ReadonlyArray<Screen> = [desk, { ...desk, scheme: "dark" }, phone, { ...phone, scheme: "light" }]

/** The Chromium that there is; `undefined`: none. In CI there must be one. */
export const chromiumPath = (): string | undefined => {
  const path = process.env.KUBEREEL_CHROMIUM ?? "/usr/bin/chromium"
  if (existsSync(path)) return path
  if (process.env.CI !== undefined) throw new Error(`there is no Chromium at ${path}`)
  console.warn(`skipped: there is no Chromium at ${path}; set KUBEREEL_CHROMIUM`)
  return undefined
}

/** Of a bare Debian with fonts-dejavu-core: the same letters everywhere, whatever else is installed. */
const fonts = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/usr/share/fonts/truetype/dejavu</dir><cachedir>CACHE</cachedir>
<match><edit name="family" mode="append_last"><string>DejaVu Sans</string></edit></match>
<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
<alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
<alias><family>system-ui</family><prefer><family>DejaVu Sans</family></prefer></alias></fontconfig>`

export interface OpenPage extends AsyncDisposable {
  readonly page: Page
  /** Of every request. */
  readonly addresses: ReadonlyArray<string>
  /** What the browser complained about: errors of scripts, and what the policy forbade. */
  readonly complaints: ReadonlyArray<string>
}

export class Chromium implements AsyncDisposable {
  readonly #browser: Browser
  readonly #folders: ReadonlyArray<string>

  private constructor(browser: Browser, folders: ReadonlyArray<string>) {
    this.#browser = browser
    this.#folders = folders
  }

  static async start(executablePath: string): Promise<Chromium> {
    const folder = mkdtempSync(join(tmpdir(), "kubereel-chromium-"))
    const configuration = join(folder, "fonts.conf")
    writeFileSync(configuration, fonts.replace("CACHE", join(folder, "cache")))
    // It makes a socket in it, and the path of a socket has at most 107 bytes.
    const temporary = mkdtempSync("/tmp/kubereel-")
    const browser = await chromium.launch({
      executablePath,
      args: ["--disable-gpu", "--font-render-hinting=none", "--disable-lcd-text", "--force-color-profile=srgb"],
      env: { ...process.env, HOME: folder, TMPDIR: temporary, FONTCONFIG_FILE: configuration },
    })
    return new Chromium(browser, [folder, temporary])
  }

  /** `headers`: of each request. */
  async open(address: string, { width, height, scheme }: Screen = desk): Promise<OpenPage> {
    const context: BrowserContext = await this.#browser.newContext({
      ...{ viewport: { width, height }, colorScheme: scheme, reducedMotion: "reduce" },
      ...{ locale: "en-GB", timezoneId: "UTC" },
    })
    const page = await context.newPage()
    page.setDefaultTimeout(15_000)
    const [addresses, complaints]: [string[], string[]] = [[], []]
    page.on("request", (request) => addresses.push(request.url()))
    page.on("pageerror", ({ message }) => complaints.push(message))
    page.on("dialog", (dialog) => {
      complaints.push(`a dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text())
    })
    await page.goto(address)
    return { page, addresses, complaints, [Symbol.asyncDispose]: () => context.close() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}
