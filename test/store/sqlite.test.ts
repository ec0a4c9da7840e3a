import { storeContract } from './contract.ts'
import { freshSqlite } from './places.ts'

storeContract('SQLite', freshSqlite)
