/**
 * Facts: what happened in clusters, as Parquet files beside their streams, for query engines, and the questions that are asked of them here.
 *
 * Guarantee: a file is created once and never changed, and each change is in one that counts; no secret is in it; a question reads facts and nothing else.
 */

export { type FactsDatabase, openFacts, writeCatalog } from "./facts-database.ts"
export { copyFacts, FactsError, factsIn } from "./facts-files.ts"
export { makeFacts } from "./facts-writer.ts"
export { joinFacts } from "./join-facts.ts"
