/** What the browser runs: finds out whether the page is a file or has a server, and shows it. */

import { render } from "preact"
import { inlinedSource } from "./file/file-source.ts"
import { panes } from "./panes.ts"
import { DocumentView } from "./report/document-view.tsx"
import { inlinedDocument } from "./report/inlined-document.ts"
import { App } from "./shell/app.tsx"
import { httpSource } from "./source/http-source.ts"
import { type HistorySource, SourceError } from "./source/source.ts"

const tokenKey = "kubereel-token"

const start = (): void => {
  const root = document.getElementById("page")
  if (root === null) return
  const report = inlinedDocument(document)
  if (report !== undefined) return render(<DocumentView document={report} />, root)
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
  const server = () => httpSource({ base, fetch: fetch.bind(globalThis), token: () => token })
  let source: HistorySource
  try {
    source = inlinedSource(document) ?? server()
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause
    root.textContent = cause.message
    return
  }
  render(<App source={source} panes={panes} onToken={onToken} />, root)
}

start()
