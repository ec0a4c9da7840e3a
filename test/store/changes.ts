import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import type { Store } from '../../server/store/store.ts'
import type { Promises } from './contract.ts'
import { siteRow } from './rows.ts'

/** Promises of `Store.onChange` and `pollChanges`. */
export function storeChanges(promises: Promises): void {
  promises(
    'a write notifies listeners of its own store before it resolves, and waits for them',
    async (open) => {
      const store = await open()
      const values: string[] = []
      store.onChange(async (slugs, own) => {
        await turn()
        values.push(`${slugs?.toSorted().join(' ')} ${own ? 'own' : 'others'}`)
      })
      await store.write('durable', {}, async (tx) => {
        await tx.notifyChanged('one')
        await tx.notifyChanged('two')
        await tx.notifyChanged('one')
        assert.deepEqual(values, [], 'no notification before the commit')
      })
      assert.deepEqual(values, ['one two own'])
    },
  )

  promises('a listener reads the change that it is notified of', async (open) => {
    const [one, other] = [await open(), await open()]
    const read = Promise.withResolvers<unknown>()
    other.onChange(async () => read.resolve((await other.read.sites.find('a-site'))?.title))
    const own: unknown[] = []
    one.onChange(async (_, mine) => {
      if (mine) own.push((await one.read.sites.find('a-site'))?.title)
    })
    await one.write('durable', {}, async (tx) => {
      await tx.sites.insert(siteRow('a-site', { title: 'new' }))
      await tx.notifyChanged('a-site')
    })
    assert.deepEqual([own, await read.promise], [['new'], 'new'])
  })

  promises('other stores are notified of a change', async (open) => {
    const [one, other] = [await open(), await open()]
    const [changes, more] = [recordChanges(other), recordChanges(other)]
    for (const slug of ['first', 'second', 'third'])
      await one.write('relaxed', {}, (tx) => tx.notifyChanged(slug))
    await changes.waitFor((slugs) => slugs.has('first') && slugs.has('second') && slugs.has('third'))
    assert.deepEqual(more.slugs, changes.slugs, 'every listener is notified')
    assert.deepEqual(changes.own, [], 'changes of other stores are not marked as own')
  })

  promises('pollChanges notifies of earlier changes before it resolves', async (open) => {
    const [one, other] = [await open(), await open()]
    const changes = recordChanges(other)
    for (let number = 0; number < 20; number++) {
      await one.write('relaxed', {}, (tx) => tx.notifyChanged(`site-${number}`))
      await other.pollChanges()
      assert.ok(changes.slugs.has(`site-${number}`))
    }
  })

  promises('a failed write, or one without notifyChanged, notifies no listener', async (open) => {
    const [one, other] = [await open(), await open()]
    const [own, others] = [recordChanges(one), recordChanges(other)]
    const failing = one.write('durable', {}, async (tx) => {
      await tx.notifyChanged('undone')
      throw new Error('undone')
    })
    await assert.rejects(failing, /undone/)
    await one.write('durable', {}, (tx) => tx.sites.insert(siteRow('unseen')))
    await other.pollChanges()
    assert.deepEqual([[...own.slugs], [...others.slugs]], [[], []])
  })

  promises('a store is notified only of changes after it was opened', async (open) => {
    const one = await open()
    await one.write('durable', {}, (tx) => tx.notifyChanged('before'))
    const other = await open('new')
    const changes = recordChanges(other)
    await one.write('durable', {}, (tx) => tx.notifyChanged('after'))
    await other.pollChanges()
    assert.deepEqual([...changes.slugs], ['after'])
  })
}

/** Records the notifications of a store. */
function recordChanges(store: Store) {
  const slugs = new Set<string>()
  const own: string[] = []
  let more = Promise.withResolvers<void>()
  store.onChange((changed, mine) => {
    for (const slug of changed ?? ['everything']) {
      slugs.add(slug)
      if (mine) own.push(slug)
    }
    more.resolve()
    more = Promise.withResolvers()
  })
  return {
    slugs,
    own,
    async waitFor(isDone: (slugs: Set<string>) => boolean) {
      while (!isDone(slugs)) await more.promise
    },
  }
}
