export * from "./directory/archive-errors.ts"
