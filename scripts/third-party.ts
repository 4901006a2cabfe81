/**
 * The licences of what is shipped inside of bundles: `dist/THIRD-PARTY.md`, which the package and the image contain.
 *
 * A dependency that npm installs beside the package brings its own licence; one that is part of a bundle does not.
 */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"

/** What is shipped and is no package: its licence is the text that LICENSE has. */
const others =
  "- Kubernetes 1.34.4, Apache-2.0, https://kubernetes.io: the OpenAPI documents in `openapi`, the messages in `protobuf`\n" +
  "- AssemblyScript, Apache-2.0, https://www.assemblyscript.org: the runtime of the WebAssembly modules"

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string | { readonly type?: string }
  readonly homepage?: string
}

interface Notice extends Manifest {
  readonly texts: ReadonlyArray<string>
}

/**
 * The notices of packages as Markdown, in the order of their names.
 *
 * @param folders of the packages below `root`, such as `node_modules/yaml`; repetitions are ignored.
 */
export const thirdPartyNotices = async (root: string, folders: ReadonlyArray<string>): Promise<string> => {
  const notices = await Promise.all([...new Set(folders)].map((folder) => noticeOf(join(root, folder))))
  notices.sort((left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : 0))
  const intro = `# Third-party software\n\nkubereel's programs contain the software below. Apache-2.0 without a text of its own: see LICENSE.\n\n${others}\n`
  return `${[intro, ...notices.map(section)].join("\n")}`
}

const section = ({ name, version, license, homepage, texts }: Notice): string => {
  const identifier = (typeof license === "string" ? license : license?.type) ?? "no licence named"
  const about = [`\`${identifier}\``, ...(homepage === undefined ? [] : [homepage])].join(", ")
  return [`## ${name} ${version}\n`, `${about}\n`, ...texts.map((text) => `\`\`\`text\n${text.trim()}\n\`\`\`\n`)].join(
    "\n",
  )
}

const noticeOf = async (folder: string): Promise<Notice> => {
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest
  const names = (await readdir(folder)).filter((name) => /^(?:licen[cs]e|notice|copying)(?:[.-]|$)/i.test(name))
  const texts = await Promise.all(names.toSorted().map((name) => readFile(join(folder, name), "utf8")))
  return { ...manifest, texts }
}
