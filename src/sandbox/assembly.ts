/** The parts of a writable API server, put together over a store. */

import { type JsonFormat, type OnTrouble, OpenApiDocuments } from "../apiserver/index.ts"
import type { Clock } from "../clock.ts"
import { Access } from "./access/access.ts"
import { AccountTokens } from "./access/account-tokens.ts"
import type { SandboxUser } from "./access/authentication.ts"
import { CustomKinds } from "./lifecycle/custom-kinds.ts"
import { putDefaultPolicy } from "./lifecycle/default-policy.ts"
import { RoleAggregation } from "./lifecycle/role-aggregation.ts"
import { rulesOf } from "./rules/index.ts"
import { SchemaCatalogue } from "./schema/catalogue.ts"
import type { ObjectStore } from "./store/object-store.ts"
import type { ServedKinds } from "./store/served-kinds.ts"
import type { Randomness } from "./store/stamps.ts"
import { StoreBackend, Writer } from "./store-backend.ts"
import { Admission } from "./writes/admission.ts"
import { QuotaBook } from "./writes/quotas.ts"
import { WritableKinds, type WriteSurroundings } from "./writes/surroundings.ts"
import { WebhookAdmission } from "./writes/webhook-attempts.ts"
import { Webhooks } from "./writes/webhooks/webhook.ts"
import { type OwnWebhooks, serviceEndpoints, WebhookCaller } from "./writes/webhooks/webhook-caller.ts"

interface AssemblyOptions {
  readonly clock: Clock
  readonly random: Randomness
  readonly format: JsonFormat
  readonly lifecycle: boolean
  readonly onTrouble: OnTrouble
  readonly ownWebhooks?: OwnWebhooks | undefined
  /** Absent without authorization. */
  readonly authorization?: { readonly token: string; readonly users?: ReadonlyArray<SandboxUser> } | undefined
}

interface Assembly {
  readonly backend: StoreBackend
  readonly around: WriteSurroundings
  /** Call it after the store's history has been replaced. */
  readonly rebuild: () => void
  readonly close: () => void
}

export const assembleBackend = (store: ObjectStore, kinds: ServedKinds, options: AssemblyOptions): Assembly => {
  const { clock, random, format, lifecycle, onTrouble, authorization } = options
  const { registry } = kinds
  const writable = new WritableKinds(store, new SchemaCatalogue(), rulesOf)
  const documents = new OpenApiDocuments()
  const admission = new Admission(store, registry, lifecycle)
  const quotas = lifecycle ? new QuotaBook(store) : undefined
  const webhooks = new WebhookCaller(clock, random, serviceEndpoints(store), options.ownWebhooks)
  const tokens = new AccountTokens(store, clock)
  const access = authorization && new Access(store, tokens, authorization.token, authorization.users)
  const around: WriteSurroundings = {
    tokens,
    ...(access !== undefined && { access }),
    store,
    registry,
    clock,
    random,
    format,
    admission,
    ...(quotas !== undefined && { quotas }),
    webhooks: new WebhookAdmission({ webhooks: new Webhooks(store), served: { registry, store }, caller: webhooks }),
    onTrouble,
    kindOf: (resource) => writable.of(resource),
  }
  store.observe(({ resource }, { change, previous }) => {
    if (previous !== undefined) admission.release(resource, previous, change.type === "DELETED" ? undefined : change)
  })
  const customKinds = new CustomKinds({ around, kinds, writable, documents })
  const backend = new StoreBackend(registry, store, new Writer(around), documents)
  const aggregation = access && new RoleAggregation(around)
  if (access !== undefined) putDefaultPolicy(around)
  return {
    backend,
    around,
    rebuild: () => {
      customKinds.rebuild()
      quotas?.rebuild()
      access?.rebuild()
      if (access !== undefined) putDefaultPolicy(around)
      aggregation?.rebuild()
    },
    close: () => {
      aggregation?.close()
      webhooks.close()
    },
  }
}
