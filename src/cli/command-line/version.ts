/** The version in package.json, wherever this module was bundled to. */
import { readFileSync } from "node:fs"

/** Up from dist/ and from src/cli/command-line/; the first package.json on the way is ours. */
const places = ["../package.json", "../../../package.json"]

/** `0.1.0`; `unknown` if package.json is missing, which nothing else depends on. */
export const readVersion = (): string => {
  for (const place of places) {
    const manifest = readManifest(new URL(place, import.meta.url))
    if (manifest?.name === "kubereel" && manifest.version !== undefined) return manifest.version
  }
  return "unknown"
}

const readManifest = (url: URL): { name?: string; version?: string } | undefined => {
  try {
    return JSON.parse(readFileSync(url, "utf8")) as { name?: string; version?: string }
  } catch {
    return undefined
  }
}
