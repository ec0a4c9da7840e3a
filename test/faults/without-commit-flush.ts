import { mutateSource } from './careless.ts'

// A control: this service acknowledges transactions that SQLite has not flushed.
mutateSource('/server/store/sqlite.ts', /\bFULL\b/g, 'NORMAL')
