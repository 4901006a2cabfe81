/** `format.dns1123Label().validate(…)`: the formats of names and of texts in schemas. */

import {
  hostLabelComplaints,
  labelComplaints,
  labelValueComplaints,
  qualifiedNameComplaints,
  subdomainComplaints,
} from "../../../kube/names.ts"
import { isOfFormat } from "../../schema/custom/custom-formats.ts"
import { matching } from "../meter.ts"
import { type Overload, overload } from "../overload.ts"
import { List, Opaque, Optional, sizeOf } from "../values.ts"

interface Format {
  /** Empty for a valid text. */
  readonly complaints: (text: string) => ReadonlyArray<string>
  /** The length of the pattern that the API server charges for. */
  readonly patternSize: number
}

type NamedFormat = Opaque<Format>

const type = "kubernetes.NamedFormat"

/** A prefix of generated names may end with a dash. */
const asPrefix =
  (complaints: Format["complaints"]): Format["complaints"] =>
  (text) =>
    complaints(text.endsWith("-") && text.length > 1 ? `${text.slice(0, -1)}a` : text)

const ofSchema =
  (format: string, complaint: string): Format["complaints"] =>
  (text) =>
    isOfFormat(format, text) ? [] : [complaint]

const formats: ReadonlyArray<readonly [string, Format["complaints"], number]> = [
  ["dns1123Label", labelComplaints, 30],
  ["dns1123Subdomain", subdomainComplaints, 60],
  ["dns1035Label", hostLabelComplaints, 30],
  ["qualifiedName", qualifiedNameComplaints, 60],
  ["dns1123LabelPrefix", asPrefix(labelComplaints), 30],
  ["dns1123SubdomainPrefix", asPrefix(subdomainComplaints), 60],
  ["dns1035LabelPrefix", asPrefix(hostLabelComplaints), 30],
  ["labelValue", labelValueComplaints, 40],
  ["uri", ofSchema("uri", "invalid URI for request"), 1100],
  ["uuid", ofSchema("uuid", "does not match the UUID format"), 90],
  ["byte", ofSchema("byte", "invalid base64"), 90],
  ["date", ofSchema("date", "invalid date"), 110],
  ["datetime", ofSchema("date-time", "invalid datetime"), 110],
]

const named: ReadonlyMap<string, NamedFormat> = new Map(
  formats.map(([name, complaints, patternSize]) => [name, new Opaque(type, name, { complaints, patternSize })]),
)

export const namedFormats: ReadonlyArray<Overload> = [
  ...[...named].map(([name, format]) => overload(`format.${name}() -> ${type}`, () => format)),
  overload<[string]>(`format.named(string) -> optional(${type})`, ([name]) => new Optional(named.get(name))),
  overload<[NamedFormat, string]>(
    `${type}::validate(string) -> optional(list(string))`,
    ([format, text]) => {
      const complaints = format.data.complaints(text)
      return new Optional(complaints.length === 0 ? undefined : new List(complaints))
    },
    ([format, text]) => matching(sizeOf(text), format.data.patternSize),
  ),
]
