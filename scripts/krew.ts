/**
 * Makes the release of the kubectl plugin for krew: the archive, and the manifest that names it.
 *
 *   npm run krew -- DIRECTORY URL HOMEPAGE
 *
 * Writes kubectl-reel-vVERSION.tar.gz and reel.yaml into DIRECTORY. URL is the folder that the archive will be downloaded from. The archive has all
 * that the plugin needs but Node, because krew installs no packages: the bundles, and the packages that are not part of them. It
 * is the same for the same commit. Needs what `npm run build` and `npm ci` make.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { programFiles } from "./image-files.ts"
import { archiveOf } from "./tar.ts"

const projectRoot = fileURLToPath(new URL("..", import.meta.url))

/** The programs that a user or kubectl starts. */
const programs: ReadonlySet<string> = new Set(["bin/reel.js", "bin/kubectl-reel.js", "bin/kubectl-complete-reel.js"])

/** What a release has that the manifest's template has not. */
export interface Release {
  /** As in package.json, without a `v`. */
  readonly version: string
  readonly homepage: string
  /** Where krew downloads the archive. */
  readonly uri: string
  /** Of the archive, 64 hexadecimal digits. */
  readonly sha256: string
}

/**
 * The manifest of a release.
 *
 * @param template krew/reel.yaml
 * @throws Error if the template lacks a place for one of the values.
 */
export const manifestOf = (template: string, { version, homepage, uri, sha256 }: Release): string => {
  const values = { VERSION: `v${version}`, HOMEPAGE: homepage, URI: uri, SHA256: sha256 }
  const [, ...lines] = template.split("\n")
  return Object.entries(values).reduce((text, [place, value]) => {
    const filled = text.replace(new RegExp(`(?<=: )${place}$`, "m"), () => value)
    if (filled === text) throw new Error(`krew/reel.yaml has no ${place}`)
    return filled
  }, lines.join("\n"))
}

/**
 * The archive, compressed.
 *
 * @param level of gzip; lower ones are for tests.
 */
export const krewArchive = async (root: string, level = 9): Promise<Buffer> => {
  const paths = new Set([...(await programFiles(root)), ...programs])
  // One after the other: all 2,500 at once are more than some systems let a process open.
  const files = [...paths].map((path) => ({
    path,
    content: readFileSync(join(root, path)),
    isExecutable: programs.has(path),
  }))
  return gzipSync(Buffer.concat([...archiveOf(files)]), { level })
}

/** Writes archive and manifest of this version into a directory. */
const release = async (directory: string, url: string, homepage: string): Promise<ReadonlyArray<string>> => {
  const { version } = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8")) as {
    readonly version: string
  }
  const archive = await krewArchive(projectRoot)
  const name = `kubectl-reel-v${version}.tar.gz`
  const manifest = manifestOf(await readFile(join(projectRoot, "krew/reel.yaml"), "utf8"), {
    version,
    homepage,
    uri: `${url.replace(/\/$/, "")}/${name}`,
    sha256: createHash("sha256").update(archive).digest("hex"),
  })
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, name), archive)
  await writeFile(join(directory, "reel.yaml"), manifest)
  return [`${name}: ${(archive.length / 1e6).toFixed(1)} MB`, "reel.yaml"]
}

if (import.meta.main) {
  const [directory, url, homepage, ...others] = process.argv.slice(2)
  if (directory === undefined || url === undefined || homepage === undefined || others.length > 0) {
    console.error("usage: npm run krew -- DIRECTORY URL HOMEPAGE")
    process.exitCode = 2
  } else for (const line of await release(directory, url, homepage)) console.log(line)
}
