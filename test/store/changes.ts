import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import type { Store } from '../../server/store/store.ts'
import type { Promises } from './contract.ts'
import { siteRow } from './rows.ts'

/** What `Store.onChange` and `pollChanges` promise. */
export function storeChanges(promises: Promises): void {
  promises(
    'its own changes are heard before a write answers, which waits for what the listener does',
    async (open) => {
      const store = await open()
      const told: string[] = []
      store.onChange(async (slugs, own) => {
        await turn()
        told.push(`${slugs?.toSorted().join(' ')} ${own ? 'own' : 'others'}`)
      })
      await store.write('durable', async (tx) => {
        await tx.notifyChanged('one')
        await tx.notifyChanged('two')
        await tx.notifyChanged('one')
        assert.deepEqual(told, [], 'nothing is told before the commit')
      })
      assert.deepEqual(told, ['one two own'])
    },
  )

  promises('whoever hears of a change already reads it', async (open) => {
    const [one, other] = [await open(), await open()]
    const read = Promise.withResolvers<unknown>()
    other.onChange(async () => read.resolve((await other.read.sites.bySlug('a-site'))?.title))
    const own: unknown[] = []
    one.onChange(async (_, mine) => {
      if (mine) own.push((await one.read.sites.bySlug('a-site'))?.title)
    })
    await one.write('durable', async (tx) => {
      await tx.sites.insert(siteRow('a-site', { title: 'new' }))
      await tx.notifyChanged('a-site')
    })
    assert.deepEqual([own, await read.promise], [['new'], 'new'])
  })

  promises('others hear of a change by themselves', async (open) => {
    const [one, other] = [await open(), await open()]
    const heard = hearing(other)
    for (const slug of ['first', 'second', 'third'])
      await one.write('relaxed', (tx) => tx.notifyChanged(slug))
    await heard.until((slugs) => slugs.has('first') && slugs.has('second') && slugs.has('third'))
    assert.deepEqual(heard.own, [], 'changes of others are not taken for its own')
  })

  promises('what a store catches up with is heard when that is answered', async (open) => {
    const [one, other] = [await open(), await open()]
    const heard = hearing(other)
    for (let number = 0; number < 20; number++) {
      await one.write('relaxed', (tx) => tx.notifyChanged(`site-${number}`))
      await other.pollChanges()
      assert.ok(heard.slugs.has(`site-${number}`))
    }
  })

  promises('a write that fails, or changes nothing that is remembered, is not heard', async (open) => {
    const [one, other] = [await open(), await open()]
    const [own, others] = [hearing(one), hearing(other)]
    const failing = one.write('durable', async (tx) => {
      await tx.notifyChanged('undone')
      throw new Error('undone')
    })
    await assert.rejects(failing, /undone/)
    await one.write('durable', (tx) => tx.sites.insert(siteRow('unseen')))
    await other.pollChanges()
    assert.deepEqual([[...own.slugs], [...others.slugs]], [[], []])
  })

  promises('a store that opens later hears only of what comes then', async (open) => {
    const one = await open()
    await one.write('durable', (tx) => tx.notifyChanged('before'))
    const other = await open()
    const heard = hearing(other)
    await one.write('durable', (tx) => tx.notifyChanged('after'))
    await other.pollChanges()
    assert.deepEqual([...heard.slugs], ['after'])
  })

  promises('everybody who listens hears everything', async (open) => {
    const store = await open()
    const listeners = [hearing(store), hearing(store)]
    await store.write('relaxed', (tx) => tx.notifyChanged('a-site'))
    assert.deepEqual(
      listeners.map(({ own }) => own),
      [['a-site'], ['a-site']],
    )
  })
}

/** Gathers what a store tells; everything at once counts as having heard of any slug. */
function hearing(store: Store) {
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
    async until(enough: (slugs: Set<string>) => boolean) {
      while (!enough(slugs)) await more.promise
    },
  }
}
