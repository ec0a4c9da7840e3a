import type { WriteScope } from '../../server/store/store.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { CALLS } from './calls.ts'
import { isSerialized, runAlone } from './schedules.ts'
import { interceptStatements } from './steps.ts'
import { World } from './world.ts'
import { recordScopes, type ScopedWrite, withoutScope } from './writes.ts'

// `node test/interleaving/find-pairs-main.ts`: finds for each name that a write locks a pair of calls that ends in another
// state when it does not, and prints the rows of lock-pairs.ts. Takes minutes.

/** Statements of the write before the other call; undefined is all up to the first one that changes rows. */
const STOPS = [undefined, 1, 2, 3]

/** Calls that are tried for each lock. */
const MAX_PARTNERS = 12

Math.random = () => 0.5
await using database = await (await sharedPostgres()).createDatabase()
await using world = await World.open(database.url)
const writes = new Map<string, ScopedWrite[]>()
for (const name of Object.keys(CALLS)) {
  const seen: ScopedWrite[] = []
  await runAlone(world, name, recordScopes(seen))
  writes.set(name, seen)
}
const locks = new Set(
  [...writes.values()]
    .flat()
    .flatMap(({ name, scope }) => Object.keys(scope).map((kind) => `${name} ${kind}`)),
)
using _ = interceptStatements()
for (const lock of locks) console.log((await findPair(lock)) ?? `  // none: '${lock}'`)

async function findPair(lock: string): Promise<string | undefined> {
  const kind = lock.split(' ').at(-1) as keyof WriteScope
  const name = lock.slice(0, -kind.length - 1)
  for (const [first, own] of writes)
    for (const [write, { name: written, scope }] of own.entries()) {
      if (written !== name) continue
      const names = [scope[kind] ?? []].flat()
      for (const second of partners(kind, names, first))
        for (const after of STOPS) {
          const stop = { ...(write > 0 && { write }), ...(after && { after }) }
          const wrap = withoutScope(kind, name)
          try {
            if (await isSerialized(world, [first, second], stop, [wrap, wrap])) continue
          } catch (error) {
            console.error(`${lock}: ${first}, ${second}: ${error}`)
            break
          }
          return `  '${lock}': ${JSON.stringify({ first, ...(second !== first && { second }), ...stop })},`
        }
    }
}

function partners(kind: keyof WriteScope, names: readonly string[], first: string): string[] {
  const found = [...writes].filter(([, own]) =>
    own.some(({ scope }) => [scope[kind] ?? []].flat().some((name) => names.includes(name))),
  )
  const calls = found.map(([name]) => name)
  // The same call first: it needs no other outcome.
  return [
    ...calls.filter((one) => one === first),
    ...calls.filter((one) => one !== first && !CALLS[one]!.isDivisible),
  ].slice(0, MAX_PARTNERS)
}
