/** Parameters that several tools have, in the same words. */
import { isFieldPath, parseFieldPath } from "../../../trace/json/field-path.ts"
import { Misasked } from "../../past/asking.ts"
import { optionalText, type Parameter, requiredText, textOr } from "../tool-parameters.ts"

const times =
  "03:12, yesterday 03:12 (in the time zone of the server), -10m or 2h before now, or exact: 2026-11-21T10:00:00Z"

export const object = {
  kind: requiredText("kind of the object as with kubectl: pod, deploy, or exact: apps/v1.Deployment"),
  name: requiredText("name of the object"),
  namespace: optionalText("namespace of the object; default: any"),
}

export const namespace = optionalText("only this namespace; default: all")

export const labels = optionalText("only objects with these labels: app=web,tier in (a,b)")

export const fields = optionalText("only objects with these fields, of any path: spec.nodeName=a,status.phase!=Running")

export const until = textOr("now", "up to this moment, written as since; now is, of a directory or a trace, its end")

/** `byDefault`: a time. */
export const since = (byDefault: string): Parameter<string> =>
  textOr(byDefault, `from this moment on: ${times}. 0 is the beginning of the recording`)

export const at = textOr("now", `the moment: ${times}. now is, of a directory or a trace, its end`)

/** Kinds in one text, as on the command line. */
export const kindsIn = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((kind) => kind.trim())
    .filter((kind) => kind !== "")

const anyPath = optionalText("")

/** A path to a field. @throws Misasked, when it is read */
export const fieldPath = (description: string): Parameter<string | undefined> => {
  const parameter = optionalText(description)
  return {
    ...parameter,
    read: (name, given) => {
      const text = anyPath.read(name, given)
      const path = text === undefined ? [] : parseFieldPath(text)
      if (!isFieldPath(path)) throw new Misasked(`${name} is no path to a field: ${path.problem}`)
      return text
    },
  }
}

/** That of tools that answer with changes. */
export const changedField = fieldPath(
  'only changes of this field: spec.replicas, metadata.labels["app"], spec.template.spec.containers[name=web].image',
)
