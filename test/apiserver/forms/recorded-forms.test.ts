/** Lists in other forms, compared with those of a real API server (Kubernetes 1.34.4) for the same object. */

import { expect, test } from "vitest"
import type { Form } from "../../../src/apiserver/forms/form.ts"
import { negotiateForm } from "../../../src/apiserver/forms/negotiate.ts"
import { builtinResources } from "../../../src/apiserver/kinds/builtin/builtin-resources.ts"
import { type Change, makeChange } from "../../../src/apiserver/kinds/change.ts"
import { compact } from "../../../src/apiserver/kinds/json-spacing.ts"
import type { StoredObject } from "../../../src/apiserver/kinds/kubernetes-object.ts"
import { type Resource, ResourceRegistry } from "../../../src/apiserver/kinds/resources.ts"
import { recordedAnswer } from "../../sandbox/recorded-answer.ts"

const registry = new ResourceRegistry(builtinResources)

const changeOf = (resource: Resource, item: StoredObject): Change => {
  const { uid, name, namespace = "", resourceVersion } = item.metadata
  const fields = { type: "ADDED", uid, name, namespace, labels: undefined, revision: BigInt(resourceVersion) } as const
  const { group, version, kind } = resource.gvk
  const apiVersion = group === "" ? version : `${group}/${version}`
  return makeChange(fields, JSON.stringify({ ...item, kind, apiVersion }), compact)
}

const formOf = (resource: Resource, accept: string, now: number): Form => {
  const request = { resource, accept, query: new URLSearchParams(), answer: "list", now: () => now } as const
  const form = negotiateForm(request)
  if (form === undefined || "type" in form) throw new Error("no form")
  return form
}

test.each([
  ["list-table", "application/json;as=Table;v=v1;g=meta.k8s.io"],
  ["list-metadata-only", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"],
])("%s is equal to the last byte but for white space", (name, accept) => {
  const { text, headers } = recordedAnswer(name)
  const list = JSON.parse(recordedAnswer("list-deployments").text) as { items: ReadonlyArray<StoredObject> }
  const resource = registry.named("apps/v1.Deployment")
  const form = formOf(resource, accept, Date.parse(headers.date ?? ""))
  const { before, after } = form.frame({ resourceVersion: 306n })
  const items = list.items.map((item) => form.item(changeOf(resource, item)))
  expect(items.length).toBeGreaterThan(0)
  expect(`${before}${items.join(",")}${after}`).toBe(JSON.stringify(JSON.parse(text)))
})
