/** A sandbox's answers to the cases, compared with those that record-defaults.ts got from Kubernetes 1.34.4. */

import { readFileSync } from "node:fs"
import { beforeAll, describe, expect, test } from "vitest"
import { parseGvk } from "../../../src/kube/offline.ts"
import type { LoadedObject } from "../../../src/library/sandbox.ts"
import { openForFile } from "../opened-sandbox.ts"
import { withoutWording } from "../without-wording.ts"
import { rulesCases } from "./cases.ts"
import { type Json, normalised, type RecordedCase, recordingFile } from "./recorded-case.ts"
import { collectionOf, customDefinitions, merged, namespace, type RulesCase } from "./rules-case.ts"

const recordings = new Map<string, ReadonlyArray<RecordedCase>>()

const recordedCase = ({ path, name }: RulesCase): RecordedCase => {
  const file = recordingFile(path)
  const text = (): string => readFileSync(new URL(`../../data/apiserver/defaults/${file}`, import.meta.url), "utf8")
  const cases: ReadonlyArray<RecordedCase> = recordings.get(file) ?? JSON.parse(text())
  recordings.set(file, cases)
  const found = cases.find((entry) => entry.name === name)
  if (found === undefined) throw new Error(`no recording of "${name}": run record-defaults.ts`)
  return found
}

const sandbox = await openForFile()
beforeAll(async () => {
  send("POST", "/api/v1/namespaces", { metadata: { name: namespace } })
  send("POST", `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: "default" } })
  for (const definition of customDefinitions)
    send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
})

const send = (method: "POST" | "PUT", path: string, body: Json): { readonly status: number; readonly body: Json } => {
  const answer = sandbox.request({ method, path, body })
  if (answer instanceof Promise) throw new Error("nothing asks a webhook here")
  return { status: answer.status, body: JSON.parse(answer.text) }
}

/** An update replaces the object that the real server had. */
const updated = ({ path, object, update }: RulesCase, before: Json): ReturnType<typeof send> => {
  const { apiVersion, kind, metadata } = before as { apiVersion: string; kind: string; metadata: Json }
  const gvk = parseGvk(`${apiVersion}.${kind}`) ?? { group: "", version: "", kind }
  const old = sandbox.load(gvk, before as unknown as LoadedObject)
  const base = update?.base === "sent" ? object : (old as unknown as Json)
  const body = merged(merged(base, update?.change ?? {}), {
    metadata: { resourceVersion: old.metadata.resourceVersion },
  })
  const subresource = update?.subresource === "" ? "" : `/${update?.subresource}`
  const answer = send("PUT", `${collectionOf(path)}/${metadata.name}${subresource}?dryRun=All`, body)
  sandbox.delete(gvk, String(metadata.namespace ?? ""), String(metadata.name))
  return answer
}

const answerOf = (rulesCase: RulesCase, { old }: RecordedCase): Json => {
  const { status, body } =
    old === undefined
      ? send("POST", `${collectionOf(rulesCase.path)}?dryRun=All`, rulesCase.object)
      : updated(rulesCase, old)
  return { status, answer: normalised(body) }
}

/** Of requests that the server refuses for several reasons: fields of the reasons that the sandbox does not check, or adds. */
const notCompared: Readonly<Record<string, ReadonlyArray<string>>> = {
  "bad probes": ["spec.containers[0].startupProbe.tcpSocket.port"],
  "bad tolerations": ["spec.tolerations[0].operator"],
  "deployment of bad percentages": ["spec.strategy.rollingUpdate.maxUnavailable"],
  "stateful set of bad choices": ["spec.podManagementPolicy", "spec.updateStrategy"],
  "persistent volume without anything": ["spec", "spec.capacity"],
  "bad endpoints": ["subsets[1]"],
  "bad role": ["rules[2].nonResourceURLs"],
  "bad priority class": ["value"],
}

const compared = (answer: Json, ignored: ReadonlyArray<string>): Json => {
  const { causes, ...details } = (answer.details ?? {}) as {
    readonly causes?: ReadonlyArray<{ readonly field: string }>
  }
  if (causes === undefined) return answer
  return { ...answer, details: { ...details, causes: causes.filter(({ field }) => !ignored.includes(field)) } }
}

describe("a sandbox decides as Kubernetes 1.34.4 does", () => {
  test.each(rulesCases)("$path: $name", (rulesCase) => {
    const recorded = recordedCase(rulesCase)
    const { status, answer } = answerOf(rulesCase, recorded) as { status: number; answer: Json }
    const ignored = notCompared[rulesCase.name] ?? []
    expect(withoutWording({ status, answer: compared(answer, ignored) })).toEqual(
      withoutWording({ status: recorded.status, answer: compared(recorded.answer, ignored) }),
    )
  })
})
