export { DATABASE_FILE, openForReading } from "./tables/schema.ts"
