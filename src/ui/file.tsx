/** What the browser runs of a page in one file: shows the recording or the report that is in the file. There is no server. */

import { render } from "preact"
import { inlinedSource } from "./file/file-source.ts"
import { panes } from "./panes.ts"
import { DocumentView } from "./report/document-view.tsx"
import { inlinedDocument } from "./report/inlined-document.ts"
import { App } from "./shell/app.tsx"
import { SourceError } from "./source/source.ts"

const start = (): void => {
  const root = document.getElementById("page")
  if (root === null) return
  const report = inlinedDocument(document)
  if (report !== undefined) return render(<DocumentView document={report} />, root)
  try {
    const source = inlinedSource(document)
    if (source === undefined) root.textContent = "There is nothing in this file: a part of it is missing."
    // A server would ask for a token; a file is whole or not.
    else render(<App sourceOf={() => source} panes={panes} onToken={() => undefined} />, root)
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause
    root.textContent = cause.message
  }
}

start()
