/** Worker entry point of the owner-resolver. */
import { runInWorker } from "../../runtime/index.ts"
import { ownerResolverBody } from "../owner-resolver/owner-resolver-body.ts"
import { ownerResolverDefinition } from "../owner-resolver/owner-resolver-interface.ts"

runInWorker(ownerResolverDefinition, ownerResolverBody)
