/** What a Kubernetes Event says: its name, and the fields that differ in it, say nothing to a reader. */
import { isJsonObject, type JsonObject, type JsonValue } from "./json/exact-json.ts"

/** The kinds of Kubernetes Events: one object, in two groups. Their names begin with the name of the object that they are about. */
export const eventKinds: ReadonlyArray<string> = ["v1.Event", "events.k8s.io/v1.Event"]

/** Every field is empty if the Event does not have it. */
export interface EventStatement {
  /** `Warning` or `Normal`. */
  readonly type: string
  readonly reason: string
  readonly message: string
  /** `Pod web-0` */
  readonly about: string
  /** The program that says it. */
  readonly source: string
}

/** `undefined`: the object is no Event. Of either group, and of Events that were written in the other one. */
export const eventStatement = (gvk: string, object: JsonObject | undefined): EventStatement | undefined => {
  if (object === undefined || !eventKinds.includes(gvk)) return undefined
  const about = object.involvedObject ?? object.regarding
  const { kind = "", name = "" } = isJsonObject(about) ? about : {}
  const source = isJsonObject(object.source) ? object.source.component : undefined
  const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "")
  return {
    ...{ type: text(object.type), reason: text(object.reason), message: text(object.message) || text(object.note) },
    ...{ about: `${text(kind)} ${text(name)}`.trim(), source: text(source) || text(object.reportingComponent) },
  }
}

/** `Warning BackOff of Pod web-0: Back-off restarting failed container (kubelet)` */
export const statementText = ({ type, reason, message, about, source }: EventStatement): string =>
  `${`${type} ${reason}`.trim()} of ${about}: ${message}${source === "" ? "" : ` (${source})`}`
