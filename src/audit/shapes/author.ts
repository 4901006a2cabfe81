/** Who made a request, as the entry of a log says it. */
import { type Client, type JsonObject, type JsonValue, listIn, objectIn, textIn } from "../../trace/index.ts"

/** What is kept of texts that clients choose, and of lists. */
const mostCharacters = 256
const mostGroups = 32
const mostAddresses = 8

/** What is kept of a text that a client chooses. */
export const cut = (text: string): string =>
  text.length > mostCharacters ? `${text.slice(0, mostCharacters - 1)}…` : text

const textsIn = (value: JsonValue | undefined, name: string, most: number): ReadonlyArray<string> =>
  listIn(value, name)
    .filter((each) => typeof each === "string")
    .slice(0, most)
    .map(cut)

/** Of an event with Kubernetes' own names; `undefined`: it names no user. */
export const authorOf = (event: JsonObject): Client | undefined => {
  const user = objectIn(event, "user")
  const name = textIn(user, "username")
  if (name === "") return undefined
  const impersonated = textIn(objectIn(event, "impersonatedUser"), "username")
  return {
    user: cut(name),
    groups: textsIn(user, "groups", mostGroups),
    userAgent: cut(textIn(event, "userAgent")),
    sourceIPs: textsIn(event, "sourceIPs", mostAddresses),
    ...(impersonated !== "" && { impersonated: cut(impersonated) }),
  }
}

/** Characters of a field manager. */
const mostManagerCharacters = 128

/** As the API server derives it: what the request names, else the user agent up to its first slash. */
export const fieldManagerOf = (event: JsonObject, query: URLSearchParams): string =>
  (query.get("fieldManager") || (textIn(event, "userAgent").split("/")[0] ?? "")).slice(0, mostManagerCharacters)

/** Of the payload of an entry of Cloud Logging, which names no groups. */
export const cloudAuthorOf = (payload: JsonObject | undefined): Client | undefined => {
  const name = textIn(objectIn(payload, "authenticationInfo"), "principalEmail")
  const metadata = objectIn(payload, "requestMetadata")
  const address = textIn(metadata, "callerIp")
  return name === ""
    ? undefined
    : {
        ...{ user: cut(name), groups: [], userAgent: cut(textIn(metadata, "callerSuppliedUserAgent")) },
        sourceIPs: address === "" ? [] : [cut(address)],
      }
}
