/** Writes trees as block YAML, as Kubernetes' own tools do: keys and plain strings without quotes, lists with dashes. */
import { Fields, joinedParts, jsonOf, Raw, type Tree } from "./tree.ts"

/** One document. */
export const blockYamlOf = (tree: Tree): Buffer => {
  const parts: Array<string | Buffer> = []
  const text = (part: string): void => void parts.push(part)
  const scalar = (node: Tree): void =>
    void (typeof node === "string" && /^[A-Za-z][A-Za-z0-9/._-]*$/.test(node) ? text(node) : parts.push(jsonOf(node)))
  const write = (node: Tree, pad: string): void => {
    if (Array.isArray(node) && node.length > 0)
      for (const item of node) {
        text(`\n${pad}- `)
        write(item, `${pad}  `)
      }
    else if (node instanceof Fields && node.entries.length > 0)
      for (const [key, value] of node.entries) {
        text(`\n${pad}`)
        scalar(key instanceof Raw || typeof key === "string" ? key : jsonOf(key).toString())
        text(": ")
        write(value, `${pad}  `)
      }
    else scalar(node)
  }
  write(tree, "")
  return joinedParts(parts)
}
