/** The output of `reel k8s`, parsed. */
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
  /** All of a kind with that name, in as many namespaces. */
  readonly named: (kind: string, name: string) => ReadonlyArray<PrintedObject>
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
  const named = (kind: string, name: string): ReadonlyArray<PrintedObject> =>
    objects.filter((each) => each.kind === kind && each.metadata.name === name)
  return { code, text, error: terminal.standardError.text(), objects, one, named }
}

/** What standard error has if nothing is wrong: the image, which no registry has. */
export const imageNeeded = (command = "reel k8s"): string =>
  `${command}: the nodes must have the image kubereel:0.1.0: build it with the Containerfile and load it, or push it and name it with --image\n`

/** The content of YAML documents. Throws for invalid YAML. */
export const objectsOf = (text: string): ReadonlyArray<PrintedObject> =>
  parseAllDocuments(text).flatMap((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0]
    const object = document.toJS() as PrintedObject | null
    return object === null ? [] : [object]
  })

interface Variable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string }
    readonly resourceFieldRef?: { readonly resource: string }
  }
}

/** The part of a container that its environment comes from. */
export interface ContainerEnvironment {
  readonly env?: ReadonlyArray<Variable>
  readonly resources: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/**
 * A container's environment as the kubelet makes it. `fields`: what the pod's own fields (`metadata.name`) are; variables of fields
 * that are not among them are left out, as the recorder has them nowhere else.
 */
export const environmentOf = (
  { env = [], resources }: ContainerEnvironment,
  fields: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => {
  const textOf = ({ value, valueFrom }: Variable): string | undefined => {
    if (valueFrom?.fieldRef !== undefined) return fields[valueFrom.fieldRef.fieldPath]
    if (valueFrom?.resourceFieldRef === undefined) return value
    const [section = "", name = ""] = valueFrom.resourceFieldRef.resource.split(/\.(.*)/)
    return String(bytesOf(resources[section]?.[name] ?? "0"))
  }
  return Object.fromEntries(
    env.flatMap((variable) => {
      const text = textOf(variable)
      return text === undefined ? [] : [[variable.name, text]]
    }),
  )
}

/** Of a quantity such as `10Gi`. */
const bytesOf = (quantity: string): number => {
  const [, digits = "", unit = ""] = /^(\d+)(|Ki|Mi|Gi|Ti)$/.exec(quantity) ?? []
  if (digits === "") throw new Error(`"${quantity}" is no quantity that tests know`)
  return Number(digits) * 1024 ** ["", "Ki", "Mi", "Gi", "Ti"].indexOf(unit)
}
