/**
 * What our exports for replay lack beyond status, finalizers and owners, compared with SimKube's own: a closed list for the kinds of the
 * golden recordings, written down independently of the table in src/trace/sanitising/generated-fields.ts.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/trace/index.ts"

/** JSON pointers by kind. */
const pointers: Readonly<Record<string, ReadonlyArray<string>>> = {
  DaemonSet: ["/metadata/annotations/deprecated.daemonset.template.generation"],
  Job: [
    "/spec/selector",
    ...["/metadata/labels", "/spec/template/metadata/labels"].flatMap((labels) =>
      ["controller-uid", "job-name", "batch.kubernetes.io~1controller-uid", "batch.kubernetes.io~1job-name"].map(
        (label) => `${labels}/${label}`,
      ),
    ),
  ],
  Pod: ["/spec/preemptionPolicy", "/spec/priority", "/spec/serviceAccount"],
}

/** A copy of an object of SimKube's without them. */
export const withoutGeneratedByCluster = (object: JsonObject): JsonObject => {
  const copy = structuredClone(object) as Record<string, JsonValue>
  for (const pointer of pointers[String(object.kind)] ?? []) {
    const path = pointer
      .slice(1)
      .split("/")
      .map((token) => token.replaceAll("~1", "/"))
    removeAt(copy, path)
  }
  if (object.kind === "Pod" && isJsonObject(copy.spec)) copy.spec = withoutTokens(copy.spec)
  return copy
}

/** Maps that are empty then go too; an object keeps its annotations, which SimKube always writes. */
const removeAt = (at: Record<string, JsonValue>, [key = "", ...rest]: ReadonlyArray<string>): void => {
  const value = at[key]
  if (rest.length === 0) delete at[key]
  else if (isJsonObject(value)) {
    removeAt(value as Record<string, JsonValue>, rest)
    if (Object.keys(value).length === 0 && key !== "annotations") delete at[key]
  }
}

const withoutTokens = (spec: JsonObject): JsonObject => {
  const text = JSON.stringify(spec, (key, value: unknown) => {
    if ((key !== "volumes" && key !== "volumeMounts") || !Array.isArray(value)) return value
    const own = value.filter((each: { name: string }) => !each.name.startsWith("kube-api-access-"))
    return own.length === 0 ? undefined : own
  })
  return JSON.parse(text) as JsonObject
}
