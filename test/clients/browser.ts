/** A headless Chromium, driven by its DevTools protocol: what a page looks like to who opens it. */

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

/** How a page is shown. */
export interface Screen {
  /** CSS pixels. */
  readonly width: number
  readonly height: number
  readonly scheme: "light" | "dark"
}

/** A page that is open. */
export interface OpenPage {
  /** The value of an expression in it. It runs although the page's policy forbids scripts. */
  readonly evaluate: (expression: string) => Promise<unknown>
  /** Addresses that it asked for, with its own. */
  readonly requests: ReadonlyArray<string>
  /** What the browser complained about: errors of scripts, and what the policy forbade. */
  readonly complaints: ReadonlyArray<string>
}

export interface Browser {
  readonly open: (address: string, screen: Screen) => Promise<OpenPage>
  readonly close: () => Promise<void>
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: {
    readonly request?: { readonly url: string }
    readonly entry?: { readonly text: string }
    readonly exceptionDetails?: { readonly text: string }
  }
  readonly result?: { readonly result?: { readonly value?: unknown; readonly description?: string } }
  readonly error?: { readonly message: string }
}

/** Starts the browser at that path. */
export const openBrowser = async (path: string): Promise<Browser> => {
  const folder = await mkdtemp(join(tmpdir(), "browser-"))
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--no-first-run"]
  const words = [...flags, `--user-data-dir=${join(folder, "profile")}`, "about:blank"]
  const browser = spawn(path, words, { stdio: ["ignore", "ignore", "pipe"] })
  const endpoint = await new Promise<string>((resolve, reject) => {
    browser.on("error", reject)
    browser.on("exit", (code) => reject(new Error(`the browser ended with ${code} before it listened`)))
    createInterface({ input: browser.stderr }).on("line", (line) => {
      const address = /^DevTools listening on (\S+)/.exec(line)?.[1]
      if (address !== undefined) resolve(address)
    })
  })
  return {
    open: async (address, screen) => {
      const answer = await fetch(`http://${new URL(endpoint).host}/json/new?about:blank`, { method: "PUT" })
      const { webSocketDebuggerUrl } = (await answer.json()) as { readonly webSocketDebuggerUrl: string }
      return openPage(webSocketDebuggerUrl, address, screen)
    },
    close: async () => {
      const ended = once(browser, "exit")
      // A signal would leave a directory of it behind.
      const socket = new WebSocket(endpoint)
      socket.addEventListener("open", () => socket.send(JSON.stringify({ id: 1, method: "Browser.close" })))
      await ended
      // Its helpers end a moment later, and write until then.
      await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

const openPage = async (
  socketAddress: string,
  address: string,
  { width, height, scheme }: Screen,
): Promise<OpenPage> => {
  const socket = new WebSocket(socketAddress)
  const [requests, complaints]: [string[], string[]] = [[], []]
  const answers = new Map<number, (message: Message) => void>()
  const loaded = Promise.withResolvers<void>()
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(String(data)) as Message
    if (message.id !== undefined) answers.get(message.id)?.(message)
    const { request, entry, exceptionDetails } = message.params ?? {}
    if (message.method === "Page.loadEventFired") loaded.resolve()
    if (message.method === "Network.requestWillBeSent" && request !== undefined) requests.push(request.url)
    if (message.method === "Log.entryAdded" && entry !== undefined) complaints.push(entry.text)
    if (message.method === "Runtime.exceptionThrown" && exceptionDetails !== undefined)
      complaints.push(exceptionDetails.text)
  })
  await new Promise((resolve) => socket.addEventListener("open", resolve))
  let count = 0
  const send = (method: string, params: object = {}): Promise<Message> => {
    const id = ++count
    const answer = Promise.withResolvers<Message>()
    answers.set(id, (message) => {
      answers.delete(id)
      if (message.error === undefined) answer.resolve(message)
      else answer.reject(new Error(`${method}: ${message.error.message}`))
    })
    socket.send(JSON.stringify({ id, method, params }))
    return answer.promise
  }
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(`${domain}.enable`)
  await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 })
  await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] })
  await send("Page.navigate", { url: address })
  await loaded.promise
  return {
    requests,
    complaints,
    evaluate: async (expression) =>
      (await send("Runtime.evaluate", { expression, returnByValue: true })).result?.result?.value,
  }
}
