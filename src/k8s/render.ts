/** Renders manifests as YAML for people: with comments, and multi-line texts as blocks. */
import { Document, isNode, isScalar, Scalar, visit } from "yaml"
import type { Manifest } from "./manifest/manifest.ts"

/**
 * One stream of documents with a final line break. `header` is a comment at the top. Throws a RangeError for a comment
 * on something that is not there.
 */
export const renderManifests = (manifests: ReadonlyArray<Manifest>, header: string): string =>
  `${commented(header)}\n${manifests.map((each) => `---\n${renderManifest(each)}`).join("")}`

const renderManifest = ({ object, comments }: Manifest): string => {
  // Shared labels would become anchors, which kubectl can read but people do not like to.
  const document = new Document(object, { aliasDuplicateObjects: false })
  visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value === "string" && node.value.includes("\n")) node.type = Scalar.BLOCK_LITERAL
    },
  })
  for (const { path, text } of comments) {
    const node = path.length === 0 ? document.contents : keyOrItem(document, path)
    if (!isNode(node)) throw new RangeError(`no node at ${path.join(".")}`)
    node.commentBefore = lines(text)
  }
  return document.toString({ lineWidth: 0 })
}

/** The node that the comment precedes: the key of a mapping or the item of a list. */
const keyOrItem = (document: Document, path: ReadonlyArray<string | number>): unknown => {
  const last = path.at(-1)
  const parent: unknown = document.getIn(path.slice(0, -1), true)
  if (typeof last === "number") return document.getIn(path, true)
  const items = (parent as { items?: ReadonlyArray<{ key: unknown }> } | undefined)?.items ?? []
  const pair = items.find(({ key }) => (isScalar(key) ? key.value : key) === last)
  return pair?.key
}

const lines = (text: string): string =>
  text
    .split("\n")
    .map((line) => ` ${line}`)
    .join("\n")

const commented = (text: string): string =>
  text
    .split("\n")
    .map((line) => (line === "" ? "#" : `# ${line}`))
    .join("\n")
