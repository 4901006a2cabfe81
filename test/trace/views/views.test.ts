/** Views are found by name and by the names of files. */
import { expect, test } from "vitest"
import { TRACE_FORMAT_NAMES } from "../../../src/trace/formats/names.ts"
import { isView, openView, VIEW_NAMES, VIEWS, viewOfFileName } from "../../../src/trace/views/views.ts"
import { event } from "./items.ts"

test("a view is chosen by the end of a file's name, whatever its letter case and compression", () => {
  for (const { name, extensions } of VIEWS)
    for (const extension of extensions)
      for (const file of [
        `a${extension}`,
        `a.ndjson${extension.toUpperCase()}`,
        `a${extension}.zst`,
        `a${extension}.gz`,
      ])
        expect({ file, view: viewOfFileName(file) }).toEqual({ file, view: name })
  for (const file of ["a.ndjson", "pftrace", "a.pftrace.txt", "-"]) expect(viewOfFileName(file)).toBeUndefined()
})

test("no view has the name of a format, and each has an encoder", async () => {
  for (const name of TRACE_FORMAT_NAMES) expect(isView(name)).toBe(false)
  for (const name of VIEW_NAMES) {
    expect(isView(name)).toBe(true)
    const encoder = await openView(name)
    encoder.add({ type: "header", cut: 0, kinds: [], incomplete: [] })
    encoder.add(event("applied", 1, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } }))
    expect(Buffer.concat([...encoder.finish()]).length).toBeGreaterThan(0)
  }
})
