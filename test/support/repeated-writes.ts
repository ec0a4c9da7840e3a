import type { Store } from '../../server/store/store.ts'

/** Runs each work twice, and rolls the first run back, as PostgreSQL does after a deadlock. */
export function repeatWrites(store: Store): Store {
  return {
    ...store,
    write: async (durability, scope, work) => {
      await store
        .write(durability, scope, async (tx) => {
          await work(tx)
          throw new RolledBack()
        })
        .catch(() => undefined)
      return store.write(durability, scope, work)
    },
  }
}

class RolledBack extends Error {}
