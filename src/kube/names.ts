/** The formats of names, label keys and values, and the server's messages for text that violates them. */

const labelFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
const subdomainFormat = `${labelFormat}(\\.${labelFormat})*`
const wildcardSubdomainFormat = `\\*\\.${subdomainFormat}`
const hostLabelFormat = "[a-z]([-a-z0-9]*[a-z0-9])?"
const qualifiedFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
const labelValueFormat = `(${qualifiedFormat})?`
const configKeyFormat = "[-._a-zA-Z0-9]+"
const percentFormat = "[0-9]+%"

const whole = (format: string): RegExp => new RegExp(`^${format}$`)
const label = whole(labelFormat)
const subdomain = whole(subdomainFormat)
const wildcardSubdomain = whole(wildcardSubdomainFormat)
const hostLabel = whole(hostLabelFormat)
const qualified = whole(qualifiedFormat)
const labelText = whole(labelValueFormat)
const configKey = whole(configKeyFormat)
const percent = whole(percentFormat)

/** The messages about a text; empty if it is valid. */
export type Complaints = ReadonlyArray<string>

const fine: Complaints = []

const explain = (what: string, format: string, ...examples: ReadonlyArray<string>): string =>
  `${what} (e.g. ${examples.map((example) => `'${example}', `).join(" or ")}regex used for validation is '${format}')`

const tooLong = (limit: number): string => `must be no more than ${limit} characters`

/** Go counts lengths in bytes; text that is not ASCII fails the pattern anyway. */
const checked = (text: string, limit: number, pattern: RegExp, complaint: () => string): Complaints => {
  const fits = text.length <= limit
  const matches = pattern.test(text)
  if (fits && matches) return fine
  return [...(fits ? [] : [tooLong(limit)]), ...(matches ? [] : [complaint()])]
}

/** DNS-1123 label: names of namespaces, containers, volumes. */
export const labelComplaints = (text: string): Complaints =>
  checked(text, 63, label, () =>
    subdomain.test(text)
      ? "must not contain dots"
      : explain(
          "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " +
            "with an alphanumeric character",
          labelFormat,
          "my-name",
          "123-abc",
        ),
  )

/** DNS-1123 subdomain: names of most objects. */
export const subdomainComplaints = (text: string): Complaints =>
  checked(text, 253, subdomain, () =>
    explain(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start " +
        "and end with an alphanumeric character",
      subdomainFormat,
      "example.com",
    ),
  )

/** `*.` and a DNS-1123 subdomain: hosts of an Ingress. */
export const wildcardSubdomainComplaints = (text: string): Complaints =>
  checked(text, 253, wildcardSubdomain, () =>
    explain(
      "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case " +
        "alphanumeric characters, '-' or '.' and end with an alphanumeric character",
      wildcardSubdomainFormat,
      "*.example.com",
    ),
  )

/** DNS-1035 label: names of Services before 1.35. */
export const hostLabelComplaints = (text: string): Complaints =>
  checked(text, 63, hostLabel, () =>
    explain(
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, " +
        "and end with an alphanumeric character",
      hostLabelFormat,
      "my-name",
      "abc-123",
    ),
  )

/** Names in RBAC: any valid path segment. */
export const pathSegmentComplaints = (text: string): Complaints => {
  if (text === "." || text === "..") return [`may not be '${text}'`]
  return ["/", "%"].filter((part) => text.includes(part)).map((part) => `may not contain '${part}'`)
}

const qualifiedExplanation = explain(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  qualifiedFormat,
  "MyName",
  "my.name",
  "123-abc",
)

/** Keys of labels and annotations, finalizers: `name` or `example.com/name`. */
export const qualifiedNameComplaints = (text: string): Complaints => {
  const parts = text.split("/")
  if (parts.length > 2)
    return [
      `a qualified name ${qualifiedExplanation} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  const name = parts.at(-1) ?? ""
  const prefix = parts.length === 2 ? parts[0] : undefined
  const complaints = prefix === undefined ? fine : prefix === "" ? ["must be non-empty"] : subdomainComplaints(prefix)
  if (complaints.length === 0 && name.length <= 63 && qualified.test(name)) return fine
  return [
    ...complaints.map((complaint) => `prefix part ${complaint}`),
    ...(name === "" ? ["name part must be non-empty"] : name.length > 63 ? [`name part ${tooLong(63)}`] : []),
    ...(qualified.test(name) ? [] : [`name part ${qualifiedExplanation}`]),
  ]
}

export const labelValueComplaints = (text: string): Complaints =>
  checked(text, 63, labelText, () =>
    explain(
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and " +
        "end with an alphanumeric character",
      labelValueFormat,
      "MyValue",
      "my_value",
      "12345",
    ),
  )

/** Keys of ConfigMaps and Secrets. */
export const configKeyComplaints = (text: string): Complaints => {
  const complaints = checked(text, 253, configKey, () =>
    explain(
      "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
      configKeyFormat,
      "key.name",
      "KEY_NAME",
      "key-name",
    ),
  )
  return text.startsWith("..") || text === "."
    ? [...complaints, text.length > 2 ? "must not start with '..'" : `must not be '${text}'`]
    : complaints
}

/** Names of ports. */
export const portNameComplaints = (text: string): Complaints => [
  ...(text.length > 15 ? [tooLong(15)] : []),
  ...(/^[-a-z0-9]+$/.test(text) ? [] : ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"]),
  ...(/[a-z]/.test(text) ? [] : ["must contain at least one letter (a-z)"]),
  ...(text.includes("--") ? ["must not contain consecutive hyphens"] : []),
  ...(/^-|-$/.test(text) ? ["must not begin or end with a hyphen"] : []),
]

/** Names of environment variables, as relaxed in 1.32. */
export const environmentNameComplaints = (text: string): Complaints => [
  ...(text === "" ? ["environment variable name must be non-empty"] : []),
  ...(/^[ -<>-~]*$/.test(text)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"]),
]

export const percentComplaints = (text: string): Complaints =>
  percent.test(text)
    ? fine
    : [explain("a valid percent string must be a numeric string followed by an ending '%'", percentFormat, "1%", "93%")]

/** A port number. */
export const portComplaints = (port: number): Complaints =>
  Number.isInteger(port) && port >= 1 && port <= 65_535 ? fine : ["must be between 1 and 65535, inclusive"]
