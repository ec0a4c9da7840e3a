import type { Queries } from '../store/queries.ts'
import type { Store, WriteScope, WriteTransaction } from '../store/store.ts'
import type { Domain } from '../store/tables/domains.ts'

interface DomainsWrite {
  scope: WriteScope
  find: (queries: Queries) => Promise<readonly Domain[]>
}

/**
 * A durable write that is also about the domains of sites, whose certificates depend on them. It is repeated if others
 * were added before it began.
 */
export async function writeWithDomains<T>(
  store: Store,
  { scope, find }: DomainsWrite,
  work: (tx: WriteTransaction) => Promise<T>,
): Promise<T> {
  for (;;) {
    const host = (await find(store.read)).map(({ domain }) => domain)
    const done = await store.write('durable', { ...scope, host }, async (tx) => {
      const current = await find(tx)
      return current.every(({ domain }) => host.includes(domain)) ? { result: await work(tx) } : undefined
    })
    if (done) return done.result
  }
}
