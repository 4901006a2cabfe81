/** Owners that own each other, and owners that come later than what they own, in exports of a recording. */
import { expect, test } from "vitest"
import { isJsonObject, openDecoder, parseExactJson, type TraceFormatName } from "../../../src/trace/index.ts"
import { exportOf, recordingOf, referenceTo } from "./owned-recording.ts"

const gvk = "apps/v1.Deployment"

/** A recording of objects with the names of their owners. */
const recorded = (objects: ReadonlyArray<readonly [name: string, ...owners: ReadonlyArray<string>]>): string =>
  recordingOf(
    objects.map(([name, ...owners]) => ({
      gvk,
      name,
      owners: owners.map((owner) => referenceTo("Deployment", owner)),
      rest: { spec: {} },
    })),
  )

/** Names of the objects in an export, each with the names of its owners. */
const exported = async (directory: string, format: TraceFormatName, excludeOwned: boolean) => {
  const decoder = await openDecoder(format)
  const trace = await exportOf(directory, [gvk], { format, excludeOwned })
  const items = [...decoder.push(trace), ...decoder.end()]
  return Object.fromEntries(
    items.flatMap((item) => {
      if (item.type !== "event" || item.event.type !== "object") return []
      const object = parseExactJson(item.event.object)
      const metadata = isJsonObject(object) ? object.metadata : undefined
      const references = isJsonObject(metadata) ? metadata.ownerReferences : undefined
      const owners = Array.isArray(references) ? references.map((each: { readonly name: string }) => each.name) : []
      return [[item.event.name, owners]]
    }),
  )
}

test.each(["ndjson", "simkube", "kwok"] as const)(
  "objects that own themselves or each other are in a %s trace that leaves owned objects out; what they own is not",
  async (format) => {
    const directory = recorded([
      ["alone", "alone"],
      ["one", "other"],
      ["other", "one"],
      ["child", "one"],
      ["ring", "ring", "top"],
      ["top"],
    ])
    expect(Object.keys(await exported(directory, format, true))).toEqual(["alone", "one", "other", "top"])
  },
)

test.each(["simkube", "kwok"] as const)(
  "an owner reference stays in a %s trace if its owner is in it, before or after",
  async (format) => {
    const directory = recorded([["first", "later", "elsewhere"], ["later"], ["last", "later"]])
    expect(await exported(directory, format, false)).toEqual({ first: ["later"], later: [], last: ["later"] })
  },
)
