// What the Prisma CLI needs to know. A deploy runs `npx prisma migrate deploy` with DATABASE_URL (or
// DIRECT_DATABASE_URL, where the former goes through a pooler); without either, the embedded database is meant.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { defineConfig } from 'prisma/config'

const here = import.meta.dirname ?? process.cwd()

// The CLI would download a native schema engine. Unless one is named, the same engine compiled to WASM answers.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= path.join(here, 'scripts', 'prisma-schema-engine.mjs')

function embeddedUrl(): string | undefined {
  const file = path.join(here, '.data', 'postgres.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).url : undefined
}

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DIRECT_DATABASE_URL ?? process.env.DATABASE_URL ?? embeddedUrl() ?? '' },
})
