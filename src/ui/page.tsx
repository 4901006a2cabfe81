/** What the browser runs: finds out where the page is, and shows it. */

import { render } from "preact"
import { httpSource } from "./http-source.ts"
import { panes } from "./panes.ts"
import { App } from "./shell/app.tsx"

const tokenKey = "kubereel-token"

const start = (): void => {
  const root = document.getElementById("page")
  if (root === null) return
  // A browser that forbids storage still shows the page; the token then lasts as long as the page.
  let token: string | undefined
  try {
    token = sessionStorage.getItem(tokenKey) ?? undefined
  } catch {
    token = undefined
  }
  const onToken = (given: string): void => {
    token = given
    try {
      sessionStorage.setItem(tokenKey, given)
    } catch {
      // As above.
    }
  }
  const base = new URL("./", location.href).href
  const source = httpSource({ base, fetch: fetch.bind(globalThis), token: () => token })
  render(<App source={source} panes={panes} onToken={onToken} />, root)
}

start()
