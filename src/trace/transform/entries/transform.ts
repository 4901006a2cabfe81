/** Code of the threads that run a program: piscina calls the default export once per batch. Stateless but for the program that it ran last. */
export { runBatch as default } from "../object-batch.ts"
