/** `format.dns1123Label().validate(…)`: the formats of names and of texts in schemas. */

import {
  hostLabelComplaints,
  labelComplaints,
  labelValueComplaints,
  qualifiedNameComplaints,
  subdomainComplaints,
} from "../../kube/offline.ts"
import { isOfFormat } from "../schema/custom/custom-formats.ts"
import type { Extension } from "./program.ts"
import { Opaque, optionalOf } from "./values.ts"

type Complaints = (text: string) => ReadonlyArray<string>

/** `data` is empty for a valid text. */
class NamedFormat extends Opaque<Complaints> {}

const type = "kubernetes.NamedFormat"

/** A prefix of generated names may end with a dash. */
const asPrefix =
  (complaints: Complaints): Complaints =>
  (text) =>
    complaints(text.endsWith("-") && text.length > 1 ? `${text.slice(0, -1)}a` : text)

const ofSchema =
  (format: string, complaint: string): Complaints =>
  (text) =>
    isOfFormat(format, text) ? [] : [complaint]

const formats: Readonly<Record<string, Complaints>> = {
  dns1123Label: labelComplaints,
  dns1123Subdomain: subdomainComplaints,
  dns1035Label: hostLabelComplaints,
  qualifiedName: qualifiedNameComplaints,
  dns1123LabelPrefix: asPrefix(labelComplaints),
  dns1123SubdomainPrefix: asPrefix(subdomainComplaints),
  dns1035LabelPrefix: asPrefix(hostLabelComplaints),
  labelValue: labelValueComplaints,
  uri: ofSchema("uri", "invalid URI for request"),
  uuid: ofSchema("uuid", "does not match the UUID format"),
  byte: ofSchema("byte", "invalid base64"),
  date: ofSchema("date", "invalid date"),
  datetime: ofSchema("date-time", "invalid datetime"),
}

const named: ReadonlyMap<string, NamedFormat> = new Map(
  Object.entries(formats).map(([name, complaints]) => [name, new NamedFormat(name, complaints)]),
)

export const namedFormats: Extension = {
  types: { [type]: NamedFormat },
  functions: [
    ...[...named].map(([name, format]) => [`Of.format.${name}(): ${type}`, () => format] as const),
    [`Of.format.named(string): optional<${type}>`, (_: object, name: string) => optionalOf(named.get(name))],
    [
      `${type}.validate(string): optional<list<string>>`,
      ({ data }: NamedFormat, text: string) => {
        const complaints = data(text)
        return optionalOf(complaints.length === 0 ? undefined : complaints)
      },
    ],
  ],
}
