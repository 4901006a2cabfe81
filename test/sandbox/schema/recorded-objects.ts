/** Objects that real servers sent: every line of the recorded watches. */

import { readdirSync, readFileSync } from "node:fs"
import type { GroupVersionKind } from "../../../src/kube/offline.ts"

export interface RecordedObject {
  readonly gvk: GroupVersionKind
  readonly text: string
  readonly where: string
}

/** Bookmarks and errors left out. */
export const recordedObjects = (): RecordedObject[] => {
  const found: RecordedObject[] = []
  for (const folder of ["recording", "recording-2"]) {
    const directory = new URL(`../../data/${folder}/`, import.meta.url)
    for (const name of readdirSync(directory).filter((file) => file.endsWith(".watch"))) {
      for (const [index, line] of readFileSync(new URL(name, directory), "utf8").split("\n").entries()) {
        const event = line.slice(line.indexOf("{"))
        if (!/"type":"(?:ADDED|MODIFIED|DELETED)"/.test(event)) continue
        const { object } = JSON.parse(event) as { object: { apiVersion: string; kind: string } }
        const [version = "", group = ""] = object.apiVersion.split("/").reverse()
        const gvk = { group, version, kind: object.kind }
        found.push({ gvk, text: JSON.stringify(object), where: `${folder}/${name}:${index + 1}` })
      }
    }
  }
  return found
}
