/** The entries in one text of a log: passes over reads without parsing them, and takes off what CloudWatch's exports write before a line. */
import { type AuditEntry, unknownEntry } from "../audited-write.ts"
import { writeVerbOf } from "../shapes/kubernetes-event.ts"
import { entriesIn } from "../shapes/log-entries.ts"
import { parsedText } from "../shapes/parsed-text.ts"
import type { LogText } from "./log-text.ts"

/**
 * The beginning of an event as an API server writes it: the members have the order of Kubernetes' own type. Four of five events are reads,
 * and many have a list for a response, which then need not be parsed.
 */
const eventStart =
  /^\{"kind":"Event","apiVersion":"audit\.k8s\.io\/v1","level":"[A-Za-z]+","auditID":"[^"\\]*","stage":"([A-Za-z]+)","requestURI":"(?:[^"\\]|\\.)*","verb":"([a-z]+)"/

/** Long enough for the addresses of requests with selectors. */
const startBytes = 4096

/** An export to S3 begins each line with the time at which CloudWatch received it. */
const exportedTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z\s+(?=[{[])/

const nothing: ReadonlyArray<AuditEntry> = [{ tag: "no-write", time: undefined }]

/** The entries of a text. `needsTimes`: reads are parsed too, because their times count. */
export const entriesOfText = ({ bytes, isCut }: LogText, needsTimes = false): ReadonlyArray<AuditEntry> => {
  if (isCut) return [unknownEntry("a beginning without its end: the log is cut off")]
  const head = bytes.toString("latin1", 0, startBytes)
  const start = eventStart.exec(head)
  if (!needsTimes && start !== null && (start[1] !== "ResponseComplete" || writeVerbOf(start[2] ?? "") === undefined))
    return nothing
  const prefix = exportedTime.exec(head)?.[0].length ?? 0
  const value = parsedText(prefix === 0 ? bytes : bytes.subarray(prefix))
  return value === undefined ? [unknownEntry(describeText(bytes, head))] : entriesIn(value)
}

/** Never quotes the text, which may have secrets. */
const describeText = (bytes: Buffer, head: string): string => {
  if (/^\s*[{[]/.test(head)) return `${bytes.length} bytes of damaged JSON, or of JSON nested too deeply`
  // klog: a letter for the severity, month and day.
  if (/^[IWEF]\d{4} \d\d:\d\d:\d\d/.test(head)) return "a line of a component's own log"
  return bytes.includes(0) ? `${bytes.length} bytes that are no text` : `${bytes.length} bytes of text that are no JSON`
}
