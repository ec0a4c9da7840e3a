import { takeOut } from './careless.ts'

// A control: this service acknowledges transactions that SQLite has not flushed.
takeOut('/server/store/sqlite.ts', /\bFULL\b/g, 'NORMAL')
