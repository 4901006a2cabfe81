/** `reel k8s` as it is called, and what it prints, parsed. */
import { parseAllDocuments } from "yaml"
import { reel } from "../../src/cli/reel.ts"
import { capturedTerminal } from "../cli/captured-terminal.ts"

/** A Kubernetes object, as far as tests look into it. */
export interface PrintedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels: Record<string, string> }
  // biome-ignore lint/suspicious/noExplicitAny: it has the shape of its kind, which tests know.
  readonly [key: string]: any
}

export interface Printed {
  readonly code: number
  readonly text: string
  readonly error: string
  readonly objects: ReadonlyArray<PrintedObject>
  /** The only object of a kind. Throws if there are more or none. */
  readonly one: (kind: string) => PrintedObject
}

export const printed = async (...words: ReadonlyArray<string>): Promise<Printed> => {
  const terminal = capturedTerminal()
  const code = await reel(["k8s", ...words], terminal)
  const text = terminal.standardOutput.text()
  const objects = objectsOf(text)
  const one = (kind: string): PrintedObject => {
    const [found, ...others] = objects.filter((each) => each.kind === kind)
    if (found === undefined || others.length > 0) throw new Error(`${others.length + 1} or no ${kind}:\n${text}`)
    return found
  }
  return { code, text, error: terminal.standardError.text(), objects, one }
}

/** What YAML documents hold. Throws for what is no YAML. */
export const objectsOf = (text: string): ReadonlyArray<PrintedObject> =>
  parseAllDocuments(text).flatMap((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0]
    const object = document.toJS() as PrintedObject | null
    return object === null ? [] : [object]
  })
