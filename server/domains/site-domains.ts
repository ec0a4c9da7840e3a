import type { Queries } from '../store/queries.ts'
import type { Store, WriteScope, WriteTransaction } from '../store/store.ts'
import type { Domain } from '../store/tables/domains.ts'

interface DomainsWrite {
  /** What the write is about beside the domains. */
  scope: WriteScope
  /** The domains that it is about. */
  find: (queries: Queries) => Promise<readonly Domain[]>
}

/**
 * A durable write that is also about the domains of sites, whose certificates depend on them. They are read before the
 * write names them in its scope, and it is repeated if others were added before it began.
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
