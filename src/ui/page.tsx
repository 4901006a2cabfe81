/** What the browser runs of a page that a recorder serves. */

import { render } from "preact"
import { clusterSwitch } from "./clusters/cluster-switch.tsx"
import { panes } from "./panes.ts"
import { PinsPane } from "./pins/pins-pane.tsx"
import { App } from "./shell/app.tsx"
import { httpClusters, httpSource } from "./source/http-source.ts"

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
  const surroundings = { base, fetch: fetch.bind(globalThis), token: () => token }
  const shown = { panes: { ...panes, pins: PinsPane }, onToken }
  if (new URL(base).pathname.endsWith("/clusters/ui/")) {
    const clusters = httpClusters(surroundings)
    const sourceOf = (name: string | undefined) => (name === undefined ? undefined : clusters.of(name))
    return render(<App {...{ ...shown, sourceOf }} Switch={clusterSwitch(clusters)} />, root)
  }
  const source = httpSource(surroundings)
  render(<App {...shown} sourceOf={() => source} />, root)
}

start()
