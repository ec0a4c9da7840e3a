import { mutateSource } from './source-mutation.ts'

// Control: the server acknowledges transactions that SQLite did not flush.
mutateSource('/server/store/sqlite.ts', /\bFULL\b/g, 'NORMAL')
