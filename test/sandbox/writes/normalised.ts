/** Responses without wording and without what differs from run to run: times, UIDs, versions, addresses, random names, tokens. */

import { withoutWording } from "../without-wording.ts"

export const normalised = (text: string): unknown => {
  const plain = text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UID")
    .replaceAll(/(resourceVersion\\*":\s*\\*")\d+/g, "$1V")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "TIME")
    .replaceAll(/10\.0\.0\.\d+/g, "IP")
    .replaceAll(/kube-api-access-\w{5}/g, "kube-api-access-X")
    .replaceAll(/gen-\w{5}/g, "gen-X")
    .replaceAll(/in record \(\d+\)/g, "in record (V)")
    .replaceAll(/"token":\s*"[^"]*"/g, '"token":"T"')
  try {
    return withoutWording(JSON.parse(plain))
  } catch {
    // Responses of Go's mux are not JSON.
    return plain
  }
}
