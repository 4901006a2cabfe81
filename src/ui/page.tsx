/** What the browser runs of a page that a recorder serves. */

import { render } from "preact"
import { panes } from "./panes.ts"
import { PinsPane } from "./pins/pins-pane.tsx"
import { App } from "./shell/app.tsx"
import { httpSource } from "./source/http-source.ts"

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
  render(<App source={source} panes={{ ...panes, pins: PinsPane }} onToken={onToken} />, root)
}

start()
